"""What is known about GPU architectures, from ``data/architectures.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from sassim.gpu import SmLimits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sassim.occupancy import Occupancy

Capability = tuple[int, int]
"""A compute capability, major and minor."""

FLOPS_OF_FMA: Final = 2


@dataclass(frozen=True, slots=True)
class Architecture:
    """The GPUs of one compute capability; ``None`` is not known. Lanes are per SM and cycle.

    ``gpus`` are patterns of the names of GPUs and chips, in lower case and without blanks.

    ``tensor_fmas`` are dense multiply-adds of the tensor cores of an SM per cycle, by the type of
    the operands, ``geforce_fmas`` those of GeForce that differ, ``sparse_fmas`` how many times that
    2:4 sparse operands have, ``mma_sync`` how many times the cycles ``mma.sync`` takes.
    ``pipe_instructions`` are warps' instructions per cycle at which the use of a pipe is 100 %, by
    the name of that metric.
    """

    capability: Capability
    chip: str | None = None
    gpus: tuple[str, ...] = ()
    fp32_lanes: int | None = None
    fp64_lanes: int | None = None
    l1_bytes: int | None = None
    residency: SmLimits | None = None
    l1_and_shared_kib: int | None = None
    shared_kib_steps: tuple[int, ...] = ()
    tensor_fmas: Mapping[str, int] = field(default_factory=dict)
    geforce_fmas: Mapping[str, int] = field(default_factory=dict)
    sparse_fmas: float | None = None
    mma_sync: float | None = None
    pipe_instructions: Mapping[str, float] = field(default_factory=dict)

    def tensor_fmas_of(self, gpu: str) -> Mapping[str, int]:
        """Return ``tensor_fmas`` of a GPU by the driver's name of it."""
        return {**self.tensor_fmas, **(self.geforce_fmas if "GeForce" in gpu else {})}


@dataclass(frozen=True, slots=True)
class CommonLimits:
    """What all architectures have in common; lanes and slots are per SM, slices per chip."""

    warp_size: int
    sector_bytes: int
    warps_per_sm: int
    threads_per_block: int
    registers_per_thread: int
    schedulers: int
    alu_lanes: int
    fma_lanes: int
    xu_lanes: int
    fp16_lanes_of_tensor_pipe: int
    l2_slices: int


@dataclass(frozen=True, slots=True)
class DroppedGpus:
    """GPUs ``below`` a compute capability, which Nsight Compute left out ``since`` one version.

    ``last`` is the version that still profiled them, ``None`` where none did; ``other_names`` is
    whether that one had other names for its metrics than today's.
    """

    below: Capability
    since: str
    last: str | None = None
    other_names: bool = False


def _capability(text: str) -> Capability:
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def _architecture(table: dict[str, Any]) -> Architecture:
    residency = table.pop("residency", None)
    return Architecture(
        _capability(table.pop("compute_capability")),
        residency=None if residency is None else SmLimits(**residency),
        shared_kib_steps=tuple(table.pop("shared_kib_steps", ())),
        gpus=tuple(table.pop("gpus", ())),
        **table,
    )


def occupancy_facts(fits: Occupancy) -> Iterator[tuple[str, float]]:
    """Yield what limits the blocks of an SM, by canonical metric; not shared memory."""
    yield "block_limit_registers", float(fits.registers)
    yield "block_limit_warps", float(fits.warps)
    yield "block_limit_blocks", float(fits.blocks)
    yield "theoretical_occupancy", fits.percent


_FILE = Path(__file__).parents[2] / "data" / "architectures.toml"
_TABLES = tomllib.loads(_FILE.read_text(encoding="utf-8"))

COMMON: Final = CommonLimits(**_TABLES["every"])

THREADS_ISSUED: Final = COMMON.schedulers * COMMON.warp_size
"""Threads for which an SM issues an instruction per cycle."""

ARCHITECTURES: Final[Mapping[Capability, Architecture]] = MappingProxyType(
    {each.capability: each for each in map(_architecture, _TABLES["architecture"])}
)

DROPPED: Final = tuple(
    DroppedGpus(**{**table, "below": _capability(table["below"])}) for table in _TABLES["dropped"]
)
"""What today's Nsight Compute does not profile, the oldest GPUs first."""

CHIPS: Final[Mapping[str, tuple[Capability, ...]]] = MappingProxyType(
    {
        chip: tuple(each for each, model in ARCHITECTURES.items() if model.chip == chip)
        for chip in dict.fromkeys(each.chip for each in ARCHITECTURES.values())
        if chip is not None
    }
)
"""Chips whose metric lists are known, with the compute capabilities that they stand for."""


def architecture(capability: Capability | str | None) -> Architecture | None:
    """Return the architecture of a compute capability, ``(9, 0)`` or ``"9.0"``, if it is known."""
    if isinstance(capability, str):
        matches = (each for each in ARCHITECTURES if "{}.{}".format(*each) == capability)
        capability = next(matches, None)
    return None if capability is None else ARCHITECTURES.get(capability)


def find_dropped(capability: Capability | None) -> DroppedGpus | None:
    """Return since when Nsight Compute does not profile a GPU; ``None`` if it still does."""
    return next((each for each in DROPPED if capability and capability < each.below), None)


def chip_of(capability: Capability | None) -> str | None:
    """Return the chip whose metrics a device has, ``None`` where that is not known."""
    match = architecture(capability)
    return None if match is None else match.chip


def fp32_lanes(capability: Capability | str | None) -> int | None:
    """Return the FP32 multiply-adds of an SM per cycle, if they are known."""
    match = architecture(capability)
    return None if match is None else match.fp32_lanes


def tensor_fmas(capability: Capability | str | None, precision: str, gpu: str = "") -> int | None:
    """Return the dense multiply-adds of an SM's tensor cores per cycle, if they are known."""
    match = architecture(capability)
    return None if match is None else match.tensor_fmas_of(gpu).get(precision)


def pipe_instructions(capability: Capability | str | None) -> Mapping[str, float]:
    """Return warp instructions per cycle of an SM's pipes, as far as they are known."""
    match = architecture(capability)
    return {} if match is None else match.pipe_instructions
