"""Times that other metrics of a launch contradict: the gate concludes nothing from them."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ONCE = Path(__file__).parents[2] / "captures" / "h200_once"
DURATION = "gpu__time_duration.sum"
CYCLES = ("smsp__cycles_elapsed", "sm__cycles_elapsed", "sm__cycles_active")
CLOCKS = ("cycles_elapsed.avg.per_second", "clock_rate")


def forged(
    name: str, place: Path, change: Callable[[float], float], without: tuple[str, ...] = ()
) -> Path:
    """A capture with other durations, perhaps without some columns."""
    text = gzip.decompress((ONCE / name).read_bytes()).decode()
    rows = list(csv.reader(io.StringIO(text[text.index('"ID"') :])))
    kept = [at for at, each in enumerate(rows[0]) if not any(part in each for part in without)]
    at = rows[0].index(DURATION)
    assert len(rows) == 17
    for row in rows[2:]:
        row[at] = repr(change(float(row[at].replace(",", ""))))
    file = place / "forged.csv"
    with file.open("w", newline="") as output:
        csv.writer(output, quoting=csv.QUOTE_ALL).writerows(
            [row[each] for each in kept] for row in rows
        )
    return file


@pytest.mark.parametrize(
    ("change", "without"),
    [
        (lambda _: 150.0, ()),
        (lambda _: 1_000.0, ()),
        (lambda ns: ns / 2, ()),
        (lambda ns: ns / 12.8, ()),
        (lambda ns: ns * 1e-6, ()),
        (lambda ns: ns * 4, ()),
        (lambda ns: ns / 12.8, CLOCKS),
        (lambda ns: ns / 1000, (*CYCLES, *CLOCKS)),
    ],
    ids=["150 ns", "1 us", "half", "12.8 times faster", "in ms", "4 times slower", "no clock",
         "no cycles"],
)  # fmt: skip
def test_nothing_is_concluded(kernelprof, tmp_path: Path, change, without) -> None:
    file = forged("before-1.2.csv.gz", tmp_path, change, without)
    found = kernelprof.json(f"gate {ONCE}/before-1.1.csv.gz {file}", code=3)
    decided = [each for each in found["kernels"] if each["time"]["outcome"] in {"faster", "same"}]
    assert len(found["kernels"]) == 15
    assert len(decided) <= (2 if without else 0), decided


def test_as_it_was_measured_it_passes(kernelprof, tmp_path: Path) -> None:
    file = forged("before-1.2.csv.gz", tmp_path, lambda ns: ns)
    kernelprof(f"gate {ONCE}/before-1.1.csv.gz {file}", code=0)
