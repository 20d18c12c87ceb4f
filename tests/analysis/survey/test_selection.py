"""Which launches of real programs are measured, and what a run of ``ncu`` takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.support.surveys import trace

from kernelprof.analysis.survey.selection import (
    MOST_LAUNCHES,
    SHARE,
    START_S,
    WARM_UP_LAUNCHES,
    LaunchSelection,
    Replay,
    ReplayEffort,
    select_launches,
)
from kernelprof.model.trace import ALLOCATIONS, PINNED, Trace


def select(of: Trace, budget: float = 120, **options: Any) -> LaunchSelection:
    found = select_launches(of, budget, **options)
    assert found is not None
    return found


PROGRAMS = ("jacobi", "short", "fork", "crash-segv")


@pytest.mark.parametrize("name", PROGRAMS)
def test_most_of_the_time_by_a_few_launches(name: str) -> None:
    found = select(trace(name))
    assert found.share >= SHARE
    assert found.launches <= MOST_LAUNCHES + len(trace(name).processes) - 1
    assert found.numbers == tuple(sorted(set(found.numbers)))
    assert min(found.numbers) > WARM_UP_LAUNCHES
    assert found.effort.estimate(16) < 10


def test_launches_are_spread_over_the_run() -> None:
    found = select(trace("jacobi"))
    assert np.diff(found.numbers).min() > 200


def test_what_is_chosen_is_what_ncu_would_count() -> None:
    """Numbers are those of the launches of one name, in one stream of one process, from 1 on."""
    of = trace("fork")
    found = select(of)
    many = [int((of.kernels["process"] == each).sum()) for each in range(3)]
    expected = sum(number <= count for number in found.numbers for count in many)
    assert found.launches == expected
    assert found.processes == 3


def test_of_many_kernels_those_that_the_share_needs() -> None:
    found = select(trace("encoder"), before=5.0)
    assert SHARE <= found.share < SHARE + 0.005
    assert sum(each.launches for each in found.names) == found.launches
    # Another run of the program for what is open would cost more than four passes.
    assert found.preset(120) == "full"
    assert found.preset(60) == "triage"


def test_a_filter_and_a_budget() -> None:
    only = select(trace("jacobi"), wanted=lambda name, _: name.startswith("difference"))
    assert only.names == (("_Z10differencePKfS0_Pfm", "difference", only.launches),)
    assert only.share == 1.0
    assert select_launches(trace("jacobi"), 120, wanted=lambda *_: False) is None
    assert len(select(trace("jacobi"), 0.1).numbers) == 1


@pytest.mark.parametrize(("budget", "names"), [(20, 1), (120, 3), (400, 13)])
def test_kernels_that_the_budget_has_no_time_for_are_left_out(budget: float, names: int) -> None:
    # One launch takes 30 s: of a program that holds all memory as JAX does, copies take their time.
    found = select(_holding(trace("encoder"), 3), budget, repeatable=False)
    assert len(found.names) == names
    assert names == 1 or found.effort.estimate(16) <= budget


def test_the_estimate_has_the_programs_own_time() -> None:
    here, later = (select(trace("jacobi"), before=seconds) for seconds in (0.0, 10.0))
    assert later.effort.seconds == pytest.approx(here.effort.seconds + 10)
    assert later.effort.estimate(16) > START_S + 10
    # Where another run takes that long, all is measured at once, if the budget has room for it.
    assert (here.preset(120), later.preset(120), later.preset(20)) == ("triage", "full", "triage")


def _holding(of: Trace, kind: int, device: int = 0) -> Trace:
    rows = np.zeros(1, ALLOCATIONS)
    rows["bytes"], rows["kind"], rows["device"] = 100 << 30, kind, device
    return replace(of, allocations=rows)


def test_what_has_no_room_twice_is_memory_of_the_gpu() -> None:
    of = trace("jacobi")
    assert select(_holding(of, 3)).effort.replay(16) is Replay.APPLICATION
    assert select(_holding(of, PINNED)).effort.held == 0
    assert select(_holding(of, 3), repeatable=False).effort.replay(16) is Replay.KERNEL
    # Nothing is known of this GPU: a process was killed before it was recorded.
    assert select(_holding(of, 3, device=5)).effort.replay(16) is Replay.KERNEL


def test_without_a_kernel_nothing_is_chosen() -> None:
    assert select_launches(Trace((), {}, (), ("",)), 120) is None


MEMORY = 150_109_880_320
MB = 1 << 20
WRITES_S = 4.2e12
"""What the kernel that fills memory reaches."""


def filling(held: int, written: int, launches: int, seconds: float = 0.35) -> ReplayEffort:
    """Launches that write so many MB, of a program that holds others."""
    bytes_ = (held + written) * MB
    most = min(bytes_, written * MB * 4.8e12 / WRITES_S)
    room = MEMORY - bytes_
    return ReplayEffort(
        launches, launches + 2, seconds, bytes_, room, launches * most, repeatable=True
    )


@pytest.mark.parametrize(
    ("held", "written", "measured"),
    [
        (1, 4, 0.294),
        (40_000, 4, 0.476),
        (1, 4_000, 0.434),
        (1, 16_000, 0.662),
        (1, 80_000, 13.2),
        (80_000, 4_000, 14.6),
    ],
)
def test_one_more_launch_of_ten_passes(held: int, written: int, measured: float) -> None:
    """``ncu --section SpeedOfLight``: (six launches - one) / 5, of 80 GB (three - one) / 2."""
    one, two = (
        replace(filling(held, written, many), repeatable=False).estimate(10) for many in (1, 2)
    )
    assert measured / 2 <= two - one <= 2 * measured


def test_the_program_runs_again_where_its_memory_has_no_room_twice() -> None:
    large, small = filling(1, 80_000, 3), filling(1, 4_000, 3)
    assert large.replay(16) is Replay.APPLICATION
    assert small.replay(16) is Replay.KERNEL
    # kernelprof diagnose -- memory 1 80000 30: 27.6 s, and 10.4 s for the 10 passes of ncu alone.
    assert large.estimate(16) == pytest.approx(27.6, rel=0.3)
    assert large.estimate(10) == pytest.approx(10.4, rel=0.6)
    once = replace(large, repeatable=False)
    assert once.replay(16) is Replay.KERNEL
    assert once.estimate(16) > 2 * large.estimate(16)


def test_a_program_that_takes_long_does_not_run_again() -> None:
    assert filling(1, 80_000, 3, seconds=5.0).replay(16) is Replay.KERNEL
    assert filling(1, 80_000, 3, seconds=5.0).run == pytest.approx(START_S + 5.0, abs=0.01)
