"""How verdicts on small sets agree with those on everything: ``python -m benchmarks.reduced``.

The captures of this repository are judged whole, and again with the metrics of a smaller set only:
``basic`` has the columns of ``tests/captures/fixture_basic.raw.csv``, ``report`` all but what
``--set full`` leaves out, ``samples`` what is sampled while a program runs. Its leads name another
bottleneck in 33 of 455 launches, and in 46 of 439 without samples of warps. Counted is how often
the same one is named, another, or none.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.metrics.groups import NOT_IN_REPORTS
from kernelprof.analysis.survey.leads import SAMPLED_LEADS
from kernelprof.analysis.survey.series import ncu_name
from kernelprof.analysis.verdict.ranking import LEADS, rank_bottlenecks
from kernelprof.collect.recorded import FOLDERS
from kernelprof.collect.survey.run import SAMPLED
from kernelprof.model.diagnosis import Status
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.analysis.verdict.ranking import Lead
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


def exports() -> Iterable[Capture]:
    """Complete exports of the tests, with many launches each."""
    for name in EXPORTS:
        yield read_capture(CAPTURES / name)


def captures() -> Iterable[Capture]:
    """Complete captures: exports of the tests, and those that were recorded."""
    yield from exports()
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


def sampled(capture: Capture) -> Capture:
    """With what samples of a GPU and of warps tell, and the launch configuration."""
    names = {ncu_name(name) for each in SAMPLED for line in each for name in line.split()}
    catalogue = load_metrics()
    # A report has some of them by another name.
    sampled = {m for m, each in catalogue.items() if not names.isdisjoint(each.all_ncu_names())}
    for metric in catalogue:
        if metric in TOLD_OF_A_LAUNCH | sampled or metric.startswith(("stall_", "block_limit_")):
            names.update(catalogue[metric].all_ncu_names())
    columns = {k: v for k, v in capture.columns.items() if k in names}
    # What a launch tells of local memory is that there is none.
    local = (f"local_{kind}_sectors" for kind in ("load", "store"))
    for name in (each for metric in local for each in catalogue[metric].all_ncu_names()):
        if (whole := capture.columns.get(name)) is not None:
            columns[name] = whole.holding(np.where(whole.values == 0, 0.0, np.nan))
    return replace(capture, columns=columns)


TOLD_OF_A_LAUNCH: Final = {
    "duration", "grid_size", "block_size", "registers_per_thread", "shared_memory_per_block",
    "sm_count", "theoretical_occupancy", "waves_per_sm", "warp_cycles_per_instruction",
    "threads_per_instruction_predicated",
}  # fmt: skip
SETS: Final = {"basic": basic, "report": as_report, "samples": sampled}
FOLLOWED: Final = {"samples": SAMPLED_LEADS}


def named(capture: Capture, leads: Sequence[Lead] = LEADS) -> list[str | None]:
    """The bottleneck of every launch, ``None`` where it is inconclusive."""
    judged = rank_bottlenecks(capture, leads)
    return [
        None if judged.status(row) is Status.INCONCLUSIVE else judged.rule(row).slug
        for row in range(len(capture))
    ]


def agreement(found: Iterable[Capture], name: str) -> Agreement:
    """How a set agrees with everything, over all launches that everything decides."""
    counted: Agreement = Counter()
    for capture in found:
        less = named(SETS[name](capture), FOLLOWED.get(name, LEADS))
        for whole, reduced in zip(named(capture), less, strict=True):
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
