"""Kernels written down as machine code."""

from __future__ import annotations

from sassim.sass.cubin import CubinImage, KernelResources
from sassim.sass.listing import parse_functions
from sassim.sass.program import Program

IMAGE = CubinImage(KernelResources(16, 0, 0), 0x210, {}, (), ())


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
    found = parse_functions("\n".join(text))
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
