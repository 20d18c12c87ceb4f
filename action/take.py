"""Take policy and baseline out of a repository: from the base branch, and from the change.

Run by action.yml and by the example for GitLab, with the standard library alone and ``python -I``.
It reads objects of git, never a work tree, so that neither links nor attributes nor filters of the
change have any effect. What judges is written below ``INTO/base``, what the change would put in its
place below ``INTO/proposed``, and ``INTO/arguments`` gets the arguments for ``kernelprof gate`` in
``INTO/base``, each ended by NUL: the baseline, then options.

It ends with 0, or with 2 and a message.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

PROJECT = "pyproject.toml"
LARGEST = 64 << 20
"""Bytes of a file."""
MOST_FILES = 10_000
"""Of a baseline that is a capture directory."""

_PLAIN = {b"100644", b"100755"}
_FOLDER = b"040000"
_NOT_FOLLOWED = "refused-and-not-followed"


class Refused(Exception):  # noqa: N818 (what it is, and no error of the program)
    """A path or a file that is not taken; the message says why."""


class Repository:
    """Commits of a repository, read so that no setting of it counts."""

    def __init__(self, folder: str) -> None:
        kept = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
        self.environment = {**kept, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        # In a container the checkout can be another user's.
        options = ["--no-replace-objects", "--literal-pathspecs", "-c", "safe.directory=*"]
        self.command = ["git", *options, "-C", folder]

    def git(self, *arguments: str) -> bytes:
        """What a command of git writes. Raises :class:`Refused` where it fails."""
        done = subprocess.run(
            [*self.command, *arguments], env=self.environment, capture_output=True, check=False
        )
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            raise Refused(f"git {' '.join(arguments)} failed: {said or done.returncode}")
        return done.stdout

    def commit(self, name: str) -> str:
        """The commit of a name, such as ``HEAD^1``."""
        return self.git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").decode().strip()

    def files(self, commit: str, path: str) -> dict[str, str]:
        """The blobs at a path by their own paths; more than one below a folder, none for nothing.

        Raises :class:`Refused` for links, submodules and what is too much or too large.
        """
        options = ["ls-tree", "-z", "--long", "--full-tree"]
        found = _entries(self.git(*options, commit, "--", path))
        if [mode for mode, _, _, _ in found] == [_FOLDER]:
            found = _entries(self.git(*options, "-r", commit, "--", path))
        if len(found) > MOST_FILES:
            raise Refused(f"{path} has more than {MOST_FILES:,} files")
        for mode, _, size, name in found:
            if mode not in _PLAIN:
                raise Refused(f"{name} is a link or a submodule, which are not followed")
            if size > LARGEST:
                raise Refused(f"{name} has more than {LARGEST:,} bytes")
            if {"", ".", "..", ".git"} & set(name.split("/")):
                raise Refused(f"{name} is no path in a repository")
        return {name: blob for _, blob, _, name in found}

    def write(self, files: dict[str, str], folder: Path) -> None:
        """Write blobs below a folder."""
        for name, blob in files.items():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(self.git("cat-file", "blob", blob))


def _entries(listing: bytes) -> list[tuple[bytes, str, int, str]]:
    found = []
    for line in filter(None, listing.split(b"\0")):
        facts, _, name = line.partition(b"\t")
        mode, _, blob, size = facts.split()
        length = int(size) if size.isdigit() else 0
        found.append((mode, blob.decode(), length, os.fsdecode(name)))
    return found


def inside(path: str, workspace: str) -> str | None:
    """A path relative to the repository; ``None`` outside of the checkout, which no change reaches.

    Raises :class:`Refused` for one that begins with a dash or goes up.
    """
    if not path or path.startswith("-") or {"\n", "\r", "\0"} & set(path):
        raise Refused(f"{path!r} is no path of a file")
    if ".." in Path(path).parts:
        raise Refused(f"{path!r} leaves its folder: name it without '..'")
    if Path(path).is_absolute():
        # By name first: a link of the checkout must not lead out of it and be believed there.
        for root, place in (
            (os.path.normpath(workspace), os.path.normpath(path)),
            (os.path.realpath(workspace), os.path.realpath(path)),
        ):
            if Path(place).is_relative_to(root):
                path = os.path.relpath(place, root)
                break
        else:
            return None
    path = os.path.normpath(path)
    if path == "." or ".git" in Path(path).parts:
        raise Refused(f"{path!r} is no file of the repository")
    return path


def take(
    repository: Repository, base: str, head: str, path: str, into: Path
) -> tuple[dict[str, str], bool]:
    """Write both versions of a path: the base's files, and whether the change has any."""
    trusted = repository.files(base, path)
    repository.write(trusted, into / "base")
    try:
        proposed = repository.files(head, path)
        repository.write(proposed, into / "proposed")
    except Refused as reason:
        # Something is there and cannot be read, which the gate then says.
        print(f"kernelprof gate: the change's {reason}", file=sys.stderr)
        place = into / "proposed" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(_NOT_FOLLOWED)
        return trusted, True
    return trusted, bool(proposed)


def arguments_for(given: argparse.Namespace) -> list[str]:
    """Write the files, and return the arguments for ``kernelprof gate``."""
    repository = Repository(given.repository)
    if given.merge:
        # The first parent is the branch that was merged into, and the second has to be there.
        head, base, _ = (repository.commit(given.merge + each) for each in ("", "^1", "^2"))
    else:
        base, head = repository.commit(given.base), repository.commit(given.head)
    into = Path(given.into)
    for name in ("base", "proposed"):
        (into / name).mkdir(parents=True)
    found = []
    baseline = inside(given.baseline, given.workspace)
    if baseline is None:
        found.append(given.baseline)
    else:
        trusted, proposed = take(repository, base, head, baseline, into)
        if not (trusted or proposed):
            raise Refused(f"neither the base branch nor the change has {baseline}")
        found += [baseline, f"--proposed-baseline=../proposed/{baseline}"]
    policy = inside(given.policy or PROJECT, given.workspace)
    if policy is None:
        found.append(f"--policy={given.policy}")
        return found
    trusted, proposed = take(repository, base, head, policy, into)
    if given.policy:
        if not (trusted or proposed):
            raise Refused(f"neither the base branch nor the change has {policy}")
        if not trusted:
            # The default policy judges until the first one is accepted.
            place = into / "base" / policy
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
        found.append(f"--policy={policy}")
    found.append(f"--proposed-policy=../proposed/{policy}")
    return found


def main(arguments: list[str]) -> int:
    """Parse, take and write."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    for name in ("repository", "workspace", "into", "baseline"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("policy", "merge", "base", "head"):
        parser.add_argument(f"--{name}", default="")
    given = parser.parse_args(arguments)
    try:
        found = arguments_for(given)
    except Refused as reason:
        print(f"kernelprof gate: {reason}", file=sys.stderr)
        return 2
    Path(given.into, "arguments").write_bytes(b"".join(os.fsencode(each) + b"\0" for each in found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
