"""Ways through a kernel's code: what may have come before an instruction, and who called it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.waiting.uses import Uses, uses

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from kernelprof.model.sampled import SampledCode

_MOST_STEPS: Final = 20_000
"""Instructions that are looked at on the ways to one: no way of the corpus is as long."""
_ALWAYS: Final = ("PT", "UPT")


@dataclass(frozen=True)
class Flow:
    """A kernel's instructions by number, with what each uses."""

    code: SampledCode

    @cached_property
    def uses(self) -> tuple[Uses, ...]:
        """What each instruction reads and writes."""
        return tuple(uses(each.text) for each in self.code.instructions)

    @cached_property
    def _numbers(self) -> dict[int, int]:
        return {each.offset: number for number, each in enumerate(self.code.instructions)}

    @cached_property
    def before(self) -> tuple[tuple[int, ...], ...]:
        """By instruction: those that may be carried out just before it."""
        found: list[list[int]] = [[] for _ in self.uses]
        for number, each in enumerate(self.uses):
            target = None if each.target is None else self._numbers.get(each.target)
            jumps = each.opcode in ("BRA", "JMP", "CALL")
            if jumps and target is not None:
                found[target].append(number)
            if number + 1 < len(found) and _goes_on(each):
                found[number + 1].append(number)
        return tuple(map(tuple, found))

    def writers(
        self, number: int, registers: Collection[str], most: int = _MOST_STEPS
    ) -> Iterator[int]:
        """Instructions that may have written what some registers hold before an instruction.

        At ``most`` so many are looked at.
        """
        seen: set[tuple[int, frozenset[str]]] = set()
        waiting = [(each, frozenset(registers)) for each in self.before[number]]
        while waiting and len(seen) < most:
            at, wanted = step = waiting.pop()
            if step in seen:
                continue
            seen.add(step)
            each = self.uses[at]
            if each.written & wanted:
                yield at
                if each.guard is None:  # else other threads keep what was there before
                    wanted = wanted - each.written
            if wanted:
                waiting += [(earlier, wanted) for earlier in self.before[at]]

    def nearest(
        self, number: int, fits: Callable[[int], bool], ends: Callable[[int], bool] | None = None
    ) -> set[int]:
        """The last instructions of some kind on each way to one; it itself is not looked at."""
        found: set[int] = set()
        seen: set[int] = set()
        waiting = list(self.before[number])
        while waiting and len(seen) < _MOST_STEPS:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            if fits(at):
                found.add(at)
            elif ends is None or not ends(at):
                waiting += self.before[at]
        return found

    @cached_property
    def callers(self) -> tuple[int | None, ...]:
        """By instruction: where the subroutine that it is in is called; ``None``: it is in none.

        The compiler puts divisions, remainders and the like into subroutines behind the kernel,
        whose line is that of its end. Of several calls the one that is carried out most often.
        """
        found: list[int | None] = [None] * len(self.uses)
        calls: dict[int, list[int]] = {}
        for number, each in enumerate(self.uses):
            target = None if each.target is None else self._numbers.get(each.target)
            if each.opcode == "CALL" and target is not None:
                calls.setdefault(target, []).append(number)
        starts = sorted(calls)
        for start, end in pairwise([*starts, len(found)]):
            often = Counter(
                {n: self.code.instructions[n].counts.executed or 0 for n in calls[start]}
            )
            caller = often.most_common(1)[0][0]
            if caller < start:
                found[start:end] = [caller] * (end - start)
        return tuple(found)


def _goes_on(each: Uses) -> bool:
    """Whether the instruction behind it may be the next one."""
    if each.opcode in ("BRA", "JMP"):
        return each.guard not in (None, *_ALWAYS) or each.conditions > 0
    if each.opcode in ("EXIT", "RET", "BRX", "JMX", "KILL"):
        return each.guard not in (None, *_ALWAYS)
    return True
