"""How many blocks an SM holds at once, which resource limits it, and whether one fits at all.

CUDA C++ Programming Guide, "Hardware Multithreading", and the table "Technical Specifications per
Compute Capability": registers are allocated to a warp in units of 256, by scheduler;
shared memory to a block in units of 128 bytes, 1 KiB of it for the system since compute capability
8.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sassim.gpu import SCHEDULERS, WARP_SIZE

if TYPE_CHECKING:
    from sassim.gpu import SmLimits
    from sassim.sass.cubin import KernelResources

_REGISTERS: Final = 65_536
"""32-bit registers of an SM."""
_REGISTER_UNIT: Final = 256
_SHARED_UNIT: Final = 128
_SYSTEM_SHARED_BYTES: Final = 1024
"""What the system takes of a block's shared memory since compute capability 8.0."""


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Blocks of an SM that each resource allows; shared memory without limit is ``None``."""

    registers: int
    shared: int | None
    warps: int
    blocks: int
    warps_of_block: int
    most_warps: int

    @property
    def resident(self) -> int:
        """Blocks that an SM holds."""
        limits = [self.registers, self.warps, self.blocks]
        return min(limits if self.shared is None else [*limits, self.shared])

    @property
    def percent(self) -> float:
        """Warps that an SM holds of those that it has room for."""
        return 100.0 * self.resident * self.warps_of_block / self.most_warps


def compute_occupancy(
    room: SmLimits, *, threads: int, registers: int, shared_bytes: int
) -> Occupancy:
    """The blocks that fit, of so many threads; ``shared_bytes`` with what the system takes."""
    warps = -(-threads // WARP_SIZE)
    of_warp = -(-registers * WARP_SIZE // _REGISTER_UNIT) * _REGISTER_UNIT
    fit = _REGISTERS // of_warp // SCHEDULERS * SCHEDULERS
    shared = -(-shared_bytes // _SHARED_UNIT) * _SHARED_UNIT
    return Occupancy(
        registers=fit // warps,
        shared=room.shared_kib * 1024 // shared if shared else None,
        warps=room.warps // warps,
        blocks=room.blocks,
        warps_of_block=warps,
        most_warps=room.warps,
    )


def capability_of(arch: str) -> tuple[int, int]:
    """The compute capability of ``sm_90`` or ``sm_90a``: (9, 0)."""
    digits = arch.removeprefix("sm_").rstrip("af")
    return int(digits[:-1]), int(digits[-1])


def shared_bytes(resources: KernelResources, dynamic: int, capability: tuple[int, int]) -> int:
    """Bytes of shared memory that a block takes, with those of the system."""
    static = static_shared_bytes(resources, capability)
    return static + dynamic + system_shared_bytes(capability)


def static_shared_bytes(resources: KernelResources, capability: tuple[int, int]) -> int:
    """Those of the block's own that the compiler knows of."""
    if capability >= (9, 0):
        # The system's are part of the static size, where there is one.
        return max(0, resources.shared_bytes - _SYSTEM_SHARED_BYTES)
    return resources.shared_bytes


def system_shared_bytes(capability: tuple[int, int]) -> int:
    """Bytes of a block's shared memory that the system takes, on a compute capability."""
    return _SYSTEM_SHARED_BYTES if capability >= (8, 0) else 0
