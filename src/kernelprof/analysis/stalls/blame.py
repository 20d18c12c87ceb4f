"""Which instructions a bottleneck is blamed on, each with its weight.

A sample belongs to the instruction that a warp cannot issue yet. What that waits for depends on
the warp's state: the producer or reader of a register (scoreboards), the dependency chain before
it, a barrier, or a full queue, which is the instruction's own. Samples of an operand with several
possible producers are divided among them by how often each was executed.

Waste is blamed on the access that wastes most, waits on what they wait for, a full pipe on the
instructions that fill it. A bottleneck of the whole launch (grid, occupancy, bytes moved, size of
the code) has no line and is not in :data:`BLAMED`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.model.sampled import ISSUED
from sassim.opcodes import find_opcode, flagged_opcodes, opcodes_of_category, select_opcodes
from sassim.sass.dataflow import ControlFlow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kernelprof.model.sampled import Counts, SampledCode

Weights = dict[int, float]
"""By the number of an instruction."""

THREADS: Final = 32
"""Of a warp."""

_GLOBAL: Final = ("global", "generic")

GLOBAL_LOADS: Final = select_opcodes(
    lambda row: row.category in ("load", "copy") and row.reads in _GLOBAL and "lsu" in row.pipes
)
GLOBAL_STORES: Final = select_opcodes(lambda row: row.category == "store" and row.writes in _GLOBAL)
SHARED: Final = select_opcodes(lambda row: row.space == "shared")
LOCAL: Final = select_opcodes(lambda row: row.space == "local")
ATOMICS: Final = opcodes_of_category("atomic")
COPIES: Final = opcodes_of_category("copy")
SPECIAL: Final = opcodes_of_category("special", "bits")
"""What the special-function unit carries out, with conversions and bit counts."""
FP64: Final = opcodes_of_category("fp64")
FP32: Final = opcodes_of_category("fp32")
INTEGER: Final = opcodes_of_category("integer", "bits")
PRODUCTS: Final = opcodes_of_category("mma", "wgmma")

MBARRIER: Final = "SYNCS"
"""Operations of a barrier in shared memory."""
BARRIERS: Final = opcodes_of_category("barrier", "mbarrier", "warpgroup")
FENCES: Final = opcodes_of_category("fence")
BRANCHES: Final = opcodes_of_category("branch")

LONG: Final = select_opcodes(lambda row: row.scoreboard == "long")
"""Whose results, or operands that they still read, a long scoreboard guards."""
SHORT: Final = select_opcodes(lambda row: row.scoreboard == "short")
"""The same for a short scoreboard."""
WAITERS: Final = flagged_opcodes("waits")
"""Instructions that wait for what no operand names."""

_SCOREBOARDS: Final = {"long_scoreboard": LONG, "short_scoreboard": SHORT}
_LONGEST_CHAIN: Final = 24
"""Instructions of fixed latency that are searched before one: it is a few issues long."""
_VARIABLE_LATENCY: Final = LONG | SHORT | ATOMICS
_BLOCKING: Final = {
    "barrier": BARRIERS,
    "warpgroup_arrive": frozenset(("WARPGROUP",)),
    "membar": FENCES,
    "branch_resolving": BRANCHES,
}
"""Instructions that block a warp, by its state: the nearest before it."""


@dataclass(frozen=True, slots=True)
class AttributedStall:
    """Samples at one instruction in one state, and the instruction that they wait for.

    ``cause`` is ``None`` where no instruction is known that it could be.
    """

    state: str
    at: int
    cause: int | None
    samples: float


def attribute_stalls(code: SampledCode, flow: ControlFlow) -> Iterator[AttributedStall]:
    """Yield every wait of a kernel; those of one instruction in one state add up to its samples."""
    for at, each in enumerate(code.instructions):
        for state, samples in each.counts.stalls.items():
            if state in ISSUED:
                continue
            causes = sorted(_causes(flow, state, at))
            if not causes:
                yield AttributedStall(state, at, None, float(samples))
                continue
            executions = [code.instructions[n].counts.executed or 0 for n in causes]
            total = sum(executions)
            for cause, times in zip(causes, executions, strict=True):
                share = times / total if total else 1 / len(causes)
                if share:
                    yield AttributedStall(state, at, cause, samples * share)


def _causes(flow: ControlFlow, state: str, at: int) -> set[int]:
    if state in _SCOREBOARDS:
        return _scoreboard_causes(flow, _SCOREBOARDS[state], at)
    if state in _BLOCKING:
        blocking = _BLOCKING[state]
        if state != "branch_resolving" and flow.effects[at].opcode in blocking:
            return {at}
        return flow.nearest(at, lambda n: flow.effects[n].opcode in blocking)
    if state == "wait":
        return _chain(flow, at)
    # A queue that is full, instructions that are not there yet, a sleep: the instruction itself.
    return {at}


def _scoreboard_causes(flow: ControlFlow, guarded: frozenset[str], at: int) -> set[int]:
    """What writes a register that an instruction reads, or still reads one that it overwrites."""
    own = flow.effects[at]
    if own.opcode == "DEPBAR":
        copies = flow.nearest(at, lambda n: flow.effects[n].opcode in COPIES)
        return copies or {at}
    # A result that is still to come must not arrive after the one that replaces it.
    registers = own.read | own.written
    writers = {n for n in flow.writers(at, registers) if flow.effects[n].opcode in guarded}
    writers = {n for n in writers if flow.effects[n].opcode != MBARRIER} or writers
    if writers:
        return writers
    if own.opcode in WAITERS:
        return {at}
    return flow.nearest(
        at,
        lambda n: flow.effects[n].opcode in guarded and bool(flow.effects[n].read & own.written),
        lambda n: bool(flow.effects[n].written & own.written),
    )


def _chain(flow: ControlFlow, at: int) -> set[int]:
    """The arithmetic whose result an instruction reads; itself where none of it is arithmetic.

    Its latency is fixed, so the one that was executed last is what it waits for.
    """
    writers = {
        n
        for n in flow.writers(at, flow.effects[at].read, _LONGEST_CHAIN)
        if flow.effects[n].opcode not in _VARIABLE_LATENCY
    }
    earlier = [n for n in writers if n < at]
    if earlier:
        return {max(earlier)}
    return {max(writers)} if writers else {at}


class StallAnalysis:
    """A kernel's code with what its warps wait for."""

    def __init__(self, code: SampledCode) -> None:
        self.code = code
        instructions = code.instructions
        self.flow = ControlFlow([i.text for i in instructions], [i.offset for i in instructions])
        self.stalls = tuple(attribute_stalls(code, self.flow))

    def weigh(self, value: Callable[[Counts], float | None]) -> Weights:
        """Weigh instructions by a counter of each."""
        weights = {n: value(each.counts) for n, each in enumerate(self.code.instructions)}
        return {n: weight for n, weight in weights.items() if weight}

    def weigh_executions(self, which: frozenset[str]) -> Weights:
        """Weigh instructions of these opcodes by how often warps executed them."""
        executions = self.weigh(lambda each: each.executed)
        return {n: times for n, times in executions.items() if self.flow.effects[n].opcode in which}

    def weigh_stalls(
        self, states: frozenset[str] | None, which: frozenset[str] | None = None
    ) -> Weights:
        """Weigh causes of these opcodes by the samples in some states; ``None``: all."""
        weights: Counter[int] = Counter()
        for each in self.stalls:
            if each.cause is None or (states is not None and each.state not in states):
                continue
            if which is None or self.flow.effects[each.cause].opcode in which:
                weights[each.cause] += each.samples  # type: ignore[assignment]
        return dict(weights)


@dataclass(frozen=True, slots=True)
class BlameRule:
    """The instructions that a bottleneck is blamed on, and what their shares are of.

    The first of several rules that finds anything counts: a report may lack what the others need.
    """

    share_of: str
    weights: Callable[[StallAnalysis], Weights]


WAITING: Final = "waiting"


def _excess_sectors(analysis: StallAnalysis) -> Weights:
    return analysis.weigh(lambda each: _excess(each.sectors, each.ideal_sectors))


def _excess_wavefronts(analysis: StallAnalysis) -> Weights:
    return analysis.weigh(lambda each: _excess(each.wavefronts, each.ideal_wavefronts))


def _excess(value: int | None, ideal: int | None) -> float | None:
    return None if value is None or ideal is None else max(value - ideal, 0)


def _local(analysis: StallAnalysis) -> Weights:
    sectors = analysis.weigh(lambda each: each.local_sectors)
    return sectors or analysis.weigh_executions(LOCAL)


def _indexed_constants(analysis: StallAnalysis) -> Weights:
    """Constants whose address a register holds: only of those threads can read different ones."""
    return {
        number: times
        for number, times in analysis.weigh(lambda each: each.executed).items()
        if analysis.flow.effects[number].indexed_constant
    }


def _idle_threads(analysis: StallAnalysis) -> Weights:
    """Threads that are inactive while their warp executes, by the branch that diverged."""
    flow = analysis.flow
    instructions = analysis.code.instructions

    def diverges(number: int) -> bool:
        counts, each = instructions[number].counts, flow.effects[number]
        if each.opcode == "EXIT" and each.guard is not None:
            return 0 < (counts.threads or 0) < THREADS * (counts.executed or 0)
        return bool(counts.divergent)

    weights: Counter[int] = Counter()
    for number, each in enumerate(instructions):
        executed, threads = each.counts.executed, each.counts.threads
        if executed is None or threads is None or flow.effects[number].opcode.startswith("U"):
            continue
        idle = THREADS * executed - threads
        if idle <= 0:
            continue
        branches = flow.nearest(number, diverges) or {number}
        for branch in branches:
            weights[branch] += idle / len(branches)  # type: ignore[assignment]
    return dict(weights)


def _executions(*which: frozenset[str]) -> Callable[[StallAnalysis], Weights]:
    return lambda analysis: analysis.weigh_executions(frozenset().union(*which))


def _stalls(
    states: frozenset[str] | None, which: frozenset[str] | None = None
) -> Callable[[StallAnalysis], Weights]:
    return lambda analysis: analysis.weigh_stalls(states, which)


_MEMORY: Final = _stalls(frozenset(("long_scoreboard", "lg_throttle", "tex_throttle")))
_DEPENDENCIES: Final = _stalls(frozenset(("wait", "short_scoreboard", "math_pipe_throttle")))
_ASYNC: Final = _stalls(
    frozenset(
        ("long_scoreboard", "barrier", "warpgroup_arrive", "membar", "short_scoreboard", "misc")
    )
)

BLAMED: Final[dict[str, tuple[BlameRule, ...]]] = {
    "uncoalesced-global-access": (
        BlameRule("excess sectors", _excess_sectors),
        BlameRule(WAITING, _MEMORY),
    ),
    "shared-bank-conflicts": (
        BlameRule("excess wavefronts", _excess_wavefronts),
        BlameRule(WAITING, _stalls(None, SHARED)),
    ),
    "local-memory-traffic": (BlameRule("traffic of local memory", _local),),
    "atomic-contention": (
        BlameRule("waiting for atomics", _stalls(None, ATOMICS)),
        BlameRule("atomics", _executions(ATOMICS)),
    ),
    "constant-cache": (BlameRule("indexed constants", _indexed_constants),),
    "memory-latency": (BlameRule("waiting for memory", _MEMORY),),
    "dependency-latency": (BlameRule("waiting for results", _DEPENDENCIES),),
    "barrier-stalls": (BlameRule("waiting at barriers", _stalls(frozenset(("barrier",)))),),
    "async-pipeline-stalls": (BlameRule(WAITING, _ASYNC),),
    "warp-divergence": (BlameRule("idle threads", _idle_threads),),
    "fp32-throughput": (BlameRule("FP32 instructions", _executions(FP32)),),
    "fp64-throughput": (BlameRule("FP64 instructions", _executions(FP64)),),
    "integer-throughput": (BlameRule("integer instructions", _executions(INTEGER)),),
    "sfu-throughput": (BlameRule("special functions", _executions(SPECIAL)),),
    "tensor-throughput": (BlameRule("matrix instructions", _executions(PRODUCTS)),),
    "instruction-issue": (
        BlameRule("instructions", lambda analysis: analysis.weigh(lambda each: each.executed)),
    ),
    "l1-throughput": (
        BlameRule("global loads and stores", _executions(GLOBAL_LOADS | GLOBAL_STORES)),
    ),
    "shared-memory-throughput": (
        BlameRule("shared-memory instructions", _executions(SHARED | {"SHFL"})),
    ),
}
"""What of a bottleneck has a line, by the bottleneck's name."""

_NOUNS: Final = {
    "atomic": "atomic",
    "copy": "copy",
    "texture": "texture",
    "constant": "constant",
    "mbarrier": "wait for an mbarrier",
    "warpgroup": "wait for products",
    "copy-wait": "wait for copies",
    "barrier": "barrier",
    "fence": "fence",
    "mma": "product",
    "wgmma": "product",
    "shuffle": "shuffle",
    "bits": "special function",
    "special": "special function",
    "branch": "branch",
}


def kind(opcode: str) -> str:
    """Return what an instruction is called in a sentence."""
    row = find_opcode(opcode)
    if row.category in ("load", "store"):
        is_on_chip = row.space in ("local", "shared")
        return f"{row.space}-memory {row.category}" if is_on_chip else row.category
    return _NOUNS.get(row.category, "arithmetic")
