"""What is measured: the files, who takes part, and the targets."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from benchmarks.speed.contestants import (
    FOURNEX,
    KERNELPROF,
    PANDAS,
    Contestant,
    diagnosis,
    fournex,
    of_kernelprof,
)
from benchmarks.speed.inputs import narrowed, read_export, write_export, write_kernels
from benchmarks.speed.outcome import Figure, Quantity, Target, Unit
from benchmarks.speed.work import CAPTURE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from benchmarks.speed.contestants import Libraries
    from benchmarks.speed.inputs import Export
    from benchmarks.speed.work import Work

LAUNCHES: Final = 100_000
MILLION: Final = 1_000_000
COLUMNS: Final = 248
WIDE_LAUNCHES: Final = 2_600
KERNELS: Final = 1_000

LINEAR: Final = f"{KERNELPROF}, a tenth of the launches"
IMPORT: Final = "pandas"
HELP: Final = "kernelprof --help"
VERSION: Final = "kernelprof --version"
EMPTY_APP: Final = "empty Typer application --help"
REPORT: Final = "kernelprof report"

_EMPTY_APP_SOURCE: Final = """\
import typer

app = typer.Typer()


@app.command()
def one() -> None: ...


@app.command()
def two() -> None: ...


app()
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """What the command line says about all cases."""

    work: Work
    libraries: Libraries
    fournex: Path | None = None
    scale: float = 1.0

    def scaled(self, count: int) -> int:
        """So many launches or kernels, times the scale."""
        return max(1, round(count * self.scale))


@dataclass(frozen=True, slots=True)
class Case:
    """A case whose files are there."""

    title: str
    contestants: tuple[Contestant, ...]
    targets: tuple[Target, ...]
    bases: tuple[Quantity, ...] = ()
    file_bytes: int | None = None
    unmeasured: int = 0
    """Rounds before the first that counts, where they cost little."""


@cache
def _capture() -> Export:
    return read_export(CAPTURE)


@cache
def _narrow() -> Export:
    return narrowed(_capture(), COLUMNS)


def _narrow_export(setting: Setting, launches: int) -> Path:
    name = f"launches-{launches}x{COLUMNS}.csv"
    return setting.work.made(name, lambda path: write_export(path, _narrow(), launches))


def _launches(setting: Setting) -> Case:
    launches = setting.scaled(LAUNCHES)
    path = _narrow_export(setting, launches)
    call = Quantity(PANDAS, Figure.CALL)
    return Case(
        _title(launches, COLUMNS, path),
        (
            diagnosis(path, _output(setting)),
            *setting.libraries.readers(path, launches, COLUMNS),
            fournex(setting.fournex, path),
        ),
        (
            Target("kernelprof / call of pandas", 1.5, Quantity(KERNELPROF), call),
            Target(
                "Fournex / kernelprof",
                15.0,
                Quantity(FOURNEX),
                Quantity(KERNELPROF),
                at_least=True,
            ),
            _peak_by_file(path),
        ),
        bases=(call,),
        file_bytes=path.stat().st_size,
    )


def _million(setting: Setting) -> Case:
    launches, fewer = setting.scaled(MILLION), setting.scaled(LAUNCHES)
    path, tenth = (_narrow_export(setting, count) for count in (launches, fewer))
    return Case(
        _title(launches, COLUMNS, path),
        (
            diagnosis(tenth, _output(setting), LINEAR),
            diagnosis(path, _output(setting)),
        ),
        (
            Target(
                f"time / ({launches / fewer:g} x time for {fewer:,} launches)",
                1.2,
                Quantity(KERNELPROF),
                Quantity(LINEAR),
                times=launches / fewer,
            ),
            Target("peak", 2e9, Quantity(KERNELPROF, Figure.PEAK), unit=Unit.BYTES),
        ),
        file_bytes=path.stat().st_size,
    )


def _wide(setting: Setting) -> Case:
    launches, columns = setting.scaled(WIDE_LAUNCHES), len(_capture().names)
    path = setting.work.made(
        f"wide-{launches}x{columns}.csv",
        lambda path: write_export(path, _capture(), launches),
    )
    return Case(
        _title(launches, columns, path),
        (
            diagnosis(path, _output(setting)),
            *setting.libraries.readers(path, launches, columns),
        ),
        (Target("kernelprof / process of pandas", 1.0, Quantity(KERNELPROF), Quantity(PANDAS)),),
        bases=(Quantity(PANDAS, Figure.CALL), Quantity(PANDAS)),
        file_bytes=path.stat().st_size,
    )


def _small(setting: Setting) -> Case:
    importing = setting.libraries.import_of(IMPORT)
    base = Quantity(importing.name)
    return Case(
        _title(len(_capture().rows), len(_capture().names), CAPTURE),
        (diagnosis(CAPTURE, _output(setting)), importing),
        (Target(f"kernelprof / {importing.name}", 1.5, Quantity(KERNELPROF), base),),
        bases=(base,),
        unmeasured=1,
    )


def _help(setting: Setting) -> Case:
    app = setting.work.folder / "empty_app.py"
    app.write_text(_EMPTY_APP_SOURCE, encoding="utf-8")
    base = Quantity(EMPTY_APP)
    return Case(
        "the command line alone",
        (
            of_kernelprof(HELP, "--help"),
            of_kernelprof(VERSION, "--version"),
            Contestant(EMPTY_APP, (sys.executable, str(app), "--help"), version("typer")),
        ),
        tuple(
            Target(f"{name} / {EMPTY_APP}", 1.5, Quantity(name), base) for name in (HELP, VERSION)
        ),
        bases=(base,),
        unmeasured=1,
    )


def _report(setting: Setting) -> Case:
    kernels = setting.scaled(KERNELS)
    path = setting.work.made(
        f"kernels-{kernels}.csv", lambda path: write_kernels(path, _capture(), kernels)
    )
    output = setting.work.folder / "report.html"
    return Case(
        f"HTML report of {kernels:,} kernels, {_megabytes(path)}",
        (of_kernelprof(REPORT, "report", str(path), "-o", str(output)),),
        (Target("time", 5.0, Quantity(REPORT), unit=Unit.SECONDS),),
        file_bytes=path.stat().st_size,
    )


CASES: Final[Mapping[str, Callable[[Setting], Case]]] = {
    "launches": _launches,
    "million": _million,
    "wide": _wide,
    "small": _small,
    "help": _help,
    "report": _report,
}


def _output(setting: Setting) -> Path:
    return setting.work.folder / "diagnosis.json"


def _peak_by_file(path: Path) -> Target:
    size = path.stat().st_size
    return Target("peak / file", 1.5, Quantity(KERNELPROF, Figure.PEAK), times=size)


def _title(launches: int, columns: int, path: Path) -> str:
    return f"{launches:,} launches x {columns:,} columns, {_megabytes(path)}"


def _megabytes(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:,.1f} MB"
