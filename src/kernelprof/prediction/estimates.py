"""A launch in time: how long it takes on a GPU, how busy its units are, what its warps wait for."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from kernelprof.analysis.metrics.architectures import COMMON, architecture
from kernelprof.analysis.metrics.groups import STALLS
from sassim.caches import CacheMisses, estimate_misses
from sassim.counters.transactions import SECTOR
from sassim.gpu import MMA_SYNC, GpuModel
from sassim.pipe_cycles import PipeCycles, compute_pipe_cycles
from sassim.residency import GridResidency, compute_residency
from sassim.timing.elapsed import ATOMIC_CYCLES, ElapsedCycles, estimate_elapsed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelprof.analysis.metrics.architectures import Capability
    from sassim.counters.launch_counters import LaunchCounters
    from sassim.timing.multiprocessor import SmTimes

    Values = Iterator[tuple[str, float]]

TIMES: Final = (0.7, 1.35)
"""Between these factors of the predicted time lie the times of 92 % of 313 kernels of the corpus,
measured on an H200; 1 % are shorter and 6 % longer."""

_PIPES: Final = {
    "alu_pipe": "alu",
    "fma_pipe": "fma",
    "fma_heavy_pipe": "fmaheavy",
    "fp64_pipe": "fp64",
    "xu_pipe": "xu",
    "tensor_pipe": "tensor",
}
_BUSY_AT_ATOMICS: Final = 0.8
"""Share of the time between two atomics in which the unit of a slice is busy: it was 0.80 of the
prediction in six kernels of the corpus whose busiest one is from 7 to 76 % busy."""
_FIXED: Final = ("selected", "wait")
_CLOCK_WITH_PRODUCTS: Final = 0.93
_CLOCK_AT_WORK: Final = 0.135
"""Share of its clock that an H200 keeps with products of warpgroups, and what it loses of it in
proportion to how busy they keep the tensor cores: a line through 31 captures without a locked
clock, of which the farthest is 8 % off (``src/kernelprof/recorded/h200-bf16``, ``cuda/pairs``)."""

_GPUS: Final = Path(__file__).parents[1] / "data" / "devices.toml"
"""The GPUs that kernels are predicted for, one for each architecture."""


@dataclass(frozen=True)
class Estimate:
    """What the model of time says of one launch on one GPU."""

    gpu: GpuModel
    residency: GridResidency
    misses: CacheMisses
    pipe_cycles: PipeCycles
    elapsed: ElapsedCycles

    def values(self, factor: float = 1.0, *, waits: bool = True) -> Values:
        """Metrics by canonical name, were the time ``factor`` as long as predicted.

        It is no shorter than the busiest unit needs. Without ``waits`` those are left out that say
        what warps wait for.
        """
        cycles = max(self.elapsed.cycles * factor, self.pipe_cycles.least_cycles(self.gpu))
        active = self.elapsed.active * cycles / self.elapsed.cycles
        own, clock = self.pipe_cycles, self.gpu.clock_hz
        if own.products:
            utilization = min(own.pipes.get("tensor", 0.0) / (self.gpu.sms * cycles), 1.0)
            clock *= _CLOCK_WITH_PRODUCTS - _CLOCK_AT_WORK * utilization
        yield "sm_count", float(self.gpu.sms)
        yield "waves_per_sm", self.residency.waves
        yield "duration", cycles / clock * 1e9
        yield "sm_cycles_elapsed", cycles
        yield "sm_cycles_active", min(active, cycles)
        yield "wgmma_pipe", _percent(own.products, self.gpu.sms * cycles)
        for name, threads in own.threads.items():
            yield name, threads / cycles
        yield from self._unit_metrics(cycles)
        if waits:
            yield from self._stall_metrics(self.elapsed.run, active)

    def _unit_metrics(self, cycles: float) -> Values:
        """How busy each unit is, in percent."""
        own, gpu = self.pipe_cycles, self.gpu

        def of_sms(busy: float) -> float:
            return _percent(busy, gpu.sms * cycles)

        pipes = {name: of_sms(own.pipes.get(each, 0.0)) for name, each in _PIPES.items()}
        issue, constants = of_sms(own.issue), of_sms(own.constants)
        adu = max(of_sms(own.pipes.get("adu", 0.0)), constants)
        arithmetic = max(issue, *pipes.values(), of_sms(own.pipes.get("uniform", 0.0)))
        yield from pipes.items()
        yield "matrix_pipe", pipes["tensor_pipe"]
        yield "issue_slots", issue
        yield "adu_pipe", adu
        yield "constant_cache", constants
        yield "instruction_throughput", arithmetic
        yield "sm_throughput", max(arithmetic, adu, of_sms(own.pipes.get("lsu", 0.0)))
        wavefronts = of_sms(own.wavefronts)
        l1 = max(wavefronts, of_sms(own.requests), of_sms(own.link.value))
        yield "l1_wavefronts", wavefronts
        yield "l1_throughput", l1
        yield "shared_wavefronts_share", of_sms(own.shared)
        yield "shared_atomic_wavefronts_share", of_sms(own.shared_atomics)
        dram = _percent(own.dram.value, gpu.dram_bytes_per_cycle * cycles)
        yield "dram_throughput", dram
        yield "dram_bytes_read", self.misses.read.value * SECTOR
        yield "dram_bytes_written", self.misses.written.value * SECTOR
        passed = self.misses.loaded + self.misses.stored + self.misses.atomics
        yield "l2_sectors_from_l1", passed.value
        atomics = _BUSY_AT_ATOMICS * ATOMIC_CYCLES * self.misses.hottest.value
        yield "l2_atomic_unit_hottest", _percent(atomics, cycles)
        if gpu.l2_slices is None:
            return
        l2 = {name: _percent(each.value, gpu.l2_slices * cycles) for name, each in own.l2.items()}
        yield from l2.items()
        yield "l2_throughput", max(l2.values())
        yield "memory_throughput", max(l1, dram, *l2.values())

    def _stall_metrics(self, run: SmTimes, active: float) -> Values:
        """What warps wait for, in cycles for each instruction."""
        resident = min(run.warp_cycles / max(run.full_cycles, 1.0), COMMON.warps_per_sm)
        issued, warps = (
            self.pipe_cycles.issue / (self.gpu.sms * active),
            resident / COMMON.schedulers,
        )
        yield "issue_slots_active", _percent(issued, 1.0)
        yield "achieved_occupancy", _percent(resident, COMMON.warps_per_sm)
        yield "active_warps", warps
        # Little's law: the blocks that were run issue as often as those of the whole launch.
        cycles = warps / min(issued, 1.0)
        yield "warp_cycles_per_instruction", cycles
        for name, each in _scale_stalls(run, cycles).items():
            yield f"stall_{name}", each


@cache
def gpu_models() -> Mapping[Capability, GpuModel]:
    """Return all known GPUs by their compute capability."""
    tables = tomllib.loads(_GPUS.read_text(encoding="utf-8"))["device"]
    models = [_gpu_model(**table) for table in tables]
    return MappingProxyType({model.compute_capability: model for model in models})


def _gpu_model(compute_capability: str, **values: Any) -> GpuModel:
    del values["source"]  # where the figures come from, for readers of the file
    sm = architecture(compute_capability)
    if sm is None:
        raise KeyError(compute_capability)
    return GpuModel(
        compute_capability=sm.capability,
        limits=sm.residency,
        l1_and_shared_kib=sm.l1_and_shared_kib,
        shared_kib_steps=sm.shared_kib_steps,
        fp32_lanes=sm.fp32_lanes,
        fp64_lanes=sm.fp64_lanes,
        tensor_fmas=sm.tensor_fmas_of(values["name"]),
        mma_sync=sm.mma_sync or MMA_SYNC,
        **values,
    )


def estimate_times(
    counters: LaunchCounters,
    cubin: bytes,
    capability: Capability,
    *,
    resident: int,
    shared_bytes: int,
) -> Estimate | None:
    """What a launch does in time; ``None`` where no GPU of its architecture is known.

    ``resident`` blocks fit on an SM, each with so many bytes of shared memory.
    """
    gpu = gpu_models().get(capability)
    if gpu is None:
        return None
    launch = counters.launch
    placed = compute_residency(
        gpu,
        grid=math.prod(launch.grid),
        resident=resident,
        block_bytes=shared_bytes,
        threads=math.prod(launch.block),
    )
    missed = estimate_misses(counters, gpu, placed)
    return Estimate(
        gpu=gpu,
        residency=placed,
        misses=missed,
        pipe_cycles=compute_pipe_cycles(counters, gpu, missed),
        elapsed=estimate_elapsed(counters, cubin, gpu, placed, missed),
    )


def _scale_stalls(run: SmTimes, cycles: float) -> dict[str, float]:
    """Cycles of a warp for each instruction by what it waits for, ``cycles`` together.

    What the code fixes stays as it is: an instruction is issued, and waits for the one before it.
    """
    instructions = max(run.instructions, 1.0)
    cycles_by_reason = {name: run.stalls.get(name, 0.0) / instructions for name in STALLS}
    others = [name for name in STALLS if name not in _FIXED]
    waits = sum(cycles_by_reason[name] for name in others)
    left = cycles - sum(cycles_by_reason[name] for name in _FIXED)
    if waits > 0 and left > 0:
        cycles_by_reason |= {name: cycles_by_reason[name] * left / waits for name in others}
    return cycles_by_reason


def _percent(part: float, whole: float) -> float:
    return min(100.0, 100.0 * part / whole) if whole > 0 else 0.0
