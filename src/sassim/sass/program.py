"""A kernel's code as the machine runs it: functions side by side, cut into basic blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

from sassim.opcodes import opcodes_with_flow, select_opcodes
from sassim.sass.cubin import read_image, read_machine_code
from sassim.sass.listing import INSTRUCTION_BYTES, parse_functions
from sassim.sass.operands import ZERO, Constant, Immediate, Label, Other, Register

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sassim.sass.cubin import CubinImage
    from sassim.sass.listing import Instruction, SassFunction

FUNCTION_BYTES: Final = 1 << 24
"""Room for each function in the addresses of code; the kernel begins at zero."""

_ENDS: Final = select_opcodes(lambda row: row.ends_block)
_MBARRIERS: Final = opcodes_with_flow("mbarrier")
_CALLS: Final = opcodes_with_flow("call")


def ends_block(i: Instruction) -> bool:
    """Whether a warp may go on elsewhere behind an instruction, wait, or be fewer threads."""
    return i.opcode in _ENDS or (i.opcode in _MBARRIERS and i.has("TRYWAIT"))


_NUMBER_AT: Final = 4
_NUMBER_BYTES: Final = 4
"""Where an instruction holds a number of 32 bits (seen by changing it: ``nvdisasm -hex``)."""

_PART: Final = re.compile(r"32@(lo|hi)\(\(?(\S+?)(?: \+ (\S+?)(?:@srel)?)?\)?\)")


@dataclass(frozen=True, slots=True)
class BasicBlock:
    """Instructions that are carried out one after the other."""

    start: int
    """The address of its first instruction."""
    body: tuple[Instruction, ...]
    end: Instruction | None
    """The one that says how to go on; ``None`` where the next block follows."""
    follows: int
    """The address behind it."""
    function: SassFunction

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """All of them, with that at the end."""
        return self.body if self.end is None else (*self.body, self.end)


@dataclass(frozen=True, eq=False)
class Program:
    """A kernel: its code, and what its cubin says beside; what is found out of it is kept by it."""

    entry: str
    functions: tuple[SassFunction, ...]
    """The kernel first, then device functions that are called."""
    image: CubinImage

    @cached_property
    def blocks(self) -> dict[int, BasicBlock]:
        """The basic blocks by address."""
        blocks = {}
        for number, function in enumerate(self.functions):
            base = number * FUNCTION_BYTES
            code = function.instructions
            starts = {0, *function.labels.values()}
            first = 0
            for n, each in enumerate(code):
                ends = ends_block(each)
                behind = each.address + INSTRUCTION_BYTES
                if ends or behind in starts or n + 1 == len(code):
                    body = code[first:n] if ends else code[first : n + 1]
                    start = base + code[first].address
                    blocks[start] = BasicBlock(
                        start, body, each if ends else None, base + behind, function
                    )
                    first = n + 1
        return blocks

    @cached_property
    def grows_stack(self) -> bool:
        """Whether it may take more of the stack than the cubin says."""
        return _grows_stack(self.functions)

    @cached_property
    def addresses(self) -> Mapping[int, int]:
        """The addresses of instructions, by their identity."""
        return {
            id(i): number * FUNCTION_BYTES + i.address
            for number, function in enumerate(self.functions)
            for i in function.instructions
        }

    @cached_property
    def _bases(self) -> Mapping[int, int]:
        return {id(function): n * FUNCTION_BYTES for n, function in enumerate(self.functions)}

    def base(self, function: SassFunction) -> int:
        """Where a function begins."""
        return self._bases[id(function)]

    def target(self, function: SassFunction, label: Label) -> int | None:
        """The address of a label: in its function, or of another one; ``None``: it is not here."""
        if label.name in function.labels:
            return self.base(function) + function.labels[label.name]
        return next((self.base(f) for f in self.functions if f.name == label.name), None)

    def place(self, name: str) -> int:
        """The address of a label, of whichever function; :class:`KeyError` where there is none."""
        for number, function in enumerate(self.functions):
            if name in function.labels:
                return number * FUNCTION_BYTES + function.labels[name]
        raise KeyError(name)

    def relocated(self, text: str) -> int | None:
        """Half of the address of a place in the code that an operand names; ``None``: another."""
        match = _PART.fullmatch(text)
        function = next((f for f in self.functions if match and f.name == match[2]), None)
        if match is None or function is None:
            return None
        offset = 0
        if match[3] is not None:
            if match[3] not in function.labels:
                return None
            offset = function.labels[match[3]]
        address = self.base(function) + offset
        return address & 0xFFFFFFFF if match[1] == "lo" else address >> 32


def load_program(cubin: bytes, listing: str, entry: str) -> Program:
    """The kernel ``entry`` of a cubin and of its listing by ``nvdisasm -c -gi``."""
    listed = _read_functions(cubin, listing)
    called = find_called(listed, entry)
    others = tuple(each for name, each in listed.items() if name in called and name != entry)
    return Program(entry, (listed[entry], *others), read_image(cubin, entry))


def find_called(listed: Mapping[str, SassFunction], entry: str) -> set[str]:
    """Names of the functions that a kernel may run: all of them where it calls by address."""
    homes = {label: name for name, each in listed.items() for label in (*each.labels, name)}
    called, waiting = set[str](), [entry]
    while waiting:
        name = waiting.pop()
        if name in called:
            continue
        called.add(name)
        for i in listed[name].instructions:
            if calls_by_address(i):
                return set(listed)
            waiting += (homes[each] for each in _mentioned(i) if each in homes)
    return called


def _mentioned(i: Instruction) -> Iterator[str]:
    """Names of places in the code in the operands of an instruction."""
    for each in i.operands:
        if isinstance(each, Label):
            yield each.name
        elif isinstance(each, Other) and (match := _PART.fullmatch(each.text)):
            yield match[2]


def calls_by_address(i: Instruction) -> bool:
    """Whether it calls an address in a register; a label beside that is the base."""
    return i.opcode in _CALLS and any(isinstance(each, Register | Constant) for each in i.operands)


@lru_cache(maxsize=2)
def _read_functions(cubin: bytes, listing: str) -> dict[str, SassFunction]:
    """The functions of a cubin by name, whichever of its kernels is asked for."""
    code = read_machine_code(cubin)
    return {
        name: _add_immediate_bits(each, code.get(name, b""))
        for name, each in parse_functions(listing).items()
    }


def _add_immediate_bits(function: SassFunction, code: bytes) -> SassFunction:
    """A function in which operands that are no numbers have their bits, out of the code."""
    changed = []
    for i in function.instructions:
        if any(isinstance(each, Immediate) and "NAN" in each.text for each in i.operands):
            raw = int.from_bytes(code[i.address + _NUMBER_AT :][:_NUMBER_BYTES], "little")
            operands = tuple(
                replace(each, raw=raw)
                if isinstance(each, Immediate) and "NAN" in each.text
                else each
                for each in i.operands
            )
            changed.append(replace(i, operands=operands))
        else:
            changed.append(i)
    return replace(function, instructions=tuple(changed))


_STACK_POINTER: Final = 1
"""The register that holds the end of the stack."""


def _grows_stack(functions: Iterable[SassFunction]) -> bool:
    """Whether a function calls itself, calls by address, or takes so much as it finds out."""
    calls: dict[str, set[str]] = {}
    for function in functions:
        starts = {at: name for name, at in function.labels.items() if not name.startswith(".L")}
        inside = function.name
        for i in function.instructions:
            inside = starts.get(i.address, inside)
            if i.opcode in _CALLS:
                if calls_by_address(i):
                    return True
                calls.setdefault(inside, set()).update(
                    each.name for each in i.operands if isinstance(each, Label)
                )
            if _moves_stack(i):
                return True
    return any(_calls_reach(calls, name, name) for name in calls)


def _moves_stack(i: Instruction) -> bool:
    """Whether it moves the end of the stack by what a register says."""
    if not i.operands or i.operands[0] != Register(_STACK_POINTER):
        return False
    return any(
        isinstance(each, Register) and each.index not in (_STACK_POINTER, ZERO)
        for each in i.operands[1:]
    )


def _calls_reach(calls: dict[str, set[str]], start: str, goal: str) -> bool:
    seen: set[str] = set()
    waiting = list(calls.get(start, ()))
    while waiting:
        name = waiting.pop()
        if name == goal:
            return True
        if name not in seen:
            seen.add(name)
            waiting += calls.get(name, ())
    return False
