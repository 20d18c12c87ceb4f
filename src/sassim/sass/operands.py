"""Operands of machine instructions, as ``nvdisasm`` prints them.

NVIDIA lists the opcodes (CUDA Binary Utilities, "Instruction Set Reference") and documents neither
operands nor semantics. What is read here is what its disassembler prints for compute capability 7.5
to 12.x; an operand that fits nothing is kept as :class:`Other`, and an instruction that needs it
says so when it is to run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ZERO: Final = -1
"""The index of the registers RZ and URZ, which read as zero and forget what is written."""
TRUE: Final = -1
"""The index of the predicates PT and UPT, which are always true."""


@dataclass(frozen=True, slots=True)
class Register:
    """A 32-bit register: of each thread (``R4``), or of the warp (``UR4``)."""

    index: int
    uniform: bool = False
    negative: bool = False
    absolute: bool = False
    inverted: bool = False
    part: str = ""
    """What is taken of it, such as ``H0_H0``, ``B1`` or ``64``."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate register: of each thread (``P0``), or of the warp (``UP0``)."""

    index: int
    negated: bool = False
    uniform: bool = False


@dataclass(frozen=True, slots=True)
class Immediate:
    """A number in the instruction, as it is printed: what it means depends on the opcode."""

    text: str
    raw: int | None = None
    """Its 32 bits where the text does not say them: one that is no number (``+QNAN``)."""

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole number."""
        return _WHOLE.fullmatch(self.text) is not None

    @property
    def bits(self) -> int:
        """As 32 bits of a whole number."""
        return int(self.text, 0) & 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Constant:
    """A word of a constant bank: ``c[0x0][0x28]``, or ``c[0x3][R4+0x10]``."""

    bank: int
    offset: int
    register: Register | None = None
    negative: bool = False
    absolute: bool = False
    inverted: bool = False
    part: str = ""


@dataclass(frozen=True, slots=True)
class Address:
    """An address in memory: the sum of a register, a uniform register and an offset in bytes."""

    register: Register | None
    uniform: Register | None
    offset: int
    scale: int = 1
    """What the register is multiplied by."""


@dataclass(frozen=True, slots=True)
class Label:
    """A place in the code, by the name that the disassembler gave it."""

    name: str


@dataclass(frozen=True, slots=True)
class Barrier:
    """A convergence barrier of the warp (``B0``)."""

    index: int


@dataclass(frozen=True, slots=True)
class Special:
    """A special register, such as ``SR_TID.X``."""

    name: str


@dataclass(frozen=True, slots=True)
class Other:
    """What is none of the rest."""

    text: str


Operand = Register | Predicate | Immediate | Constant | Address | Label | Barrier | Special | Other

_REGISTER: Final = re.compile(r"(?P<uniform>U?)R(?P<index>\d+|Z)(?P<part>(?:\.\w+)*)")
_PREDICATE: Final = re.compile(r"(?P<negated>!?)(?P<uniform>U?)P(?P<index>\d+|T)")
_CONSTANT: Final = re.compile(
    r"c\[(0x[0-9a-f]+)\]\s*\[(?:(U?R\w+)\+?)?(-?0x[0-9a-f]+)?\]((?:\.\w+)*)"
)
_MEMORY: Final = re.compile(r"(?:g?desc\[U?R\w+\])?\[([^\]]*)\]((?:\.\w+)*)")
_LABEL: Final = re.compile(r"`\((.+)\)")
_BARRIER: Final = re.compile(r"B(\d+)")
_SPECIAL: Final = re.compile(r"SR_[\w.]+|SRZ")
_NUMBER: Final = re.compile(r"[+-]?(?:0x[0-9a-f]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?|INF|[QS]NAN)")
_WHOLE: Final = re.compile(r"[+-]?(?:0x[0-9a-f]+|0+|[1-9]\d*)")
_SCALE: Final = re.compile(r"X(\d+)")


@lru_cache(maxsize=4096)
def parse_operands(text: str) -> tuple[Operand, ...]:
    """The operands of one instruction, from what stands between its opcode and the semicolon."""
    return tuple(_parse_operand(each) for each in _split_operands(text))


def _split_operands(text: str) -> Iterator[str]:
    """Commas separate operands, those in brackets do not; so do blanks before a label or a sum."""
    depth, start = 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and letter in ", ":
            if text[start:at].strip():
                yield text[start:at].strip()
            start = at + 1
    if text[start:].strip():
        yield text[start:].strip()


@lru_cache(maxsize=4096)
def _parse_operand(written: str) -> Operand:
    if match := _PREDICATE.fullmatch(written):
        index = TRUE if match["index"] == "T" else int(match["index"])
        return Predicate(index, bool(match["negated"]), bool(match["uniform"]))
    return _parse_value(written) or _parse_place(written) or Other(written)


def _parse_value(written: str) -> Operand | None:
    """A register, a constant or a number, with what is done to it before it is used."""
    if _NUMBER.fullmatch(written):
        return Immediate(written)
    text = written.removeprefix("-")
    negative = text != written
    plain = text.removeprefix("~")
    inverted = plain != text
    absolute = plain.startswith("|")
    plain = plain.replace("|", "") if absolute else plain
    if (register := _parse_register(plain)) is not None:
        return Register(
            register.index, register.uniform, negative, absolute, inverted, register.part
        )
    match = _CONSTANT.fullmatch(plain)
    if match is None:
        return None
    return Constant(
        bank=int(match[1], 16),
        offset=0 if match[3] is None else int(match[3], 16),
        register=None if match[2] is None else _parse_register(match[2]),
        negative=negative,
        absolute=absolute,
        inverted=inverted,
        part=_parse_part(match[4]),
    )


def _parse_place(written: str) -> Operand | None:
    """Somewhere in memory or in the code, a barrier, or a special register."""
    if (match := _MEMORY.fullmatch(written)) and (address := _parse_address(match[1])) is not None:
        return address
    if match := _LABEL.fullmatch(written):
        return Label(match[1])
    if match := _BARRIER.fullmatch(written):
        return Barrier(int(match[1]))
    return Special(written) if _SPECIAL.fullmatch(written) else None


def _parse_register(text: str) -> Register | None:
    match = _REGISTER.fullmatch(text)
    if match is None:
        return None
    index = ZERO if match["index"] == "Z" else int(match["index"])
    return Register(index, bool(match["uniform"]), part=_parse_part(match["part"]))


def _parse_part(suffixes: str) -> str:
    """What is taken of a register; ``reuse`` says where it is read from, not what."""
    return ".".join(each for each in suffixes.split(".") if each not in ("", "reuse"))


def _parse_address(text: str) -> Address | None:
    register = uniform = None
    offset, scale = 0, 1
    for each in text.replace("+-", "-").replace("-", "+-").split("+"):
        part = each.strip()
        parsed = None if part.startswith("-") else _parse_register(part)
        if parsed is not None and parsed.uniform:
            uniform = parsed
        elif parsed is not None:
            register = parsed
            if scaled := _SCALE.search(parsed.part):
                scale = int(scaled[1])
        elif _NUMBER.fullmatch(part):
            offset += int(part, 0)
        elif part:
            return None
    return Address(register, uniform, offset, scale)
