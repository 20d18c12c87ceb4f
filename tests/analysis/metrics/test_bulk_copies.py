"""What is past the load/store path counts: on captures with bulk copies, and where none can be."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.support.captures import captured

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.metrics.facts import Facts
from kernelprof.analysis.metrics.groups import BULK_COPIES
from kernelprof.analysis.metrics.traffic import traffic_at
from kernelprof.analysis.rules import RuleContext

if TYPE_CHECKING:
    from kernelprof.model.capture import Capture

RUNGS = "bf16/rungs.raw.csv.gz"
COUNTED = {name for each in BULK_COPIES for name in load_metrics()[each].all_ncu_names()}
OUTPUT = 2 * 8192 * 8192
"""Bytes of the product, two an element."""


@cache
def context(name: str, *without: str) -> RuleContext:
    whole = captured(name)
    kept = {key: column for key, column in whole.columns.items() if key not in without}
    return RuleContext(Facts(replace(whole, columns=kept)))


def row(kernel: str) -> int:
    names = [launch.kernel for launch in context(RUNGS).facts.capture.launches]
    return names.index(kernel)


def test_half_wasted_stores_beside_bulk_copies_are_a_trifle() -> None:
    """Stores of two bytes fill half of their sectors, and TMA moved 128 times as many."""
    facts, waste = context(RUNGS).facts, context(RUNGS).waste
    at = row("bf16_wgmma")
    ideal, actual = (facts.values(f"global_sectors{end}")[at] for end in ("_ideal", ""))
    assert ideal / actual == 0.5
    assert waste.excess_sectors.low[at] == pytest.approx(0.5 / 129, rel=1e-6)
    assert waste.excess_sectors.is_exact[at]


def test_tiles_that_come_in_bulk_are_bytes_that_are_asked_for() -> None:
    facts = context(RUNGS).facts
    at = row("bf16_two_consumers")
    # A block of 128 x 256 outputs takes 128 rows of A and 256 of B, 8192 deep.
    tiles = 2 * (8192 * 8192 * 8192 // 256 + 8192 * 8192 * 8192 // 128)
    moved = facts.values("tma_load_sectors")[at] * 32
    assert moved == tiles
    found = traffic_at(facts, at)
    assert found.distinct == pytest.approx(tiles + OUTPUT)
    assert found.l1 == pytest.approx(tiles + 2 * OUTPUT)


def test_without_their_counters_bulk_copies_are_unknown_and_not_zero() -> None:
    lacking = context(RUNGS, *COUNTED)
    at = row("bf16_wgmma")
    sectors = lacking.waste.bulk_sectors
    assert (sectors.low[at], sectors.high[at]) == (0.0, np.inf)
    assert lacking.waste.excess_sectors.low[at] == 0.0
    assert lacking.waste.excess_sectors.high[at] == 0.5
    assert traffic_at(lacking.facts, at).l1 is None


@pytest.mark.parametrize(
    "name",
    [
        "gemm_series.full.raw.csv",
        "validation/raw.csv.gz",
        "validation/more.raw.csv.gz",
        "ladder/ladder.full.raw.csv.gz",
        "validation/frameworks.raw.csv.gz",
        "validation/frameworks_more.raw.csv.gz",
    ],
)
def test_where_accesses_account_for_all_traffic_there_are_none(name: str) -> None:
    """What a capture without these counters says is what it says with them."""
    whole, lacking = context(name), context(name, *COUNTED)
    none = whole.waste.bulk_sectors.high == 0
    assert none.sum() >= len(none) - 4
    known = lacking.waste.bulk_sectors
    assert (known.high[none] == 0).all()
    assert np.isinf(known.high[~none]).all()


def test_chips_before_hopper_have_no_bulk_copies() -> None:
    capture = captured(RUNGS)
    older = replace(
        capture,
        launches=tuple(replace(each, compute_capability=(8, 0)) for each in capture.launches),
        columns={key: each for key, each in capture.columns.items() if key not in COUNTED},
    )
    assert (RuleContext(Facts(older)).waste.bulk_sectors.high == 0).all()


def test_without_wgmma_its_counter_is_known_to_be_zero() -> None:
    """Loads and stores of shared memory are all that it does."""
    name = "sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_elapsed"
    facts = context(RUNGS, name).facts
    by_warps = [row("bf16_mma_sync"), row("bf16_cp_async_ring")]
    assert facts.settled("wgmma_pipe")[by_warps].all()
    assert facts.settled("wgmma_pipe").sum() == len(by_warps)


def _rows(capture: Capture, part: str) -> list[int]:
    return [at for at, launch in enumerate(capture.launches) if part in launch.kernel]


def test_a_few_atomics_of_a_scheduler_are_none_beside_bulk_copies() -> None:
    """A persistent kernel takes its tiles by an atomic: 190 beside 1.6 GB of tiles."""
    name = "validation/frameworks.raw.csv.gz"
    (at,) = _rows(context(name).facts.capture, "nvjet_sm90_tst")
    facts, waste = context(name).facts, context(name).waste
    assert facts.values("global_atomic_requests")[at] == 190
    assert waste.atomic_part.high[at] < 1e-4
