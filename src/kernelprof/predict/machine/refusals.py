"""What cannot be carried out, in the user's terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.predict.machine.context import NotKnownError

if TYPE_CHECKING:
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.program import Program

_WGMMA: Final = "wgmma (tensor cores that read shared memory)"
_TMA: Final = "TMA (bulk copies of tensors, cp.async.bulk.tensor)"
_BULK: Final = "bulk copies (cp.async.bulk)"
_TCGEN05: Final = "tcgen05 (tensor cores with tensor memory)"
_TEXTURE: Final = "textures"
_SURFACE: Final = "surfaces"

_BY_OPCODE: Final = {
    "HGMMA": _WGMMA, "QGMMA": _WGMMA, "IGMMA": _WGMMA, "BGMMA": _WGMMA, "WARPGROUP": _WGMMA,
    "UTMALDG": _TMA, "UTMASTG": _TMA, "UTMAREDG": _TMA, "UTMAPF": _TMA, "UTMACCTL": _TMA,
    "UBLKCP": _BULK, "UBLKRED": _BULK, "UBLKPF": _BULK,
    "UTCHMMA": _TCGEN05, "UTCIMMA": _TCGEN05, "UTCQMMA": _TCGEN05, "UTCOMMA": _TCGEN05,
    "UTCBAR": _TCGEN05, "UTCCP": _TCGEN05, "UTCATOMSWS": _TCGEN05, "UTCSHIFT": _TCGEN05,
    "LDT": _TCGEN05, "STT": _TCGEN05, "LDTM": _TCGEN05, "STTM": _TCGEN05,
    "TEX": _TEXTURE, "TLD": _TEXTURE, "TLD4": _TEXTURE, "TXD": _TEXTURE, "TXQ": _TEXTURE,
    "TMML": _TEXTURE, "SULD": _SURFACE, "SUST": _SURFACE, "SURED": _SURFACE, "SUATOM": _SURFACE,
    "REDAS": "asynchronous sums in shared memory of a cluster (red.async)",
}  # fmt: skip
"""What an opcode belongs to (CUDA Binary Utilities, "Instruction Set Reference")."""

_ALLOCATES: Final = "UTCATOMSWS"


def refuse_tensor_memory(program: Program) -> None:
    """Raise :class:`NotKnownError` for a kernel that allocates tensor memory (tcgen05).

    What stands before in its code reads what the system keeps in the block's shared memory.
    """
    for function in program.functions:
        for i in function.instructions:
            if i.opcode == _ALLOCATES:
                raise refusal(i)


def refusal(i: Instruction) -> NotKnownError:
    """The error that says what an instruction is, and that it cannot be carried out."""
    name = _BY_OPCODE.get(i.opcode)
    if name is not None:
        return NotKnownError(i, f"is part of {name}, which runs on a GPU only")
    if i.opcode.endswith("MMA") and i.has("SP"):
        return NotKnownError(i, "multiplies a sparse matrix, which is not known here")
    return NotKnownError(i)
