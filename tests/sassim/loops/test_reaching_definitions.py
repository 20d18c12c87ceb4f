"""Which instructions a register's value can come from, also around loops and behind calls."""

from __future__ import annotations

from tests.sassim.listings import IMAGE, LOOP, program

from sassim.loops.backward_slice import effects_of
from sassim.loops.reaching_definitions import UNINITIALIZED, ReachingDefinitions
from sassim.sass.listing import parse_functions
from sassim.sass.program import FUNCTION_BYTES, Program


def test_a_loop_s_head_has_both_definitions() -> None:
    loop = program(*LOOP)
    reaching = ReachingDefinitions(loop, effects_of(loop))
    assert reaching.blocks == [0x0, 0x50, 0xC0]
    assert reaching.at(0x0, "R6") == {UNINITIALIZED}
    assert reaching.at(0x50, "R6") == {0x30, 0x60}
    assert reaching.at(0x50, "R0") == {0x0}
    assert reaching.at(0xC0, "R6") == {0x60}
    assert reaching.at(0xC0, "R99") == {UNINITIALIZED}
    assert reaching.at(0xC0, "B3") == {UNINITIALIZED}


CALLS = """
\t.section\t.text.kernel,"ax",@progbits
        /*0000*/                   MOV R4, 0x7 ;
        /*0010*/                   MOV R20, 0x40 ;
        /*0020*/                   MOV R21, RZ ;
        /*0030*/                   CALL.REL.NOINC `(helper) ;
        /*0040*/                   STG.E desc[UR4][R2.64], R4 ;
        /*0050*/                   EXIT ;
\t.section\t.text.helper,"ax",@progbits
        /*0000*/                   IADD3 R4, R4, 0x1, RZ ;
        /*0010*/                   RET.REL.NODEC R20 `(kernel) ;
\t.section\t.text.other_kernel,"ax",@progbits
        /*0000*/                   MOV R4, 0x9 ;
        /*0010*/                   EXIT ;
"""


def test_a_return_defines_all_registers() -> None:
    functions = parse_functions(CALLS)
    called = Program("kernel", tuple(functions.values())[:2], IMAGE)
    reaching = ReachingDefinitions(called, effects_of(called))
    of_return = FUNCTION_BYTES + 0x10
    assert reaching.at(FUNCTION_BYTES, "R4") == {0x30}
    assert reaching.at(0x40, "R4") == reaching.at(0x40, "R9") == {of_return}
