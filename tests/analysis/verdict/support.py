"""What the tests of verdicts share: the known answers, and verdicts by launch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernelprof.analysis.verdict import diagnose
from kernelprof.analysis.verdict.ranking import rank_bottlenecks
from kernelprof.model.diagnosis import Status

if TYPE_CHECKING:
    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import KernelDiagnosis

CAPTURES = Path(__file__).parents[2] / "captures"

KNOWN: dict[int, set[str]] = {
    0: {"uncoalesced-global-access"},
    1: {"uncoalesced-global-access"},
    2: {"l1-throughput"},
    3: {"l1-throughput"},
    4: {"instruction-issue"},
    5: {"shared-memory-throughput", "instruction-issue"},
    6: {"instruction-issue"},
    7: {"instruction-issue"},
    8: {"shared-memory-throughput"},
    9: {"shared-memory-throughput"},
    10: {"shared-memory-throughput"},
    11: {"uncoalesced-global-access"},
    12: {"shared-bank-conflicts"},
    14: {"dram-bandwidth"},
    15: {"fp32-throughput"},
    16: {"fp64-throughput"},
    17: {"sfu-throughput"},
    18: {"warp-divergence"},
    19: {"atomic-contention"},
    20: {"memory-latency", "uncoalesced-global-access"},
    21: {"local-memory-traffic"},
    22: {"low-occupancy"},
    23: {"small-grid"},
    24: {"uncoalesced-global-access"},
    25: {"memory-latency", "dram-bandwidth"},
}
"""Launches of ``gemm_series`` and what each must be called: shown right by the change that follows
it. Launch 13 may be called anything but shared-bank-conflicts."""

AT_LIMIT = {14, 15, 16, 17}

Answer = tuple[str, str | None]
INCONCLUSIVE: Answer = (Status.INCONCLUSIVE.value, None)


def by_row(capture: Capture) -> dict[int, KernelDiagnosis]:
    """The entry of each launch, by its position in the capture."""
    return {row: kernel for kernel in diagnose(capture).kernels for row in kernel.rows}


def answers(capture: Capture) -> dict[int, Answer]:
    """Status and bottleneck of each launch, by its position in the capture."""
    judged = rank_bottlenecks(capture)
    return {
        row: (status.value, None if status is Status.INCONCLUSIVE else judged.rule(row).slug)
        for row in range(len(capture))
        for status in (judged.status(row),)
    }
