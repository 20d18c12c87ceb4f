"""Which blocks are run to count, and what happens where more is needed than was thought."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sassim.listings import program

from sassim.counters.launch_counters import count_launch
from sassim.interpreter.launch import KernelLaunch
from sassim.interpreter.memory import GlobalMemory
from sassim.loops.backward_slice import slice_program

THREADS = 64


def launch(*lines: str, blocks: int, values: np.ndarray) -> KernelLaunch:
    """A launch with an array of values, whose address is the first parameter, and another."""
    memory = GlobalMemory()
    bank = bytearray(0x260)
    for at, name in ((0x210, "a"), (0x218, "b")):
        array = memory.allocate(name, values.nbytes, values.copy)
        bank[at : at + 8] = array.base.to_bytes(8, "little")
    return KernelLaunch(
        program(*lines), (blocks, 1, 1), (THREADS, 1, 1), 0x1000, memory, {0: bytes(bank)}
    )


def stores(found: KernelLaunch) -> float:
    counted = count_launch(found, slice_program(found.program), seconds=6)
    return counted.total(
        counted.accesses("requests", lambda each: each.instruction.opcode == "STG")
    ).value


SHARED_WORK = (
    "LDC.64 R2, c[0x0][0x210]",
    "S2R R0, SR_TID.X",
    ".L_x_1:",
    "MOV R4, 0x1",
    "ISETP.NE.AND P1, PT, R0, RZ, PT",
    "@!P1 ATOMG.E.ADD.STRONG.GPU PT, R5, desc[UR4][R2.64], R4",
    "@!P1 STS [RZ], R5",
    "BAR.SYNC.DEFER_BLOCKING 0x0",
    "LDS R5, [RZ]",
    "BAR.SYNC.DEFER_BLOCKING 0x0",
    "ISETP.GE.AND P0, PT, R5, 0x3e8, PT",
    "@P0 EXIT",
    "LDC.64 R6, c[0x0][0x218]",
    "IMAD.WIDE R6, R0, 0x4, R6",
    "STG.E desc[UR4][R6.64], R5",
    "BRA `(.L_x_1)",
)


@pytest.mark.parametrize("blocks", [3, 40, 500])
def test_work_that_blocks_share_is_done_once(blocks: int) -> None:
    found = launch(*SHARED_WORK, blocks=blocks, values=np.zeros(4096, np.uint32))
    assert slice_program(found.program).decides == {0x40}
    assert stores(found) == 1000 * THREADS // 32


READ_BACK = (
    "S2R R0, SR_TID.X",
    "S2R R1, SR_CTAID.X",
    "IMAD R0, R1, 0x40, R0",
    "LDC.64 R2, c[0x0][0x210]",
    "IMAD.WIDE R2, R0, 0x4, R2",
    "MOV R4, 0x1",
    "STG.E desc[UR4][R2.64], R4",
    "LDG.E R6, desc[UR4][R2.64]",
    "ISETP.EQ.AND P0, PT, R6, 0x1, PT",
    "@!P0 EXIT",
    "LDC.64 R8, c[0x0][0x218]",
    "STG.E desc[UR4][R8.64], R4",
    "EXIT",
)


def test_what_a_kernel_reads_back_of_its_own_is_stored_after_all() -> None:
    found = launch(*READ_BACK, blocks=20, values=np.zeros(4096, np.uint32))
    assert 0x60 in slice_program(found.program).unused
    assert stores(found) == 2 * 20 * THREADS // 32


FLAG_OF_WORDS = (
    "S2R R0, SR_TID.X",
    "MOV R4, 0x1",
    "STS [RZ], R4",
    "BAR.SYNC.DEFER_BLOCKING 0x0",
    "LDS.U8 R6, [RZ]",
    "ISETP.EQ.AND P0, PT, R6, 0x1, PT",
    "@!P0 EXIT",
    "LDC.64 R8, c[0x0][0x218]",
    "STG.E desc[UR4][R8.64], R4",
    "EXIT",
)


def test_a_byte_of_a_word_in_shared_memory_is_stored_after_all() -> None:
    found = launch(*FLAG_OF_WORDS, blocks=20, values=np.zeros(64, np.uint32))
    assert 0x20 in slice_program(found.program).unused
    assert stores(found) == 20 * THREADS // 32


FIRST_BLOCKS = (
    "S2R R0, SR_CTAID.X",
    "ISETP.GE.AND P0, PT, R0, 0x6, PT",
    "@P0 EXIT",
    "LDC.64 R2, c[0x0][0x210]",
    "STG.E desc[UR4][R2.64], R0",
    "EXIT",
)


def test_an_outcome_at_the_edge_of_a_grid_is_looked_for_inside_as_well() -> None:
    """The first block is run for itself, and stands for none of the five after it."""
    found = launch(*FIRST_BLOCKS, blocks=100_000, values=np.zeros(4096, np.uint32))
    assert stores(found) == 6 * THREADS // 32
