"""Code cut into straight pieces, and what of it counting depends on."""

from __future__ import annotations

import pytest

from kernelprof.predict.sass.cubin import Image, Resources
from kernelprof.predict.sass.listing import functions
from kernelprof.predict.sass.needed import needed
from kernelprof.predict.sass.operands import Label
from kernelprof.predict.sass.program import FUNCTION_BYTES, Program

IMAGE = Image(Resources(16, 0, 0), 0x210, {}, (), ())


def program(*lines: str) -> Program:
    """A kernel of these instructions; a line that ends with a colon is a label."""
    text = ['\t.section\t.text.kernel,"ax",@progbits']
    address = 0
    for line in lines:
        if line.endswith(":"):
            text.append(line)
            continue
        text.append(f"        /*{address:04x}*/ {line} ;")
        address += 16
    found = functions("\n".join(text))
    return Program("kernel", tuple(found.values()), IMAGE)


LOOP = (
    "S2R R0, SR_TID.X",
    "LDC.64 R2, c[0x0][0x210]",
    "MOV R8, RZ",
    "MOV R6, 0x10",
    "IMAD.WIDE R2, R0, 0x4, R2",
    ".L_x_1:",
    "LDG.E R4, desc[UR4][R2.64]",
    "IADD3 R6, R6, -0x1, RZ",
    "ISETP.NE.AND P0, PT, R6, RZ, PT",
    "FADD R8, R8, R4",
    "IADD3 R2, P1, R2, 0x80, RZ",
    "IADD3.X R3, RZ, R3, RZ, P1, !PT",
    "@P0 BRA `(.L_x_1)",
    "STG.E desc[UR4][R2.64], R8",
    "EXIT",
)


def test_pieces_end_at_branches_and_before_labels() -> None:
    blocks = program(*LOOP).blocks
    assert {start: len(block.body) for start, block in blocks.items()} == {0x0: 5, 0x50: 6, 0xC0: 1}
    assert blocks[0x0].end is None
    assert blocks[0x0].follows == 0x50
    assert blocks[0x50].end is not None
    assert blocks[0x50].end.opcode == "BRA"
    assert blocks[0xC0].end is not None
    assert blocks[0xC0].end.opcode == "EXIT"


def test_a_label_is_found_in_its_function_or_is_a_function() -> None:
    text = "\n".join(
        [
            '\t.section\t.text.kernel,"ax",@progbits',
            "        /*0000*/                   CALL.ABS.NOINC `(helper) ;",
            '\t.section\t.text.helper,"ax",@progbits',
            "        /*0000*/                   RET.ABS.NODEC R20 0x0 ;",
        ]
    )
    found = Program("kernel", tuple(functions(text).values()), IMAGE)
    kernel, helper = found.functions
    assert found.target(kernel, Label("helper")) == FUNCTION_BYTES
    assert found.target(helper, Label(".L_x_7")) is None
    assert found.relocated("32@lo((helper + .L_x_1@srel))") is None
    assert found.relocated("32@lo(helper)") == FUNCTION_BYTES
    assert found.relocated("32@hi(helper)") == 0


def test_counting_needs_indices_and_trip_counts_and_no_data() -> None:
    found = needed(program(*LOOP))
    sums, load, store = 0x80, 0x50, 0xC0
    assert sums not in found.instructions
    assert {0x00, 0x10, 0x30, 0x40, 0x60, 0x70, 0x90, 0xA0, 0xB0} <= found.instructions
    assert {load, store} <= found.unused
    assert not found.reads_arrays


def test_a_trip_count_that_is_loaded_needs_the_array() -> None:
    found = needed(
        program(
            "LDC.64 R2, c[0x0][0x210]",
            "LDG.E.CONSTANT R6, desc[UR4][R2.64]",
            ".L_x_1:",
            "IADD3 R6, R6, -0x1, RZ",
            "ISETP.NE.AND P0, PT, R6, RZ, PT",
            "@P0 BRA `(.L_x_1)",
            "STG.E desc[UR4][R2.64], R8",
            "EXIT",
        )
    )
    assert found.reads_arrays
    assert 0x10 in found.instructions
    assert 0x10 not in found.unused
    assert 0x50 in found.unused, "what is stored is not read back: the load is of constant data"


def test_an_index_that_goes_through_shared_memory_needs_what_is_stored_there() -> None:
    found = needed(
        program(
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
    )
    assert {0x20, 0x40} <= found.instructions
    assert found.unused == {0x70}
    assert not found.reads_arrays


@pytest.mark.parametrize("guard", ["@P0 ", "@!P0 "])
def test_what_a_guarded_write_leaves_is_needed_as_well(guard: str) -> None:
    found = needed(
        program(
            "S2R R0, SR_TID.X",
            "LDC.64 R2, c[0x0][0x210]",
            "ISETP.GT.AND P0, PT, R0, 0x7, PT",
            f"{guard}IADD3 R2, R2, 0x4, RZ",
            "LDG.E R4, desc[UR4][R2.64]",
            "EXIT",
        )
    )
    assert {0x00, 0x10, 0x20, 0x30} <= found.instructions


def test_what_a_function_that_is_called_by_address_reads_is_needed() -> None:
    found = needed(
        program(
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
    )
    called, unused, target, back, sums = 0x00, 0x10, 0x20, 0x30, 0x60
    assert {called, target, back, sums} <= found.instructions
    assert unused not in found.instructions


def test_what_threads_need_behind_what_they_do_together_is_needed() -> None:
    found = needed(
        program(
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
    )
    lane, shuffle = 0x00, 0x70
    assert {lane, shuffle} <= found.instructions
