"""Which files a client may name: those below some folders, and those that ship with the package."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof import files, sandbox
from kernelprof.collect.recorded import FOLDER as RECORDED
from kernelprof.errors import InputError, UsageError
from kernelprof.resources import data_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

CUDA: Final = "cuda"
"""The folder of the kernels that ship with the package, as clients name it."""
_RECORDED: Final = "recorded"
"""The same of the captures."""


class Folders:
    """Folders that paths have to lie in, once ``..`` and links are resolved."""

    def __init__(self, given: Sequence[Path]) -> None:
        """Of the folders that were given, the current one without any.

        Raises :class:`UsageError` for one that is not there.
        """
        for each in given:
            if not each.expanduser().is_dir():
                raise UsageError(
                    "there is no such folder",
                    where=str(each),
                    hint="name folders that exist: kernelprof mcp FOLDER...",
                )
        self.given: Final = tuple(each.expanduser().resolve() for each in given or [Path()])
        cuda = data_folder(CUDA).resolve()
        self._shipped: Final = {CUDA: cuda, _RECORDED: RECORDED.resolve()}

    def confine(self, others: Sequence[Path] = ()) -> None:
        """From here on this process reads files below these folders, packages and ``others``."""
        files.allow_only([*self.given, *self._shipped.values(), *sandbox.python_folders(), *others])

    def find(self, name: str) -> Path:
        """The file or folder of a name, which is relative to one of the folders, or absolute.

        Names that begin with ``cuda/`` or ``recorded/`` can be of what ships with the package.
        Raises :class:`InputError`, which is the same for what lies elsewhere, whether it is there
        or not.
        """
        inside = [each for each in self._candidates(name) if self.holds(each)]
        for each in inside:
            if _is_there(each):
                return shown(each)
        if inside:
            raise InputError(
                "there is no such file or folder",
                where=name,
                hint=f"name a path below {self.in_words()}",
            )
        raise self._outside(name)

    def holds(self, path: Path) -> bool:
        """Whether a path that is resolved lies in one of the folders, or is the package's own."""
        return any(path.is_relative_to(each) for each in (*self.given, *self._shipped.values()))

    def check(self, path: Path) -> None:
        """Raise :class:`InputError` for a file that lies elsewhere, or that is a link to there."""
        if not self.holds(Path(os.path.realpath(path))):
            raise self._outside(path.name)

    def in_words(self) -> str:
        """The folders, as a message has them."""
        return ", ".join(map(str, self.given))

    def _outside(self, name: str) -> InputError:
        return InputError(
            "this path is outside the folders that the server may read",
            where=name,
            hint=f"name a path below {self.in_words()}, or restart the server with the folder "
            "of this path: kernelprof mcp FOLDER...",
        )

    def _candidates(self, name: str) -> list[Path]:
        if not name or "\0" in name:
            return []
        path = Path(name)
        places = [each / path for each in self.given]
        first, *below = path.parts or ("",)
        if first in self._shipped:
            places.append(self._shipped[first].joinpath(*below))
        try:
            # Path.resolve would raise for a link to itself, before Python 3.13.
            return [Path(os.path.realpath(each)) for each in places]
        except UnicodeEncodeError:  # half of a pair of surrogates, which no file is called
            return []


def _is_there(path: Path) -> bool:
    """Not where a name is longer than names of files can be, or nobody may look."""
    try:
        return path.exists()
    except OSError:
        return False


def shown(path: Path) -> Path:
    """A path as somebody here would write it: from the current folder on if it is below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
