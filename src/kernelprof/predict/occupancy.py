"""How many blocks an SM holds at once, and which resource limits it.

CUDA C++ Programming Guide, "Hardware Multithreading", and the table "Technical Specifications per
Compute Capability": registers are given to a warp in pieces of 256, to four schedulers evenly;
shared memory to a block in pieces of 128 bytes, 1 KiB of it for the system since compute capability
8.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.architectures import EVERY

if TYPE_CHECKING:
    from kernelprof.analysis.metrics.architectures import Residency

_REGISTERS: Final = 65_536
"""32-bit registers of an SM."""
_REGISTER_PIECE: Final = 256
_SHARED_PIECE: Final = 128


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


def occupancy(room: Residency, *, threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """The blocks that fit, of so many threads; ``shared_bytes`` with what the system takes."""
    warps = -(-threads // EVERY.warp_size)
    of_warp = -(-registers * EVERY.warp_size // _REGISTER_PIECE) * _REGISTER_PIECE
    fit = _REGISTERS // of_warp // EVERY.schedulers * EVERY.schedulers
    shared = -(-shared_bytes // _SHARED_PIECE) * _SHARED_PIECE
    return Occupancy(
        registers=fit // warps,
        shared=room.shared_kib * 1024 // shared if shared else None,
        warps=room.warps // warps,
        blocks=room.blocks,
        warps_of_block=warps,
        most_warps=room.warps,
    )
