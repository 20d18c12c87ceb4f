"""What other metrics rule out: counters of Hopper and later that a capture lacks and that are zero.

Captures made before a preset had these counters say all the same that most kernels have nothing to
count. Each function tells of which launches that is known; ``values`` gives a metric by its
canonical name, NaN where it is missing.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.metrics.architectures import EVERY
from kernelprof.analysis.metrics.groups import BULK_COPIES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]
    BoolArray = npt.NDArray[np.bool_]
    Values = Callable[[str], FloatArray]

ACCOUNTED: Final = 0.99
"""Share of L2's sectors from L1 that global and local accesses can have moved, from which they are
all of them. In 555 launches on an H200 (``tests/captures``, ``recorded``) whose kernels have shared
memory and no bulk copies it is 0.999998 and more, in four with bulk copies 0.005 and less."""

SECTORS_OF_ATOMICS: Final = 1.5 * EVERY.warp_size
"""L2 sectors that an atomic of a warp takes at most: 47.4 in ``alarm-counts-by-sensor-and-plant``
of ``cuda/pairs``, the most of 78 launches with atomics on an H200."""

OPERANDS: Final = 0.25
"""Use of L1's data stage against that of the tensor pipe, below which no ``wgmma`` reads operands
from shared memory there: 0.6 to 1 in 15 kernels with ``wgmma`` of ``tests/captures`` (H200), and
0.13 at most beyond loads and stores in those with ``mma.sync``."""


def without_shared_memory(values: Values) -> BoolArray:
    """The kernel has no shared memory at all, one end of each copy and operand."""
    none: BoolArray = (values("shared_memory_static") == 0) & (values("shared_memory_dynamic") == 0)
    return none


def without_bulk_copies(values: Values) -> BoolArray:
    """Global and local accesses account for all sectors that L1 exchanged with L2."""
    with np.errstate(invalid="ignore"):
        accounted: BoolArray = _by_accesses(values) >= ACCOUNTED * values("l2_sectors_from_l1")
    return without_shared_memory(values) | accounted


def without_wgmma(values: Values) -> BoolArray:
    """Loads and stores account for what shared memory does, while the tensor pipe is busy."""
    by_warps = values("shared_load_wavefronts") + values("shared_store_wavefronts")
    with np.errstate(invalid="ignore", divide="ignore"):
        others = 1.0 - by_warps / values("shared_wavefronts_measured")
        beyond = values("shared_wavefronts_share") * others
        none: BoolArray = beyond < OPERANDS * values("tensor_pipe")
    return without_shared_memory(values) | none


def _by_accesses(values: Values) -> FloatArray:
    """The most sectors that global and local accesses can have exchanged with L2.

    Stores pass L1 even where they hit, so a hit rate saves loads only. Without the counters of L1
    it is what the addresses need before any cache.
    """
    loads = values("global_load_sectors") + values("local_load_sectors")
    stores = values("global_store_sectors") + values("local_store_sectors")
    hits = values("l1_hit_rate") * 0.01 * (loads + stores)
    counted = loads + stores - np.clip(hits - stores, 0.0, loads)
    needed = values("global_sectors") + values("local_sectors")
    atomics = values("global_atomic_requests") + values("global_reduction_requests")
    return np.where(np.isnan(counted), needed, counted) + SECTORS_OF_ATOMICS * atomics


RULED_OUT: Final[Mapping[str, Callable[[Values], BoolArray]]] = MappingProxyType(
    {
        **dict.fromkeys((*BULK_COPIES, "tma_loads"), without_bulk_copies),
        **dict.fromkeys(("async_copies", "tcgen05_pipe"), without_shared_memory),
        "wgmma_pipe": without_wgmma,
    }
)
"""How it is known that a metric which is missing is zero."""
