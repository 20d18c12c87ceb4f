"""The kernels: a folder each, with where its source is to be found, and how it is put together.

A folder holds ``NAME.toml``, the launch specification, ``origin.toml`` and, where no built-in
reference does, ``reference.py``. The source stays in its own repository.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kernelprof.errors import InputError
from kernelprof.model.toml_text import read_toml

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER: Final = Path(__file__).parent
_SHARED: Final = "shared.py"
"""Inputs that several specifications name; it is laid beside each source."""


@dataclass(frozen=True, slots=True)
class Repository:
    """Where sources come from."""

    name: str
    """Owner and name on GitHub."""
    commit: str
    """What the specifications were written for."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of somebody else."""

    name: str
    repository: Repository
    folder: str
    """What of the repository it needs as it is."""
    source: str
    """The file with the kernel, in that folder."""
    beside: tuple[str, ...]
    """More folders of the repository, which flags name as ``../FOLDER``."""
    drawn: bool
    """Whether it was drawn; the others were asked for by name."""
    inputs: str
    """Another kernel whose module gives its inputs as well, or nothing."""
    mistake: str
    """What is wrong in the kernel itself, if something is: then that has to be told."""

    @property
    def home(self) -> Path:
        """The folder with its specification."""
        return FOLDER / self.name

    @property
    def specification(self) -> Path:
        """Its launch specification."""
        return self.home / f"{self.name}.toml"

    def lay_out(self, checkouts: Path, folder: Path) -> Path:
        """Put source and specification together in a new folder; the source's path there.

        ``checkouts`` holds the repositories under their names without the owner. Raises
        :class:`InputError` where something of them is not there.
        """
        repository = checkouts / self.repository.name.partition("/")[2]
        laid = folder / self.name / Path(self.folder).name
        _copied(repository / self.folder, laid)
        for each in self.beside:
            _copied(repository / each, laid.parent / Path(each).name)
        source = laid / self.source
        if not source.is_file():
            raise InputError("there is no such source", where=str(repository / self.folder))
        shutil.copy(self.specification, source.with_suffix(".toml"))
        others = (FOLDER / self.inputs).glob("*.py") if self.inputs else ()
        for module in (*self.home.glob("*.py"), *others, FOLDER / _SHARED):
            shutil.copy(module, source.parent)
        return source


def all_kernels() -> list[Kernel]:
    """All of them, by name."""
    repositories = {
        name: Repository(name, table["commit"])
        for name, table in _read(FOLDER / "repositories.toml").items()
    }
    return [_kernel(path.parent, repositories) for path in sorted(FOLDER.glob("*/origin.toml"))]


def choose(names: Sequence[str]) -> list[Kernel]:
    """The kernels of these names, all of them for none; :class:`InputError` for an unknown one."""
    known = {each.name: each for each in all_kernels()}
    for name in names:
        if name not in known:
            raise InputError(f"there is no kernel {name!r}", hint=f"there are {', '.join(known)}")
    return [known[name] for name in names] or list(known.values())


def _kernel(home: Path, repositories: dict[str, Repository]) -> Kernel:
    table = _read(home / "origin.toml")
    return Kernel(
        name=home.name,
        repository=repositories[table["repository"]],
        folder=table["folder"],
        source=table["source"],
        beside=tuple(table.get("beside", ())),
        drawn=table["drawn"],
        inputs=table.get("inputs", ""),
        mistake=table.get("mistake", ""),
    )


def _read(path: Path) -> dict[str, Any]:
    return read_toml(path.read_text(encoding="utf-8"))


def _copied(origin: Path, to: Path) -> None:
    if not origin.is_dir():
        raise InputError(
            "there is no such folder",
            where=str(origin),
            hint="give the folder that holds the checkouts, each under its repository's name",
        )
    shutil.copytree(origin, to)
