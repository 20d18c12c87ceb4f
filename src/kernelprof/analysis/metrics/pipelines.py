"""Matrix products that asynchronous copies feed: how busy tensor cores are, what warps wait for.

Such a kernel keeps its tiles in shared memory and its sums in registers, often with one block on an
SM. It hides latency by copies and products that are under way while warps wait for them, so few
warps and long waits say nothing by themselves: what counts is how much of the time the tensor cores
work, and what the warps wait for when they do not.

On an H200 (``tests/captures/bf16``, ``ncu`` 2025.3.1, samples by instruction) a warp that waits at
an mbarrier counts as ``long_scoreboard``, one that waits for its ``wgmma`` as ``barrier`` (at
``WARPGROUP.DEPBAR``) or ``gmma``, and one at a fence as ``membar``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.metrics.architectures import COMMON, chip_of
from kernelprof.analysis.metrics.catalogue import TENSOR_MEMORY, has_tcgen05, load_metrics
from kernelprof.analysis.metrics.facts import Quantities, quantity
from kernelprof.analysis.metrics.groups import (
    PRACTICAL_CEILING,
    SOME_TENSOR_WORK,
    TENSOR_WORK,
)
from kernelprof.analysis.metrics.interval import Interval, Truth
from kernelprof.analysis.metrics.relations import OPERANDS
from kernelprof.analysis.metrics.waste import WIDEST_REQUEST_SECTORS
from kernelprof.model.library_kernel import takes_tensor_maps

if TYPE_CHECKING:
    from kernelprof.analysis.metrics.architectures import Capability
    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.analysis.metrics.interval import FloatArray
    from kernelprof.analysis.metrics.units import UnitUtilization

MOSTLY: Final = 0.5

AROUND: Final = (
    "wait", "short_scoreboard", "membar", "branch_resolving", "dispatch_stall", "no_instruction",
    "imc_miss", "sleeping", "selected", "not_selected",
)  # fmt: skip
"""States of warps that execute instructions, or wait at fences, between copies and products."""

WARPGROUP: Final = 4 * COMMON.warp_size
"""Threads that start a ``wgmma`` together."""

PASSES_DIFFER: Final = 1.1
"""Ratio of one launch's cycles in two passes, at most: 1.09 in ``tests/captures/bf16``, where power
holds the clock between 1.28 and 1.62 GHz."""

LEAST_ROOM: Final = 1.05
"""Factor from the tensor cores' use while SMs have work to a full pipe, from which they wait: the
smallest that is worth a name. Rungs of ``tests/captures/bf16`` at 88 % of the pipe gained 1.06x and
1.07x by persistent blocks and asynchronous stores, those at 58 to 72 % 1.2x and more."""

FED_BY_THREADS: Final = 0.80
"""Saturation of the tensor pipe from which a pipeline that threads feed (cp.async) is full: the
best such product of ``tests/captures``, of Triton, is at 79 % (``validation/frameworks``)."""

OF_A_LIBRARY: Final = 0.85
"""Use of the tensor pipe from which a library's kernel is as full as its caller can have it: 90 to
94 % in the large products of ``tests/captures``."""

BUSY_WITH_COPIES: Final = 0.85
"""Saturation of L2 or device memory from which copies are what an asynchronous pipeline waits for.
Copies that are under way do not mind a busy unit before it is full: in ``tests/captures/bf16`` a
kernel with L2 at 79 % of its ceiling got 1.27x faster by other barriers, with the same copies, and
one at 89 % 1.9x by a larger tile."""


@dataclass(frozen=True, slots=True)
class PipelineStalls:
    """Shares of warps' time by what such a kernel waits for, 0 to 1.

    ``copies`` are waits for tiles and at mbarriers, ``products`` for matrix instructions under way
    and at barriers of the block, ``stores`` for the queue of what is written, and ``around`` is the
    time in instructions and fences.
    """

    copies: Interval
    products: Interval
    stores: Interval
    around: Interval


class TensorPipeline(Quantities):
    """Quantities of matrix products and their copies, each worked out once for all launches."""

    def __init__(self, facts: Facts, units: UnitUtilization) -> None:
        super().__init__(facts)
        self.units = units

    @quantity
    def tensor(self) -> Interval:
        """Use of the tensor pipe by matrix instructions, 0 to 1."""
        facts = self.facts
        lanes = facts["sm_count"] * COMMON.fp16_lanes_of_tensor_pipe
        fp16 = facts["hfma_rate"] / lanes.at_least(1.0)
        # There FP16 runs on the FMA pipe: 27 % of it beside an idle tensor pipe
        # (decode attention of tests/captures/blackwell/meinie0826).
        fp16 = fp16.replaced(facts.by_capability(has_tcgen05), 0.0)
        pipe = self.units.pipe("tensor_pipe")
        return (pipe - fp16).at_least(facts.fraction("matrix_pipe")).at_most(pipe)

    @quantity
    def works_on_tensor_cores(self) -> Truth:
        """Whether matrix products carry the work; their tiles make occupancy low by design.

        On a details page a sentence names the pipe of such a kernel.
        """
        # Nothing but matrix products uses tcgen05.
        tcgen05 = self.uses_tcgen05 & self._does_tensor_work
        return self._unless_details_page((self.tensor >= TENSOR_WORK) | tcgen05)

    @quantity
    def uses_tcgen05(self) -> Truth:
        """Whether matrix instructions are tcgen05's: its control or tensor memory is busy."""
        control, memory = self.facts["tcgen05_pipe"], self.tensor_memory
        used = control.replaced(~np.isnan(memory), Interval.exactly(memory))
        return control.or_else(used) > 0.0

    @quantity
    def tensor_memory(self) -> FloatArray:
        """Use of tensor memory in percent, over the launch or while SMs have work; NaN: unknown.

        It is 1 to 3 % more than that of the tensor pipe in products on a B200 (of siglip and
        Deep-Learning-Profiling-Tools/Tilebench), and 30 % with scale factors (the report in
        ``tests/captures/blackwell``).
        """
        return np.fmax(*(self.facts.raw(TENSOR_MEMORY.format(e)) for e in ("elapsed", "active")))

    @quantity
    def _does_tensor_work(self) -> Truth:
        """Whether matrix instructions do some work, by the pipe or, of tcgen05, while active."""
        elapsed, tcgen05 = self.tensor >= SOME_TENSOR_WORK, self.uses_tcgen05.sure
        if not tcgen05.any():
            return elapsed
        active = tcgen05 & (self.facts.values("tensor_pipe_active") >= 100 * SOME_TENSOR_WORK)
        return elapsed | Truth(active, active)

    def _unless_details_page(self, statement: Truth) -> Truth:
        """A statement on the new units, which a details page makes only where it is so."""
        if self.units.shipped.has_rule_messages:
            return Truth(statement.sure, statement.sure)
        return statement

    @quantity
    def uses_wgmma(self) -> Truth:
        """Whether matrix instructions run apart from the warps that start them."""
        facts = self.facts
        apart = (facts["wgmma_pipe"] > 0.0) | self.uses_tcgen05
        return apart & self._unless_details_page(self._does_tensor_work) & self._is_fed

    @quantity
    def by_older_instructions(self) -> Interval:
        """Use of the tensor pipe by ``mma.sync`` on a GPU that has faster instructions, 0 to 1.

        FP64 has no faster ones. A GPU that is not known may have them.
        """
        facts = self.facts
        apart = facts.by_capability(_has_asynchronous_products)
        perhaps = apart | ~facts.by_capability(_is_known)
        has_counter = facts.by_capability(partial(facts.metric_exists, "matrix_pipe"))
        matrix = facts.fraction("matrix_pipe").or_at_most(self.tensor)
        own = self.tensor.replaced(has_counter, matrix)
        if self.units.shipped.has_rule_messages:
            # A details page does not tell the instructions apart.
            own = own.low_only()
        own = own.where(~self.uses_wgmma, 0.0)
        return Interval(np.where(apart, own.low, 0.0), np.where(perhaps, own.high, 0.0))

    @quantity
    def asynchronous_part(self) -> Interval:
        """Share of what is loaded from global memory that asynchronous copies load, 0 to 1.

        ``cp.async`` counts as a global load that uses no bytes of its sectors, which bounds it
        where it is not counted by itself.
        """
        facts = self.facts
        loads = facts["global_load_requests"]
        used = facts["global_load_bytes_per_sector"] * (1.0 / COMMON.sector_bytes)
        copies = facts["async_copies"].at_most(loads)
        copies = copies.or_at_most(loads * (1.0 - used))
        bulk = facts["tma_load_sectors"] * (1.0 / WIDEST_REQUEST_SECTORS)
        part = ((copies + bulk) / (loads + bulk)).at_most(1.0)
        return part.replaced((copies.high == 0) & (bulk.high == 0), 0.0)

    @quantity
    def by_design(self) -> Truth:
        """Whether matrix products run in a pipeline of asynchronous copies or instructions."""
        apart = self.uses_wgmma | (self.asynchronous_part >= MOSTLY) | self._is_fed_by_tensor_maps
        return self.works_on_tensor_cores & apart & self._is_fed

    @quantity
    def _is_fed_by_tensor_maps(self) -> Truth:
        """Whether the kernel takes tensor maps, on a chip with tcgen05: TMA fills its tiles."""
        facts = self.facts
        maps = facts.by_capability(has_tcgen05)
        maps = maps & facts.by_launch(lambda launch: takes_tensor_maps(launch.kernel))
        return Truth(maps, maps) & Truth(bulk := (facts["tma_load_sectors"] > 0.0).maybe, bulk)

    @quantity
    def _is_fed(self) -> Truth:
        """Whether L1 does enough to bring operands from shared memory to the tensor cores."""
        busy = self.units.l1 >= OPERANDS * TENSOR_WORK
        return busy | Truth(self.uses_tcgen05.sure, self.uses_tcgen05.sure)

    @quantity
    def is_fed_by_bulk_copies(self) -> Truth:
        """Whether bulk copies bring what a kernel without matrix products computes with.

        Waits are for them then, and one block on an SM is by design.
        """
        facts = self.facts
        bulk = facts["tma_load_sectors"] * (1.0 / WIDEST_REQUEST_SECTORS)
        mostly = (bulk > 0.0) & (bulk >= facts["global_load_requests"])
        return self._unless_details_page(mostly) & ~self.works_on_tensor_cores

    @quantity
    def late_copies(self) -> Interval:
        """Share of warps' time that others than a producer wait for copies, 0 to 1."""
        return self.stalls.copies - self.producers

    @quantity
    def while_active(self) -> Interval:
        """Use of the tensor pipe while SMs have work, 0 to 1.

        Where SMs are empty the tensor cores wait for blocks: that is the grid's. Power moves the
        clock from pass to pass, so cycles of another pass only bound it.
        """
        pipe = self.units.pipe("tensor_pipe")
        own = self.facts.fraction("tensor_pipe_active")
        most = (pipe / self.units.active_share.at_least(1e-3) * PASSES_DIFFER).at_most(1.0)
        return own.or_at_most(most).at_least(pipe)

    @quantity
    def room(self) -> Interval:
        """Factor until the tensor cores are full while SMs have work, or another unit is."""
        full = PRACTICAL_CEILING["pipe"] / self.while_active.at_least(1e-3)
        return full.at_most(1.0 / self.others.at_least(1e-3)).at_least(1.0)

    @quantity
    def not_full(self) -> Truth:
        """Whether it is such a pipeline, and the tensor cores have time left."""
        return self.by_design & (self.room >= LEAST_ROOM) & ~self.is_as_full_as_others

    @quantity
    def is_as_full_as_others(self) -> Truth:
        """Whether the tensor cores are as busy as in the best kernels of its kind."""
        of_library = self.facts.of_library
        full = Truth(of_library, of_library) & (self.units.pipe("tensor_pipe") >= OF_A_LIBRARY)
        by_threads = ~(self.facts["tma_load_sectors"] > 0.0) & ~self.uses_tcgen05
        return full | (by_threads & (self.units.saturations["tensor_pipe"] >= FED_BY_THREADS))

    @quantity
    def others(self) -> Interval:
        """Saturation of the busiest unit beside the tensor cores and what brings their operands.

        Operands of ``wgmma`` come through shared memory: L1 is as busy with them as the tensor
        cores are.
        """
        busiest = self.units.busiest_except("tensor_pipe", "sm", "l1")
        l1 = self.units.saturations["l1"]
        return busiest.at_least(l1.where(~self.uses_wgmma, 0.0))

    @quantity
    def stalls(self) -> PipelineStalls:
        """What the warps wait for."""
        share = self.units.warps.stall_share
        return PipelineStalls(
            copies=share("long_scoreboard"),
            products=share("barrier", "gmma", "math_pipe_throttle", "mio_throttle"),
            stores=share("lg_throttle", "drain"),
            around=share(*AROUND),
        )

    @quantity
    def producers(self) -> Interval:
        """Share of the warps that do nothing but start tiles' copies, one a block, 0 to 1.

        They wait for room all the time, as they should. A block of one warp group has none.
        """
        facts = self.facts
        slots = facts.fraction("theoretical_occupancy") * COMMON.warps_per_sm
        blocks = slots / (facts["block_size"] * (1.0 / COMMON.warp_size)).at_least(1.0)
        part = blocks / (facts["active_warps"] * COMMON.schedulers).at_least(1.0)
        specialized = (
            self.works_on_tensor_cores
            & (facts["block_size"] > WARPGROUP)
            & (facts["tma_load_sectors"] > 0.0)
        )
        return part.at_most(1.0).where(specialized, 0.0)

    @quantity
    def stages(self) -> Interval:
        """Pairs of tiles that fit into a block's shared memory; unknown without bulk copies."""
        facts = self.facts
        tile = facts["tma_load_sectors"] * COMMON.sector_bytes / facts["tma_loads"]
        held = facts["shared_memory_static"] + facts["shared_memory_dynamic"]
        return held / (tile * 2.0)

    def limits_copies(self, unit: str) -> Truth:
        """Return whether a unit below L1 is full enough to be what copies wait for."""
        return ~self.by_design | (self.units.saturations[unit] >= BUSY_WITH_COPIES)


def _has_asynchronous_products(capability: Capability | None) -> bool:
    metrics = load_metrics()
    kinds = (metrics["wgmma_pipe"], metrics["tcgen05_pipe"])
    return _is_known(capability) and not all(kind.is_zero_on(capability) for kind in kinds)


def _is_known(capability: Capability | None) -> bool:
    return chip_of(capability) is not None
