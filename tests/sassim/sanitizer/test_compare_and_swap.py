"""Reads that are a part of an atomic operation, as ``nvcc`` 13.0 writes them for ``sm_90``."""

from __future__ import annotations

import pytest

from sassim.sanitizer.compare_and_swap import reads_of_swaps
from sassim.sass.cubin import CubinImage, KernelResources
from sassim.sass.listing import functions
from sassim.sass.program import Program

LOOP = (
    "LDS R12, [R28]",
    "FADD R13, R25, R12",
    "ATOMS.CAST.SPIN R13, [R28], R12, R13",
    "ISETP.EQ.U32.AND P0, PT, R13, 0x1, PT",
)


def reads(*lines: str) -> list[int]:
    """Addresses of the reads that belong to an atomic operation."""
    text = ['\t.section\t.text.kernel,"ax",@progbits']
    text += [f"        /*{16 * n:04x}*/ {line} ;" for n, line in enumerate(lines)]
    (function,) = functions("\n".join(text)).values()
    found = reads_of_swaps(
        Program("kernel", (function,), CubinImage(KernelResources(16, 0, 0), 0x210, {}, (), ()))
    )
    return [i.address for i in function.instructions if id(i) in found]


def test_the_read_of_an_addition_of_floating_point_numbers_belongs_to_it() -> None:
    assert reads(*LOOP) == [0x00]
    assert reads("LDS R9, [R28]", "FADD R8, R9, R9", *LOOP) == [0x20]


@pytest.mark.parametrize(
    ("read", "swap"),
    [
        ("LDS R12, [R28+0x4]", "ATOMS.CAST.SPIN R13, [R28], R12, R13"),
        ("LDS R11, [R28]", "ATOMS.CAST.SPIN R13, [R28], R12, R13"),
        ("LDG.E R12, desc[UR4][R28.64]", "ATOMS.CAST.SPIN R13, [R28], R12, R13"),
        ("LDS R12, [R28]", "ATOMS.CAS R13, [R28], R12, R13"),
        ("LDS R12, [R28]", "ATOMS.ADD R13, [R28], R12"),
    ],
)
def test_other_reads_are_accesses_of_their_own(read: str, swap: str) -> None:
    assert reads(read, "FADD R13, R25, R12", swap) == []
