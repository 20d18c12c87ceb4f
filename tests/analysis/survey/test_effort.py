"""What a run of ``ncu`` takes: estimates beside what was measured on an H200."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelprof.analysis.survey.effort import START_S, Effort, Replay

MEMORY = 150_109_880_320
MB = 1 << 20
WRITES_S = 4.2e12
"""What the kernel that fills memory reaches."""


def filling(held: int, written: int, launches: int, seconds: float = 0.35) -> Effort:
    """Launches that write so many MB, of a program that holds others."""
    bytes_ = (held + written) * MB
    most = min(bytes_, written * MB * 4.8e12 / WRITES_S)
    room = MEMORY - bytes_
    return Effort(launches, launches + 2, seconds, bytes_, room, launches * most, repeatable=True)


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
