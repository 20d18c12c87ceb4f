"""The text of ``nvdisasm -c -gi``, read into instructions with their lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sassim.sass.operands import Label, Predicate, parse_operands

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sassim.sass.operands import Operand

INSTRUCTION_BYTES: Final = 16
"""Since compute capability 7.0 every instruction takes 128 bits."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a source file."""

    file: str
    number: int


@dataclass(frozen=True, slots=True)
class Instruction:
    """One machine instruction."""

    address: int
    """Its offset in the code section, in bytes."""
    guard: Predicate | None
    """The predicate under which threads carry it out; ``None``: all do."""
    opcode: str
    """Its name alone: ``IMAD`` of ``IMAD.WIDE.U32``."""
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    lines: tuple[SourceLine, ...] = ()
    """Where it comes from: the line itself, then those that it was inlined at."""
    text: str = ""
    """As it is printed."""

    def has(self, *modifiers: str) -> bool:
        """Whether it has one of these modifiers."""
        return any(each in self.modifiers for each in modifiers)

    @property
    def line(self) -> SourceLine | None:
        """The innermost line of the file that the kernel itself is in, not one of a header."""
        return next((each for each in self.lines if each.file == self.lines[-1].file), None)

    @property
    def width(self) -> int:
        """Bits that a thread moves, where it is an access to memory."""
        for each, bits in _WIDTHS.items():
            if each in self.modifiers:
                return bits
        return 32


_WIDTHS: Final = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128, "256": 256}


@dataclass(frozen=True, slots=True)
class SassFunction:
    """The code of a section: a kernel, or a device function that was not inlined."""

    name: str
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]
    """Offsets of labels, of functions inside of it, too."""

    def target(self, label: Label) -> int:
        """The offset that a label stands for; :class:`KeyError` where it is elsewhere."""
        return self.labels[label.name]


_SECTION: Final = re.compile(r"\t\.section\t\.text\.(\S+?),")
_LABEL: Final = re.compile(r"([^\s:]+):$")
_LINE: Final = re.compile(r'\t//## File "([^"]*)", line (\d+)( inlined at "([^"]*)", line (\d+))?')
_CODE: Final = re.compile(
    r"\s+/\*(?P<address>[0-9a-f]{4,})\*/\s+(?:@(?P<guard>!?U?P\w+)\s+)?"
    r"(?P<opcode>[A-Z][\w.]*)\s*(?P<operands>.*?)\s*(?:\(\*.*\*\))?\s*;"
)


def parse_functions(listing: str) -> dict[str, SassFunction]:
    """The functions of a listing by mangled name."""
    by_name: dict[str, SassFunction] = {}
    name: str | None = None
    code: list[Instruction] = []
    labels: dict[str, int] = {}
    waiting: list[str] = []
    lines: tuple[SourceLine, ...] = ()
    lines_since_code = False

    def close() -> None:
        if name is not None:
            end = code[-1].address + INSTRUCTION_BYTES if code else 0
            labels.update(dict.fromkeys(waiting, end))
            by_name[name] = SassFunction(name, tuple(code), dict(labels))

    for each in listing.splitlines():
        if match := _SECTION.match(each):
            close()
            name, code, labels, waiting, lines = match[1], [], {}, [], ()
        elif name is None:
            continue
        elif match := _CODE.match(each):
            address = int(match["address"], 16)
            labels.update(dict.fromkeys(waiting, address))
            waiting, lines_since_code = [], False
            opcode, *modifiers = match["opcode"].split(".")
            guard = match["guard"]
            code.append(
                Instruction(
                    address=address,
                    guard=None if guard is None else _parse_guard(guard),
                    opcode=opcode,
                    modifiers=tuple(modifiers),
                    operands=parse_operands(match["operands"]),
                    lines=lines,
                    text=f"{match['opcode']} {match['operands']}".strip(),
                )
            )
        elif match := _LINE.match(each):
            at = SourceLine(match[1], int(match[2]))
            new = (at,) if match[3] is None else (at, SourceLine(match[4], int(match[5])))
            # Levels of inlining follow each other, each with the place that it was inlined at.
            lines = (*lines, *new[1:]) if lines_since_code and lines[-1:] == new[:1] else new
            lines_since_code = True
        elif match := _LABEL.match(each):
            waiting.append(match[1])
    close()
    return by_name


def _parse_guard(text: str) -> Predicate | None:
    (guard,) = parse_operands(text)
    return guard if isinstance(guard, Predicate) else None
