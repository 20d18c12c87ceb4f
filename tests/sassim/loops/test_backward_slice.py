"""What of a kernel's code counting depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.sassim.listings import LOOP, program

from sassim.loops.backward_slice import slice_program

if TYPE_CHECKING:
    from sassim.interpreter.slices import BackwardSlice


def sliced(*lines: str) -> BackwardSlice:
    return slice_program(program(*lines))


def test_counting_needs_indices_and_trip_counts_and_no_data() -> None:
    found = sliced(*LOOP)
    sums, load, store = 0x80, 0x50, 0xC0
    assert sums not in found.instructions
    assert {0x00, 0x10, 0x30, 0x40, 0x60, 0x70, 0x90, 0xA0, 0xB0} <= found.instructions
    assert {load, store} <= found.unused
    assert not found.reads_arrays


def test_a_trip_count_that_is_loaded_needs_the_array() -> None:
    found = sliced(
        "LDC.64 R2, c[0x0][0x210]",
        "LDG.E.CONSTANT R6, desc[UR4][R2.64]",
        ".L_x_1:",
        "IADD3 R6, R6, -0x1, RZ",
        "ISETP.NE.AND P0, PT, R6, RZ, PT",
        "@P0 BRA `(.L_x_1)",
        "STG.E desc[UR4][R2.64], R8",
        "EXIT",
    )
    assert found.reads_arrays
    assert 0x10 in found.instructions
    assert 0x10 not in found.unused
    assert 0x50 in found.unused, "what is stored is not read back: the load is of constant data"


def test_an_index_that_goes_through_shared_memory_needs_what_is_stored_there() -> None:
    found = sliced(
        "S2R R0, SR_TID.X",
        "SHF.L.U32 R1, R0, 0x2, RZ",
        "STS [R1], R0",
        "BAR.SYNC.DEFER_BLOCKING 0x0",
        "LDS R4, [R1]",
        "LDC.64 R2, c[0x0][0x210]",
        "IMAD.WIDE R2, R4, 0x4, R2",
        "STG.E desc[UR4][R2.64], R9",
        "EXIT",
    )
    assert {0x20, 0x40} <= found.instructions
    assert found.unused == {0x70}
    assert not found.reads_arrays


@pytest.mark.parametrize("guard", ["@P0 ", "@!P0 "])
def test_what_a_guarded_write_leaves_is_needed_as_well(guard: str) -> None:
    found = sliced(
        "S2R R0, SR_TID.X",
        "LDC.64 R2, c[0x0][0x210]",
        "ISETP.GT.AND P0, PT, R0, 0x7, PT",
        f"{guard}IADD3 R2, R2, 0x4, RZ",
        "LDG.E R4, desc[UR4][R2.64]",
        "EXIT",
    )
    assert {0x00, 0x10, 0x20, 0x30} <= found.instructions


def test_what_a_function_that_is_called_by_address_reads_is_needed() -> None:
    found = sliced(
        "MOV R4, 0x1",
        "MOV R5, 0x2",
        "LDC.64 R10, c[0x2][R8]",
        "MOV R20, 0x50",
        "CALL.REL.NOINC R10 `(kernel)",
        "EXIT",
        "kernel$add:",
        "IADD3 R6, R4, 0x10, RZ",
        "STG.E desc[UR4][R6.64], R5",
        "RET.REL.NODEC R20 `(kernel)",
    )
    called, unused, target, back, sums = 0x00, 0x10, 0x20, 0x30, 0x60
    assert {called, target, back, sums} <= found.instructions
    assert unused not in found.instructions


def test_what_threads_need_behind_what_they_do_together_is_needed() -> None:
    found = sliced(
        "S2R R3, SR_LANEID",
        "UMOV UR4, 0xffffffff",
        "BRA.DIV UR4, `(.L_x_2)",
        "SHFL.DOWN PT, R6, R3, 0x10, 0x1f",
        ".L_x_1:",
        "LDG.E R8, desc[UR6][R6.64]",
        "EXIT",
        ".L_x_2:",
        "WARPSYNC.COLLECTIVE R7, `(.L_x_3)",
        "SHFL.DOWN P0, R6, R3, R4, R5",
        "ENDCOLLECTIVE",
        ".L_x_4:",
        "EXIT",
        ".L_x_3:",
        "BRA `(.L_x_1)",
    )
    lane, shuffle = 0x00, 0x70
    assert {lane, shuffle} <= found.instructions


def test_what_is_made_and_used_under_one_guard_needs_nothing_from_before() -> None:
    """As ``ptxas`` does it for a copy that only some threads make."""
    lines = (
        "S2R R0, SR_TID.X",
        "LDC.64 R2, c[0x0][0x210]",
        "ISETP.GT.AND P0, PT, R0, 0x7, PT",
        "LDG.E.CONSTANT R6, desc[UR4][R2.64]",
        "@P0 IADD3 R6, R0, 0x1, RZ",
        "{}IMAD.WIDE R8, R6, 0x4, R2",
        "{}LDG.E R4, desc[UR4][R8.64]",
        "EXIT",
    )
    alone, every, other = (
        slice_program(program(*(line.format(guard) for line in lines)))
        for guard in ("@P0 ", "", "@!P0 ")
    )
    assert not alone.reads_arrays
    assert 0x30 in alone.unused
    assert 0x40 in alone.instructions
    assert every.reads_arrays
    assert other.reads_arrays


def test_a_guard_that_was_set_anew_is_another() -> None:
    found = sliced(
        "S2R R0, SR_TID.X",
        "LDC.64 R2, c[0x0][0x210]",
        "LDG.E.CONSTANT R6, desc[UR4][R2.64]",
        "ISETP.GT.AND P0, PT, R0, 0x7, PT",
        "@P0 IADD3 R6, R0, 0x1, RZ",
        "ISETP.GT.AND P0, PT, R0, 0x3, PT",
        "@P0 IMAD.WIDE R8, R6, 0x4, R2",
        "@P0 LDG.E R4, desc[UR4][R8.64]",
        "EXIT",
    )
    assert found.reads_arrays


def test_threads_go_on_behind_what_they_did_together_where_that_says() -> None:
    """Two shuffles of threads that are apart: what is behind one is not behind the other."""
    found = sliced(
        "S2R R3, SR_LANEID",
        "LDC.64 R2, c[0x0][0x210]",
        "LDG.E.CONSTANT R4, desc[UR4][R2.64]",
        "WARPSYNC.COLLECTIVE R7, `(.L_x_1)",
        "SHFL.DOWN P0, R4, R4, R5, R9",
        "ENDCOLLECTIVE",
        ".L_x_1:",
        "S2R R4, SR_TID.X",
        "WARPSYNC.COLLECTIVE R7, `(.L_x_2)",
        "SHFL.DOWN P0, R8, R4, R5, R9",
        "ENDCOLLECTIVE",
        ".L_x_2:",
        "IMAD.WIDE R2, R4, 0x4, R2",
        "STG.E desc[UR4][R2.64], R8",
        "EXIT",
    )
    assert not found.reads_arrays


FLAG = (
    "S2R R0, SR_TID.X",
    "LDC.64 R2, c[0x0][0x210]",
    "LDG.E.128.CONSTANT R8, desc[UR4][R2.64]",
    "STS.128 [R0+0x100], R8",
    "STS.U8 [RZ], R0",
    "BAR.SYNC.DEFER_BLOCKING 0x0",
    "LDS.U8 R4, [RZ]",
    "ISETP.NE.AND P0, PT, R4, RZ, PT",
    "@P0 EXIT",
    "STG.E desc[UR4][R2.64], R0",
    "EXIT",
)


def test_a_flag_in_shared_memory_needs_no_words_that_are_stored_beside_it() -> None:
    found = sliced(*FLAG)
    assert 0x30 in found.unused
    assert 0x40 in found.instructions
    assert not found.reads_arrays
    assert found.assumes == {"shared"}
    careful = slice_program(program(*FLAG), cautious=True)
    assert 0x30 in careful.instructions
    assert careful.reads_arrays
    assert not careful.assumes


def test_an_atomic_that_says_where_threads_go_on_decides() -> None:
    taken = (
        "LDC.64 R2, c[0x0][0x210]",
        "MOV R4, 0x1",
        "ATOMG.E.ADD.STRONG.GPU PT, R5, desc[UR4][R2.64], R4",
    )
    place = (*taken, "IMAD.WIDE R6, R5, 0x4, R2", "STG.E desc[UR4][R6.64], R4", "EXIT")
    work = (*taken, "ISETP.GE.AND P0, PT, R5, 0x40, PT", "@P0 EXIT", *place[3:])
    assert sliced(*work).decides == {0x20}
    assert not sliced(*place).decides
    assert 0x20 in sliced(*place).instructions
