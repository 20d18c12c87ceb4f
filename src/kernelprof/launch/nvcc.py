"""``nvcc``, run in such a way that no shell reads anything of a stranger's.

``nvcc`` runs each of its steps by ``sh -c``, with what it was given between double quotes, and sets
them around no name of its own making: a folder called ``$(id)`` is a command there. So its command
line has names of ours and options that are plain words. Everything else goes by way of files: the
source is copied, and macros and folders of includes stand in a file of options that the host
compiler reads (``@FILE``), which reads the source and all includes for it.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof.errors import MissingToolError
from kernelprof.launch.build import named_as
from kernelprof.launch.cubin import Compiled, CompileError
from kernelprof.launch.flags import Divided, divided
from kernelprof.tools import HOW_TO_GET_NVCC, find_nvcc, search_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PLAIN = re.compile(r"[A-Za-z0-9_./+-]+")

_AS_IT_IS = re.compile(r"[ !#-\[\]-~]+")
"""A path that debug information holds as it is: ``nvcc`` 13.5 writes other characters in octal, and
a quote ends the name in its PTX."""

_LINKS = "kernelprof-links"
_LINK = re.compile(rf"(?:/[A-Za-z0-9_.+-]+)*/{_LINKS}/[0-9a-f]{{16}}(?:\.[A-Za-z0-9]+)?")
_SOURCE, _OPTIONS, _CUBIN = "kernel.cu", "kernelprof.options", "kernelprof.cubin"
_OTHER_PLACES = ("/tmp", "/var/tmp")

_MORE_OPTIONS: Final = frozenset(
    (
        *("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"),
        # What nvcc.profile adds to: nvcc 13.5 takes them from its environment.
        *("INCLUDES", "SYSTEM_INCLUDES", "LIBRARIES", "CUDAFE_FLAGS", "PTXAS_FLAGS"),
    )
)
"""Variables that give ``nvcc`` more options, which nobody would know of afterwards."""


def is_plain(folder: Path) -> bool:
    """Whether a folder's whole path is nothing but text for every shell."""
    return _PLAIN.fullmatch(str(folder.resolve())) is not None


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder whose path is plain text for a shell, gone when the context ends.

    Raises :class:`MissingToolError` where there is no place for one.
    """
    with tempfile.TemporaryDirectory(prefix="kernelprof-", dir=_place()) as folder:
        yield Path(folder)


def _place() -> Path:
    given = Path(tempfile.gettempdir())
    for each in (given, *map(Path, _OTHER_PLACES)):
        found = each.resolve()
        if is_plain(found) and os.access(found, os.W_OK | os.X_OK):
            return found
    raise MissingToolError(
        "no folder for temporary files has a path that may be given to nvcc, which hands it to a "
        "shell: that reads some characters as more than text",
        where=str(given),
        hint="name another in $TMPDIR, of letters, digits and / . _ + - only",
    )


def architecture_option(arch: str) -> str:
    """The option of ``nvcc`` that compiles for an architecture alone.

    With ``-arch=sm_90a``, ``nvcc`` 13.0 assembles the code for plain ``sm_90`` as well where it
    does more than write a cubin, and that refuses ``wgmma``; with ``-gencode`` it never does.
    """
    number = arch.removeprefix("sm_")
    if number.endswith("a"):
        return f"-gencode=arch=compute_{number},code={arch}"
    return f"-arch={arch}"


@dataclass(frozen=True, slots=True)
class Workshop:
    """Where ``nvcc`` works: in a folder that :func:`scratch` made."""

    folder: Path

    @property
    def place(self) -> Path:
        """The folder in which ``nvcc`` is run, so that it finds nothing of the user's there."""
        return self.folder / "kernelprof-build"

    def named(self, path: Path) -> Path:
        """A file or folder as debug information can name it: itself, else a link of ours to it.

        :func:`real_names` knows the links by their names, as long as the folder is there.
        """
        path = path.resolve()
        if _AS_IT_IS.fullmatch(str(path)):
            return path
        digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
        ending = path.suffix if re.fullmatch(r"\.[A-Za-z0-9]+", path.suffix) else ""
        link = self.folder / _LINKS / (digest + ending)
        link.parent.mkdir(exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(path)
        return link

    def cubin(self, source: str, options: Sequence[str], arch: str, home: Path) -> Compiled:
        """Compile a source for an architecture; includes are looked for in ``home``, too.

        ``ptxas`` is asked what it spills (``-v``), which changes no code. Raises
        :class:`CompileError` with what ``nvcc`` wrote, :class:`InputError` for an option that a
        specification may not have.
        """
        parts = divided(options)
        parts = replace(parts, folders=(*parts.folders, str(home)))
        words = self._written(source, parts, home)
        options = [architecture_option(arch), "-Xptxas=-v", *parts.plain, *words]
        command = [find_nvcc(), "-cubin", *options, "-o", _CUBIN]
        try:
            done = subprocess.run(
                [*command, _SOURCE],
                cwd=self.place,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
        except OSError as error:
            raise MissingToolError(f"nvcc cannot be run: {error}", hint=HOW_TO_GET_NVCC) from error
        said = real_names((done.stderr + done.stdout).decode("utf-8", "replace"))
        if done.returncode != 0:
            raise CompileError(said)
        return Compiled((self.place / _CUBIN).read_bytes(), said)

    def program(
        self,
        source: Path,
        text: str,
        options: Sequence[str],
        given: Sequence[str] = (),
        libraries: Sequence[str] = (),
    ) -> tuple[Path, list[str]]:
        """Where the program of a source will be, and the command that compiles it.

        ``given`` are options of the user's, ``libraries`` what the linker is told.
        """
        nvcc, home = find_nvcc(), source.parent.resolve()
        parts = divided(given)
        words = self._written(named_as(self.named(source), text), parts, home)
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", source.stem).lstrip(".")
        program = self.folder / "kernelprof-program" / (name or "program")
        program.parent.mkdir()
        options = [*options, *parts.plain, *words]
        return program, [nvcc, *options, "-o", str(program), _SOURCE, *libraries]

    def environment(self) -> Mapping[str, str]:
        """The environment that ``nvcc`` is run with, and hands on to what it runs."""
        kept = {name: value for name, value in os.environ.items() if name not in _MORE_OPTIONS}
        place = str(self.place)
        return kept | {"PATH": search_path(), "TMPDIR": place, "PWD": place}

    def _written(self, source: str, parts: Divided, home: Path) -> list[str]:
        """Write the source and the file of options; the words that name the latter."""
        self.place.mkdir(exist_ok=True)
        first = "".join(f'#include "{name}"\n' for name in parts.before)
        (self.place / _SOURCE).write_bytes((first + source).encode())
        beside = str(self.named(home))
        words = [
            *parts.macros,
            # As if the source stood in its own folder, which quotes search before all others.
            *("-iquote", beside),
            *(f"-I{self.named(Path(each))}" for each in parts.folders),
            *(word for each in parts.system for word in ("-isystem", str(self.named(Path(each))))),
        ]
        text = "".join(f"{_escaped(word)}\n" for word in words)
        (self.place / _OPTIONS).write_bytes(text.encode())
        return [f"-Xcompiler=@{_OPTIONS}"]


def real_names(text: str) -> str:
    """A path, or a message with paths, with the user's own files in the place of links of ours."""

    def target(found: re.Match[str]) -> str:
        try:
            return os.readlink(found[0])  # noqa: PTH115 (a name may be anything, also bytes)
        except OSError:
            return found[0]

    return _LINK.sub(target, text)


def _escaped(word: str) -> str:
    """A word of a file of options, as GCC and Clang read it: a backslash takes what follows."""
    return re.sub(r"([^A-Za-z0-9_./=+-])", r"\\\1", word)
