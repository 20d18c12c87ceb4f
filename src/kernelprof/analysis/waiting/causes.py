"""What the warps at each instruction wait for: from the stalled one back to what it needs.

A sample is of the instruction that a warp cannot issue yet. What that waits for depends on the
state of the warp: what brings a register that it needs, or that still reads one that it is to
overwrite (the scoreboards), the chain of arithmetic before it, a barrier, or the queue of a unit
that is full, which is the instruction's own. Where an operand may come from several instructions
(two operands, two ways to it) its samples are divided among them by how often each was carried out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.waiting.opcodes import (
    ATOMICS,
    BARRIERS,
    BRANCHES,
    COPIES,
    FENCES,
    LONG,
    MBARRIER,
    SHORT,
    WAITERS,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelprof.analysis.waiting.flow import Flow

_SCOREBOARDS: Final = {"long_scoreboard": LONG, "short_scoreboard": SHORT}
_CHAIN: Final = 24
"""Instructions before one whose latency, where it is fixed, can still be waited for: it is a few
issues long."""
_VARIABLE: Final = LONG | SHORT | ATOMICS
_POINTS: Final = {
    "barrier": BARRIERS,
    "warpgroup_arrive": frozenset(("WARPGROUP",)),
    "membar": FENCES,
    "branch_resolving": BRANCHES,
}
"""Instructions that a warp stays behind, by its state: the nearest before it."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Samples at one instruction in one state, and the instruction that they wait for.

    ``cause`` is ``None`` where no instruction is known that it could be.
    """

    state: str
    at: int
    cause: int | None
    samples: float


def waits(flow: Flow) -> Iterator[Wait]:
    """Every wait of a kernel; those of one instruction in one state add up to its samples."""
    from kernelprof.model.sampled import ISSUED

    for at, each in enumerate(flow.code.instructions):
        for state, samples in each.counts.stalls.items():
            if state in ISSUED:
                continue
            causes = sorted(_causes(flow, state, at))
            if not causes:
                yield Wait(state, at, None, float(samples))
                continue
            often = [flow.code.instructions[n].counts.executed or 0 for n in causes]
            total = sum(often)
            for cause, times in zip(causes, often, strict=True):
                part = times / total if total else 1 / len(causes)
                if part:
                    yield Wait(state, at, cause, samples * part)


def _causes(flow: Flow, state: str, at: int) -> set[int]:
    if state in _SCOREBOARDS:
        return _behind_scoreboard(flow, _SCOREBOARDS[state], at)
    if state in _POINTS:
        points = _POINTS[state]
        if state != "branch_resolving" and flow.uses[at].opcode in points:
            return {at}
        return flow.nearest(at, lambda n: flow.uses[n].opcode in points)
    if state == "wait":
        return _chain(flow, at)
    # A queue that is full, instructions that are not there yet, a sleep: the instruction itself.
    return {at}


def _behind_scoreboard(flow: Flow, opcodes: frozenset[str], at: int) -> set[int]:
    """What brings a register that an instruction needs, or still reads one that it overwrites."""
    own = flow.uses[at]
    if own.opcode == "DEPBAR":
        copies = flow.nearest(at, lambda n: flow.uses[n].opcode in COPIES)
        return copies or {at}
    # A result that is still to come must not arrive after the one that replaces it.
    needed = own.read | own.written
    found = {n for n in flow.writers(at, needed) if flow.uses[n].opcode in opcodes}
    found = {n for n in found if flow.uses[n].opcode != MBARRIER} or found
    if found:
        return found
    if own.opcode in WAITERS:
        return {at}
    return flow.nearest(
        at,
        lambda n: flow.uses[n].opcode in opcodes and bool(flow.uses[n].read & own.written),
        lambda n: bool(flow.uses[n].written & own.written),
    )


def _chain(flow: Flow, at: int) -> set[int]:
    """The arithmetic whose result an instruction needs; itself where nothing of it is one.

    Its latency is fixed, so what was carried out last is what it waits for.
    """
    found = {
        n
        for n in flow.writers(at, flow.uses[at].read, _CHAIN)
        if flow.uses[n].opcode not in _VARIABLE
    }
    earlier = [n for n in found if n < at]
    if earlier:
        return {max(earlier)}
    return {max(found)} if found else {at}
