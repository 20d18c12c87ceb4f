"""Matrix products on tensor cores, early rungs of a ladder whose next step is known."""

from __future__ import annotations

from functools import cache

import pytest
from tests.analysis.verdict.support import answers, by_row
from tests.support.captures import captured

from kernelprof.analysis.verdict import diagnose
from kernelprof.analysis.verdict.ranking import rank_bottlenecks

RUNGS = "bf16/rungs.raw.csv.gz"
TOPS = "bf16/tops.raw.csv.gz"

FULL = ("at-limit", "tensor-throughput")
WAITS = ("bottleneck", "async-pipeline-stalls")
KNOWN = {
    RUNGS: {
        0: FULL,
        1: ("bottleneck", "memory-latency"),
        2: ("bottleneck", "tensor-throughput"),
        3: ("at-limit", "l2-bandwidth"),
        4: ("at-limit", "l2-bandwidth"),
        **dict.fromkeys((5, 6, 7), WAITS),
        8: FULL,
        **dict.fromkeys((9, 10, 11), WAITS),
    },
    TOPS: {
        0: FULL,
        **dict.fromkeys((1, 2, 3), WAITS),
        4: ("at-limit", "l2-bandwidth"),
        **dict.fromkeys((5, 6), WAITS),
        **dict.fromkeys((7, 8, 9, 10, *range(12, 20)), FULL),
        **dict.fromkeys((11, 20, 21), ("bottleneck", "workload-imbalance")),
    },
}


@cache
def found(name: str) -> dict[int, tuple[str, str | None]]:
    return answers(captured(name))


@pytest.mark.parametrize("name", KNOWN)
def test_what_each_launch_is_called(name: str) -> None:
    assert found(name) == KNOWN[name]


@pytest.mark.parametrize("name", KNOWN)
def test_occupancy_that_is_low_by_design_is_never_named(name: str) -> None:
    judged = rank_bottlenecks(captured(name))
    assert (judged.findings["low-occupancy"].gain.high == 1.0).all()


@pytest.mark.parametrize(
    ("name", "row", "measured"),
    [
        # The next rung's time outside the profiler, or another variant under it (README.md there).
        (RUNGS, 5, 1.23),
        (RUNGS, 7, 1.27),
        (TOPS, 5, 1.07),
        (RUNGS, 2, 2.02),
    ],
)
def test_the_gain_is_about_what_the_next_step_brought(name: str, row: int, measured: float) -> None:
    verdict = by_row(captured(name))[row].verdict
    assert verdict.gain == pytest.approx(measured, rel=0.15)


def test_the_part_of_the_pipeline_is_said_with_its_number() -> None:
    entries = by_row(captured(RUNGS))
    assert "Non-matrix instructions and fences take 21 % of warp time." in entries[7].verdict.why
    assert (
        "Expensive fences: warps spend 7.6 % of their time waiting at fences."
        in entries[10].verdict.why
    )


def test_an_older_instruction_is_named_with_what_the_newer_brings() -> None:
    verdict = by_row(captured(RUNGS))[2].verdict
    assert "mma.sync, an older instruction" in verdict.why
    assert verdict.advice[0].startswith("Use wgmma")


def test_a_full_pipe_says_how_far_it_is_from_the_fastest() -> None:
    (kernel,) = diagnose(captured(TOPS).rows([9])).kernels
    verdict = kernel.verdict
    assert "The tensor cores are 98 % busy while SMs are active; the fastest" in verdict.why
    assert "1.59 GHz here" in verdict.why
