"""Machine code as the model of time runs it: what each instruction takes, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from kernelprof.predict.counts.patterns import SECTOR
from kernelprof.predict.machine.uses import MEMORY
from kernelprof.predict.sass.cubin import machine_code
from kernelprof.predict.sass.listing import INSTRUCTION_BYTES
from kernelprof.predict.timing.control import PLAIN, controls
from kernelprof.predict.timing.pipes import Costs, latencies
from kernelprof.sass.operands import Immediate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.analysis.metrics.architectures import Architecture
    from kernelprof.predict.caches import Misses
    from kernelprof.predict.counts.counted import Counted
    from kernelprof.predict.counts.tally import Accesses
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.program import Block
    from kernelprof.predict.timing.control import Control

PARTS: Final = 4
"""Parts of an SM, each with a scheduler and pipes of its own."""
OF_A_PART: Final = ("alu", "fma", "fmaheavy", "xu", "fp64", "tensor", "uniform")
"""Pipes that each part has; others are the SM's."""
_WORD: Final = 4
FILLED: Final = 0.4
"""Part of its sectors' bytes from which a store counts as one of whole sectors: halves cost as much
in ``markov-powers-one-by-one`` of ``cuda/pairs``, single words much more in
``random-walks-stored-by-path``."""
SEGMENT: Final = 64
"""Instructions that are kept or left out together."""


class Memory(NamedTuple):
    """What an access of a warp takes, on average."""

    kind: str
    """``load``, ``store``, ``reduction``, ``atomic``: global or local memory; ``shared``;
    ``constant``."""
    passes: float
    """Wavefronts of L1, or of shared memory; turns of the constant cache."""
    sectors: float
    """Sectors that go on to L2."""
    waits: float
    """Share of its warps that wait for L2."""
    far: float
    """Share of these that wait for device memory."""
    turns: float
    """Turns of the L2 slice that is hottest with atomics."""
    partial: bool = False
    """Whether sectors are written in part."""


class Op(NamedTuple):
    """An instruction of a warp."""

    stall: int
    waits: tuple[int, ...]
    result: int | None
    operands: int | None
    pipe: int
    """The place in :data:`OF_A_PART`; negative: none."""
    cycles: float
    """Of that pipe, in a part."""
    adu: float
    """Cycles of the SM's unit for barriers, constants and special registers."""
    latency: float
    """Until the result is there, where it is waited for by a scoreboard."""
    memory: Memory | None
    kind: str
    """``barrier``, ``exit`` or nothing special."""
    name: str
    pending: int = -1
    """Groups of asynchronous copies that may be under way after it; negative: it waits for none."""


@dataclass(frozen=True, slots=True)
class Code:
    """All pieces of a program by their address, in segments."""

    segments: Mapping[int, tuple[tuple[Op, ...], ...]]
    bytes_executed: int


def code(counted: Counted, cubin: bytes, known: Architecture, misses: Misses) -> Code:
    """What the executed pieces of a program take."""
    program = counted.launch.program
    maker = _Maker(counted, Costs(known), misses)
    texts = machine_code(cubin)
    said = {f.name: controls(texts.get(f.name, b"")) for f in program.functions}
    found = {}
    size = 0
    for start in counted.tally.runs:
        block = program.blocks[start]
        ops = [maker.op(i, _said(said, block, i)) for i in block.instructions]
        size += len(ops) * INSTRUCTION_BYTES
        found[start] = tuple(tuple(ops[at : at + SEGMENT]) for at in range(0, len(ops), SEGMENT))
    return Code(found, size)


def _said(said: Mapping[str, tuple[Control, ...]], block: Block, i: Instruction) -> Control:
    listed = said.get(block.function.name, ())
    at = i.address // INSTRUCTION_BYTES
    return listed[at] if at < len(listed) else PLAIN


class _Maker:
    def __init__(self, counted: Counted, costs: Costs, misses: Misses) -> None:
        self._costs = costs
        self._misses = misses
        self._counted = counted
        self._accesses: dict[int, list[Accesses]] = {}
        for each in counted.tally.accesses.values():
            self._accesses.setdefault(id(each.instruction), []).append(each)

    def op(self, i: Instruction, said: Control) -> Op:
        pipe, cycles, adu = -1, 0.0, 0.0
        for name, cost in self._costs.of(i):
            if name in OF_A_PART and (pipe < 0 or name == "fmaheavy"):
                pipe, cycles = OF_A_PART.index(name), cost * PARTS
            elif name == "adu":
                adu = cost
        return Op(
            stall=said.stall,
            waits=said.waits,
            result=said.result,
            operands=said.operands,
            pipe=pipe,
            cycles=cycles,
            adu=adu,
            latency=0.0 if said.result is None else _latency(i),
            memory=self._memory(i),
            kind={"BAR": "barrier", "EXIT": "exit"}.get(i.opcode, ""),
            name=i.opcode,
            pending=_pending(i),
        )

    def _memory(self, i: Instruction) -> Memory | None:
        """What an access takes; a shuffle goes through shared memory, too."""
        found = self._accesses.get(id(i), [])
        if i.opcode == "SHFL":
            return Memory("shared", 1.0, 0.0, 0.0, 0.0, 0.0)
        by_space = {each.space: each for each in found}
        for space in ("global", "local"):
            if space in by_space:
                return self._far(i, by_space[space], by_space.get("shared"))
        if "shared" in by_space:
            each = by_space["shared"]
            passes = max(_mean(each, "wavefronts"), _mean(each, "alike"))
            return Memory("shared", max(1.0, passes), 0.0, 0.0, 0.0, 0.0)
        if "constant" in by_space:
            turns = _mean(by_space["constant"], "addresses")
            return Memory("constant", max(1.0, turns), 0.0, 0.0, 0.0, 0.0)
        if i.opcode in MEMORY and i.opcode != "LDC":
            return Memory("shared", 1.0, 0.0, 0.0, 0.0, 0.0)
        return None

    def _far(self, i: Instruction, each: Accesses, beside: Accesses | None) -> Memory:
        sectors = _mean(each, "sectors")
        # Words of local memory lie side by side for the threads of a warp, whichever they are.
        passes = max(1.0, _mean(each, "passes") or each.size / _WORD)
        if beside is not None:
            passes += _mean(beside, "wavefronts")
        kind = {"copy": "load", "compare": "atomic"}.get(each.kind, each.kind)
        missed = self._misses.of(i, each)
        return Memory(
            kind=kind,
            passes=passes,
            sectors=sectors * missed.sectors,
            waits=missed.requests,
            far=missed.far,
            turns=self._misses.turns if kind in ("atomic", "reduction") else 0.0,
            partial=_mean(each, "threads") * each.size < FILLED * sectors * SECTOR,
        )


def _mean(each: Accesses, count: str) -> float:
    """A count for one access of a warp."""
    values = each.counts.get(count)
    return 0.0 if values is None else float(values.sum()) / max(1.0, each.counts["requests"].sum())


def _pending(i: Instruction) -> int:
    """``DEPBAR.LE SB0, 0x1`` waits until one group of copies is under way at most."""
    if i.opcode != "DEPBAR":
        return -1
    return next((each.bits for each in i.operands if isinstance(each, Immediate)), 0)


def _latency(i: Instruction) -> float:
    name = _LATENCIES.get(i.opcode, "other")
    return latencies()[name]


_LATENCIES: Final = {
    **dict.fromkeys(("MUFU",), "special_function"),
    **dict.fromkeys(("F2F", "F2I", "FCHK", "FLO", "FRND", "I2F", "POPC", "BREV"), "conversion"),
    "SHFL": "shuffle",
    **dict.fromkeys(("LDS", "LDSM", "ATOMS", "STS"), "shared"),
    "LDC": "constant",
    **dict.fromkeys(("S2R", "S2UR"), "special_register"),
}
