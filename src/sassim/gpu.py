"""The GPU that caches, pipes and time are modelled for, and what all of NVIDIA's have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

WARP_SIZE: Final = 32
"""Threads of a warp (CUDA C++ Programming Guide, "SIMT Architecture")."""
SECTOR_BYTES: Final = 32
"""Bytes of a sector of L1 and L2 (Nsight Compute documentation, "Memory Tables")."""
SCHEDULERS: Final = 4
"""Warp schedulers of an SM, since compute capability 5.0."""
_TRANSFERS: Final = 2
"""What a pin of device memory moves in a cycle of the memory's clock."""


MMA_SYNC: Final = 1.5
"""Times the cycles of ``wgmma`` that ``mma.sync`` takes: H200 (``tests/captures/bf16``)."""


@dataclass(frozen=True, slots=True)
class SmLimits:
    """What an SM holds at once: warps, blocks, and KiB of shared memory."""

    warps: int
    blocks: int
    shared_kib: int


@dataclass(frozen=True, slots=True)
class GpuModel:
    """One GPU: how many of what it has, its clocks in Hz, and the rates of an SM per cycle.

    ``None`` is not known. ``tensor_fmas`` are dense multiply-adds of the tensor cores of an SM per
    cycle, by the type of the operands; ``mma.sync`` takes ``mma_sync`` times the cycles of these.
    """

    name: str
    compute_capability: tuple[int, int]
    sms: int
    clock_hz: float
    memory_hz: float
    bus_bits: int
    l2_bytes: int
    l2_slices: int | None = None
    limits: SmLimits | None = None
    l1_and_shared_kib: int | None = None
    shared_kib_steps: tuple[int, ...] = ()
    fp32_lanes: int | None = None
    fp64_lanes: int | None = None
    tensor_fmas: Mapping[str, int] = field(default_factory=dict)
    mma_sync: float = MMA_SYNC
    validated: bool = False
    """Whether the model of time was compared with captures of it."""

    @property
    def dram_bytes_per_second(self) -> float:
        """The peak of device memory."""
        return self.memory_hz * _TRANSFERS * self.bus_bits / 8

    @property
    def dram_bytes_per_cycle(self) -> float:
        """The same per cycle of an SM."""
        return self.dram_bytes_per_second / self.clock_hz
