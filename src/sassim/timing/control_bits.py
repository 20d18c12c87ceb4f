"""The control bits of machine code: stall cycles, and the scoreboards that instructions wait for.

NVIDIA does not document the upper bits of an instruction. Public work read them off (Jia et al.,
"Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018, section 2.1): since
Volta they hold the cycles until the next instruction may issue, six scoreboards to wait for, and
two that the instruction raises until its result is there and until its operands are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sassim.sass.listing import INSTRUCTION_BYTES

SCOREBOARDS: Final = 6
_FIRST_BIT: Final = 105
_NONE: Final = 7


@dataclass(frozen=True, slots=True)
class ControlBits:
    """The control bits of one instruction."""

    stall: int
    """Cycles until the warp's next instruction may issue; at least 1."""
    waits: tuple[int, ...]
    """Scoreboards that have to be clear before it issues."""
    result: int | None
    """The scoreboard that is raised until its result is there."""
    operands: int | None
    """The scoreboard that is raised until its operands are read."""


PLAIN: Final = ControlBits(1, (), None, None)
"""Of an instruction whose code is not at hand."""


def decode_control_bits(code: bytes) -> tuple[ControlBits, ...]:
    """Return the control bits of a function's instructions, in their order."""
    return tuple(
        _decode_instruction(code[at : at + INSTRUCTION_BYTES])
        for at in range(0, len(code), INSTRUCTION_BYTES)
    )


def _decode_instruction(instruction: bytes) -> ControlBits:
    bits = int.from_bytes(instruction, "little") >> _FIRST_BIT
    result, operands, waits = bits >> 5 & 7, bits >> 8 & 7, bits >> 11 & 63
    return ControlBits(
        stall=max(1, bits & 15),
        waits=tuple(each for each in range(SCOREBOARDS) if waits >> each & 1),
        result=None if result == _NONE else result,
        operands=None if operands == _NONE else operands,
    )
