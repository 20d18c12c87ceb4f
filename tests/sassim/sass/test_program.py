"""Code cut into straight pieces."""

from __future__ import annotations

from tests.sassim.listings import IMAGE, LOOP, program

from sassim.sass.listing import parse_functions
from sassim.sass.operands import Label
from sassim.sass.program import FUNCTION_BYTES, Program


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
