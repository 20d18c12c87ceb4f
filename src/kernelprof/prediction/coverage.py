"""What of a kernel's control flow its counts and the check of its result do not cover, by line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.model.prediction import PathCoverage
from kernelprof.model.waiting import SourceLocation
from kernelprof.prediction.lines import SourcePaths, amount
from kernelprof.prediction.output_sample import choose_blocks
from sassim.counters.counters import BULK
from sassim.loops.guards import evaluate_guards, plan_guards, reachable_blocks
from sassim.sass.operands import Label

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from kernelprof.model.prediction import Amount
    from kernelprof.prediction.binding import BoundLaunch
    from sassim.counters.launch_counters import LaunchCounters
    from sassim.sass.listing import Instruction
    from sassim.sass.program import BasicBlock, Program

_WRITES: Final = frozenset(("store", "atomic", "reduction", "compare", "count"))
_TAKES_TIME: Final = re.compile(r"NANOSLEEP|\bSR_(?:CLOCK|GLOBALTIMER)")
_OF_THE_COMPILER: Final = re.compile(r"\$__internal|__cuda_sm|__internal_")
"""Subroutines for division and the like, which only rare numbers need."""


@dataclass(frozen=True)
class CheckedPaths:
    """Where threads went while the result was checked."""

    blocks: frozenset[int] = frozenset()
    """Addresses of basic blocks."""
    outcomes: Mapping[int, int] = field(default_factory=dict)
    """Outcomes of guards, by address."""


def checked_paths(bound: BoundLaunch, blocks: frozenset[int]) -> CheckedPaths:
    """The paths of a launch of which these basic blocks ran."""
    values = evaluate_guards(bound.launch, plan_guards(bound.launch.program))
    outcomes = {at: int(np.bitwise_or.reduce(codes)) for at, codes in values.outcomes.items()}
    return CheckedPaths(blocks, outcomes)


def find_coverage(
    counters: LaunchCounters, checked: CheckedPaths, source: Path, output_bytes: int
) -> PathCoverage:
    """What is not covered; of the check nothing where no result was checked."""
    program = counters.launch.program
    places = SourcePaths(source)
    guards = counters.guards
    ran = counters.block_counters.runs.keys()
    possible = reachable_blocks(
        program, guards.plan, guards.values, ran=ran, closed=frozenset(_calls_of_compiler(program))
    )
    return PathCoverage(
        never_run=_places(
            places, (i for at in possible - ran for i in program.blocks[at].instructions)
        ),
        unchecked=_places(places, _unchecked(counters, checked)) if checked.blocks else (),
        untimed=_places(
            places, (i for i, _, _ in counters.executed() if _TAKES_TIME.search(i.text))
        ),
        sampled=guards.sampled,
        output_bytes=output_bytes,
        written_bytes=_written_bytes(counters),
        blocks=choose_blocks(counters.sample),
    )


def _written_bytes(counters: LaunchCounters) -> Amount | None:
    accesses = counters.block_counters.accesses.values()
    if any(each.space == BULK for each in accesses):
        return None
    by_warp = np.zeros(counters.block_counters.warps, np.int64)
    for each in accesses:
        if each.space == "global" and each.kind in _WRITES:
            by_warp += each.size * each.counts["threads"]
    return amount(counters.total(by_warp))


def _unchecked(counters: LaunchCounters, checked: CheckedPaths) -> Iterator[Instruction]:
    """Instructions that ran, or selected a value, only at the measured size."""
    plan, values = counters.guards.plan, counters.guards.values
    for at, run in counters.block_counters.runs.items():
        if at not in checked.blocks:
            yield from run.block.instructions
    for each in plan.evaluations:
        codes = values.outcomes.get(each.address)
        if each.address not in plan.selections or codes is None:
            continue
        if int(np.bitwise_or.reduce(codes)) & ~checked.outcomes.get(each.address, ~0):
            yield each.instruction


def _calls_of_compiler(program: Program) -> Iterator[int]:
    """Basic blocks that call a subroutine of the compiler's, and those of the subroutines."""
    inside = {at for at, block in program.blocks.items() if _is_of_compiler(program, block)}
    yield from inside
    for at, block in program.blocks.items():
        if block.end is not None and block.end.opcode == "CALL":
            labels = (each for each in block.end.operands if isinstance(each, Label))
            targets = (program.target(block.function, each) for each in labels)
            if inside.intersection(targets):
                yield at


def _is_of_compiler(program: Program, block: BasicBlock) -> bool:
    function = block.function
    offset = block.start - program.base(function)
    names = {at: name for name, at in function.labels.items() if not name.startswith(".L")}
    begun = [at for at in names if at <= offset]
    name = names[max(begun)] if begun else function.name
    return _OF_THE_COMPILER.search(name) is not None


def _places(places: SourcePaths, instructions: Iterable[Instruction]) -> tuple[SourceLocation, ...]:
    matches = {places.place_of(i.lines) for i in instructions if i.lines}
    return tuple(SourceLocation(*each) for each in sorted(matches))
