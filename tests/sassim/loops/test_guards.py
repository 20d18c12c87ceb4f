"""Guards that depend on a thread's place, evaluated for all blocks of a grid."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.sassim.listings import program

from sassim.interpreter.launch import KernelLaunch
from sassim.interpreter.memory import GlobalMemory
from sassim.loops.guards import SOME_FALSE, SOME_TRUE, evaluate_guards, plan_guards

THREADS = 64
GUARDED = (
    "S2R R0, SR_TID.X",
    "S2R R1, SR_CTAID.X",
    "S2R R2, SR_CTAID.Y",
    "IMAD R3, R1, 0x40, R0",
    "ISETP.GE.AND P0, PT, R3, 0x90, PT",  # 0x40: along x, and within a block
    "@P0 EXIT",
    "ISETP.NE.AND P1, PT, R2, 0x3, PT",  # 0x60: along y
    "@P1 EXIT",
    "IMAD R4, R2, 0x3, R1",
    "ISETP.EQ.AND P2, PT, R4, 0x9, PT",  # 0x90: along both
    "@P2 EXIT",
    "LDC.64 R6, c[0x0][0x210]",
    "IADD3 R6, P3, R6, R3, RZ",  # 0xc0: the carry of an address
    "IADD3.X R7, RZ, R7, RZ, P3, !PT",
    "STG.E desc[UR4][R6.64], R0",
    "EXIT",
)


def launch(grid: tuple[int, int, int]) -> KernelLaunch:
    return KernelLaunch(
        program(*GUARDED), grid, (THREADS, 1, 1), 0x1000, GlobalMemory(), {0: bytes(0x260)}
    )


@pytest.mark.parametrize("grid", [(3, 4, 1), (1, 5, 2), (40, 3, 3)])
def test_outcomes_are_those_of_each_block(grid: tuple[int, int, int]) -> None:
    of_grid = launch(grid)
    plan = plan_guards(of_grid.program)
    _, y, x = np.indices(grid[::-1]).reshape(3, -1)
    values = evaluate_guards(of_grid, plan)
    threads = x[:, None] * THREADS + np.arange(THREADS)
    conditions = {
        0x40: threads >= 0x90,
        0x60: (y != 3)[:, None],
        0x90: (y * 3 + x == 9)[:, None],
    }
    assert values.complete
    assert values.outcomes.keys() == conditions.keys()
    for at, condition in conditions.items():
        codes = SOME_TRUE * condition.any(axis=1) + SOME_FALSE * (~condition).any(axis=1)
        assert values.outcomes[at].tolist() == codes.tolist()
    # Blocks have the same number where the same threads are true, and others where not.
    pairs = set(zip(values.patterns[0x40].tolist(), map(bytes, threads >= 0x90), strict=True))
    assert len(pairs) == len({number for number, _ in pairs}) == len({each for _, each in pairs})


def test_a_carry_is_no_guard() -> None:
    plan = plan_guards(launch((1, 1, 1)).program)
    assert plan.predicates == {0x40, 0x60, 0x90}
    assert plan.carries == {0xC0}


def test_a_comparison_that_is_added_is_no_carry() -> None:
    counted = (
        "S2R R0, SR_TID.X",
        "ISETP.GE.AND P0, PT, R0, 0x9, PT",
        "IADD3.X R1, RZ, R0, RZ, P0, !PT",
        "EXIT",
    )
    plan = plan_guards(program(*counted))
    assert plan.predicates == plan.selections == {0x10}
    assert not plan.carries


def test_without_guards_nothing_is_missing() -> None:
    of_grid = replace(launch((1 << 23, 1, 1)), program=program("EXIT"))
    assert evaluate_guards(of_grid, plan_guards(of_grid.program)).complete


def test_of_too_many_blocks_nothing_is_known() -> None:
    of_grid = launch((1 << 22, 2, 1))
    values = evaluate_guards(of_grid, plan_guards(of_grid.program))
    assert (values.complete, values.outcomes) == (False, {})
