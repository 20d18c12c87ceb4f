"""Short kernels, and short blocks one after the other: times as an H200 measured them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.few import part_of
from tests.support.short_kernels import MEASURED, ShortKernel

import kernelprof

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("cuda.bindings")

TIMES = 1.25
"""Factor by which the time may be off."""

CASES = [pytest.param(each, id=f"{each.kernel}-{each.time}") for each in MEASURED]


@pytest.mark.parametrize(
    "case", part_of(4, CASES, CASES[1], CASES[4], why="seconds each; as the two short ones")
)
def test_the_time_is_near_the_measured_one(tmp_path: Path, case: ShortKernel) -> None:
    predicted = kernelprof.predict(case.write(tmp_path))
    time = predicted.columns["gpu__time_duration.sum"].values[0] / 1e3
    assert case.time / TIMES <= time <= case.time * TIMES


def test_blocks_on_different_sms_share_no_l1(tmp_path: Path) -> None:
    """One block is on each SM; an H200 moves 539,679 sectors from L2."""
    case = ShortKernel("sum_records", 132, 256, 33_792, 0, 106.1)
    predicted = kernelprof.predict(case.write(tmp_path))
    sectors = predicted.columns["lts__t_sectors_srcunit_tex.sum"].values[0]
    assert sectors == pytest.approx(539_679, rel=0.1)
