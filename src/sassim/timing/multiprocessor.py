"""Warps of one SM in time: in order within a warp, the warp that is ready first before the others.

Each unit serves its requests one after the other; when it is free next is all that is kept of it.
So an instruction costs a few operations, whatever it waits for: its warp's scoreboards, its part's
scheduler and pipe, L1, the SM's share of L2 and of device memory.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from sassim.opcodes import ASYNC_COPY, COMMIT_GROUP, COMMIT_STORES, select_opcodes
from sassim.timing.instruction_costs import PARTITION_PIPES, SM_PARTITIONS
from sassim.timing.pipes import load_latencies
from sassim.timing.residents import PhaseState, ResidentBlock, ResidentWarp

if TYPE_CHECKING:
    from sassim.timing.instruction_costs import MemoryTiming, TimedInstruction
    from sassim.timing.segments import WarpSegments

FMA: Final = PARTITION_PIPES.index("fma")
HEAVY: Final = PARTITION_PIPES.index("fmaheavy")
XU: Final = PARTITION_PIPES.index("xu")
_QUEUE: Final = 64.0
"""Cycles of work that wait at L1 before a warp has to wait with its next access."""
_ADU_QUEUE: Final = 16.0
_PIPE_QUEUE: Final = 8.0
"""The same at the pipe for special functions, which takes instructions from a queue."""
_PORT: Final = 2.0
"""Sectors that an SM gets from L2 per cycle."""
_LOADED_SECTOR: Final = 0.18
"""What a sector that is loaded takes of the way to L2 against one that is stored: 0.22 of 1.25
cycles of a slice (``pipe_cycles.py``, ``sm_to_l2``)."""
_L2_QUEUE: Final = 2000.0
_FAR_QUEUE: Final = 4000.0
"""The same for stores on their way to L2 and to device memory."""
_MIN_ISSUE_INTERVAL: Final = 2
"""Cycles from one instruction of a warp to its next at least: no kernel of our captures issues more
than 0.46 instructions a cycle and warp."""
_FULL_FMA: Final = 1.15
"""Cycles of the FP32 pipe against its peak: it is busy 84.5 % at most in our captures."""
_REQUEST: Final = 0.37
"""Cycles of L1 that a load of global memory takes beside its wavefronts: of loads of 128 bytes L1
does one in 1.39 cycles (``02_coalesced``), of 512 bytes one in 4.3 (``classifier-features``)."""
_START: Final = 280.0
_WARP_START: Final = 2.0
"""Cycles from the end of a block until another one runs in its place, and between the starts of
its warps: 64 empty blocks one after the other take 290 cycles each with one warp, 350 with 32."""
_ARRIVAL: Final = 20.0
"""Cycles from an arrival at a barrier in shared memory until those that wait see it."""
_BOX: Final = 200.0
"""Cycles that the first bytes of a copy by a tensor map take beside those of a load from L2."""
_BANK: Final = 50.0
"""Cycles that a bank of device memory takes for an access. Streams with short blocks were predicted
0.72 to 0.88 of the measured time without waits at banks, 0.96 to 1.07 with them (``heat-plate``
without debugging, ``cross-fade`` scattered, ``particle-energy``, ``wave-step``)."""
_BANK_BUSIEST: Final = 0.85
_BANK_SETTLES: Final = 2000.0
"""Cycles from which on the share of busy cycles is taken as it is."""
_PRODUCT: Final = 30.0
"""Cycles from the last multiply-add of a warpgroup's product until its warps see it is done."""
_OF_GROUPS: Final = frozenset((ASYNC_COPY, COMMIT_GROUP, COMMIT_STORES))
_MODULUS: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class SharedUnitRates:
    """What one SM gets of the units that all share, per cycle."""

    l2_sectors: float
    bulk_sectors: float
    """Of bulk loads, which neighbours that ask for the same at the same time share."""
    dram_sectors: float
    atomic_cycles: float
    """Cycles of one serialized atomic at the hottest slice, all SMs together."""
    halves: bool
    """Whether FP32 has two pipes."""
    stored_sectors: float = 1.0
    """Whole sectors that an SM stores per cycle."""
    start_cycles: float = 0.0
    """Cycles between the starts of two blocks on one SM at least."""
    code_sectors: float = 0.0
    """Sectors of code that an SM gets per cycle, where its code does not fit; zero: it does."""
    code_segments: int = 0
    """Segments of code that it holds."""


@dataclass
class SmTimes:
    """What running blocks on an SM took, in cycles."""

    cycles: float = 0.0
    """Until the last of them ended."""
    blocks: int = 0
    idle: float = 0.0
    """Cycles of them in which there is no block in a place for one, of an average place."""
    scale_to_full_run: float = 1.0
    """Warp cycles of everything recorded over those of what was simulated."""
    instructions: float = 0.0
    """With what was left out."""
    stalls: dict[str, float] = field(default_factory=dict)
    """Cycles that warps wait, for each reason, with what was left out."""
    warp_cycles: float = 0.0
    """Cycles that warps are there, likewise."""
    ends: list[float] = field(default_factory=list)
    durations: dict[int, list[float]] = field(default_factory=dict)
    """Of blocks, by which recorded block they are."""

    @property
    def full_cycles(self) -> float:
        """Cycles with what was left out, which takes no time between blocks."""
        return (self.cycles - self.idle) * self.scale_to_full_run + self.idle


class Multiprocessor:
    """One SM, as long as it runs blocks of one launch."""

    def __init__(self, steps: WarpSegments, rates: SharedUnitRates) -> None:
        self._steps = steps
        self._rates = rates
        self._times = load_latencies()
        self._schedulers = [0.0] * SM_PARTITIONS
        self._pipes = [[0.0] * len(PARTITION_PIPES) for _ in range(SM_PARTITIONS)]
        self._l1 = self._l2 = self._far = self._hot = self._adu = self._fetched = 0.0
        self._far_busy = 0.0
        self._sent = 0.0
        self._code: dict[int, float] = {}
        """Segments in the instruction cache and since when, the one used last at the end."""
        self._random = 1
        self._queue: list[tuple[float, int, ResidentWarp]] = []
        self._order = 0
        self._begun = 0
        self._may_start = self._idle = 0.0
        self._blocks = 0
        self._running: list[ResidentBlock] = []
        self._passed = self._meant = self._instructions = 0.0
        self._stalls: defaultdict[str, float] = defaultdict(float, not_selected=0.0)
        self._waits: dict[int, tuple[int, int]] = {}
        """Cycles that a warp waits after the instructions of a segment, and leaves to others."""
        self._run = SmTimes()

    def run(self, blocks: int, resident: int) -> SmTimes:
        """Run so many blocks, as many at once as are resident."""
        self._blocks = blocks
        places = min(resident, blocks)
        for _ in range(places):
            self._start_block(0.0, 0.0)
        queue = self._queue
        while queue or self._release_stuck():
            now, _, warp = heapq.heappop(queue)
            ready = self._issue(warp, now)
            while ready is not None:
                # The warp that is next anyway need not enter the queue.
                if queue and ready >= queue[0][0]:
                    self._order += 1
                    ready, _, warp = heapq.heappushpop(queue, (ready, self._order, warp))
                ready = self._issue(warp, ready)
        run = self._run
        run.cycles = max(run.ends, default=0.0)
        run.blocks = blocks
        run.idle = self._idle / places
        run.instructions = self._instructions
        run.scale_to_full_run = self._meant / self._passed if self._passed else 1.0
        run.warp_cycles = self._meant
        run.stalls = self._stalls | {"selected": self._instructions}
        return run

    def _begin_segment(self, warp: ResidentWarp) -> None:
        """Count what is certain of the instructions of a warp's segment."""
        key, weight = id(warp.ops), warp.weight
        waits = self._waits.get(key)
        if waits is None:
            stalls = [op.stall for op in warp.ops]
            # The cycle that a warp leaves to others (cuda/ladder/13_double_buffered: 0.89 of 2.37
            # cycles with two warps a scheduler).
            left = sum(max(_MIN_ISSUE_INTERVAL - each, 0) for each in stalls)
            waits = self._waits[key] = sum(stalls) - len(stalls), left
        self._instructions += len(warp.ops) * weight
        self._stalls["wait"] += waits[0] * weight
        self._stalls["not_selected"] += waits[1] * weight

    def _end_segment(self, warp: ResidentWarp, now: float) -> None:
        """Count the time that a segment took, weighted by what it represents."""
        passed = now - warp.marked
        self._passed += passed
        self._meant += passed * warp.weight
        warp.marked = now

    def _push(self, warp: ResidentWarp, at: float) -> None:
        self._order += 1
        heapq.heappush(self._queue, (at, self._order, warp))

    def _start_block(self, since: float, now: float) -> None:
        """Start a block in a place that is free ``since``, and that can have one ``now``."""
        steps = self._steps
        now = max(now, self._may_start)
        self._may_start = now + self._rates.start_cycles
        self._idle += now - since
        number = self._begun % steps.blocks
        first = number * steps.warps_of_block
        mine = range(first, first + steps.warps_of_block)
        own = [(at, steps.warps[at]) for at in mine if steps.warps[at]]
        phases = steps.phases
        block = ResidentBlock(number, len(own), now, phases.expected[number])
        self._running.append(block)
        slot = self._begun * steps.warps_of_block
        self._begun += 1
        for n, (at, each) in enumerate(own):
            scheduler = (slot + n) % SM_PARTITIONS
            begin = now + _WARP_START * n
            warp = ResidentWarp(
                each,
                scheduler,
                block,
                begin,
                place=at - first,
                arrivals=phases.arrivals[at],
                waits=phases.waits[at],
            )
            self._begin_segment(warp)
            self._push(warp, begin)

    def _issue(self, warp: ResidentWarp, now: float) -> float | None:
        """Issue an instruction; when the warp is ready again, ``None``: others decide, or it ended.

        It runs 100,000 times for a kernel: so it unpacks what it reads.
        """
        op, weight = warp.ops[warp.at], warp.weight
        stall, _, result, operands, pipe, _, adu, latency, memory, name, pending, role, _, _ = op
        scheduler = warp.scheduler
        issue = self._schedulers[scheduler]
        if issue > now:
            self._stalls["not_selected"] += (issue - now) * weight
        else:
            issue = now
        self._schedulers[scheduler] = issue + 1.0
        done = 0.0
        if role:
            done = self._do_async(warp, op, issue)
            memory = None
        elif pipe >= 0:
            issue = self._enter_pipe(warp, op, issue, weight)
        if adu:
            issue = self._enter_adu(op, issue, weight)
        if memory is not None:
            issue, done = self._access(warp, op, memory, issue, weight)
        elif operands is not None:
            warp.raise_board(operands, issue + _PIPE_QUEUE)
        if name in _OF_GROUPS:
            done = warp.note_copies(name, done)
        if result is not None:
            board = warp.board
            board[result] = max(board[result], done or issue + latency)
            warp.last = name
        after = issue + max(stall, _MIN_ISSUE_INTERVAL)
        if pending >= 0 or role == "wait" or name == "BAR":
            return self._await_others(warp, op, after)
        return self._schedule(warp, after)

    def _await_others(self, warp: ResidentWarp, op: TimedInstruction, after: float) -> float | None:
        """When copies, products, a phase or the other warps of a barrier are there."""
        if op.pending >= 0:
            after = self._await_groups(warp, op.name, op.pending, after, warp.weight)
        if op.name == "BAR":
            self._arrive(warp, after, op.together)
            return None
        if op.role == "wait":
            return self._await_phase(warp, after)
        return self._schedule(warp, after)

    def _await_groups(
        self, warp: ResidentWarp, name: str, pending: int, now: float, weight: float
    ) -> float:
        """When so many groups of a warp's copies, or of its products, are under way at most."""
        of_products = name == "WARPGROUP"
        groups = warp.products[:-1] if of_products else warp.groups
        older = len(groups) - pending
        there = groups[older - 1] if older > 0 else now
        if of_products:
            del warp.products[: max(older - 1, 0)]
        if there <= now:
            return now
        # A wait for products counts as one at a barrier (pipelines.py).
        self._stalls["barrier" if of_products else "long_scoreboard"] += (there - now) * weight
        return there

    def _schedule(self, warp: ResidentWarp, now: float) -> float | None:
        """When the scoreboards are clear that a warp's next instruction waits for; ``None``: none.

        It is that instruction that is issued next.
        """
        at = warp.at = warp.at + 1
        if at >= len(warp.ops):
            self._end_segment(warp, now)
            if not warp.take_next_step():
                self._end_warp(warp, now)
                return None
            self._begin_segment(warp)
            now, at = self._fetch(warp.ops, now, warp.weight), 0
        waits = warp.ops[at].waits
        if not waits:
            return now
        ready, board = now, warp.board
        for each in waits:
            ready = max(ready, board[each])
        if ready > now:
            far, weight = warp.last in _FAR_LOADS, warp.weight
            self._stalls["long_scoreboard" if far else "short_scoreboard"] += (ready - now) * weight
        return ready

    def _fetch(self, ops: tuple[TimedInstruction, ...], now: float, weight: float) -> float:
        """When code is there; what is not in the instruction cache comes from L2."""
        rates = self._rates
        if not rates.code_sectors:
            return now
        key = id(ops)
        there = self._code.pop(key, None)
        if there is None:
            begin = max(self._fetched, now)
            self._fetched = begin + len(ops) / _OPS_OF_A_SECTOR / rates.code_sectors
            there = self._fetched + self._times["l2"]
        self._code[key] = there
        if len(self._code) > rates.code_segments:
            del self._code[next(iter(self._code))]
        if there > now:
            self._stalls["no_instruction"] += (there - now) * weight
            return there
        return now

    def _enter_pipe(
        self, warp: ResidentWarp, op: TimedInstruction, issue: float, weight: float
    ) -> float:
        """When a pipe of the warp's part takes an instruction."""
        pipes = self._pipes[warp.scheduler]
        pipe, cycles = op.pipe, op.cycles
        if pipe == FMA and self._rates.halves:
            # Either half takes it in twice the cycles of both.
            pipe = FMA if pipes[FMA] <= pipes[HEAVY] else HEAVY
            cycles *= 2.0 * _FULL_FMA
        start = pipes[pipe]
        if start <= issue:
            pipes[pipe] = issue + cycles
            return issue
        pipes[pipe] = start + cycles
        queue = _PIPE_QUEUE if pipe == XU else 0.0
        if start - queue > issue:
            self._stalls["math_pipe_throttle"] += (start - queue - issue) * weight
            return start - queue
        return issue

    def _enter_adu(self, op: TimedInstruction, issue: float, weight: float) -> float:
        start = max(self._adu, issue)
        cycles = op.adu
        if op.memory is not None and op.memory.kind == "constant":
            cycles = max(cycles, op.memory.passes * CONSTANT_CYCLES)
        self._adu = start + cycles
        if start - _ADU_QUEUE > issue:
            self._stalls["mio_throttle"] += (start - _ADU_QUEUE - issue) * weight
            return start - _ADU_QUEUE
        return issue

    # Asynchronous copies and products, and the barriers that wait for them.

    def _do_async(self, warp: ResidentWarp, op: TimedInstruction, issue: float) -> float:
        """When what an instruction begins is done, which the warp does not wait for."""
        memory, role = op.memory, op.role
        if role == "product":
            return self._multiply(warp, op, issue)
        done = issue + _ARRIVAL
        if role == "store":
            if memory is not None:
                self._pass_l2(memory, issue)
            warp.copied = max(warp.copied, self._l2)
            return self._l2
        if role == "wait":
            return 0.0
        phases = next(warp.arrivals, ())
        if role == "copy" and memory is not None and phases:
            done = self._load_in_bulk(memory, issue)
        elif op.name == "ARRIVES":
            done = max(done, warp.copied)
        for phase in phases:
            self._come_to_phase(warp.block, phase, done)
        return done

    def _load_in_bulk(self, memory: MemoryTiming, issue: float) -> float:
        """When all bytes of a copy to shared memory are there."""
        rates, times = self._rates, self._times
        self._l2 = max(self._l2, issue) + memory.sectors / rates.bulk_sectors
        there = self._l2 + times["l2"]
        return self._pass_dram(memory, issue, there) + _BOX

    def _multiply(self, warp: ResidentWarp, op: TimedInstruction, issue: float) -> float:
        """When a warp's part of a product is done: the tensor core and shared memory do it."""
        pipes = self._pipes[warp.scheduler]
        start = max(pipes[op.pipe], issue)
        done = pipes[op.pipe] = start + op.cycles
        if op.memory is not None:
            self._l1 = max(self._l1, start) + op.memory.passes
            done = max(done, self._l1)
        warp.products[-1] = max(warp.products[-1], done + _PRODUCT)
        if op.ends_group:
            warp.products.append(done)
        return done

    def _come_to_phase(self, block: ResidentBlock, number: int, done: float) -> None:
        phase = self._phase_of(block, number)
        phase.left -= 1
        phase.ends = max(phase.ends, done)
        if phase.left == 0:
            self._end_phase(phase)

    def _phase_of(self, block: ResidentBlock, number: int) -> PhaseState:
        phase = block.phases.get(number)
        if phase is None:
            phase = block.phases[number] = PhaseState(block.expected.get(number, 0))
        return phase

    def _end_phase(self, phase: PhaseState) -> None:
        waiting, phase.waiting = phase.waiting, []
        for warp, since in waiting:
            ready = self._resume_from(warp, since, max(since, phase.ends), "long_scoreboard")
            if ready is not None:
                self._push(warp, ready)

    def _await_phase(self, warp: ResidentWarp, now: float) -> float | None:
        """When a phase has ended; ``None``: who comes last decides."""
        phase = self._phase_of(warp.block, next(warp.waits, -1))
        if phase.left > 0:
            phase.waiting.append((warp, now))
            return None
        return self._resume_from(warp, now, max(now, phase.ends), "long_scoreboard")

    def _resume_from(self, warp: ResidentWarp, since: float, at: float, why: str) -> float | None:
        """When a warp is ready that has waited until then."""
        self._stalls[why] += (at - since) * warp.weight
        return self._schedule(warp, at)

    def _release_stuck(self) -> bool:
        """Have warps go on that wait for what is not run: parts of code, or of a cluster."""
        for block in self._running:
            phases = [each for each in block.phases.values() if each.waiting]
            groups = [each for each in (block.waiting, *block.apart.values()) if each]
            if phases or groups:
                for phase in phases:
                    phase.left = 0
                    self._end_phase(phase)
                for group in groups:
                    warps = list(group)
                    group.clear()
                    self._leave_together(warps)
                return bool(self._queue) or self._release_stuck()
        return False

    # Memory.

    def _access(
        self,
        warp: ResidentWarp,
        op: TimedInstruction,
        memory: MemoryTiming,
        issue: float,
        weight: float,
    ) -> tuple[float, float]:
        """When an access is issued, and when its result is there."""
        kind = memory.kind
        if kind == "constant":
            return issue, self._adu + op.latency
        start = max(self._l1, issue + SM_PARTITIONS)
        self._l1 = start + memory.passes + (_REQUEST if kind == "load" else 0.0)
        end = start + memory.passes - 1.0
        late = 0.0
        if kind == "shared":
            done = end + (op.latency or self._times["shared"])
        else:
            done, late = self._access_global(memory, start, end, issue)
            warp.block.sent = self._sent
        behind = max(self._l1 - issue - _QUEUE, late)
        if behind > 0.0:
            self._stalls["mio_throttle" if kind == "shared" else "lg_throttle"] += behind * weight
            issue += behind
        if op.operands is not None:
            warp.raise_board(op.operands, start + memory.passes)
        return issue, done

    def _access_global(
        self, memory: MemoryTiming, start: float, end: float, issue: float
    ) -> tuple[float, float]:
        """When an access to global or local memory is done, and how far the queue is behind."""
        rates, times = self._rates, self._times
        if memory.kind == "load":
            done = end + times["l1"]
            if memory.sectors <= 0.0:
                return done, 0.0
            start = self._send_to_l2(_LOADED_SECTOR * memory.sectors, start)
            self._pass_l2(memory, start)
            there = self._pass_dram(memory, start, self._l2 + times["l2"])
            return (max(done, there) if self._draw(memory.waits) else done), 0.0
        self._pass_l2(memory, start)
        self._send_to_l2(memory.sectors, start)
        if memory.kind != "store":
            self._hot = max(self._hot, start) + memory.serialized * rates.atomic_cycles
        there = self._pass_dram(memory, start, max(self._l2, self._hot) + times["l2"])
        late = max(
            max(self._l2, self._sent, self._hot) - issue - _L2_QUEUE,
            self._far - issue - _FAR_QUEUE,
        )
        return (end if memory.kind == "store" else there), late

    def _send_to_l2(self, sectors: float, start: float) -> float:
        """When so many sectors, as of a store, have left the SM."""
        self._sent = max(self._sent, start) + sectors / self._rates.stored_sectors
        return self._sent

    def _pass_l2(self, memory: MemoryTiming, start: float) -> None:
        cycles = max(memory.sectors / _PORT, memory.l2_cost / self._rates.l2_sectors)
        self._l2 = max(self._l2, start) + cycles

    def _pass_dram(self, memory: MemoryTiming, start: float, there: float) -> float:
        """When it is there, if it is there before that without device memory."""
        if memory.dram_cost:
            cycles = memory.dram_cost / self._rates.dram_sectors
            self._far = max(self._far, start) + cycles
            self._far_busy += cycles
            if memory.far and self._draw(memory.far):
                there = max(there, self._far + self._times["dram"] + self._wait_at_bank(start))
        return there

    def _wait_at_bank(self, now: float) -> float:
        """Cycles that a load from device memory waits behind others at its bank, at random.

        Times in the queue of one server with random arrivals and services (M/M/1). A block ends
        with its slowest warp, so that they cost more than their mean.
        """
        busy = min(self._far_busy / max(now, _BANK_SETTLES), _BANK_BUSIEST)
        return -_BANK * busy / (1.0 - busy) * math.log(1.0 - self._next_random())

    def _draw(self, share: float) -> bool:
        """Whether something that a share of accesses does is done by this one."""
        if share >= 1.0:
            return True
        return self._next_random() < share

    def _next_random(self) -> float:
        """A number from 0 to below 1, the same ones in every run."""
        self._random = (self._random * 1_103_515_245 + 12_345) % _MODULUS
        return self._random / _MODULUS

    # Blocks.

    def _arrive(self, warp: ResidentWarp, now: float, together: int) -> None:
        """A warp is at a barrier, which those that wait leave when the last has come.

        ``together`` neighbours meet, not the whole block, unless it is zero.
        """
        block = warp.block
        if together:
            part = block.apart.setdefault((together, warp.place // together), [])
            part.append((warp, now))
            if len(part) == together:
                del block.apart[together, warp.place // together]
                self._leave_together(part)
            return
        block.waiting.append((warp, now))
        self._leave_barrier(block)

    def _leave_barrier(self, block: ResidentBlock) -> None:
        if not block.waiting or len(block.waiting) < block.alive:
            return
        warps, block.waiting = block.waiting, []
        self._leave_together(warps)

    def _leave_together(self, warps: list[tuple[ResidentWarp, float]]) -> None:
        free = max(now for _, now in warps) + self._times["barrier"]
        for warp, now in warps:
            ready = self._resume_from(warp, now, free, "barrier")
            if ready is not None:
                self._push(warp, ready)

    def _end_warp(self, warp: ResidentWarp, now: float) -> None:
        block = warp.block
        block.alive -= 1
        if block.alive:
            self._leave_barrier(block)
            return
        self._running.remove(block)
        ended, now = now, max(now, block.sent)
        self._run.ends.append(now)
        self._run.durations.setdefault(block.number, []).append(now - block.started)
        if self._begun < self._blocks:
            self._start_block(ended, now + _START)
        else:
            self._idle += now - ended


CODE_SEGMENTS: Final = 128
"""Segments of code that the instruction cache of an SM holds: 128 KiB."""
CONSTANT_CYCLES: Final = 2.0
_OPS_OF_A_SECTOR: Final = 2
_FAR_LOADS: Final = {COMMIT_GROUP} | select_opcodes(
    lambda row: row.reads in ("global", "local", "generic") and row.writes in ("", row.reads)
)
