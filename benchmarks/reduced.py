"""How verdicts on small sets agree with those on everything: ``python -m benchmarks.reduced``.

The captures of this repository are judged whole, and again with the metrics of a smaller set only:
``basic`` has the columns of ``tests/captures/fixture_basic.raw.csv``, ``report`` all but what
``--set full`` leaves out. Counted is how often the same bottleneck is named, another one, or none.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.metrics.groups import NOT_IN_REPORTS
from kernelprof.analysis.verdict.ranking import rank_bottlenecks
from kernelprof.collect.recorded import FOLDERS
from kernelprof.model.diagnosis import Status
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.capture import Capture

ROOT: Final = Path(__file__).parents[1]
CAPTURES: Final = ROOT / "tests" / "captures"
EXPORTS: Final = (
    "gemm_series.full.raw.csv",
    "validation/raw.csv.gz",
    "validation/more.raw.csv.gz",
    "validation/frameworks.raw.csv.gz",
    "validation/frameworks_more.raw.csv.gz",
)

Agreement = Counter[str]
"""Launches by ``same``, ``other`` and ``open``; each disagreement by ``whole -> reduced``."""


def captures() -> Iterable[Capture]:
    """Complete captures: exports of the tests, and those that were recorded."""
    for name in EXPORTS:
        yield read_capture(CAPTURES / name)
    for folder in FOLDERS:
        for manifest in sorted(folder.rglob("manifest.json")):
            yield read_capture(manifest.parent)


def basic(capture: Capture) -> Capture:
    """With the columns of the set ``basic``."""
    kept = read_capture(CAPTURES / "fixture_basic.raw.csv").columns
    return replace(capture, columns={k: v for k, v in capture.columns.items() if k in kept})


def as_report(capture: Capture) -> Capture:
    """Without what ``--set full`` leaves out."""
    gone = {name for each in NOT_IN_REPORTS for name in load_metrics()[each].all_ncu_names()}
    return replace(capture, columns={k: v for k, v in capture.columns.items() if k not in gone})


SETS: Final = {"basic": basic, "report": as_report}


def named(capture: Capture) -> list[str | None]:
    """The bottleneck of every launch, ``None`` where it is inconclusive."""
    judged = rank_bottlenecks(capture)
    return [
        None if judged.status(row) is Status.INCONCLUSIVE else judged.rule(row).slug
        for row in range(len(capture))
    ]


def agreement(found: Iterable[Capture], name: str) -> Agreement:
    """How a set agrees with everything, over all launches that everything decides."""
    counted: Agreement = Counter()
    for capture in found:
        for whole, reduced in zip(named(capture), named(SETS[name](capture)), strict=True):
            if whole is None:
                continue
            kind = "open" if reduced is None else "same" if whole == reduced else "other"
            counted[kind] += 1
            if kind == "other":
                counted[f"{whole} -> {reduced}"] += 1
    return counted


def main() -> None:
    """A line a set, and one for each pair that disagrees."""
    found = list(captures())
    for name in SETS:
        counted = agreement(found, name)
        parts = [f"{counted[kind]} {kind}" for kind in ("same", "other", "open")]
        sys.stdout.write(f"{name}: {', '.join(parts)}\n")
        for pair, times in counted.most_common():
            if "->" in pair:
                sys.stdout.write(f"  {times} {pair}\n")


if __name__ == "__main__":
    main()
