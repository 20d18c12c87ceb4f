"""The GPU that a prediction is for, from ``data/devices.toml``: one for each architecture."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.architectures import Architecture, architecture

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.analysis.metrics.architectures import Capability

_FILE: Final = Path(__file__).parents[1] / "data" / "devices.toml"
_TRANSFERS: Final = 2
"""What a pin of device memory moves in a cycle of the memory's clock."""


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU: how many of what it has, and its clocks in Hz."""

    compute_capability: str
    name: str
    source: str
    sms: int
    clock_hz: float
    memory_hz: float
    bus_bits: int
    l2_bytes: int
    l2_slices: int | None = None
    tried: bool = False
    """Whether the model of time was compared with captures of it."""

    @property
    def dram_bytes_per_second(self) -> float:
        """The peak of device memory."""
        return self.memory_hz * _TRANSFERS * self.bus_bits / 8

    @property
    def dram_bytes_per_cycle(self) -> float:
        """The same per cycle of an SM."""
        return self.dram_bytes_per_second / self.clock_hz

    @property
    def architecture(self) -> Architecture:
        """What its SMs have."""
        found = architecture(self.compute_capability)
        if found is None:
            raise KeyError(self.compute_capability)
        return found


@cache
def devices() -> Mapping[Capability, Device]:
    """All known GPUs by their compute capability."""
    tables = tomllib.loads(_FILE.read_text(encoding="utf-8"))["device"]
    found = [Device(**table) for table in tables]
    return MappingProxyType({each.architecture.capability: each for each in found})
