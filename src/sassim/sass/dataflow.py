"""Registers that instructions read and write, and which instruction reaches which, from their text.

Operands follow a few conventions (CUDA Binary Utilities, and what ``nvdisasm`` prints): results
come first, a predicate beside a result is one, too, and modifiers say how many registers an operand
takes. Where that is not said, an operand counts as wide as any it can be: then too many
instructions may be looked at, and none that brings the value is missed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from sassim.opcodes import find_opcode, opcodes_of_category, opcodes_with_flow, select_opcodes
from sassim.sass.operands import Address, Constant, Other, Predicate, Register, parse_operands

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from sassim.sass.operands import Operand

_TEXT: Final = re.compile(r"(?:@(?P<guard>!?U?P\w+)\s+)?(?P<opcode>[A-Z][\w.]*)\s*(?P<rest>.*)")
_TARGET: Final = re.compile(r"(?:^|[\s,])0x([0-9a-f]+)$")
_SHAPE: Final = re.compile(r"\d+x(\d+)x\d+")
_REGISTER: Final = re.compile(r"\bU?R\d+")
_WIDTHS: Final = {"64": 2, "128": 4, "256": 8}
_ACCUMULATORS: Final = 64
"""Registers that a product of a warp group writes at most, if no modifier is its shape."""
_TENSOR_OPERAND: Final = 4
"""Registers of an operand of a product at most: 16 x 8 sums of 32 bits."""
_WGMMA: Final = opcodes_of_category("wgmma")
_PRODUCTS: Final = opcodes_of_category("mma", "wgmma")
_GENERIC: Final = select_opcodes(
    lambda row: "lsu" in row.pipes and {row.reads, row.writes} & {"global", "generic"}
)
"""Opcodes with an address of 64 bits, if they have the modifier E."""


@dataclass(frozen=True, slots=True)
class OperandEffects:
    """An instruction, by what it does with registers (``R4``, ``UR4``, ``P0``, ``UP0``)."""

    opcode: str
    modifiers: tuple[str, ...]
    guard: str | None
    written: frozenset[str]
    read: frozenset[str]
    """With those that addresses are made of, and the guard."""
    target: int | None
    """The offset that a branch or a call goes to."""
    indexed_constant: bool
    """Whether a register says which word of a constant bank it reads."""
    conditions: int
    """Predicates among its operands: a branch can have more than its guard."""


@lru_cache(maxsize=65536)
def operand_effects(text: str) -> OperandEffects:
    """Return what an instruction reads and writes."""
    match = _TEXT.match(text)
    if match is None:
        return OperandEffects(text, (), None, frozenset(), frozenset(), None, False, 0)
    opcode, *suffixes = match["opcode"].split(".")
    modifiers = tuple(suffixes)
    given = parse_operands(match["rest"])
    read: set[str] = set()
    if match["guard"] is not None:
        read |= _registers(parse_operands(match["guard"])[0], 1)
    results = _results(opcode, modifiers, given)
    written = {name for each, width in results for name in _registers(each, width)}
    for each in given[len(results) :]:
        read |= _inputs(each, opcode, modifiers)
    if opcode in _WGMMA:
        read |= written  # sums that it adds to
    target = _TARGET.search(match["rest"].strip())
    return OperandEffects(
        opcode,
        modifiers,
        match["guard"],
        frozenset(written),
        frozenset(read),
        None if target is None else int(target[1], 16),
        any(isinstance(each, Constant) and each.register is not None for each in given),
        sum(isinstance(each, Predicate) and each.index >= 0 for each in given),
    )


def _results(
    opcode: str, modifiers: tuple[str, ...], given: tuple[Operand, ...]
) -> list[tuple[Operand, int]]:
    """The operands that are written, each with the registers that it takes."""
    row = find_opcode(opcode)
    if row.results == "none" or not given:
        return []
    width = _result_width(opcode, modifiers)
    first, *others = given
    if isinstance(first, Predicate):
        results: list[tuple[Operand, int]] = [(first, 1)]
        second = others[0] if others else None
        if isinstance(second, Predicate) or (isinstance(second, Register) and row.results == "P R"):
            results.append((second, width))
        return results
    if not isinstance(first, Register):
        return []
    results = [(first, width)]
    most = {"R": 0, "R P": 1}.get(row.results, 2)
    for each in others[:most]:
        # A predicate at the end is read: a carry, or a condition.
        if not isinstance(each, Predicate) or each is given[-1]:
            break
        results.append((each, 1))
    return results


def _result_width(opcode: str, modifiers: tuple[str, ...]) -> int:
    width = find_opcode(opcode).width
    if width == "shape":
        shapes = (_SHAPE.fullmatch(each) for each in modifiers)
        return next((int(shape[1]) // 2 for shape in shapes if shape), _ACCUMULATORS)
    if width == "count":
        return next((int(each) for each in modifiers if each in ("2", "4")), 1)
    if width == "type" and {"F64", "S64", "U64"} & set(modifiers[:2]):
        return 2
    if "WIDE" in modifiers or (opcode == "CS2R" and "32" not in modifiers):
        return 2
    return _width(opcode, modifiers)


def _width(opcode: str, modifiers: Iterable[str]) -> int:
    width = find_opcode(opcode).width
    if width.isdigit():
        return int(width)
    return next((_WIDTHS[each] for each in modifiers if each in _WIDTHS), 1)


def _inputs(operand: Operand, opcode: str, modifiers: tuple[str, ...]) -> set[str]:
    if isinstance(operand, Register):
        width = 2 if operand.part == "64" else _width(opcode, modifiers)
        return _registers(operand, _TENSOR_OPERAND if opcode in _PRODUCTS else width)
    if isinstance(operand, Predicate):
        return _registers(operand, 1)
    if isinstance(operand, Constant):
        return set() if operand.register is None else _registers(operand.register, 1)
    if isinstance(operand, Address):
        registers: set[str] = set()
        for each in (operand.register, operand.uniform):
            if each is not None:
                wide = "64" in each.part or (
                    opcode in _GENERIC and "E" in modifiers and "U32" not in each.part
                )
                registers |= _registers(each, 2 if wide else 1)
        return registers
    # What the parser keeps as it is, such as a descriptor, names its registers all the same.
    return set(_REGISTER.findall(operand.text)) if isinstance(operand, Other) else set()


def _registers(operand: Operand, width: int) -> set[str]:
    """The names of an operand's registers; those that are always zero or true have none."""
    if isinstance(operand, Predicate):
        return {f"{'U' * operand.uniform}P{operand.index}"} if operand.index >= 0 else set()
    if not isinstance(operand, Register) or operand.index < 0:
        return set()
    prefix = "UR" if operand.uniform else "R"
    return {f"{prefix}{operand.index + n}" for n in range(width)}


_MOST_STEPS: Final = 20_000
"""Instructions that are searched on the paths to one: no path of the corpus is as long."""
_ALWAYS: Final = ("PT", "UPT")
_JUMPS: Final = opcodes_with_flow("jump")
_DIRECT: Final = opcodes_with_flow("jump", "call")
_LEAVING: Final = opcodes_with_flow("exit", "return", "kill", "indirect")


class ControlFlow:
    """A kernel's instructions by number, with the operand effects of each."""

    def __init__(self, texts: Iterable[str], offsets: Iterable[int]) -> None:
        self.effects = tuple(map(operand_effects, texts))
        self._numbers = {offset: number for number, offset in enumerate(offsets)}

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """By instruction: those that may be executed just before it."""
        edges: list[list[int]] = [[] for _ in self.effects]
        for number, each in enumerate(self.effects):
            target = None if each.target is None else self._numbers.get(each.target)
            jumps = each.opcode in _DIRECT
            if jumps and target is not None:
                edges[target].append(number)
            if number + 1 < len(edges) and _falls_through(each):
                edges[number + 1].append(number)
        return tuple(map(tuple, edges))

    @cached_property
    def successors(self) -> tuple[tuple[int, ...], ...]:
        """By instruction: those that may be executed just after it."""
        edges: list[list[int]] = [[] for _ in self.effects]
        for number, before in enumerate(self.predecessors):
            for each in before:
                edges[each].append(number)
        return tuple(map(tuple, edges))

    def writers(
        self, number: int, registers: Collection[str], most: int = _MOST_STEPS
    ) -> Iterator[int]:
        """Return instructions that may have written what some registers hold before an instruction.

        At ``most`` so many are looked at.
        """
        seen: set[tuple[int, frozenset[str]]] = set()
        waiting = [(each, frozenset(registers)) for each in self.predecessors[number]]
        while waiting and len(seen) < most:
            at, wanted = step = waiting.pop()
            if step in seen:
                continue
            seen.add(step)
            each = self.effects[at]
            if each.written & wanted:
                yield at
                if each.guard is None:  # else other threads keep what was there before
                    wanted = wanted - each.written
            if wanted:
                waiting += [(earlier, wanted) for earlier in self.predecessors[at]]

    def nearest(
        self, number: int, fits: Callable[[int], bool], ends: Callable[[int], bool] | None = None
    ) -> set[int]:
        """Return the last instructions of some kind on each path to one, without itself."""
        matches: set[int] = set()
        seen: set[int] = set()
        waiting = list(self.predecessors[number])
        while waiting and len(seen) < _MOST_STEPS:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            if fits(at):
                matches.add(at)
            elif ends is None or not ends(at):
                waiting += self.predecessors[at]
        return matches

    def callers(self, executions: Sequence[int]) -> list[int | None]:
        """Return by instruction where the subroutine that it is in is called; ``None``: in none.

        The compiler puts divisions, remainders and the like into subroutines behind the kernel,
        whose line is that of its end. Of several calls the one that is executed most often.
        """
        callers: list[int | None] = [None] * len(self.effects)
        calls: dict[int, list[int]] = {}
        for number, each in enumerate(self.effects):
            target = None if each.target is None else self._numbers.get(each.target)
            if each.opcode == "CALL" and target is not None:
                calls.setdefault(target, []).append(number)
        for start, end in pairwise([*sorted(calls), len(callers)]):
            caller = max(calls[start], key=lambda number: executions[number])
            if caller < start:
                callers[start:end] = [caller] * (end - start)
        return callers


def _falls_through(each: OperandEffects) -> bool:
    if each.opcode in _JUMPS:
        return each.guard not in (None, *_ALWAYS) or each.conditions > 0
    if each.opcode in _LEAVING:
        return each.guard not in (None, *_ALWAYS)
    return True
