"""Which instructions a bottleneck is to be blamed on, each with its weight.

A bottleneck that is a property of the launch or of the whole kernel (its grid, its occupancy, the
bytes that it moves, the size of its code) has no line: it is not in :data:`BLAMED`. Waste is blamed
on the access that wastes most, whoever waits for it; waits on what they are for; a full pipe on the
instructions that fill it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.waiting import opcodes
from kernelprof.analysis.waiting.causes import Wait, waits
from kernelprof.analysis.waiting.flow import Flow

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.model.sampled import Counts, SampledCode

Weights = dict[int, float]
"""By the number of an instruction."""

THREADS: Final = 32
"""Of a warp."""


@dataclass(frozen=True)
class Analysis:
    """A kernel's code with what its warps wait for."""

    flow: Flow
    waits: tuple[Wait, ...]

    @classmethod
    def of(cls, code: SampledCode) -> Analysis:
        """The analysis of a kernel."""
        flow = Flow(code)
        return cls(flow, tuple(waits(flow)))

    def counted(self, value: Callable[[Counts], float | None]) -> Weights:
        """Weights by what was counted at each instruction."""
        found = {n: value(each.counts) for n, each in enumerate(self.flow.code.instructions)}
        return {n: weight for n, weight in found.items() if weight}

    def executed(self, which: frozenset[str]) -> Weights:
        """How often warps carried out instructions with these opcodes."""
        counted = self.counted(lambda each: each.executed)
        return {n: often for n, often in counted.items() if self.flow.uses[n].opcode in which}

    def waited(self, states: frozenset[str] | None, which: frozenset[str] | None = None) -> Weights:
        """Samples in some states by what they wait for, of these opcodes; ``None``: all."""
        found: Counter[int] = Counter()
        for each in self.waits:
            if each.cause is None or (states is not None and each.state not in states):
                continue
            if which is None or self.flow.uses[each.cause].opcode in which:
                found[each.cause] += each.samples  # type: ignore[assignment]
        return dict(found)


@dataclass(frozen=True, slots=True)
class Kind:
    """How a bottleneck is blamed: ``of`` what the shares are, and the weights of instructions.

    Of several ways the first that finds anything is taken: a report may lack what the others need.
    """

    of: str
    weights: Callable[[Analysis], Weights]


WAITING: Final = "waiting"


def _excess_sectors(found: Analysis) -> Weights:
    return found.counted(lambda each: _above(each.sectors, each.ideal_sectors))


def _excess_wavefronts(found: Analysis) -> Weights:
    return found.counted(lambda each: _above(each.wavefronts, each.ideal_wavefronts))


def _above(value: int | None, ideal: int | None) -> float | None:
    return None if value is None or ideal is None else max(value - ideal, 0)


def _local(found: Analysis) -> Weights:
    return found.counted(lambda each: each.local_sectors) or found.executed(opcodes.LOCAL)


def _constants(found: Analysis) -> Weights:
    """Constants whose address a register holds: only of those threads can read different ones."""
    return {
        number: often
        for number, often in found.counted(lambda each: each.executed).items()
        if found.flow.uses[number].indexed_constant
    }


def _idle(found: Analysis) -> Weights:
    """Threads that do nothing while their warp works, by the branch that sent them away."""
    flow = found.flow
    instructions = flow.code.instructions

    def diverges(number: int) -> bool:
        counts, each = instructions[number].counts, flow.uses[number]
        if each.opcode == "EXIT" and each.guard is not None:
            return 0 < (counts.threads or 0) < THREADS * (counts.executed or 0)
        return bool(counts.divergent)

    weights: Counter[int] = Counter()
    for number, each in enumerate(instructions):
        executed, threads = each.counts.executed, each.counts.threads
        if executed is None or threads is None or flow.uses[number].opcode.startswith("U"):
            continue
        idle = THREADS * executed - threads
        if idle <= 0:
            continue
        branches = flow.nearest(number, diverges) or {number}
        for branch in branches:
            weights[branch] += idle / len(branches)  # type: ignore[assignment]
    return dict(weights)


def _work(*which: frozenset[str]) -> Callable[[Analysis], Weights]:
    return lambda found: found.executed(frozenset().union(*which))


def _waits(
    states: frozenset[str] | None, which: frozenset[str] | None = None
) -> Callable[[Analysis], Weights]:
    return lambda found: found.waited(states, which)


_MEMORY: Final = _waits(frozenset(("long_scoreboard", "lg_throttle", "tex_throttle")))
_CHAIN: Final = _waits(frozenset(("wait", "short_scoreboard", "math_pipe_throttle")))
_ASYNC: Final = _waits(
    frozenset(
        ("long_scoreboard", "barrier", "warpgroup_arrive", "membar", "short_scoreboard", "misc")
    )
)

BLAMED: Final[dict[str, tuple[Kind, ...]]] = {
    "uncoalesced-global-access": (Kind("excess sectors", _excess_sectors), Kind(WAITING, _MEMORY)),
    "shared-bank-conflicts": (
        Kind("excess wavefronts", _excess_wavefronts),
        Kind(WAITING, _waits(None, opcodes.SHARED)),
    ),
    "local-memory-traffic": (Kind("traffic of local memory", _local),),
    "atomic-contention": (
        Kind("waiting for atomics", _waits(None, opcodes.ATOMICS)),
        Kind("atomics", _work(opcodes.ATOMICS)),
    ),
    "constant-cache": (Kind("indexed constants", _constants),),
    "memory-latency": (Kind("waiting for memory", _MEMORY),),
    "dependency-latency": (Kind("waiting for results", _CHAIN),),
    "barrier-stalls": (Kind("waiting at barriers", _waits(frozenset(("barrier",)))),),
    "async-pipeline-stalls": (Kind(WAITING, _ASYNC),),
    "warp-divergence": (Kind("idle threads", _idle),),
    "fp32-throughput": (Kind("FP32 instructions", _work(opcodes.FP32)),),
    "fp64-throughput": (Kind("FP64 instructions", _work(opcodes.FP64)),),
    "integer-throughput": (Kind("integer instructions", _work(opcodes.INTEGER)),),
    "sfu-throughput": (Kind("special functions", _work(opcodes.SPECIAL)),),
    "tensor-throughput": (Kind("matrix instructions", _work(opcodes.PRODUCTS)),),
    "instruction-issue": (
        Kind("instructions", lambda found: found.counted(lambda each: each.executed)),
    ),
    "l1-throughput": (
        Kind("global loads and stores", _work(opcodes.GLOBAL_LOADS | opcodes.GLOBAL_STORES)),
    ),
    "shared-memory-throughput": (
        Kind("shared-memory instructions", _work(opcodes.SHARED | {"SHFL"})),
    ),
}
"""By the name of a bottleneck: what of it has a line."""
