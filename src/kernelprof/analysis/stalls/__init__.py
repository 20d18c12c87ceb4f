"""Attribute samples of stalled warps to the instructions and source lines that they wait for."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from msgspec import structs

from kernelprof.analysis.stalls.blame import (
    ATOMICS,
    BLAMED,
    GLOBAL_LOADS,
    GLOBAL_STORES,
    SHARED,
    WAITING,
    StallAnalysis,
    kind,
)
from kernelprof.analysis.stalls.roles import find_roles
from kernelprof.analysis.stalls.source_functions import find_calls, find_function
from kernelprof.model.kernel_name import function_name
from kernelprof.model.names import named_alike
from kernelprof.model.waiting import BlamedLine, StallSummary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kernelprof.analysis.stalls.blame import Weights
    from kernelprof.model.diagnosis import KernelDiagnosis
    from kernelprof.model.sampled import SampledCode, SampledInstruction
    from kernelprof.model.waiting import SourceLocation

MOST_LINES: Final = 5
"""Lines that are named of one kernel."""
LEAST_SHARE: Final = 0.01
"""A line with less of the waiting is not named."""
LEAST_BLAME: Final = 0.05
MOST_CALLS: Final = 3
"""Calls of a device function that are named; of one with more nothing can be said."""

_GLOBAL: Final = GLOBAL_LOADS | GLOBAL_STORES | (ATOMICS - {"ATOMS"})


class LineBlame:
    """Source lines of a kernel that bottlenecks are blamed on."""

    def __init__(self, code: SampledCode) -> None:
        self.code = code
        self._analysis = StallAnalysis(code)
        executions = [each.counts.executed or 0 for each in code.instructions]
        self._callers = self._analysis.flow.callers(executions)

    def summarize_stalls(self) -> StallSummary:
        """Return what the kernel's warps wait for, by line."""
        total = sum(each.counts.waiting for each in self.code.instructions)
        unknown = sum(each.samples for each in self._analysis.stalls if each.cause is None)
        lines = self._rank_lines(self._analysis.weigh_stalls(None), WAITING, total)
        shown = tuple(each for each in lines[:MOST_LINES] if each.share >= LEAST_SHARE)
        share = unknown / total if total else 0.0
        roles = find_roles(self._analysis)
        return StallSummary(self.code.samples, total, share, shown, roles)

    def blamed_lines(self, bottleneck: str) -> list[BlamedLine]:
        """Return the lines that a bottleneck is blamed on, the one with most of it first.

        Empty where a bottleneck has no line, and where the report has no counters for it.
        """
        for rule in BLAMED.get(bottleneck, ()):
            if weights := rule.weights(self._analysis):
                return self._rank_lines(weights, rule.share_of, sum(weights.values()))
        return []

    def blamed_line(self, bottleneck: str | None) -> BlamedLine | None:
        """Return the line that a bottleneck is blamed on; ``None`` where there is none.

        One with less than :data:`LEAST_BLAME` of it is one of many, and not to blame.
        """
        lines = self.blamed_lines(bottleneck) if bottleneck else []
        return lines[0] if lines and lines[0].share >= LEAST_BLAME else None

    def _rank_lines(self, weights: Weights, share_of: str, total: float) -> list[BlamedLine]:
        """An instruction without a line is listed by itself."""
        groups: dict[object, dict[int, float]] = defaultdict(dict)
        for number, weight in weights.items():
            line = self._line(number)
            groups[number if line is None else line][number] = weight
        lines = [
            self._blamed(members, share_of, sum(members.values()) / total if total else 0.0)
            for members in groups.values()
        ]
        return sorted(lines, key=lambda each: (-each.share, each.line or 0, each.offset))

    def _line(self, number: int) -> SourceLocation | None:
        """The line of an instruction; of one in a subroutine that of its call."""
        places = self._called_from(number).places
        return places[0] if places else None

    def _called_from(self, number: int) -> SampledInstruction:
        caller = self._callers[number]
        return self.code.instructions[number if caller is None else caller]

    def _blamed(self, members: Mapping[int, float], share_of: str, share: float) -> BlamedLine:
        effects = self._analysis.flow.effects
        heaviest = max(members, key=lambda number: (members[number], -number))
        instruction = self.code.instructions[heaviest]
        location = self._line(heaviest)
        helper, calls = self._calls(location, members)
        opcode = effects[heaviest].opcode
        same_space = _GLOBAL if opcode in _GLOBAL else SHARED
        accesses = [
            self.code.instructions[number].counts
            for number in members
            if effects[number].opcode in same_space
        ]
        sectors = wavefronts = ideal = None
        if opcode in _GLOBAL:
            sectors, ideal = average_request(
                (a.sectors, a.ideal_sectors, a.executed) for a in accesses
            )
        elif opcode in SHARED:
            wavefronts, ideal = average_request(
                (a.wavefronts, a.ideal_wavefronts, a.executed) for a in accesses
            )
        return BlamedLine(
            file=None if location is None else location.file,
            line=None if location is None else location.line,
            text="" if location is None else self.code.text_of(location),
            function=self.code.function,
            instruction=instruction.text,
            offset=instruction.offset,
            kind=kind(opcode),
            share=share,
            of=share_of,
            helper=helper,
            called_at=calls,
            sectors=sectors,
            wavefronts=wavefronts,
            ideal=ideal,
        )

    def _calls(
        self, location: SourceLocation | None, members: Iterable[int]
    ) -> tuple[str, tuple[int, ...]]:
        if location is None or location.file != self.code.file:
            return "", ()
        inlined_at = {
            each.line
            for number in members
            for each in self._called_from(number).places[1:]
            if each.file == location.file
        }
        helper = find_function(self.code.whole, location.line) if self.code.whole else None
        if helper is None or helper.name == function_name(self.code.function):
            return "", tuple(sorted(inlined_at)) if len(inlined_at) <= MOST_CALLS else ()
        calls = find_calls(self.code.whole, helper)
        return helper.name, calls if len(calls) <= MOST_CALLS else ()


def average_request(
    accesses: Iterable[tuple[int | None, int | None, int | None]],
) -> tuple[float | None, float | None]:
    """Return sectors or wavefronts per executed instruction of a warp, and the fewest possible.

    Each access is its sum, the ideal sum, and the number of executions.
    """
    total = ideal_total = executions = 0
    for value, ideal, executed in accesses:
        if value is None or ideal is None or executed is None:
            return None, None
        total, ideal_total = total + value, ideal_total + ideal
        executions += executed
    return (total / executions, ideal_total / executions) if executions else (None, None)


def blame_lines(
    kernels: Sequence[KernelDiagnosis], codes: Sequence[SampledCode]
) -> tuple[KernelDiagnosis, ...]:
    """Return the kernels with what their warps wait for, and the line that each verdict blames.

    Samples are those of all launches of a kernel, whatever their grid: the source page does not
    separate launches. Of several codes under one name that with most samples counts.
    """
    most: dict[str, SampledCode] = {}
    for code in codes:
        if code.function not in most or code.samples > most[code.function].samples:
            most[code.function] = code
    blames: dict[str, tuple[LineBlame, StallSummary | None]] = {}
    with_lines = []
    for kernel in kernels:
        name = named_alike(kernel.name, most)
        if name is None:
            with_lines.append(kernel)
            continue
        if name not in blames:
            blame = LineBlame(most[name])
            blames[name] = blame, blame.summarize_stalls() if most[name].samples else None
        blame, waiting = blames[name]
        causes = tuple(
            structs.replace(each, place=blame.blamed_line(each.bottleneck))
            for each in kernel.verdict.causes
        )
        location = blame.blamed_line(kernel.verdict.bottleneck)
        verdict = replace(kernel.verdict, causes=causes)
        with_lines.append(replace(kernel, verdict=verdict, place=location, waiting=waiting))
    return tuple(with_lines)
