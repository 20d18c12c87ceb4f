"""Bytes that threads ask for and that move, from real captures whose figures can be worked out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kernelprof.analysis.metrics.facts import Facts
from kernelprof.analysis.metrics.traffic import traffic_at
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.model.capture import Capture

N = 2048
OUTPUT = 4 * N * N
JITTER = 0.01 * OUTPUT
"""Sectors of loads are counted to the last one; those of the stores of these 13 launches were up to
0.6 % off what the kernels store."""


@pytest.fixture(scope="module")
def ladder(captures: Path) -> Capture:
    return read_capture(captures / "ladder" / "ladder.full.raw.csv.gz")


def _row(capture: Capture, kernel: str) -> int:
    return [launch.kernel for launch in capture.launches].index(kernel)


@pytest.mark.parametrize(
    ("kernel", "asked"),
    [
        # Every FMA asks for a value of A and one of B.
        ("sgemm_naive", 2 * N**3 * 4),
        ("sgemm_coalesced", 2 * N**3 * 4),
        # A block of 32 x 32 outputs asks for each value of its rows and columns once.
        ("sgemm_shared_tile", 2 * N**3 // 32 * 4),
        ("sgemm_shared_tile_block_shape", (N**3 // 8 + N**3 // 32) * 4),
        ("sgemm_register_tile_1d", 2 * N**3 // 64 * 4),
        # Accesses of 16 bytes: more different bytes than a request of 4-byte values has.
        ("sgemm_bank_conflict_free", 2 * N**3 // 128 * 4),
        ("sgemm_warp_tile", (N**3 // 64 + N**3 // 128) * 4),
    ],
)
def test_what_the_threads_ask_for(ladder: Capture, kernel: str, asked: int) -> None:
    found = traffic_at(Facts(ladder), _row(ladder, kernel))
    assert found.asked == pytest.approx(asked + OUTPUT, abs=JITTER)


def test_what_moves_for_the_naive_kernel(ladder: Capture) -> None:
    found = traffic_at(Facts(ladder), _row(ladder, "sgemm_naive"))
    # A load of A touches 32 sectors of which a value each is used, one of B touches one sector.
    assert found.l1 == pytest.approx((N**3 // 32 * 33 + N * N) * 32, abs=8 * JITTER)
    assert found.distinct == pytest.approx((N**3 // 32 * 33 + N * N) * 4, abs=JITTER)
    assert found.l2 is not None
    assert found.dram == pytest.approx(33_896_448 + 12_716_544)
    assert found.dram < found.l2 < found.l1


COUNTERS = {
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": {"asked"},
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": {"asked", "distinct", "l1"},
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio": {"asked", "distinct"},
    "lts__t_sectors_srcunit_tex.sum": {"l2"},
    "dram__bytes_write.sum": {"dram"},
}


@pytest.mark.parametrize("counter", COUNTERS)
def test_a_missing_counter_is_unknown_and_not_zero(ladder: Capture, counter: str) -> None:
    columns = {name: column for name, column in ladder.columns.items() if name != counter}
    found = traffic_at(Facts(replace(ladder, columns=columns)), 0)
    levels = ("asked", "distinct", "l1", "l2", "dram")
    assert {name for name in levels if getattr(found, name) is None} == COUNTERS[counter]
