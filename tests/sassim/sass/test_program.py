"""Code cut into straight pieces."""

from __future__ import annotations

from tests.sassim.listings import IMAGE, LOOP, program

from sassim.sass.listing import parse_functions
from sassim.sass.operands import Label
from sassim.sass.program import FUNCTION_BYTES, Program, find_called


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
    found = Program("kernel", tuple(parse_functions(text).values()), IMAGE)
    kernel, helper = found.functions
    assert found.target(kernel, Label("helper")) == FUNCTION_BYTES
    assert found.target(helper, Label(".L_x_7")) is None
    assert found.relocated("32@lo((helper + .L_x_1@srel))") is None
    assert found.relocated("32@lo(helper)") == FUNCTION_BYTES
    assert found.relocated("32@hi(helper)") == 0


CALLED_DIRECTLY = """
\t.section\t.text.kernel,"ax",@progbits
        /*0000*/                   CALL.REL.NOINC `(divide) ;
        /*0010*/                   MOV R4, 32@lo(table) ;
        /*0020*/                   EXIT ;
\t.section\t.text.other_kernel,"ax",@progbits
        /*0000*/                   EXIT ;
\t.section\t.text.divide,"ax",@progbits
        /*0000*/                   CALL.REL.NOINC `(inner) ;
        /*0010*/                   RET.REL.NODEC R20 `(kernel) ;
\t.section\t.text.outer,"ax",@progbits
inner:
        /*0000*/                   RET.REL.NODEC R22 `(divide) ;
\t.section\t.text.table,"ax",@progbits
        /*0000*/                   EXIT ;
"""


def test_functions_that_a_kernel_may_run_are_found_by_their_names() -> None:
    listed = parse_functions(CALLED_DIRECTLY)
    assert find_called(listed, "kernel") == {"kernel", "divide", "outer", "table"}
    assert find_called(listed, "other_kernel") == {"other_kernel"}


def test_a_call_by_address_may_run_any_function() -> None:
    listed = parse_functions(CALLED_DIRECTLY.replace("`(divide) ;", "R10 `(kernel) ;"))
    assert find_called(listed, "kernel") == set(listed)
