"""What instructions read and write: texts of real source pages."""

from __future__ import annotations

import pytest

from sassim.sass.dataflow import operand_effects


@pytest.mark.parametrize(
    ("text", "written", "read"),
    [
        ("LDG.E.128.CONSTANT R4, desc[UR6][R4.64]", "R4 R5 R6 R7", "R4 R5"),
        ("STG.E desc[UR6][R4.64], R21", "", "R4 R5 R21"),
        ("STS.128 [R12], R4", "", "R12 R4 R5 R6 R7"),
        ("LDS R7, [R6+UR5]", "R7", "R6 UR5"),
        ("@!P0 FFMA.FTZ R23, R0, R23, R5", "R23", "P0 R0 R23 R5"),
        ("IMAD.WIDE.U32 R4, R13, 0x10, R4", "R4 R5", "R13 R4"),
        ("IADD3 R16, P2, P3, R16, UR6, R8", "R16 P2 P3", "R16 UR6 R8"),
        ("IADD3.X R17, R17, UR7, R9, P2, P3", "R17", "R17 UR7 R9 P2 P3"),
        ("ISETP.NE.AND P0, PT, R20, 0x1020, PT", "P0", "R20"),
        ("LOP3.LUT P0, RZ, R6, 0x7fffffff, R3, 0xc8, !PT", "P0", "R6 R3"),
        ("SEL R11, R11, R13, P0", "R11", "R11 R13 P0"),
        ("SHFL.DOWN PT, R5, R4, 0x10, 0x1f", "R5", "R4"),
        ("REDG.E.ADD.STRONG.GPU desc[UR4][R12.64], R7", "", "R12 R13 R7"),
        ("ATOMG.E.ADD.STRONG.GPU PT, R5, desc[UR4][R2.64], R7", "R5", "R2 R3 R7"),
        ("DFMA R4, R6, R8, R10", "R4 R5", "R6 R7 R8 R9 R10 R11"),
        ("MUFU.RCP R4, R4", "R4", "R4"),
        ("S2UR UR5, SR_CgaCtaId", "UR5", ""),
        ("LDSM.16.M88.4 R8, [R3+UR4]", "R8 R9 R10 R11", "R3 UR4"),
        (
            "HMMA.16816.F32.BF16 R4, R8, R12, R4",
            "R4 R5 R6 R7",
            "R8 R9 R10 R11 R12 R13 R14 R15 R4 R5 R6 R7",
        ),
        ("SYNCS.PHASECHK.TRANS64.TRYWAIT P4, [R11+URZ+0x30000], R20", "P4", "R11 R20"),
        ("BAR.SYNC.DEFER_BLOCKING 0x0", "", ""),
        ("EXIT", "", ""),
    ],
)
def test_registers(text: str, written: str, read: str) -> None:
    found = operand_effects(text)
    assert found.written == frozenset(written.split())
    # As wide as it can be where that is not said: none is left out.
    assert found.read >= frozenset(read.split())
    assert found.read - frozenset(read.split()) <= {"UR4", "UR5", "UR6", "UR7"}


def test_sums_of_a_warp_group_are_written_and_read() -> None:
    found = operand_effects("HGMMA.64x128x16.F32.BF16 R24, gdesc[UR12], R24, UP0, gsb0")
    assert found.written == {f"R{24 + n}" for n in range(64)}
    assert found.written <= found.read
    assert "UR12" in found.read


def test_branches_have_targets_and_conditions() -> None:
    assert (
        operand_effects("@P0   BRA 0x9b0").target,
        operand_effects("@P0   BRA 0x9b0").guard,
    ) == (0x9B0, "P0")
    assert operand_effects("@!P1  BRA !P2, 0x10b0").conditions == 1
    assert operand_effects("CALL.REL.NOINC 0x680").target == 0x680
    assert operand_effects("BSSY B0, 0xdd0").target == 0xDD0
    assert operand_effects("EXIT").target is None


def test_a_constant_with_an_index() -> None:
    assert operand_effects("LDC R4, c[0x3][R4]").indexed_constant
    assert not operand_effects("LDC R1, c[0x0][0x28]").indexed_constant


def test_what_is_no_instruction_uses_nothing() -> None:
    assert operand_effects("").written == operand_effects("...").read == frozenset()
