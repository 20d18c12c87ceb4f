"""Listings of nvdisasm, read into instructions; the text is its own, of cuda/ladder for sm_90."""

from __future__ import annotations

from sassim.sass.listing import SourceLine, parse_functions
from sassim.sass.operands import Label, Predicate, Register

LISTING = """\t.target\tsm_90a

\t.elftype\t@"ET_EXEC"


//--------------------- .text.sgemm_vectorized     --------------------------
\t.section\t.text.sgemm_vectorized,"ax",@progbits
\t.align\t128
        .global         sgemm_vectorized
        .type           sgemm_vectorized,@function
        .size           sgemm_vectorized,(.L_x_10 - sgemm_vectorized)
sgemm_vectorized:
.text.sgemm_vectorized:
\t//## File "/kernels/10.cu", line 68
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_8:
\t//## File "/kernels/10.cu", line 79 inlined at "/kernels/10.cu", line 143
\t//## File "/kernels/10.cu", line 143 inlined at "/kernels/10.cu", line 200
\t//## File "/kernels/10.cu", line 200
        /*0010*/               @P0 EXIT ;
        /*0020*/              @!P1 LDG.E.128.CONSTANT R80, desc[UR8][R116.64] ;
\t//## File "/kernels/10.cu", line 80
        /*0030*/                   BRX R24 -0x380             (*"BRANCH_TARGETS .L_x_21"*);
        /*0040*/                   LDL.LU.64 R124, [R1]       (*"SpillRefill"*) ;
.L_x_9:
        /*0050*/                   BRA `(.L_x_9);
        /*0060*/                   NOP;
.L_x_10:


//--------------------- .text.helper     --------------------------
\t.section\t.text.helper,"ax",@progbits
helper:
.text.helper:
        /*0000*/                   RET.ABS.NODEC R20 0x0 ;
.L_x_11:
"""


def test_instructions_have_address_guard_opcode_and_modifiers() -> None:
    code = parse_functions(LISTING)["sgemm_vectorized"].instructions
    assert [i.address for i in code] == [0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60]
    assert [i.opcode for i in code] == ["LDC", "EXIT", "LDG", "BRX", "LDL", "BRA", "NOP"]
    assert code[1].guard == Predicate(0)
    assert code[2].guard == Predicate(1, negated=True)
    assert code[2].modifiers == ("E", "128", "CONSTANT")
    assert code[2].width == 128
    assert code[2].text == "LDG.E.128.CONSTANT R80, desc[UR8][R116.64]"
    assert code[4].operands[0] == Register(124)


def test_an_instruction_has_its_line_and_where_that_was_inlined() -> None:
    code = parse_functions(LISTING)["sgemm_vectorized"].instructions
    file = "/kernels/10.cu"
    assert code[0].lines == (SourceLine(file, 68),)
    assert code[1].lines == (SourceLine(file, 79), SourceLine(file, 143), SourceLine(file, 200))
    assert code[2].lines == code[1].lines
    assert code[3].lines == (SourceLine(file, 80),)


def test_labels_stand_for_the_instruction_behind_them() -> None:
    function = parse_functions(LISTING)["sgemm_vectorized"]
    assert function.target(Label(".L_x_8")) == 0x10
    assert function.target(Label(".L_x_9")) == 0x50
    assert function.target(Label(".L_x_10")) == 0x70


def test_every_code_section_is_a_function() -> None:
    found = parse_functions(LISTING)
    assert list(found) == ["sgemm_vectorized", "helper"]
    assert found["helper"].instructions[0].opcode == "RET"


def test_a_text_without_code_has_no_functions() -> None:
    assert parse_functions("\t.target\tsm_90\n") == {}
