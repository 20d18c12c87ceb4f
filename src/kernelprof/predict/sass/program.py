"""A kernel's code as the machine runs it: functions side by side, cut into straight pieces."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

from kernelprof.predict.sass.cubin import image, machine_code
from kernelprof.predict.sass.listing import INSTRUCTION_BYTES, functions
from kernelprof.predict.sass.stack import grows
from kernelprof.sass.operands import Immediate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.predict.sass.cubin import Image
    from kernelprof.predict.sass.listing import Function, Instruction
    from kernelprof.sass.operands import Label

FUNCTION_BYTES: Final = 1 << 24
"""Room for each function in the addresses of code; the kernel begins at zero."""

ENDS: Final = frozenset(
    (
        *("BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "EXIT", "KILL", "BPT", "CALL", "RET"),
        *("BSYNC", "BREAK", "WARPSYNC", "ENDCOLLECTIVE", "BAR", "UCGABAR_ARV", "UCGABAR_WAIT"),
    )
)
"""Opcodes after which a warp may go on elsewhere, wait, or be fewer threads."""


def is_end(i: Instruction) -> bool:
    """Whether a warp may go on elsewhere behind an instruction, wait, or be fewer threads."""
    return i.opcode in ENDS or (i.opcode == "SYNCS" and i.has("TRYWAIT"))


_NUMBER_AT: Final = 4
_NUMBER_BYTES: Final = 4
"""Where an instruction holds a number of 32 bits (seen by changing it: ``nvdisasm -hex``)."""

_PART: Final = re.compile(r"32@(lo|hi)\(\(?(\S+?)(?: \+ (\S+?)(?:@srel)?)?\)?\)")


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions that are carried out one after the other."""

    start: int
    """The address of its first instruction."""
    body: tuple[Instruction, ...]
    end: Instruction | None
    """The one that says how to go on; ``None`` where the next block follows."""
    follows: int
    """The address behind it."""
    function: Function

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """All of them, with that at the end."""
        return self.body if self.end is None else (*self.body, self.end)


@dataclass(frozen=True)
class Program:
    """A kernel: its code, and what its cubin says beside."""

    entry: str
    functions: tuple[Function, ...]
    """The kernel first, then device functions that are called."""
    image: Image

    @cached_property
    def blocks(self) -> dict[int, Block]:
        """The straight pieces of code by address."""
        found = {}
        for number, function in enumerate(self.functions):
            base = number * FUNCTION_BYTES
            code = function.instructions
            starts = {0, *function.labels.values()}
            first = 0
            for n, each in enumerate(code):
                ends = is_end(each)
                behind = each.address + INSTRUCTION_BYTES
                if ends or behind in starts or n + 1 == len(code):
                    body = code[first:n] if ends else code[first : n + 1]
                    start = base + code[first].address
                    found[start] = Block(
                        start, body, each if ends else None, base + behind, function
                    )
                    first = n + 1
        return found

    @cached_property
    def grows_stack(self) -> bool:
        """Whether it may take more of the stack than the cubin says."""
        return grows(self.functions)

    @cached_property
    def addresses(self) -> Mapping[int, int]:
        """The addresses of instructions, by their identity."""
        return {
            id(i): number * FUNCTION_BYTES + i.address
            for number, function in enumerate(self.functions)
            for i in function.instructions
        }

    def base(self, function: Function) -> int:
        """Where a function begins."""
        return self.functions.index(function) * FUNCTION_BYTES

    def target(self, function: Function, label: Label) -> int | None:
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
        found = _PART.fullmatch(text)
        function = next((f for f in self.functions if found and f.name == found[2]), None)
        if found is None or function is None:
            return None
        offset = 0
        if found[3] is not None:
            if found[3] not in function.labels:
                return None
            offset = function.labels[found[3]]
        address = self.base(function) + offset
        return address & 0xFFFFFFFF if found[1] == "lo" else address >> 32


def program(cubin: bytes, listing: str, entry: str) -> Program:
    """The kernel ``entry`` of a cubin and of its listing by ``nvdisasm -c -gi``."""
    found = _exact(cubin, listing)
    others = tuple(each for name, each in found.items() if name != entry)
    return Program(entry, (found[entry], *others), image(cubin, entry))


@lru_cache(maxsize=2)
def _exact(cubin: bytes, listing: str) -> dict[str, Function]:
    """The functions of a cubin by name, whichever of its kernels is asked for."""
    code = machine_code(cubin)
    return {
        name: _with_bits(each, code.get(name, b"")) for name, each in functions(listing).items()
    }


def _with_bits(function: Function, code: bytes) -> Function:
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
