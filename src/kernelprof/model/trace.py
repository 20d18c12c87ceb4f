"""What a program did on GPUs and when, as columns: the one form behind every survey.

Times are nanoseconds of one clock for all processes of the program.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    Rows = npt.NDArray[np.void]


def _row_type(fields: str) -> np.dtype[np.void]:
    return np.dtype([tuple(each.split(":")) for each in fields.split()])


KERNELS: Final = _row_type(
    """
    process:<u4 start:<i8 end:<i8 correlation:<u4 configuration:<u4 device:<u4 context:<u4
    stream:<u4 graph:<u4 node:<u8
    """
)
"""One row a kernel that ran. ``configuration`` is a position in :attr:`Trace.configurations`,
``correlation`` is shared with the call that launched it, ``graph`` is 0 outside of graphs."""

TRANSFERS: Final = _row_type(
    """
    process:<u4 start:<i8 end:<i8 bytes:<u8 correlation:<u4 device:<u4 context:<u4
    stream:<u4 graph:<u4 to_device:<u4 kind:u1 from_memory:u1 to_memory:u1 asynchronous:u1
    """
)
"""One row a copy, or with ``kind`` :data:`SET` a memset. Kinds of memory are CUPTI's."""

CALLS: Final = _row_type(
    """
    process:<u4 start:<i8 end:<i8 thread:<u4 correlation:<u4 name:<u4 result:<u4
    """
)
"""One row a call of the CUDA runtime or driver; ``name`` is a position in :attr:`Trace.texts`."""

RANGES: Final = _row_type(
    """
    process:<u4 start:<i8 end:<i8 thread:<u4 name:<u4 domain:<u4 sequence:<u8 depth:<u4
    """
)
"""One row a range of NVTX that a thread pushed and popped, outer ones before the inner ones.
``sequence`` ties PyTorch's backward operators to the forward ones; 0 is none."""

OVERHEADS: Final = _row_type(
    """
    process:<u4 start:<i8 end:<i8 kind:<u4
    """
)
"""Time that the host lost to the driver or to CUPTI; ``kind`` is CUPTI's."""

ALLOCATIONS: Final = _row_type(
    """
    process:<u4 start:<i8 bytes:<u8 address:<u8 what:<u4 kind:<u4 device:<u4
    """
)
"""One row for memory that is allocated at ``start``, or with ``what`` :data:`RELEASED` freed."""

RELEASED: Final = 2
SET: Final = 255
PAGEABLE: Final = 1
PINNED: Final = 2
COMPILING: Final = 1
LOADING: Final = (4 << 16, 5 << 16)
"""Kinds of overhead: the driver compiles PTX, and it loads modules or functions."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """A kernel and how it is launched. ``name`` is demangled where that could be done here.

    Sizes of memory are in bytes: static and dynamic shared memory per block, local memory a thread.
    """

    name: str
    mangled: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int] = (0, 0, 0)
    static_shared: int = 0
    dynamic_shared: int = 0
    registers: int = 0
    local: int = 0


@dataclass(frozen=True, slots=True)
class TracedGpu:
    """A GPU as the driver names it; ``memory`` is in bytes."""

    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    memory: int


@dataclass(frozen=True, slots=True)
class SampledSeries:
    """Counters that a GPU was sampled for at the same time.

    ``start`` and ``end`` have one time a sample, ``values`` one row a sample and one column for
    each of ``metrics``, which are named as CUPTI names them.
    """

    device: int
    metrics: tuple[str, ...]
    start: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Process:
    """A process that used a GPU. One that did not end by itself is not ``complete``.

    ``first`` and ``last`` are the times of its first and last record. ``dropped`` counts records
    that the profiler had no room for.
    """

    pid: int
    parent: int
    command: tuple[str, ...]
    first: int
    last: int
    complete: bool
    dropped: int = 0


@dataclass(frozen=True)
class Trace:
    """All that was recorded of a program, by columns; rows of each kind are in order of time.

    ``process`` in a row is a position in ``processes``. ``devices`` are keyed as the rows have
    them. ``functions`` are places in Python sources, as ``(file, line)`` by the kernel's name.
    ``series`` are samples of whole GPUs. ``stalls`` are numbers of samples of warps: by the mangled
    name of their kernel, and by the state of the warp (``STALLS`` in ``model/sampled.py``).
    """

    processes: tuple[Process, ...]
    devices: Mapping[int, TracedGpu]
    configurations: tuple[Configuration, ...]
    texts: tuple[str, ...]
    kernels: Rows = field(default_factory=lambda: np.zeros(0, KERNELS))
    transfers: Rows = field(default_factory=lambda: np.zeros(0, TRANSFERS))
    calls: Rows = field(default_factory=lambda: np.zeros(0, CALLS))
    ranges: Rows = field(default_factory=lambda: np.zeros(0, RANGES))
    overheads: Rows = field(default_factory=lambda: np.zeros(0, OVERHEADS))
    allocations: Rows = field(default_factory=lambda: np.zeros(0, ALLOCATIONS))
    functions: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    series: tuple[SampledSeries, ...] = ()
    stalls: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
