"""Plain kernels of other people that ``init`` fully specifies: ``python -m benchmarks.init DIR``.

``DIR`` holds checkouts of the repositories that ``draw.py`` names, each in a folder of its name;
nothing is fetched. ``kernels.toml`` lists the kernels, as ``python -m benchmarks.init.draw DIR``
drew them. Sources are copied to a temporary folder, ``kernelprof init`` writes a specification into
each, and one without a blank is predicted with it. Whether a launch is one that a human would
call sensible was looked at, and stands in ``judged.toml`` with the digest of the specification: one
that has changed since counts as not looked at. A table in Markdown goes to standard output; ``make
init-others CHECKOUTS=DIR`` keeps it in ``reports/init-others.md``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.init.draw import FOLDERS

from benchmarks import command
from kernelprof.errors import InputError
from kernelprof.model.toml_text import read_toml
from kernelprof.prediction.architectures import DEFAULT_ARCH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROGRAM: Final = "benchmarks.init"
_FOLDER: Final = Path(__file__).parent
_ROOT: Final = _FOLDER.parents[1]
_LONGEST: Final = 160
_HEAD: Final = (
    "| kernel | source | blanks | runs | sensible | s | what is left |\n"
    "| --- | --- | --- | --- | --- | --: | --- |"
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A kernel of somebody else."""

    repository: str
    path: str
    name: str

    @property
    def folder(self) -> str:
        """The repository's name without its owner."""
        return self.repository.partition("/")[2]

    def lay_out(self, checkouts: Path, to: Path) -> Path:
        """Copy what it needs to where it stood in its repository; the source's path there."""
        root = checkouts / self.folder
        source = root / self.path
        if not source.is_file():
            raise InputError("there is no such source", where=str(source))
        home = Path(self.path).parent
        shutil.copytree(root / home, to / home)
        headers = FOLDERS.get(self.folder)
        if headers is not None and (root / headers).is_dir():
            shutil.copytree(root / headers, to / headers, dirs_exist_ok=True)
        return to / self.path


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; an error is told in a sentence and gives its exit code."""
    options = _parser().parse_args(arguments)
    return command.run(PROGRAM, lambda: _run(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {PROGRAM}",
        description="Initialise kernels of other people, and predict them with what comes out.",
    )
    parser.add_argument("checkouts", type=Path, metavar="DIR", help="what holds the checkouts")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="only these, by name")
    parser.add_argument("--arch", default=DEFAULT_ARCH, help=f"default: {DEFAULT_ARCH}")
    parser.add_argument("--seconds", type=int, default=240, help="CPU time of a kernel")
    parser.add_argument("--jobs", type=int, default=1, help="so many at a time (default: 1)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep specifications here")
    return parser


def _run(options: argparse.Namespace) -> int:
    def one(kernel: Drawn) -> tuple[Drawn, dict[str, Any]]:
        outcome = _outcome(kernel, options)
        if options.keep is not None:
            options.keep.mkdir(parents=True, exist_ok=True)
            text = outcome.get("specification", "")
            (options.keep / f"{kernel.name}.toml").write_text(text, encoding="utf-8")
        sys.stderr.write(f"{row(kernel, outcome, judged())}\n")
        sys.stderr.flush()
        return kernel, outcome

    with ThreadPoolExecutor(options.jobs) as pool:
        found = list(pool.map(one, drawn(options.kernels)))
    sys.stdout.write(document(found, judged(), options.arch))
    return 0


def drawn(names: Sequence[str] = ()) -> list[Drawn]:
    """The kernels of the list, or those of these names."""
    listed = read_toml((_FOLDER / "kernels.toml").read_text(encoding="utf-8"))["kernel"]
    every = [Drawn(**each) for each in listed]
    return [each for each in every if not names or each.name in names]


def judged() -> dict[str, Any]:
    """What was said of each specification that was looked at, by the kernel's name."""
    file = _FOLDER / "judged.toml"
    return read_toml(file.read_text(encoding="utf-8")) if file.is_file() else {}


def digest(specification: str) -> str:
    """What tells one specification from another; what it says why is left out."""
    lines = (line.partition("  # ")[0] for line in specification.splitlines())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _outcome(kernel: Drawn, options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        source = kernel.lay_out(options.checkouts, Path(folder))
        done = subprocess.run(
            [
                *(sys.executable, "-m", f"{PROGRAM}.one", str(source), kernel.name),
                *(options.arch, str(options.seconds)),
            ],
            cwd=_ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode == -signal.SIGXCPU:
        return {"stage": "running", "what": f"not done after {options.seconds} s of CPU time"}
    if done.returncode != 0:
        return {"stage": "running", "what": f"it crashed: {done.stderr.strip()[-_LONGEST:]}"}
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def document(
    found: Sequence[tuple[Drawn, Mapping[str, Any]]], told: Mapping[str, Any], arch: str
) -> str:
    """All outcomes, with how many there are."""
    complete = sum(_is_complete(each) for _, each in found)
    good = sum(
        _is_complete(each) and _sensible(kernel, each, told) == "yes" for kernel, each in found
    )
    repositories = sorted({kernel.repository for kernel, _ in found})
    return "\n".join(
        (
            "# Kernels of other people, specified by `kernelprof init`",
            "",
            f"Of {len(found)} plain kernels {complete} need no blank and run for `{arch}` without "
            f"leaving their arrays; {good} of these have a launch that a human calls sensible.",
            "",
            "They were drawn by the rule in `benchmarks/init/draw.py`, before `init` was tried on "
            f"any of them, from {', '.join(repositories)} at the commits of "
            "`benchmarks/predict/others/repositories.toml`. For each:",
            "",
            "```sh",
            "kernelprof init SOURCE --kernel NAME",
            f"kernelprof diagnose SOURCE --predict --arch {arch}",
            "```",
            "",
            _HEAD,
            *(row(kernel, each, told) for kernel, each in found),
            "",
        )
    )


def row(kernel: Drawn, found: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    """One line of the table."""
    blanks = len(found.get("unfilled", ()))
    left = [*found.get("unfilled", ()), str(found.get("what", ""))]
    said = told.get(kernel.name, {}).get("why", "") if _is_complete(found) else ""
    text = " ".join("; ".join(filter(None, [*left, said])).split()).replace("|", r"\|")
    cells = (
        f"`{kernel.name}`",
        f"{kernel.folder}: {kernel.path}",
        str(blanks) if "unfilled" in found else "",
        "yes" if found["stage"] == "done" else "no",
        _sensible(kernel, found, told),
        f"{found['init_seconds']:.1f}" if "init_seconds" in found else "",
        re.sub(r"/\S*/", "", text)[:_LONGEST],
    )
    return f"| {' | '.join(cells)} |"


def _is_complete(found: Mapping[str, Any]) -> bool:
    return found["stage"] == "done" and not found["unfilled"]


def _sensible(kernel: Drawn, found: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    if not _is_complete(found):
        return ""
    known = told.get(kernel.name)
    if known is None or known["specification"] != digest(found["specification"]):
        return "not looked at"
    return "yes" if known["sensible"] else "no"


if __name__ == "__main__":
    sys.exit(main())
