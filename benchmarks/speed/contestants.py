"""Who takes part in a case: programs, how they are called, and how an answer of theirs is known."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.peers.fournex import Fournex
from benchmarks.speed import reading
from benchmarks.speed.timing import run

import kernelprof
from kernelprof.errors import KernelprofError, MissingToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.speed.timing import Printed, Run

KERNELPROF: Final = "kernelprof diagnose"
FOURNEX: Final = "fournex analyze"
PANDAS: Final = reading.READERS["pandas"].title

_INCONCLUSIVE: Final = 3


class NoAnswerError(KernelprofError):
    """A contestant ran and did not do what is measured."""


def _as_it_is(ran: Run, printed: Printed) -> Run:
    del printed
    return ran


@dataclass(frozen=True, slots=True)
class Contestant:
    """A command that is measured, or the reason why it cannot be."""

    name: str
    command: tuple[str, ...] = ()
    version: str = ""
    exit_codes: frozenset[int] = frozenset({0})
    answer: Callable[[Run, Printed], Run] = _as_it_is
    """Takes what it printed into the run, and raises if that is no answer."""
    once: bool = False
    absent: str = ""

    def run(self, folder: Path) -> Run:
        """One run, which did what it was to do."""
        ran, printed = run(self.command, folder)
        if ran.exit_code not in self.exit_codes:
            said = [line for line in printed.errors.splitlines() if line.strip()]
            # A traceback tells what happened last, an error of kernelprof first.
            line = said[-1 if said[0].startswith("Traceback") else 0] if said else "nothing"
            raise NoAnswerError(f"it exits with {ran.exit_code} and says: {line.strip()}")
        return self.answer(ran, printed)


def of_kernelprof(name: str, *arguments: str) -> Contestant:
    """Kernelprof of the interpreter that runs the benchmark."""
    command = (sys.executable, "-m", "kernelprof", *arguments)
    return Contestant(name, command, kernelprof.__version__)


def diagnosis(path: Path, output: Path, name: str = KERNELPROF) -> Contestant:
    """Kernelprof's verdicts on a file; it may find kernels inconclusive."""
    arguments = ("diagnose", str(path), "--format", "json", "-o", str(output))
    codes = frozenset({0, _INCONCLUSIVE})
    return replace(of_kernelprof(name, *arguments), exit_codes=codes)


@dataclass(frozen=True, slots=True)
class Libraries:
    """The interpreter with the libraries that only read."""

    python: str
    versions: dict[str, str | None]

    def readers(self, path: Path, launches: int, columns: int) -> tuple[Contestant, ...]:
        """Each way to read the file."""
        return tuple(
            self._reader(name, path, (launches + reader.extra_rows, columns))
            for name, reader in reading.READERS.items()
        )

    def _reader(self, name: str, path: Path, shape: tuple[int, int]) -> Contestant:
        reader = reading.READERS[name]
        version = self.versions[reader.library]
        if version is None:
            return Contestant(reader.title, absent=f"{self.python} has no {reader.library}")
        return Contestant(
            reader.title,
            (*_reading(self.python), name, str(path)),
            version,
            answer=lambda ran, printed: _timed_call(ran, printed, shape),
        )

    def import_of(self, library: str) -> Contestant:
        """An interpreter that imports a library and ends."""
        name = f"import {library}"
        version = self.versions[library]
        if version is None:
            return Contestant(name, absent=f"{self.python} has no {library}")
        return Contestant(name, (self.python, "-c", name), version)


def find_libraries(python: str, folder: Path) -> Libraries:
    """Ask an interpreter which of the libraries it has."""
    _, printed = run(_reading(python), folder)
    try:
        return Libraries(python, json.loads(printed.out))
    except ValueError as error:
        raise MissingToolError("it is no Python that can run the readers", where=python) from error


def fournex(script: Path | None, path: Path) -> Contestant:
    """Fournex on the same file. One run, since it takes long and is far from its target's limit."""
    if script is None:
        return Contestant(FOURNEX, absent="not asked for: --fournex EXE")
    try:
        version = Fournex(script).version()
    except MissingToolError as error:
        return Contestant(FOURNEX, absent=f"{error.where}: {error.what}")
    return Contestant(
        FOURNEX,
        (str(script), "analyze", str(path), "--json"),
        version,
        # It exits with 1 on raw pages, which it calls invalid, and answers all the same.
        exit_codes=frozenset({0, 1}),
        answer=_of_fournex,
        once=True,
    )


def _reading(python: str) -> tuple[str, ...]:
    # Isolated, so that no module beside the script stands for one that a library imports.
    return (python, "-I", str(Path(reading.__file__)))


def _timed_call(ran: Run, printed: Printed, shape: Sequence[int]) -> Run:
    said: dict[str, Any] = json.loads(printed.out)
    if (said["rows"], said["columns"]) != tuple(shape):
        raise NoAnswerError(
            f"it read {said['rows']} rows x {said['columns']} columns, not {shape[0]} x {shape[1]}"
        )
    return replace(ran, call_s=said["call_s"])


def _of_fournex(ran: Run, printed: Printed) -> Run:
    try:
        kernels = json.loads(printed.out)["result"]["kernel_count"]
    except (ValueError, KeyError, TypeError) as error:
        raise NoAnswerError("it gave no answer") from error
    if not kernels:
        raise NoAnswerError("it found no kernels")
    return ran
