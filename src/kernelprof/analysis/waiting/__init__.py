"""From where warps wait to what they wait for: pure, from instructions with their samples."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.waiting.blame import BLAMED, WAITING, Analysis
from kernelprof.analysis.waiting.helpers import calls_of, helper_of
from kernelprof.analysis.waiting.opcodes import (
    ATOMICS,
    GLOBAL_LOADS,
    GLOBAL_STORES,
    SHARED,
    kind,
)
from kernelprof.model.kernel_name import function_name
from kernelprof.model.waiting import Blamed, Waiting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelprof.analysis.waiting.blame import Weights
    from kernelprof.model.sampled import Instruction, Place, SampledCode

MOST_LINES: Final = 5
"""Lines that are named of one kernel."""
LEAST_SHARE: Final = 0.01
"""A line with less of the waiting is not named."""
LEAST_BLAME: Final = 0.05
MOST_CALLS: Final = 3
"""Calls of a helper that are named; of one with more nothing can be said."""

_GLOBAL: Final = GLOBAL_LOADS | GLOBAL_STORES | (ATOMICS - {"ATOMS"})


class Blame:
    """What is to be said of a kernel's lines: its analysis, which is made once."""

    def __init__(self, code: SampledCode) -> None:
        self.code = code
        self._found = Analysis.of(code)

    def waiting(self) -> Waiting:
        """What its warps wait for."""
        total = sum(each.counts.waiting for each in self.code.instructions)
        unknown = sum(each.samples for each in self._found.waits if each.cause is None)
        lines = self._lines(self._found.waited(None), WAITING, total)
        shown = tuple(each for each in lines[:MOST_LINES] if each.share >= LEAST_SHARE)
        share = unknown / total if total else 0.0
        return Waiting(self.code.function, self.code.samples, total, shown, share)

    def lines_of(self, bottleneck: str) -> list[Blamed]:
        """The lines that a bottleneck is to be blamed on, that with most of it first.

        Empty where it is none of a line, and where the report does not say.
        """
        for each in BLAMED.get(bottleneck, ()):
            if weights := each.weights(self._found):
                return self._lines(weights, each.of, sum(weights.values()))
        return []

    def line_of(self, bottleneck: str | None) -> Blamed | None:
        """The line that a bottleneck is to be blamed on; ``None`` where there is none.

        One with less than :data:`LEAST_BLAME` of it is one of many, and not to blame.
        """
        lines = self.lines_of(bottleneck) if bottleneck else []
        return lines[0] if lines and lines[0].share >= LEAST_BLAME else None

    def _lines(self, weights: Weights, of: str, total: float) -> list[Blamed]:
        """Weights by line; an instruction without one stands for itself."""
        groups: dict[object, dict[int, float]] = defaultdict(dict)
        for number, weight in weights.items():
            at = self._line(number)
            groups[number if at is None else at][number] = weight
        found = [
            self._blamed(members, of, sum(members.values()) / total if total else 0.0)
            for members in groups.values()
        ]
        return sorted(found, key=lambda each: (-each.share, each.line or 0, each.offset))

    def _line(self, number: int) -> Place | None:
        """The line of an instruction; of one in a subroutine that of its call."""
        places = self._placed(number).places
        return places[0] if places else None

    def _placed(self, number: int) -> Instruction:
        caller = self._found.flow.callers[number]
        return self.code.instructions[number if caller is None else caller]

    def _blamed(self, members: Mapping[int, float], of: str, share: float) -> Blamed:
        heaviest = max(members, key=lambda number: (members[number], -number))
        instruction = self.code.instructions[heaviest]
        place = self._line(heaviest)
        helper, calls = self._calls(place, members)
        opcode = self._found.flow.uses[heaviest].opcode
        alike = _GLOBAL if opcode in _GLOBAL else SHARED
        accesses = [
            self.code.instructions[number].counts
            for number in members
            if self._found.flow.uses[number].opcode in alike
        ]
        sectors = wavefronts = ideal = None
        if opcode in _GLOBAL:
            sectors, ideal = a_request((a.sectors, a.ideal_sectors, a.executed) for a in accesses)
        elif opcode in SHARED:
            wavefronts, ideal = a_request(
                (a.wavefronts, a.ideal_wavefronts, a.executed) for a in accesses
            )
        return Blamed(
            file=None if place is None else place.file,
            line=None if place is None else place.line,
            text="" if place is None else self.code.text_of(place),
            function=self.code.function,
            instruction=instruction.text,
            offset=instruction.offset,
            kind=kind(opcode),
            share=share,
            of=of,
            helper=helper,
            called_at=calls,
            sectors=sectors,
            wavefronts=wavefronts,
            ideal=ideal,
        )

    def _calls(self, place: Place | None, members: Iterable[int]) -> tuple[str, tuple[int, ...]]:
        """The helper that an inlined line is in, and where it is called, as far as it is known."""
        if place is None or place.file != self.code.file:
            return "", ()
        known = {
            each.line
            for number in members
            for each in self._placed(number).places[1:]
            if each.file == place.file
        }
        helper = helper_of(self.code.whole, place.line) if self.code.whole else None
        if helper is None or helper.name == function_name(self.code.function):
            return "", tuple(sorted(known)) if len(known) <= MOST_CALLS else ()
        calls = calls_of(self.code.whole, helper)
        return helper.name, calls if len(calls) <= MOST_CALLS else ()


def a_request(
    accesses: Iterable[tuple[int | None, int | None, int | None]],
) -> tuple[float | None, float | None]:
    """What accesses took for each instruction of a warp, and would have taken at best."""
    taken = at_best = often = 0
    for one, ideal, executed in accesses:
        if one is None or ideal is None or executed is None:
            return None, None
        taken, at_best, often = taken + one, at_best + ideal, often + executed
    return (taken / often, at_best / often) if often else (None, None)
