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
from kernelprof.launch.build.compilation import CompiledCubin, CompileError, with_line_directive
from kernelprof.launch.build.options import DividedOptions, divide_options
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
    """Whether no shell would interpret any character of a folder's path."""
    return _PLAIN.fullmatch(str(folder.resolve())) is not None


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a temporary folder whose path is plain text for a shell."""
    with tempfile.TemporaryDirectory(prefix="kernelprof-", dir=_temporary_root()) as folder:
        yield Path(folder)


def _temporary_root() -> Path:
    given = Path(tempfile.gettempdir())
    for each in (given, *map(Path, _OTHER_PLACES)):
        folder = each.resolve()
        if is_plain(folder) and os.access(folder, os.W_OK | os.X_OK):
            return folder
    raise MissingToolError(
        "no temporary folder is usable: it must be writable, and its path, which nvcc passes to a "
        "shell, must not contain characters that a shell interprets",
        where=str(given),
        hint="set $TMPDIR to a writable folder whose path has only letters, digits and / . _ + -",
    )


def architecture_option(arch: str) -> str:
    """Return the option of ``nvcc`` for one architecture.

    With ``-arch=sm_90a``, ``nvcc`` 13.0 also assembles for plain ``sm_90`` in some modes, which
    refuses ``wgmma``; with ``-gencode`` it never does.
    """
    number = arch.removeprefix("sm_")
    if number.endswith("a"):
        return f"-gencode=arch=compute_{number},code={arch}"
    return f"-arch={arch}"


@dataclass(frozen=True, slots=True)
class Workshop:
    """A build folder of :func:`scratch` in which ``nvcc`` runs."""

    folder: Path

    @property
    def build_folder(self) -> Path:
        """The working folder of ``nvcc``, which has no files of the user."""
        return self.folder / "kernelprof-build"

    def printable_path(self, path: Path) -> Path:
        """Return a path for debug information: itself, or a link for :func:`real_names`."""
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

    def cubin(self, source: str, options: Sequence[str], arch: str, home: Path) -> CompiledCubin:
        """Compile a source for an architecture; ``home`` is an include folder, too.

        ``-v`` of ``ptxas`` reports spills and changes no code. Raises :class:`CompileError`
        with the messages, :class:`InputError` for an option that is not allowed.
        """
        parts = divide_options(options)
        parts = replace(parts, folders=(*parts.folders, str(home)))
        words = self._written(source, parts, home)
        options = [architecture_option(arch), "-Xptxas=-v", *parts.plain, *words]
        command = [find_nvcc(), "-cubin", *options, "-o", _CUBIN]
        try:
            done = subprocess.run(
                [*command, _SOURCE],
                cwd=self.build_folder,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
        except OSError as error:
            raise MissingToolError(f"nvcc cannot be run: {error}", hint=HOW_TO_GET_NVCC) from error
        output = real_names((done.stderr + done.stdout).decode("utf-8", "replace"))
        if done.returncode != 0:
            raise CompileError(output)
        return CompiledCubin((self.build_folder / _CUBIN).read_bytes(), output)

    def program(
        self,
        source: Path,
        text: str,
        options: Sequence[str],
        given: Sequence[str] = (),
        libraries: Sequence[str] = (),
    ) -> tuple[Path, list[str]]:
        """Return the path of a program to compile, and the command that compiles it."""
        nvcc, home = find_nvcc(), source.parent.resolve()
        parts = divide_options(given)
        words = self._written(with_line_directive(self.printable_path(source), text), parts, home)
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", source.stem).lstrip(".")
        program = self.folder / "kernelprof-program" / (name or "program")
        program.parent.mkdir()
        options = [*options, *parts.plain, *words]
        return program, [nvcc, *options, "-o", str(program), _SOURCE, *libraries]

    def environment(self) -> Mapping[str, str]:
        """Return the environment of ``nvcc``, without variables that add options."""
        inherited = {name: value for name, value in os.environ.items() if name not in _MORE_OPTIONS}
        folder = str(self.build_folder)
        return inherited | {"PATH": search_path(), "TMPDIR": folder, "PWD": folder}

    def _written(self, source: str, parts: DividedOptions, home: Path) -> list[str]:
        self.build_folder.mkdir(exist_ok=True)
        first = "".join(f'#include "{name}"\n' for name in parts.before)
        (self.build_folder / _SOURCE).write_bytes((first + source).encode())
        home_name = str(self.printable_path(home))
        words = [
            *parts.macros,
            # As if the source stood in its own folder, which quotes search before all others.
            *("-iquote", home_name),
            *(f"-I{self.printable_path(Path(each))}" for each in parts.folders),
            *(
                word
                for each in parts.system
                for word in ("-isystem", str(self.printable_path(Path(each))))
            ),
        ]
        text = "".join(f"{_escaped(word)}\n" for word in words)
        (self.build_folder / _OPTIONS).write_bytes(text.encode())
        return [f"-Xcompiler=@{_OPTIONS}"]


def real_names(text: str) -> str:
    """Replace links of :meth:`Workshop.printable_path` by the user's own paths."""

    def target(link: re.Match[str]) -> str:
        try:
            return os.readlink(link[0])  # noqa: PTH115 (a name may be anything, also bytes)
        except OSError:
            return link[0]

    return _LINK.sub(target, text)


def _escaped(word: str) -> str:
    """Escape a word of an options file, as GCC and Clang read it."""
    return re.sub(r"([^A-Za-z0-9_./=+-])", r"\\\1", word)
