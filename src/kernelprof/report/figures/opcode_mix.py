"""What a kernel executes by kind of instruction, where its code says how often each one ran."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.waiting.opcodes import (
    BARRIERS,
    BRANCHES,
    COPIES,
    COPY_WAITS,
    FENCES,
    FP32,
    FP64,
    GLOBAL_LOADS,
    GLOBAL_STORES,
    INTEGER,
    SPECIAL,
    TEXTURES,
)
from kernelprof.analysis.waiting.uses import uses
from kernelprof.model.names import middle, printable
from kernelprof.model.numbers import share
from kernelprof.report.charts.bars import Share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.model.sampled import SampledCode

REST: Final = "everything else"
MOVES: Final = "moves"
LOGIC: Final = "integer and logic"
MULTIPLY: Final = "integer multiply"
TENSOR: Final = "tensor"
UNIFORM: Final = "uniform datapath"
LEAST: Final = 0.0005
"""Shares that are shown as nothing are left out."""
_MOST_NAMED: Final = 6
_LONGEST: Final = 40

_MULTIPLY_ADD: Final = frozenset(("FFMA", "FFMA2", "FFMA32I"))
_ADD_OR_MULTIPLY: Final = frozenset(("FADD", "FMUL", "FADD2", "FMUL2", "FADD32I", "FMUL32I"))
_CONVERSIONS: Final = frozenset(("F2F", "F2I", "I2F", "FRND", "F2IP", "I2I", "I2FP", "F2FP"))
_SELECTIONS: Final = frozenset(("PRMT", "SEL"))
_CONTROL: Final = frozenset(
    (
        *("BSSY", "WARPSYNC", "ENDCOLLECTIVE", "YIELD", "NOP", "KILL", "BRXU", "JMXU", "NANOSLEEP"),
        *("BPT", "PREEXIT", "ACQBULK", "USETMAXREG", "RPCMOV", "BMOV"),
    )
)

KINDS: Final[Mapping[str, frozenset[str]]] = {
    "FP32 multiply-add": _MULTIPLY_ADD,
    "FP32 add, multiply": _ADD_OR_MULTIPLY,
    "FP32 comparison": (FP32 - _MULTIPLY_ADD - _ADD_OR_MULTIPLY - {"FSWZADD"}) | {"FMNMX3", "FSET"},
    "FP64": FP64,
    "FP16": frozenset(
        ("HADD2", "HFMA2", "HMUL2", "HSETP2", "HSET2", "HMNMX2", "VHMNMX", "HADD2_32I")
    ),
    "global load": GLOBAL_LOADS - COPIES,
    "global store": GLOBAL_STORES,
    "global atomic": frozenset(("ATOM", "ATOMG")),
    "global reduction": frozenset(("RED", "REDG")),
    "asynchronous copy": COPIES | {"UBLKPF", "UTMAPF", "UTMACCTL", "UTMACMDFLUSH", "UTCCP", "STAS"},
    "shared load": frozenset(("LDS", "LDSM")),
    "shared store": frozenset(("STS", "STSM")),
    "shared atomic": frozenset(("ATOMS",)),
    "local load": frozenset(("LDL",)),
    "local store": frozenset(("STL",)),
    "constant load": frozenset(("LDC", "ULDC", "LDCU")),
    "texture and surface": TEXTURES | {"SUATOM", "SURED"},
    "tensor memory": frozenset(("LDTM", "STTM", "UTCSHIFT")),
    "branch and control": (BRANCHES | _CONTROL),
    "barrier": (BARRIERS - _CONTROL)
    | FENCES
    | COPY_WAITS
    | {"ARRIVES", "WARPGROUPSET", "CCTLL", "UTCBAR"},
    "shuffle, vote": frozenset(
        ("SHFL", "VOTE", "VOTEU", "MATCH", "REDUX", "CREDUX", "ELECT", "MOVM", "FSWZADD")
    ),
    "special function": (SPECIAL - _CONVERSIONS - {"UFLO", "UPOPC"}) | {"FCHK"},
    "conversion": _CONVERSIONS,
    MOVES: _SELECTIONS
    | {"MOV", "MOV32I", "CS2R", "S2R", "P2R", "R2P", "B2R", "R2B", "LEPC", "GETLMEMBASE"},
    MULTIPLY: frozenset(("IMAD", "IMUL", "IDP", "IDP4A", "XMAD")),
    LOGIC: (INTEGER - SPECIAL - _SELECTIONS - {"IMAD", "IDP"})
    | {"VIADD3", "VIMNMX3", "VABSDIFF", "VABSDIFF4", "ICMP", "ISET", "LOP", "SHL", "SHR", "PSETP"}
    | {"IADD", "IADD32I", "LOP32I"},
    UNIFORM: frozenset(("R2UR", "S2UR", "UELECT")),
}
"""Opcodes by what they are for; those of matrix products end in ``MMA``, others of the uniform
datapath begin with ``U``."""

_KIND_OF: Final = {opcode: kind for kind, opcodes in KINDS.items() for opcode in opcodes}
_ZERO: Final = frozenset(("RZ", "-RZ", "URZ", "-URZ"))
_ADDITIONS: Final = frozenset(("IADD", "SHL", "X"))


@lru_cache(maxsize=65536)
def kind_of(text: str) -> str:
    """The kind of an instruction, from its text; :data:`REST` for an opcode that has none here.

    Compilers write moves, shifts and additions as multiply-adds as well, to use a pipe that is
    free: ``IMAD.MOV``, ``IMAD.SHL``, ``IMAD.IADD``, and any whose two factors are zero.
    """
    found = uses(text)
    opcode = found.opcode
    if opcode.endswith("MMA"):
        return TENSOR
    if opcode == "ATOMS" and "ARRIVE" in found.modifiers:
        return "barrier"
    if opcode == "IMAD" and _ADDITIONS.intersection(found.modifiers):
        return LOGIC
    if opcode == "IMAD" and ("MOV" in found.modifiers or _multiplies_zero(text)):
        return MOVES
    if opcode == "HFMA2" and _multiplies_zero(text):
        return MOVES
    return _KIND_OF.get(opcode) or (UNIFORM if opcode.startswith("U") else REST)


def _multiplies_zero(text: str) -> bool:
    """Whether both factors of a multiply-add are the register that is always zero."""
    factors = [each.strip() for each in text.split(",")[1:3]]
    return len(factors) == 2 and _ZERO.issuperset(factors)


def opcode_mix(code: SampledCode | None) -> tuple[Share, ...]:
    """Kinds of instructions by how often warps executed them, the most frequent first.

    Nothing where the code does not say how often each of its instructions ran, or none did.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for each in () if code is None else code.instructions:
        executed = each.counts.executed
        if executed is None:
            return ()
        counts[kind_of(each.text)][uses(each.text).opcode] += executed
    total = sum(sum(each.values()) for each in counts.values())
    if not total:
        return ()
    parts = {kind: sum(each.values()) / total for kind, each in counts.items()}
    rest = parts.pop(REST, 0.0)
    found = [
        Share(kind, part, _tip(counts[kind], total))
        for kind, part in sorted(parts.items(), key=lambda each: -each[1])
        if part >= LEAST
    ]
    rest += sum(part for part in parts.values() if part < LEAST)
    if rest >= LEAST:
        others = counts[REST] or Counter({"kinds of less than 0.05 % each": 0})
        found.append(Share(REST, rest, _tip(others, total)))
    return tuple(found)


def _tip(opcodes: Counter[str], total: int) -> str:
    """The opcodes of a kind with their shares."""
    named = []
    for opcode, executed in opcodes.most_common(_MOST_NAMED):
        name = printable(middle(opcode, _LONGEST))
        named.append(f"{name} ({share(executed / total)})" if executed else name)
    more = " and others" if len(opcodes) > _MOST_NAMED else ""
    return f"Share of the instructions that warps execute: {', '.join(named)}{more}."
