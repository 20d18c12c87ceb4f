"""Machine code as the model of time runs it: what each instruction takes, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from sassim.counters.counters import BULK
from sassim.counters.transactions import SECTOR
from sassim.gpu import WARP_SIZE
from sassim.interpreter.operations.barriers import comes_to_phases
from sassim.interpreter.operations.warpgroup import is_product, operand_wavefronts
from sassim.opcodes import BULK_COPIES, LOADS, MEMORY, WAIT_GROUP, find_opcode
from sassim.sass.cubin import read_machine_code
from sassim.sass.listing import INSTRUCTION_BYTES
from sassim.sass.operands import Immediate, Other
from sassim.timing.control_bits import PLAIN, decode_control_bits
from sassim.timing.pipes import PipeCosts, load_latencies

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sassim.caches import CacheMisses
    from sassim.counters.counters import AccessCounters
    from sassim.counters.launch_counters import LaunchCounters
    from sassim.gpu import GpuModel
    from sassim.sass.listing import Instruction
    from sassim.sass.program import BasicBlock
    from sassim.timing.control_bits import ControlBits

SM_PARTITIONS: Final = 4
"""SM sub-partitions (SMSPs), each with a scheduler and pipes of its own."""
PARTITION_PIPES: Final = ("alu", "fma", "fmaheavy", "xu", "fp64", "tensor", "uniform")
"""Pipes that each sub-partition has; all sub-partitions share the others."""
_WORD: Final = 4
WHOLE_SECTORS_SHARE: Final = 0.4
"""Part of its sectors' bytes from which a store counts as one of whole sectors: halves cost as much
in ``markov-powers-one-by-one`` of ``cuda/pairs``, single words much more in
``random-walks-stored-by-path``."""
_LINE_COST: Final = 2.0
"""What a load costs L2 for a line, however few sectors of it, in sectors of whole lines. This and
the next four were measured on an H200, with random words of 4 MB (:mod:`sassim.scattered`) and with
single bytes of one, two and four sectors of a line (109, 94 and 70 million sectors in a ms)."""
_PARTIAL_SECTOR_COST: Final = 2.3
_PARTIAL_LINE_COST: Final = 2.1
_REDUCTION_COST: Final = 3.0
_ATOMIC_COST: Final = 4.0
SEGMENT: Final = 64
"""Instructions that are kept or left out together."""


class MemoryTiming(NamedTuple):
    """What an access of a warp takes, on average."""

    kind: str
    """``load``, ``store``, ``reduction``, ``atomic``: global or local memory; ``shared``;
    ``constant``."""
    passes: float
    """Wavefronts of L1, of shared memory, or of the constant cache."""
    sectors: float
    """Sectors that miss L1."""
    waits: float
    """Share of its warps that wait for L2."""
    far: float
    """Share of these that wait for device memory."""
    serialized: float
    """Turns of the L2 slice that is hottest with atomics."""
    l2_cost: float = 0.0
    """What L2 does for it, in sectors of whole lines that it reads."""
    dram_cost: float = 0.0
    """What device memory does for it, in sectors of a stream that it reads."""


class TimedInstruction(NamedTuple):
    """An instruction of a warp."""

    stall: int
    waits: tuple[int, ...]
    result: int | None
    operands: int | None
    pipe: int
    """The place in :data:`PARTITION_PIPES`; negative: none."""
    cycles: float
    """Of that pipe, in a part."""
    adu: float
    """Cycles of the SM's unit for barriers, constants and special registers."""
    latency: float
    """Until the result is there, where it is waited for by a scoreboard."""
    memory: MemoryTiming | None
    name: str
    pending: int = -1
    """Groups of asynchronous copies, or of a warpgroup's products, that may be under way after it;
    negative: it waits for none."""
    role: str = ""
    """What it is of asynchronous copies and products: ``arrive``, ``wait``, ``copy`` to or
    ``store`` from shared memory, ``product``."""
    ends_group: bool = False
    """Whether it ends a group of products."""
    together: int = 0
    """Warps that meet at its barrier; zero: all of the block."""


@dataclass(frozen=True, slots=True)
class TimedCode:
    """All basic blocks of a program by address, in segments."""

    segments: Mapping[int, tuple[tuple[TimedInstruction, ...], ...]]
    bytes_executed: int


def time_code(
    counters: LaunchCounters, cubin: bytes, gpu: GpuModel, misses: CacheMisses
) -> TimedCode:
    """Return the costs of the executed basic blocks."""
    program = counters.launch.program
    timer = _InstructionTimer(counters, PipeCosts(gpu), misses)
    texts = read_machine_code(cubin)
    control_bits = {f.name: decode_control_bits(texts.get(f.name, b"")) for f in program.functions}
    timed = {}
    size = 0
    for start in counters.block_counters.runs:
        block = program.blocks[start]
        times = float(counters.block_counters.runs[start].warps.sum())
        ops = [
            timer.time_instruction(i, _control_bits_of(control_bits, block, i), times)
            for i in block.instructions
        ]
        size += len(ops) * INSTRUCTION_BYTES
        timed[start] = tuple(tuple(ops[at : at + SEGMENT]) for at in range(0, len(ops), SEGMENT))
    return TimedCode(timed, size)


def _control_bits_of(
    control_bits: Mapping[str, tuple[ControlBits, ...]], block: BasicBlock, i: Instruction
) -> ControlBits:
    listed = control_bits.get(block.function.name, ())
    at = i.address // INSTRUCTION_BYTES
    return listed[at] if at < len(listed) else PLAIN


class _InstructionTimer:
    def __init__(self, counters: LaunchCounters, costs: PipeCosts, misses: CacheMisses) -> None:
        self._costs = costs
        self._misses = misses
        self._counters = counters
        self._accesses: dict[int, list[AccessCounters]] = {}
        for each in counters.block_counters.accesses.values():
            self._accesses.setdefault(id(each.instruction), []).append(each)

    def time_instruction(self, i: Instruction, bits: ControlBits, times: float) -> TimedInstruction:
        """What an instruction takes that was executed so many times."""
        pipe, cycles, adu = -1, 0.0, 0.0
        for name, cost in self._costs.cycles_by_pipe(i):
            if name in PARTITION_PIPES and (pipe < 0 or name == "fmaheavy"):
                pipe, cycles = PARTITION_PIPES.index(name), cost * SM_PARTITIONS
            elif name == "adu":
                adu = cost
        return TimedInstruction(
            stall=bits.stall,
            waits=bits.waits,
            result=bits.result,
            operands=bits.operands,
            pipe=pipe,
            cycles=cycles,
            adu=adu,
            latency=0.0 if bits.result is None else _latency_of(i),
            memory=self._time_memory(i, times),
            name=i.opcode,
            pending=_pending_groups(i),
            role=_role_of(i),
            ends_group=any(isinstance(each, Other) and each.text == "gsb0" for each in i.operands),
            together=_warps_together(i),
        )

    def _time_memory(self, i: Instruction, times: float) -> MemoryTiming | None:
        """What an access takes; a shuffle goes through shared memory, too."""
        by_space = {each.space: each for each in self._accesses.get(id(i), [])}
        if passes := _passes_of_warps(i):
            return MemoryTiming("shared", passes, 0.0, 0.0, 0.0, 0.0)
        if BULK in by_space:
            return self._time_bulk_copy(by_space[BULK], times)
        for space in ("global", "local"):
            if space in by_space:
                return self._time_far_access(i, by_space[space], by_space.get("shared"))
        if "shared" in by_space:
            each = by_space["shared"]
            passes = max(_mean_per_request(each, "wavefronts"), _mean_per_request(each, "alike"))
            return MemoryTiming("shared", max(1.0, passes), 0.0, 0.0, 0.0, 0.0)
        if "constant" in by_space:
            serialized = _mean_per_request(by_space["constant"], "addresses")
            return MemoryTiming("constant", max(1.0, serialized), 0.0, 0.0, 0.0, 0.0)
        unseen = i.opcode in MEMORY and LOADS.get(i.opcode) != "constant"
        return MemoryTiming("shared", 1.0, 0.0, 0.0, 0.0, 0.0) if unseen else None

    def _time_bulk_copy(self, each: AccessCounters, times: float) -> MemoryTiming:
        """Of loads what one copies that does, of others what one execution does on average."""
        if each.kind == "load":
            sectors, far = _mean_per_request(each, "sectors"), self._misses.far_in_bulk
            dram_cost = _mean_per_request(each, "requested") * far
        else:
            sectors, far = float(each.counts["sectors"].sum()) / max(times, 1.0), 0.0
            dram_cost = 0.0
        return MemoryTiming(each.kind, 1.0, sectors, 1.0, far, 0.0, sectors, dram_cost)

    def _time_far_access(
        self, i: Instruction, each: AccessCounters, nearby: AccessCounters | None
    ) -> MemoryTiming:
        sectors = _mean_per_request(each, "sectors")
        # Words of local memory lie side by side for the threads of a warp, whichever they are.
        passes = max(1.0, _mean_per_request(each, "passes") or each.size / _WORD)
        if nearby is not None:
            passes += _mean_per_request(nearby, "wavefronts")
        kind = {"copy": "load", "compare": "atomic"}.get(each.kind, each.kind)
        missed = self._misses.shares_of(i, each)
        return MemoryTiming(
            kind=kind,
            passes=passes,
            sectors=sectors * missed.sectors,
            waits=missed.requests,
            far=missed.far,
            serialized=self._misses.serialized if kind in ("atomic", "reduction") else 0.0,
            l2_cost=_l2_cost(each, kind, sectors) * missed.sectors,
            dram_cost=sectors * missed.sectors * missed.dram_cost,
        )


def _l2_cost(each: AccessCounters, kind: str, sectors: float) -> float:
    lines = _mean_per_request(each, "lines")
    written = _mean_per_request(each, "threads") * each.size
    if kind == "load":
        return max(sectors, _LINE_COST * lines)
    if written >= WHOLE_SECTORS_SHARE * sectors * SECTOR:
        return sectors
    if kind == "store":
        return _PARTIAL_SECTOR_COST * sectors + _PARTIAL_LINE_COST * lines
    return sectors * (_REDUCTION_COST if kind == "reduction" else _ATOMIC_COST)


def _mean_per_request(each: AccessCounters, count: str) -> float:
    values = each.counts.get(count)
    return 0.0 if values is None else float(values.sum()) / max(1.0, each.counts["requests"].sum())


def _passes_of_warps(i: Instruction) -> float:
    """Wavefronts of shared memory of a shuffle, and of a warp's part of a product; else zero."""
    if is_product(i):
        return operand_wavefronts(i)
    return float(find_opcode(i.opcode).category == "shuffle")


def _pending_groups(i: Instruction) -> int:
    """``DEPBAR.LE SB0, 0x1`` waits until one group of copies is under way at most."""
    if i.opcode != WAIT_GROUP and not (i.opcode == "WARPGROUP" and i.has("DEPBAR")):
        return -1
    return next((each.bits for each in i.operands if isinstance(each, Immediate)), 0)


def _role_of(i: Instruction) -> str:
    category = find_opcode(i.opcode).category
    if i.has("TRYWAIT"):
        return "wait"
    if comes_to_phases(i):
        return "copy" if category == "copy" else "arrive"
    if i.opcode in BULK_COPIES:
        return "store"
    return "product" if is_product(i) else ""


def _warps_together(i: Instruction) -> int:
    """Warps that a barrier of a part of a block waits for: ``BAR.SYNC 0x1, 0x80``."""
    counts = i.operands[1:] if i.opcode == "BAR" and i.has("SYNC") else ()
    return next((each.bits // WARP_SIZE for each in counts if isinstance(each, Immediate)), 0)


def _latency_of(i: Instruction) -> float:
    return load_latencies()[find_opcode(i.opcode).latency or "other"]
