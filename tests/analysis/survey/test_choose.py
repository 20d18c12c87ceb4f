"""Which launches of real programs are measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.surveys import trace

from kernelprof.analysis.survey.choose import (
    MOST_LAUNCHES,
    SHARE,
    WARM_UP_LAUNCHES,
    choose,
)
from kernelprof.analysis.survey.effort import START_S, Replay
from kernelprof.model.trace import ALLOCATIONS, PINNED, Trace

PROGRAMS = ("jacobi", "short", "fork", "crash-segv")


@pytest.mark.parametrize("name", PROGRAMS)
def test_most_of_the_time_by_a_few_launches(name: str) -> None:
    found = choose(trace(name), 120)
    assert found is not None
    assert found.share >= SHARE
    assert found.launches <= MOST_LAUNCHES + len(trace(name).processes) - 1
    assert found.numbers == tuple(sorted(set(found.numbers)))
    assert min(found.numbers) > WARM_UP_LAUNCHES
    assert found.effort.estimate(16) < 10


def test_launches_are_spread_over_the_run() -> None:
    found = choose(trace("jacobi"), 120)
    assert found is not None
    assert np.diff(found.numbers).min() > 200


def test_what_is_chosen_is_what_ncu_would_count() -> None:
    """Numbers are those of the launches of one name, in one stream of one process, from 1 on."""
    of = trace("fork")
    found = choose(of, 120)
    assert found is not None
    many = [int((of.kernels["process"] == each).sum()) for each in range(3)]
    expected = sum(number <= count for number in found.numbers for count in many)
    assert found.launches == expected
    assert found.processes == 3


def test_of_many_kernels_those_that_the_share_needs() -> None:
    found = choose(trace("encoder"), 120, before=5.0)
    assert found is not None
    assert SHARE <= found.share < SHARE + 0.005
    assert sum(each.launches for each in found.names) == found.launches
    # Another run of the program for what is open would cost more than four passes.
    assert found.preset(120) == "full"
    assert found.preset(60) == "triage"


def test_a_filter_and_a_budget() -> None:
    only = choose(trace("jacobi"), 120, wanted=lambda name, _: name.startswith("difference"))
    assert only is not None
    assert only.names == (("_Z10differencePKfS0_Pfm", "difference", only.launches),)
    assert only.share == 1.0
    assert choose(trace("jacobi"), 120, wanted=lambda *_: False) is None
    little = choose(trace("jacobi"), 0.1)
    assert little is not None
    assert len(little.numbers) == 1


def test_the_estimate_has_the_programs_own_time() -> None:
    here, later = choose(trace("jacobi"), 120), choose(trace("jacobi"), 120, before=10.0)
    assert here is not None
    assert later is not None
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
    on_gpu, pinned = (choose(_holding(of, kind), 120) for kind in (3, PINNED))
    assert on_gpu is not None
    assert pinned is not None
    assert on_gpu.effort.replay(16) is Replay.APPLICATION
    assert pinned.effort.held == 0
    ended = choose(_holding(of, 3), 120, repeatable=False)
    assert ended is not None
    assert ended.effort.replay(16) is Replay.KERNEL
    # Nothing is known of this GPU: a process was killed before it was recorded.
    other = choose(_holding(of, 3, device=5), 120)
    assert other is not None
    assert other.effort.replay(16) is Replay.KERNEL


def test_without_a_kernel_nothing_is_chosen() -> None:
    assert choose(Trace((), {}, (), ("",)), 120) is None
