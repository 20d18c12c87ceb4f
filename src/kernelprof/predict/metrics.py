"""Counts under the names that ``ncu`` gives them: a capture of one launch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.metrics.architectures import architecture
from kernelprof.analysis.metrics.catalogue import catalogue
from kernelprof.model.capture import Capture, Launch, MetricColumn, Origin
from kernelprof.predict.counts.counted import Total
from kernelprof.predict.occupancy import occupancy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kernelprof.launch.resolved import ResolvedLaunch
    from kernelprof.launch.spec import LaunchSpec
    from kernelprof.predict.counts.counted import Counted
    from kernelprof.predict.counts.tally import Accesses
    from kernelprof.predict.sass.cubin import Resources

    Values = Iterator[tuple[str, Total | float | None]]

_SYSTEM_SHARED_BYTES: Final = 1024
"""What the system takes of a block's shared memory since compute capability 8.0."""

_GLOBAL: Final = {
    "load": ("load", "copy"),
    "store": ("store",),
    "atomic": ("atomic", "compare"),
    "reduction": ("reduction",),
}
"""Kinds of accesses by what the names of metrics call them."""


def capture_of(counted: Counted, spec: LaunchSpec, resolved: ResolvedLaunch, arch: str) -> Capture:
    """The capture that a GPU of an architecture would give, as far as it is known.

    Counts come from the sample of blocks, resources and occupancy from the compiler. What takes
    time, and what caches do, is left out.
    """
    capability = capability_of(arch)
    columns: dict[str, MetricColumn] = {}
    for origin, values in (
        (Origin.PREDICTED, _counts(counted)),
        (Origin.COMPILER, _resources(counted, resolved, capability)),
    ):
        for name, value in values:
            if value is not None:
                metric = catalogue()[name]
                columns[metric.ncu[0]] = _column(metric.ncu[0], metric.unit, value, origin)
    launch = Launch(
        id="0",
        kernel=spec.kernel,
        grid=resolved.grid,
        block=resolved.block,
        compute_capability=capability,
    )
    return Capture(launches=(launch,), columns=columns, origin=str(spec.path or spec.kernel))


def intervals(counted: Counted) -> dict[str, tuple[float, float]]:
    """The lowest and the highest that counts can be, of those that are not known exactly."""
    return {
        name: (max(value.low, 0.0), value.high)
        for name, value in _counts(counted)
        if isinstance(value, Total) and not value.exact
    }


def capability_of(arch: str) -> tuple[int, int]:
    """The compute capability of ``sm_90`` or ``sm_90a``: (9, 0)."""
    digits = arch.removeprefix("sm_").rstrip("af")
    return int(digits[:-1]), int(digits[-1])


def _column(name: str, unit: str, value: Total | float, origin: Origin) -> MetricColumn:
    number = value.value if isinstance(value, Total) else value
    return MetricColumn(name, np.array([number], np.float64), unit, unit, origin)


def _counts(counted: Counted) -> Values:
    """What the sample of blocks says."""
    executed = counted.instructions()
    yield "instructions", counted.total(executed)
    yield "threads_per_instruction", counted.ratio(counted.threads(), executed)
    for what, kinds in _GLOBAL.items():
        requests = counted.total(counted.accesses("requests", _of("global", *kinds)))
        yield f"global_{what}_requests", requests
        if what in ("load", "store"):
            sectors = counted.total(counted.accesses("sectors", _of("global", *kinds)))
            yield f"global_{what}_sectors", sectors
    yield "global_sectors", counted.total(counted.accesses("sectors", _of("global")))
    yield "global_sectors_ideal", counted.total(counted.accesses("ideal", _of("global")))
    yield "shared_wavefronts", counted.total(counted.accesses("wavefronts", _of("shared")))
    yield "shared_wavefronts_ideal", counted.total(counted.accesses("ideal", _of("shared")))
    local = counted.accesses("sectors", _of("local"))
    yield "local_sectors", counted.total(local)
    if not local.any():
        yield "local_load_sectors", 0.0
        yield "local_store_sectors", 0.0


def _of(space: str, *kinds: str) -> Callable[[Accesses], bool]:
    return lambda each: each.space == space and (not kinds or each.kind in kinds)


def _resources(counted: Counted, resolved: ResolvedLaunch, capability: tuple[int, int]) -> Values:
    """What the compiler decided, and what follows from it."""
    resources = counted.launch.program.image.resources
    threads = math.prod(resolved.block)
    blocks = math.prod(resolved.grid)
    shared = shared_bytes(resources, resolved, capability)
    yield "grid_size", float(blocks)
    yield "block_size", float(threads)
    yield "registers_per_thread", float(resources.registers)
    yield "shared_memory_per_block", float(shared)
    known = architecture(capability)
    if known is None or known.residency is None:
        return
    found = occupancy(
        known.residency, threads=threads, registers=resources.registers, shared_bytes=shared
    )
    yield "block_limit_registers", float(found.registers)
    yield "block_limit_warps", float(found.warps)
    yield "block_limit_blocks", float(found.blocks)
    if found.shared is not None and found.shared == found.resident:
        yield "block_limit_shared_mem", float(found.shared)
    yield "theoretical_occupancy", found.percent


def shared_bytes(
    resources: Resources, resolved: ResolvedLaunch, capability: tuple[int, int]
) -> int:
    """Bytes of shared memory that a block takes, with those of the system."""
    own = resources.shared_bytes + resolved.shared_bytes
    if capability < (8, 0):
        return own
    if capability >= (9, 0):
        # Its 1 KiB is part of the static size, where there is one.
        return max(_SYSTEM_SHARED_BYTES, resources.shared_bytes) + resolved.shared_bytes
    return own + _SYSTEM_SHARED_BYTES
