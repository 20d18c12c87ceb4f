"""Large exports of Nsight Compute, made from a real one by repeating and perturbing its rows.

A metric's cells keep their form (sign, decimals, thousands separators, ``nan``); the values of a
row move together by up to one percent, because apart they would contradict each other (fewer
sectors than the fewest possible), which no capture does. What describes the launch and the device
stays as it is, and every row has an ID of its own.
"""

from __future__ import annotations

import csv
import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.sources.ncu.cells import is_identity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

SPREAD: Final = 0.01
VARIANTS: Final = 64
"""Different values a row takes at most."""

KERNEL_NAME: Final = "Kernel Name"

BLOCK: Final = 100_000
"""Rows that are made; more of them repeat these under new IDs."""

_FIXED: Final = ("launch__", "device__", "numa__", "c2clink__", "nvlink__", "profiler__")
_NUMBER: Final = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?")
_NAME_ENDS: Final = re.compile(r"[<(]|$")


@dataclass(frozen=True, slots=True)
class Export:
    """A raw page: names and units of its columns, and the cells of its rows."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def read_export(path: Path) -> Export:
    """The one table of a raw page, without the lines around it."""
    with path.open(newline="", encoding="utf-8") as file:
        lines = csv.reader(line for line in file if line.startswith('"'))
        names, units, *rows = (tuple(line) for line in lines)
    return Export(names, units, tuple(rows))


def narrowed(export: Export, width: int) -> Export:
    """The export with ``width`` of its columns, in their order.

    Kept are who was launched, what the catalogue of metrics knows, and then the first of the rest.
    """
    known = {name for metric in load_metrics().values() for name in metric.all_ncu_names()}
    names = export.names
    wanted = [at for at, name in enumerate(names) if is_identity(name) or name in known]
    rest = [at for at in range(len(names)) if at not in set(wanted)]
    if not len(wanted) <= width <= len(names):
        raise ValueError(f"between {len(wanted)} and {len(names)} columns can be kept, not {width}")
    kept = sorted([*wanted, *rest[: width - len(wanted)]])
    return Export(
        tuple(names[at] for at in kept),
        tuple(export.units[at] for at in kept),
        tuple(tuple(row[at] for at in kept) for row in export.rows),
    )


def write_export(path: Path, export: Export, launches: int, *, seed: int = 0) -> None:
    """So many launches, in the form in which ``ncu --csv --page raw`` writes them."""
    block = list(_rows(export, min(launches, BLOCK), random.Random(seed)))
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(_head(export))
        for start in range(0, launches, BLOCK):
            rows = enumerate(block[: launches - start], start)
            file.writelines(f'"{number}"{row}\n' for number, row in rows)


def write_kernels(path: Path, export: Export, kernels: int, *, seed: int = 0) -> None:
    """So many launches, each of a kernel with a name that no other has."""
    at = export.names.index(KERNEL_NAME)
    names = [row[at] for row in export.rows]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(_head(export))
        for number, row in enumerate(_rows(export, kernels, random.Random(seed))):
            name = names[number % len(names)]
            own = row.replace(_cell(name), _cell(_numbered(name, number)), 1)
            file.write(f'"{number}"{own}\n')


def _head(export: Export) -> Iterator[str]:
    for line in (export.names, export.units):
        yield ",".join(f'"{cell}"' for cell in line) + "\n"


def _cell(text: str) -> str:
    """A cell that is not the first of its row."""
    return f',"{text}"'


def _numbered(kernel: str, number: int) -> str:
    """``gemm<8>(int)`` as ``gemm_7<8>(int)``."""
    return _NAME_ENDS.sub(lambda end: f"_{number}{end[0]}", kernel, count=1)


def _rows(export: Export, count: int, chance: random.Random) -> Iterator[str]:
    """Rows without the first cell, which is the ID."""
    # ncu groups the digits of a whole column or of none of it.
    grouped = [any(_is_grouped(cell) for cell in cells) for cells in zip(*export.rows, strict=True)]
    # A row that is repeated less often needs fewer values.
    many = min(VARIANTS, -(-count // len(export.rows)))
    moves = [1 + chance.uniform(-SPREAD, SPREAD) for _ in range(many)]
    variants = []
    for row in export.rows:
        cells = [
            _variants(name, cell, "," if separated else "", moves)
            for name, cell, separated in zip(export.names, row, grouped, strict=True)
        ]
        variants.append(["".join(each) for each in zip(*cells[1:], strict=True)])
    for number in range(count):
        turn, place = divmod(number, len(variants))
        yield variants[place][turn % many]


def _is_grouped(cell: str) -> bool:
    return "," in cell and _NUMBER.fullmatch(cell) is not None


def _variants(name: str, cell: str, grouping: str, moves: Sequence[float]) -> Sequence[str]:
    """A quoted cell after its comma, moved by each of these factors."""
    number = _NUMBER.fullmatch(cell)
    if number is None or is_identity(name) or name.startswith(_FIXED):
        return [_cell(cell)] * len(moves)
    value = float(cell.replace(",", ""))
    form = f"{grouping}.{len(number[1] or '')}f"
    return [_cell(f"{value * move:{form}}") for move in moves]
