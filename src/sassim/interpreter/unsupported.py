"""What cannot be carried out, in the user's terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sassim.interpreter.context import NotKnownError
from sassim.opcodes import find_opcode

if TYPE_CHECKING:
    from sassim.sass.listing import Instruction
    from sassim.sass.program import Program

_FEATURES: Final = {
    "wgmma": "wgmma (tensor cores that read shared memory)",
    "tma": "TMA (bulk copies of tensors, cp.async.bulk.tensor)",
    "bulk": "bulk copies (cp.async.bulk)",
    "tcgen05": "tcgen05 (tensor cores with tensor memory)",
    "texture": "textures",
    "surface": "surfaces",
    "red.async": "asynchronous reductions in distributed shared memory (red.async)",
}

_ALLOCATES: Final = "UTCATOMSWS"


def refuse_tensor_memory(program: Program) -> None:
    """Raise :class:`NotKnownError` for a kernel that allocates tensor memory (tcgen05).

    What stands before in its code reads what the system keeps in the block's shared memory.
    """
    for function in program.functions:
        for i in function.instructions:
            if i.opcode == _ALLOCATES:
                raise describe_unsupported(i)


def describe_unsupported(i: Instruction) -> NotKnownError:
    """The error that says what an instruction is, and that it cannot be carried out."""
    feature = find_opcode(i.opcode).feature
    if feature:
        return NotKnownError(i, f"is part of {_FEATURES[feature]}, which needs a GPU")
    if i.opcode.endswith("MMA") and i.has("SP"):
        return NotKnownError(i, "multiplies a sparse matrix, which is not supported")
    return NotKnownError(i)
