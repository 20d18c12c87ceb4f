"""Takes a real raw page apart and puts it together again in other ways of writing."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kernelprof.model.capture import Capture

# On a machine that does other things, too, a first call may take any time.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


@dataclass(frozen=True)
class Sheet:
    """Header, units and rows of one raw page, all as text."""

    names: list[str]
    units: list[str]
    rows: list[list[str]]

    @classmethod
    def of(cls, data: bytes) -> Sheet:
        text = data.decode()
        table = list(csv.reader(io.StringIO(text[text.index('"ID"') :], newline="")))
        return cls(table[0], table[1], table[2:])

    def arranged(self, columns: list[int], rows: list[int]) -> Sheet:
        return Sheet(
            [self.names[at] for at in columns],
            [self.units[at] for at in columns],
            [[self.rows[row][at] for at in columns] for row in rows],
        )

    def first(self, rows: int) -> Sheet:
        return replace(self, rows=self.rows[:rows])

    def rescaled(self, changes: dict[str, list[tuple[str, float]]], pick: list[int]) -> Sheet:
        """Each column whose unit is in ``changes`` is written in another unit of the same kind."""
        units = list(self.units)
        rows = [list(row) for row in self.rows]
        for at, unit in enumerate(self.units):
            if unit in changes:
                new, factor = changes[unit][pick[at % len(pick)] % len(changes[unit])]
                units[at] = new
                for row in rows:
                    if re.fullmatch(r"[\d,.]+", row[at]):
                        row[at] = repr(float(row[at].replace(",", "")) / factor)
        return Sheet(self.names, units, rows)

    def regrouped(self, separate: bool) -> Sheet:
        """Thousands with or without separators."""

        def write(cell: str) -> str:
            plain = cell.replace(",", "")
            if not re.fullmatch(r"\d+(\.\d+)?", plain):
                return cell
            whole, dot, part = plain.partition(".")
            return (f"{int(whole):,}" if separate else whole) + dot + part

        first = self.names.index("CC") + 1
        return replace(
            self,
            rows=[[*row[:first], *map(write, row[first:])] for row in self.rows],
        )

    def write(self, *, delimiter: str = ",", end: str = "\n", quote: int = csv.QUOTE_ALL) -> str:
        out = io.StringIO()
        writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quote)  # type: ignore[arg-type]
        writer.writerows([self.names, self.units, *self.rows])
        return out.getvalue()


def _same(one: Capture, other: Capture, rtol: float = 1e-12) -> None:
    """Both hold the same launches (told apart by ID) and the same values, in whatever order."""
    order = {launch.id: row for row, launch in enumerate(other.launches)}
    rows = [order[launch.id] for launch in one.launches]
    assert one.launches == tuple(other.launches[row] for row in rows)
    assert set(one.columns) == set(other.columns)
    for name, column in one.columns.items():
        assert column.unit == other.columns[name].unit, name
        values = other.columns[name].values[rows]
        np.testing.assert_allclose(column.values, values, rtol=rtol, equal_nan=True, err_msg=name)
    assert {name: set(cells) for name, cells in one.text.items()} == {
        name: set(cells) for name, cells in other.text.items()
    }


@pytest.fixture(scope="session")
def sheets() -> type[Sheet]:
    return Sheet


@pytest.fixture(scope="session")
def same() -> Callable[..., None]:
    """Asserts that two captures hold the same."""
    return _same


@pytest.fixture(scope="session")
def eight_bytes(captures: Path) -> bytes:
    """A small real export: 26 launches, ==PROF== lines around, thousands separators."""
    return (captures / "gemm_series.eight-metrics.raw.csv").read_bytes()
