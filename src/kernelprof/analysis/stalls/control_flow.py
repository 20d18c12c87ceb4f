"""Control flow of a kernel: predecessors of an instruction, reaching definitions, callers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.stalls.operand_effects import OperandEffects, operand_effects
from sassim.opcodes import opcodes_with_flow

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from kernelprof.model.sampled import SampledCode

_MOST_STEPS: Final = 20_000
"""Instructions that are searched on the paths to one: no path of the corpus is as long."""
_ALWAYS: Final = ("PT", "UPT")
_JUMPS: Final = opcodes_with_flow("jump")
_DIRECT: Final = opcodes_with_flow("jump", "call")
_LEAVING: Final = opcodes_with_flow("exit", "return", "kill", "indirect")


@dataclass(frozen=True)
class ControlFlow:
    """A kernel's instructions by number, with the operand effects of each."""

    code: SampledCode

    @cached_property
    def effects(self) -> tuple[OperandEffects, ...]:
        """What each instruction reads and writes."""
        return tuple(operand_effects(each.text) for each in self.code.instructions)

    @cached_property
    def _numbers(self) -> dict[int, int]:
        return {each.offset: number for number, each in enumerate(self.code.instructions)}

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

    @cached_property
    def callers(self) -> tuple[int | None, ...]:
        """By instruction: where the subroutine that it is in is called; ``None``: it is in none.

        The compiler puts divisions, remainders and the like into subroutines behind the kernel,
        whose line is that of its end. Of several calls the one that is executed most often.
        """
        callers: list[int | None] = [None] * len(self.effects)
        calls: dict[int, list[int]] = {}
        for number, each in enumerate(self.effects):
            target = None if each.target is None else self._numbers.get(each.target)
            if each.opcode == "CALL" and target is not None:
                calls.setdefault(target, []).append(number)
        starts = sorted(calls)
        for start, end in pairwise([*starts, len(callers)]):
            often = Counter(
                {n: self.code.instructions[n].counts.executed or 0 for n in calls[start]}
            )
            caller = often.most_common(1)[0][0]
            if caller < start:
                callers[start:end] = [caller] * (end - start)
        return tuple(callers)


def _falls_through(each: OperandEffects) -> bool:
    if each.opcode in _JUMPS:
        return each.guard not in (None, *_ALWAYS) or each.conditions > 0
    if each.opcode in _LEAVING:
        return each.guard not in (None, *_ALWAYS)
    return True
