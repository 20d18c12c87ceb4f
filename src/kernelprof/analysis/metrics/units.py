"""How saturated each unit of the GPU is during a launch, and where warps spend their time.

Everything here is an interval per launch, so that a missing metric widens what follows from it
instead of turning into a number. Utilizations are fractions of the unit's peak over the whole
duration; *saturation* is utilization against the practical ceiling of that unit, the highest that
real kernels reach (:data:`PRACTICAL_CEILING`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.metrics.architectures import COMMON, THREADS_ISSUED, architecture
from kernelprof.analysis.metrics.catalogue import SCHEDULER_CYCLES
from kernelprof.analysis.metrics.facts import Quantities, quantity
from kernelprof.analysis.metrics.groups import (
    BUSY_CONSTANTS,
    FLOATING_POINT_RATES,
    L2_STAGES,
    LAUNCH_OVERHEAD_NS,
    LONG_QUEUE,
    NEAR_LIMIT,
    PRACTICAL_CEILING,
    SM_PIPES,
    STALLS,
)
from kernelprof.analysis.metrics.interval import Interval, Truth, largest
from kernelprof.analysis.metrics.relations import CLOCK_HZ

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from kernelprof.analysis.metrics.architectures import Capability
    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.analysis.metrics.interval import BoolArray, IntArray
    from kernelprof.analysis.metrics.shipped_rules import ShippedRules


CEILING_OF: Final = {
    "issue_slots": PRACTICAL_CEILING["issue"],
    "l1_throughput": PRACTICAL_CEILING["l1"],
    "l1_throughput_active": PRACTICAL_CEILING["l1"],
    "dram_throughput": PRACTICAL_CEILING["dram"],
    **dict.fromkeys((*L2_STAGES, "l2_throughput"), PRACTICAL_CEILING["l2"]),
    "sm_throughput": 1.0,
    "memory_throughput": 1.0,
}
"""The practical ceiling of what a metric is the utilization of, by its canonical name."""

PIPE_USE_PER_ISSUE_SLOT: Final = {
    "alu_pipe": THREADS_ISSUED / COMMON.alu_lanes,
    "fma_pipe": THREADS_ISSUED / COMMON.fma_lanes,
    "xu_pipe": THREADS_ISSUED / COMMON.xu_lanes,
}
"""Utilization of a pipe for each share of the issue slots it gets, at most."""

DIVIDING_XU = 0.1
MULTIPLICATIONS_OF_DIVISION = 0.2
"""A 32-bit division is three XU instructions of 8 cycles and four or more multiplications of 2, so
the heavy half of the FMA pipe is at least a third as busy as XU."""

DIVISION_PER_XU: Final = {
    "issue": (0.8, 3.5),
    "alu_pipe": (0.75, 3.0),
    "fma_heavy_pipe": (0.5, 3.5),
}
"""How busy a 32-bit and a 64-bit division keep each unit while they keep XU busy: 3 of 19 and of 85
instructions of nvcc 13.0 (sm_90), by their cycles."""
LONG_DIVISION_RATIO = 2.0
"""Heavy half over XU above which divisions are 64-bit ones: between those two."""

FP64_PER_CONVERSION = 0.4
"""FP64 instructions for each XU instruction, at least, where XU converts their FP32 operands and
results: one between a conversion there and one back, less a fifth for what else XU does."""
XU_PER_FP64 = 0.25
"""XU instructions for each FP64 instruction from which these are conversions: FP64 division and
roots take one for five or more (nvcc 13.0, sm_90)."""
GUARDED_PER_XU = 4.8
"""Instructions for each of XU, at least, where divisions and roots are precise: 10 for the two of a
division and 9 for the one of a root or a reciprocal (nvcc 13.0, sm_90), less rounding."""
GUARD_CYCLES_PER_XU = 2.0
"""Cycles that a warp waits for branches for each of its XU instructions, from which divisions and
roots are the precise ones: a branch to a slow path, of four cycles or more, for the two XU
instructions of a division and the one of a root. 8.6 in ``rounds_div_sqrt`` of
``tests/captures/validation``, 0.3 at most in 16 kernels of ours that fill XU otherwise."""

STEPS_OF_FUNCTION = 10.0
"""Instructions for each of XU, at most, where special functions are most of the work: 9.0 in
``bilateral-row-exponentials`` of ``cuda/factors``, nearly all of them steps of ``expf``."""
STEPS_OF_GUARDED_FUNCTION = 13.0
"""The same where they are behind branches: 12.8 in ``comets-in-double-with-sines``."""

HEAVY_RATIO = 1.25
"""FFMA spreads evenly over both halves of the FMA pipe (80.0 and 80.1 % in ``fma_bound``); IMAD
runs on the heavy half alone, which is then up to twice as busy as the whole."""

UNEXPLAINED_FROM = 0.6
"""Nsight Compute's SOLBottleneck rule (2025.3): from 60 % of peak on, a unit is no longer idle."""

UNEXPLAINED_RATIO = 0.8
"""The parts that rules follow explain the SM's throughput where one reaches 80 % of it; in
``table_constant`` of ``tests/captures/validation`` the busiest of them is at 1 % of 67 %."""

CONSTANTS_PER_ADU = 1.05
"""Use of that cache against that of the ADU pipe, at most: 1.02 in 1,366 launches of ours."""

L1_ELAPSED = (0.998, 1.017)
"""L1's utilization of the whole launch against that of its active cycles times the active share of
the SMs: 0.9992 to 1.0156 in 517 launches of ours at more than 5 % (H200, ncu 2025.3.1)."""

UNFOLLOWED_PIPE_MARGIN = 0.07
"""Most by which the busiest of all issue slots and pipes exceeds the busiest that rules follow: 6.9
points in 599 launches of ours (``convolve_one`` of ``tests/captures/validation``)."""

NOT_HIDDEN_BY_BLOCKS = (
    "selected", "not_selected", "lg_throttle", "mio_throttle", "tex_throttle",
    "math_pipe_throttle", "dispatch_stall",
)  # fmt: skip
NOT_HIDDEN_BY_WARPS = (*NOT_HIDDEN_BY_BLOCKS, "barrier")


@dataclass(frozen=True, slots=True)
class NamePerLaunch:
    """One of a few names for each launch: that of row ``r`` is ``names[codes[r]]``."""

    names: tuple[str, ...]
    codes: IntArray

    def __getitem__(self, row: int) -> str:
        name: str = self.names[self.codes[row]]
        return name

    def called(self, call: Callable[[str], str]) -> NamePerLaunch:
        """Return the same with what people call each of them."""
        return NamePerLaunch(tuple(call(name) for name in self.names), self.codes)


def highest(facts: Facts, ceilings: Mapping[str, float]) -> tuple[NamePerLaunch, Interval]:
    """Return the percentage that is the largest against its ceiling, and its value.

    The first of them where a launch has none; its value is then anything from 0 to 100.
    """
    names = tuple(ceilings)
    values = np.vstack([facts.values(name) for name in names])
    shares = values / np.array(list(ceilings.values()))[:, None]
    first = np.where(np.isnan(shares), -1.0, shares).argmax(axis=0)
    shown = values[first, np.arange(facts.count)]
    missing = np.isnan(shown)
    low, high = np.where(missing, 0.0, shown), np.where(missing, 100.0, shown)
    return NamePerLaunch(names, first), Interval(low, high)


class WarpStates(Quantities):
    """Shares of a warp's time, each worked out once for all launches."""

    def __init__(self, facts: Facts, shipped: ShippedRules) -> None:
        super().__init__(facts)
        self.shipped = shipped

    @quantity
    def cycles_per_instruction(self) -> Interval:
        """Cycles between two instructions of a warp."""
        facts = self.facts
        own = facts["warp_cycles_per_instruction"]
        own = own.or_else(
            facts["active_warps"] / facts.fraction("issue_slots_active").at_least(1e-6)
        )
        total = facts.sum_of(f"stall_{name}" for name in STALLS)
        return own.or_else(
            Interval(np.maximum(own.low, total.low), np.minimum(own.high, total.high))
        )

    @quantity
    def share_after_launch_overhead(self) -> Interval:
        """Part of the duration that is not the fixed cost of a launch."""
        duration = self.facts["duration"]
        # A hundred times the overhead, at the highest clock that an SM has.
        overhead = LAUNCH_OVERHEAD_NS * 1e-9 * CLOCK_HZ[1]
        is_long = self.facts.raw(SCHEDULER_CYCLES) > 100.0 * overhead
        duration = duration.replaced(~self.facts.has("duration") & is_long, np.inf)
        return (1.0 - LAUNCH_OVERHEAD_NS / duration.at_least(1.0)).within(0.0, 1.0)

    def _stall(self, name: str) -> Interval:
        return self.remember(WarpStates._compute_stall, name)

    def _compute_stall(self, name: str) -> Interval:
        if name == "selected":
            # The cycle in which it issues: one per instruction, by definition.
            return self.facts["stall_selected"].or_else(self.facts.exact(1.0))
        stall = self.facts[f"stall_{name}"]
        if not self.shipped.has_rule_messages:
            return stall
        most = self.cycles_per_instruction * Interval.exactly(self.shipped.stall_at_most(name))
        return stall.or_at_most(most)

    def _stalls_of(self, holds: Callable[[str], bool]) -> Interval:
        stalls = (self._stall(name) for name in STALLS if holds(name))
        return sum(stalls, start=self.facts.exact(0.0))

    def queue_share(self, name: str) -> Interval:
        """Return the share of a warp's time in one queue, from two counters alone."""
        total = self.facts["warp_cycles_per_instruction"]
        return (self._stall(name) / total.at_least(1e-6)).at_most(1.0)

    def stall_share(self, *names: str) -> Interval:
        """Return the share of a warp's time that it waits for the named reasons, 0 to 1."""
        return self.remember(WarpStates._compute_share, *names)

    def _compute_share(self, *names: str) -> Interval:
        total = self.cycles_per_instruction.at_least(1e-6)
        share = (self._stalls_of(names.__contains__) / total).at_most(1.0)
        if not share.is_exact.all():
            # What the other reasons do not take is the most that is left for these.
            others = self._stalls_of(lambda name: name not in names)
            left = (1.0 - others / total).within(0.0, 1.0)
            share = share.or_at_most(left)
        return share.or_else(share.within_bounds(self._measured_share(names))) * (
            self.share_after_launch_overhead
        )

    def _measured_share(self, names: tuple[str, ...]) -> Interval:
        """The share by counts of warps in each state, without cycles per instruction."""
        shares = self.facts.stall_shares
        none = np.zeros(self.facts.count)
        seen = sum((np.nan_to_num(shares[name]) for name in names if name in shares), start=none)
        others = sum(
            (np.nan_to_num(each) for name, each in shares.items() if name not in names), start=none
        )
        unknown = np.full(self.facts.count, np.nan)
        complete = ~np.isnan(sum((shares.get(name, unknown) for name in names), start=none))
        return Interval(seen, np.where(complete, seen, np.maximum(1.0 - others, seen)))

    @quantity
    def latency_share(self) -> Interval:
        """Share of a warp's time in waits that more warps would hide, 0 to 1.

        Full queues, busy pipes and barriers do not get shorter with more warps; a warp that issues
        or could issue does not wait.
        """
        return self._share_but(NOT_HIDDEN_BY_WARPS)

    @quantity
    def latency_share_of_blocks(self) -> Interval:
        """Share that more blocks would hide: a barrier holds the warps of one block alone."""
        return self._share_but(NOT_HIDDEN_BY_BLOCKS)

    def _share_but(self, names: Collection[str]) -> Interval:
        stalls = (self._stall(name) for name in names)
        busy = sum(stalls, start=self.facts.exact(0.0))
        total = self.cycles_per_instruction.at_least(1e-6)
        share = (1.0 - busy / total).within(0.0, 1.0)
        if not share.is_exact.all():
            waits = self._stalls_of(lambda name: name not in names)
            seen = (waits / total).at_most(1.0)
            share = share.or_else(share.within_bounds(seen))
        return share * self.share_after_launch_overhead


def _has_few_fp64_lanes(capability: Capability | None) -> bool:
    limits = architecture(capability)
    return limits is None or limits.fp64_lanes is None


class UnitUtilization(Quantities):
    """Derived quantities that several rules share, each worked out once for all launches."""

    def __init__(self, facts: Facts, shipped: ShippedRules) -> None:
        super().__init__(facts)
        self.shipped = shipped
        self.warps = WarpStates(facts, shipped)

    # --- units ---------------------------------------------------------------------------------

    def _part(self, name: str, whole: str) -> Interval:
        """A unit that is at most as busy as the whole that it is a part of."""
        return self.facts.fraction(name).or_at_most(self.facts.fraction(whole))

    def _inside_sm(self, name: str) -> Interval:
        """Issue slots and pipes are at most as busy as the busiest of them."""
        own = self.facts.fraction(name)
        return own.or_at_most(self._part("instruction_throughput", "sm_throughput"))

    @quantity
    def issue(self) -> Interval:
        """Share of issue slots used."""
        return self._inside_sm("issue_slots").or_at_most(self.facts.fraction("issue_slots_active"))

    def pipe(self, name: str) -> Interval:
        """Return the utilization of an arithmetic pipe, by its metric's canonical name."""
        return self.remember(UnitUtilization._compute_pipe, name)

    @quantity
    def multiplies_integers(self) -> Truth:
        """Whether integer multiplications keep the heavy half of the FMA pipe busier than FP32."""
        return self.pipe("fma_heavy_pipe") > self.pipe("fma_pipe") * HEAVY_RATIO

    @quantity
    def dividing(self) -> Truth:
        """Whether the integer work is division or remainder by values that vary.

        A division takes its first approximation from the XU pipe and the rest from integer
        multiplications. Bit counts beside multiplications look the same.
        """
        xu, multiplications = self.pipe("xu_pipe"), self.pipe("fma_heavy_pipe")
        by_division = (xu >= DIVIDING_XU) & (multiplications >= xu * MULTIPLICATIONS_OF_DIVISION)
        return by_division & self.multiplies_integers

    @quantity
    def divides_integers(self) -> BoolArray:
        """Launches that are :attr:`dividing` for sure."""
        return self.dividing.sure

    @quantity
    def _xu_rate(self) -> Interval:
        """XU instructions per cycle, counted per thread."""
        return self.pipe("xu_pipe") * (self.facts["sm_count"] * COMMON.xu_lanes)

    @quantity
    def _fp64_rate(self) -> Interval:
        rate = self.facts.sum_of(f"{name}_rate" for name in ("dfma", "dadd", "dmul"))
        # An SM has 64 lanes at most, and an FMA counts as two operations of the peak.
        most = self.shipped.peak_share("fp64") * (self.facts["sm_count"] * THREADS_ISSUED)
        return rate.replaced(self.pipe("fp64_pipe").high == 0, 0.0).or_at_most(most)

    @quantity
    def conversions_at_most(self) -> Interval:
        """Largest share of XU instructions that can convert operands of FP64 instructions."""
        return (self._fp64_rate / (self._xu_rate * FP64_PER_CONVERSION).at_least(1e-6)).at_most(1.0)

    @quantity
    def converts_doubles(self) -> Truth:
        """Whether the kernel converts FP32 values to FP64 and back for few instructions."""
        few = self._xu_rate >= self._fp64_rate * XU_PER_FP64
        return few & (self._fp64_rate > 0.0) & (self.conversions_at_most >= 1.0)

    @quantity
    def _xu_slots(self) -> Interval:
        """Share of the issue slots that XU instructions take."""
        return self.pipe("xu_pipe") * (COMMON.xu_lanes / THREADS_ISSUED)

    @quantity
    def guards_functions(self) -> Truth:
        """Whether special functions are mostly behind branches, as precise division is."""
        functions = self._xu_slots
        waits = self.facts["stall_branch_resolving"] * self.issue
        guarded = (functions > 0.0) & (self.issue >= functions * GUARDED_PER_XU)
        return guarded & (waits >= functions * GUARD_CYCLES_PER_XU)

    @quantity
    def mostly_computes_functions(self) -> Truth:
        """Whether most instructions are steps of special functions."""
        functions = self._xu_slots
        steps = self.facts.exact(STEPS_OF_FUNCTION).where(
            ~self.guards_functions, STEPS_OF_GUARDED_FUNCTION
        )
        return (functions > 0.0) & (functions * steps >= self.issue)

    def does_needless_work(self, pipe: str) -> Truth:
        """Return whether work that other code avoids fills an arithmetic pipe."""
        needless = Truth(self.divides_integers, self.divides_integers)
        if pipe == "xu_pipe":
            return needless | self.converts_doubles | self.guards_functions
        if pipe == "fp64_pipe":
            # Where FP64 has half the lanes of FP32, conversions fill XU first.
            few_lanes = self.facts.by_capability(_has_few_fp64_lanes)
            return needless | (self.converts_doubles & Truth(few_lanes, few_lanes))
        return needless

    @quantity
    def busiest_without_division(self) -> Interval:
        """The saturation of the busiest unit if the code divided no integers, 0 to 1."""
        left = (self.saturations[name] - self.by_division(name) for name in DIVISION_PER_XU)
        return largest(self.busiest_except("sm", "xu_pipe", "fma_pipe", *DIVISION_PER_XU), *left)

    def by_division(self, name: str) -> Interval:
        """Return how busy divisions keep one of ``DIVISION_PER_XU``, if XU does nothing else."""
        xu = self.pipe("xu_pipe")
        wide = self.pipe("fma_heavy_pipe") > xu * LONG_DIVISION_RATIO
        short, long = DIVISION_PER_XU[name]
        return (xu * long).where(wide, xu * short)

    def _compute_pipe(self, name: str) -> Interval:
        own = self._inside_sm(name)
        own = own.or_at_most(Interval.exactly(self.shipped.pipe_at_most(name)))
        if name in PIPE_USE_PER_ISSUE_SLOT:
            own = own.or_at_most(self._issue_without_fp64 * PIPE_USE_PER_ISSUE_SLOT[name])
        if name == "tensor_pipe":
            # Tensor and FP64 share a pipe on these chips: the sum is what the page reports.
            both = Interval.exactly(self.shipped.shared_pipe_at_most)
            own = own.or_at_most(both - self.pipe("fp64_pipe"))
        if name == "fma_heavy_pipe":
            # Half of the FMA pipe: twice as busy as the whole at most, and FP32 needs both halves.
            by_fp32 = self.shipped.peak_share("fp32").low_only()
            own = own.or_at_most(self.pipe("fma_pipe") * 2.0 - by_fp32)
        if name == "fp64_pipe":
            own = own.or_else(own.at_least(self.shipped.peak_share("fp64").low_only()))
        if name == "xu_pipe" and self.shipped.has_rule_messages:
            own = own.or_else(self._special_functions_by_elimination(own))
        return own

    @quantity
    def _issue_without_fp64(self) -> Interval:
        """Issue slots that FP64 instructions leave to other pipes.

        Where FP64 runs at half the FP32 rate, its full pipe takes half of the slots.
        """
        half_rate = self.facts.by_capability(_has_fp64_at_half_rate)
        by_fp64 = self.pipe("fp64_pipe").low_only() * Interval.exactly(
            np.where(half_rate, 0.5, 0.0)
        )
        return self.issue - by_fp64

    def _special_functions_by_elimination(self, own: Interval) -> Interval:
        """XU is what is left where the SM is full, nothing else in it is, and warps queue for MIO.

        Shared memory, special functions and dynamic branches share the MIO queue; the memory pipes'
        own utilization rules out the first.
        """
        facts = self.facts
        whole = facts.fraction("sm_throughput")
        others = largest(
            self.issue,
            self.l1,
            facts.fraction("sm_memory_throughput"),
            *(self.pipe(name) for name in ("alu_pipe", "fma_pipe", "fp64_pipe", "tensor_pipe")),
        )
        queue = facts["stall_mio_throttle"] / self.warps.cycles_per_instruction.at_least(1e-6)
        alone = (others < whole * UNEXPLAINED_RATIO) & (queue > 0.3)
        return own.replaced(alone.sure, whole)

    @quantity
    def dram(self) -> Interval:
        return self._part("dram_throughput", "memory_throughput")

    @quantity
    def _memory_parts(self) -> tuple[Interval, Interval]:
        """Utilization of L1 and of L2's limiting stages, narrowed by what each tells of the other.

        The memory system's throughput is that of its busiest part, so a part that the capture does
        not show is known where all the others are below the whole.
        """
        facts = self.facts
        whole = facts.fraction("memory_throughput")
        l1 = facts.fraction("l1_throughput")
        while_active = facts.fraction("l1_throughput_active")
        elapsed = Interval(
            (while_active * self.active_share).low * L1_ELAPSED[0],
            (while_active * self.active_share).high * L1_ELAPSED[1],
        )
        l1 = l1.or_else(l1.within_bounds(elapsed).at_most(while_active).at_most(whole))
        stages = largest(*(facts.fraction(name) for name in L2_STAGES))
        ceiling = facts.fraction("l2_throughput").at_most(whole)
        l2 = Interval(
            np.minimum(stages.low, ceiling.high),
            np.where(stages.is_exact, stages.high, np.minimum(stages.high, ceiling.high)),
        )
        l1_is_whole = (whole > l2) & (whole > self.dram)
        l2_is_whole = (whole > l1) & (whole > self.dram)
        return (
            l1.or_else(l1.replaced(l1_is_whole.sure, whole)),
            l2.or_else(l2.replaced(l2_is_whole.sure, whole)),
        )

    @property
    def l1(self) -> Interval:
        """Utilization of L1/TEX: its busiest stage (wavefronts, requests, write-back)."""
        return self._memory_parts[0]

    @property
    def l2(self) -> Interval:
        """Utilization of the L2 stages that limit: tags, sectors, data and the links to the SMs."""
        return self._memory_parts[1]

    @quantity
    def saturations(self) -> dict[str, Interval]:
        """Saturation of each unit, 0 to 1, by the unit's name."""
        units = {"issue": self.issue, "l1": self.l1, "l2": self.l2, "dram": self.dram}
        result = {
            name: (value * (1 / PRACTICAL_CEILING[name])).at_most(1.0)
            for name, value in units.items()
        }
        queues = self._queues("math_pipe_throttle")
        for name in SM_PIPES:
            pipe = self.pipe(name)
            others = largest(*(self.pipe(other) for other in SM_PIPES if other != name))
            full = queues & (pipe >= UNEXPLAINED_FROM) & (pipe > others)
            saturation = (pipe * (1 / PRACTICAL_CEILING["pipe"])).at_most(1.0)
            result[name] = saturation.where(~full, 1.0)
        result["adu_pipe"] = (self.barrier_unit * (1 / PRACTICAL_CEILING["pipe"])).at_most(1.0)
        result["constant_cache"] = self.constant_unit
        return result

    @quantity
    def barrier_unit(self) -> Interval:
        """Utilization of the address-divergence unit where warps queue at it for barriers.

        It counts their arrivals. Its other work (constants, indirect branches) has no rule.
        """
        return self._part("adu_pipe", "sm_throughput").where(self._queues("barrier"), 0.0)

    @quantity
    def constant_cache(self) -> Interval:
        """Utilization of the cache of indexed constants, whose requests all pass the ADU pipe."""
        own = self.facts.fraction("constant_cache")
        return own.or_at_most(self._part("adu_pipe", "sm_throughput") * CONSTANTS_PER_ADU)

    @quantity
    def constant_queue(self) -> Interval:
        """Share of a warp's time in the queue of MIO, which a busy constant cache holds up."""
        return self.warps.queue_share("mio_throttle")

    @quantity
    def constant_unit(self) -> Interval:
        """Saturation of that cache: full where warps queue for it, nothing of note elsewhere.

        Its queue is that of all that MIO executes; there it has to be by far the busiest. A details
        page does not show it.
        """
        others = largest(self.issue, self.l1, *(self.pipe(name) for name in SM_PIPES))
        queue = self.constant_queue > LONG_QUEUE
        cache = self.constant_cache
        full = queue & (cache >= BUSY_CONSTANTS) & (cache * UNEXPLAINED_RATIO > others)
        if self.facts.is_projected:
            # Waits of a fix that are left out can be those for constants.
            full |= cache >= NEAR_LIMIT
        if self.shipped.has_rule_messages:
            full = Truth(full.sure, full.sure)
        return self.facts.exact(1.0).where(full, 0.0)

    def _queues(self, stall: str) -> Truth:
        return (self.warps.queue_share(stall) > LONG_QUEUE) & (self.issue < NEAR_LIMIT)

    @quantity
    def active_share(self) -> Interval:
        """Share of the launch in which an average SM had work, 0 to 1."""
        elapsed = self.facts["sm_cycles_elapsed"]
        return (self.facts["sm_cycles_active"] / elapsed.at_least(1.0)).at_most(1.0)

    @quantity
    def top(self) -> Interval:
        """Saturation of the busiest unit."""
        busiest = largest(*self.saturations.values())
        # A part that we do not follow (barrier unit, uniform datapath) still shows in the whole.
        return largest(
            busiest, self.facts.fraction("sm_throughput"), self.facts.fraction("memory_throughput")
        ).at_most(1.0)

    @quantity
    def sm_outside_l1(self) -> Interval:
        """Utilization of whatever in the SM is busier than L1: issue slots or a pipe.

        Where the capture does not say it in so many words: the SM's throughput is that of its
        busiest part, the load/store pipe among them, and that pipe is never busier than L1.
        """
        facts = self.facts
        busiest = facts.fraction("instruction_throughput")
        whole = facts.fraction("sm_throughput")
        parts = largest(self.issue, *(self.pipe(name) for name in SM_PIPES))
        followed = busiest.within(parts.low_only(), (parts + UNFOLLOWED_PIPE_MARGIN).high_only())
        outside_l1 = whole.where(whole > self.l1, busiest.at_most(whole))
        return busiest.or_else(outside_l1.within_bounds(followed))

    @quantity
    def limited_by_unnamed_unit(self) -> Truth:
        """Whether the SM's busiest part is near its limit and none that the rules follow.

        The unit for barriers and indirect branches and the uniform datapath are such parts. No rule
        names them, so no rule can be right about such a launch. A new rule for a unit of the SM
        adds the unit to ``parts``, or it never wins.
        """
        whole = self.facts.fraction("sm_throughput")
        at_barriers = self.warps.stall_share("barrier") >= 0.1
        barriers = self.facts.fraction("adu_pipe").where(at_barriers, 0.0)
        constants = self.constant_cache.where(self.constant_unit > 0.0, 0.0)
        parts = [self.issue, self.l1, barriers, constants]
        parts += [self.pipe(name) for name in SM_PIPES]
        return (whole >= UNEXPLAINED_FROM) & (whole * UNEXPLAINED_RATIO > largest(*parts))

    def busiest_except(self, *excluded: str) -> Interval:
        """Return the saturation of the busiest unit other than those named.

        A rule for a unit inside the SM names ``sm`` as well, to leave out :attr:`sm_outside_l1`.
        """
        saturations = [value for name, value in self.saturations.items() if name not in excluded]
        return largest(*saturations, *([] if "sm" in excluded else [self.sm_outside_l1]))

    @quantity
    def busiest_unit(self) -> tuple[NamePerLaunch, Interval]:
        """The metric of the unit that is nearest to its ceiling, for each launch, and its value."""
        pipes = dict.fromkeys(SM_PIPES, PRACTICAL_CEILING["pipe"])
        return highest(self.facts, {**CEILING_OF, **pipes})

    @quantity
    def busiest_l2_stage(self) -> tuple[NamePerLaunch, Interval]:
        """The metric of the L2 stage that is busiest, for each launch, and its value."""
        return highest(self.facts, dict.fromkeys((*L2_STAGES, "l2_throughput"), 1.0))

    # --- instructions --------------------------------------------------------------------------

    @quantity
    def arithmetic_share(self) -> Interval:
        """Share of issued instructions that are floating-point arithmetic, 0 to 1."""
        facts = self.facts
        rate = facts.sum_of(FLOATING_POINT_RATES)
        slots = facts["sm_count"] * COMMON.schedulers * facts.fraction("issue_slots")
        threads = facts["threads_per_instruction"].at_most(32.0)
        share = (rate / (slots * threads)).at_most(1.0)
        # An FMA counts for two operations of the peak, an add or a multiply for one.
        peak = self.shipped.peak_share("fp32")
        reported = Interval(
            (peak / self.issue.at_least(1e-6)).at_most(1.0).low,
            (peak * 2.0 / self.issue.at_least(1e-6)).at_most(1.0).high,
        )
        pipes = sum(
            (self.pipe(name) for name in ("fma_pipe", "fp64_pipe", "xu_pipe", "tensor_pipe")),
            start=facts.exact(0.0),
        )
        most = (pipes / self.issue.at_least(1e-6)).at_most(1.0)
        return share.or_else(share.at_most(most.high_only()).within_bounds(reported))

    # --- limits --------------------------------------------------------------------------------

    @quantity
    def saturated(self) -> Truth:
        """Whether some unit is near its limit."""
        return self.top >= NEAR_LIMIT

    @staticmethod
    def busiest(*saturations: Interval) -> Interval:
        """Return the largest of several saturations."""
        return largest(*saturations)

    def is_near_limit(self, unit: str) -> Truth:
        return self.saturations[unit] >= NEAR_LIMIT


def _has_fp64_at_half_rate(capability: Capability | None) -> bool:
    model = architecture(capability)
    return model is not None and model.fp64_lanes == THREADS_ISSUED / 2
