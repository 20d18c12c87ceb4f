"""The way of bytes from the threads to device memory, against the fewest that are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.traffic import SECTOR
from kernelprof.analysis.rules import Subsystem
from kernelprof.model.numbers import factor, quantity, share
from kernelprof.report.charts import memory as drawn
from kernelprof.report.figures.measured import LaunchFigures, Numbers, finite, product

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.manifest import Manifest, TimingFacts

NOTABLE: Final = 0.01
_MORE: Final = 1.05
"""From so many times the fewest bytes on it is more than that. Our choice."""

_REQUESTED: Final = (
    "Bytes that the threads request, counted for each thread: a value that a "
    "whole warp reads counts 32 times."
)
_DISTINCT: Final = (
    "Distinct bytes of the warps' global loads and stores, and of bulk copies (TMA); a value that "
    "several threads of a warp read in one request counts once."
)
_L1: Final = (
    "32-byte sectors of global loads and stores (L1 hits and misses), plus those of bulk copies "
    "(TMA), which bypass L1. Sectors beyond the minimum for the used bytes are waste."
)
_L2: Final = "32-byte sectors that SMs read from or wrote to L2, through L1 or bulk copies (TMA)."
_DRAM: Final = "Bytes read from and written to device memory."


_SHARED: Final = (
    "Wavefronts of shared memory, each of up to 128 bytes: 32 banks of 4 bytes. Wavefronts added "
    "by bank conflicts are waste."
)
_BULK: Final = "32-byte sectors of bulk copies (TMA), which bypass registers and L1."
_CLUSTER: Final = "Distributed shared memory: bytes from other SMs of the cluster, which bypass L2."
_LOCAL: Final = "32-byte sectors of local memory: spilled registers and arrays indexed at run time."
WAVEFRONT: Final = 128
"""Bytes that shared memory moves at once: 32 banks of 4 bytes (CUDA C++ Programming Guide)."""


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """Bytes that passed one place on their way, as a ``multiple`` of the fewest possible.

    ``hit_rate`` is 0 to 1; ``tip`` says what is counted there.
    """

    name: str
    bytes: float
    text: str
    multiple: float | None = None
    hit_rate: float | None = None
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """The way from threads to device memory; ``excess`` is the needless share of the sectors.

    ``links`` are the ways between the levels, as far as counters say something of them.
    """

    levels: tuple[MemoryLevel, ...]
    excess: float | None = None
    note: str = ""
    links: tuple[drawn.MapLink, ...] = ()


def memory_figure(
    launch: LaunchFigures, timing: TimingFacts | None, manifest: Manifest | None
) -> Memory | None:
    """The picture of one launch; ``None`` where no level is known.

    ``timing`` and ``manifest`` are given where the launch is of the kernel that they describe.
    """
    traffic = launch.traffic()
    fewest = timing.min_bytes if timing is not None and timing.min_bytes else None
    of_floats = traffic.asked is not None and _only_floats(manifest)
    requested = traffic.asked if of_floats else traffic.distinct
    traffic_levels = (
        ("threads", requested, None, _REQUESTED if of_floats else _DISTINCT),
        ("L1", traffic.l1, launch.share("l1_hit_rate"), _L1),
        ("L2", traffic.l2, launch.share("l2_hit_rate"), _L2),
        ("device memory", traffic.dram, None, _DRAM),
    )
    levels = tuple(
        MemoryLevel(
            name, size, quantity(size, "byte"), None if fewest is None else size / fewest, hits, tip
        )
        for name, value, hits, tip in traffic_levels
        if (size := finite(value)) is not None and size >= 0
    )
    if not levels:
        return None
    excess = launch.exact_value(launch.waste.excess_sectors)
    links = tuple(_links(launch, levels, excess))
    return Memory(levels, excess, " ".join(_notes(launch, fewest)), links)


def chart(memory: Memory, place: Subsystem | None) -> tuple[drawn.MapLevel | drawn.MapLink, ...]:
    """The map of the memory, with the link marked on which the verdict's bottleneck is."""
    if not memory.links:
        return ()
    rates = {each.name: each.hit_rate for each in memory.levels if each.hit_rate is not None}
    ends = {end for link in memory.links for end in (link.start, link.end)}
    names = (("kernel", "Kernel"), ("l1", "L1"), ("shared", "Shared memory"), ("l2", "L2"))
    levels = [
        drawn.MapLevel(id, name, (f"hit rate {share(rates[name])}",) if name in rates else ())
        for id, name in (*names, ("dram", "Device memory"))
        if id in ends
    ]
    limiting = _LINK_OF.get(place) if place is not None else None
    links = [each._replace(limiting=(each.start, each.end) == limiting) for each in memory.links]
    return (*levels, *links)


_LINK_OF: Final = {
    Subsystem.L1: ("kernel", "l1"),
    Subsystem.SHARED: ("kernel", "shared"),
    Subsystem.L2: ("l1", "l2"),
    Subsystem.DRAM: ("l2", "dram"),
}


def _links(
    launch: LaunchFigures, levels: Iterable[MemoryLevel], excess: float | None
) -> Iterable[drawn.MapLink]:
    by_name = {each.name: each for each in levels}
    if "L1" in by_name:
        used = f"{by_name['threads'].text} used by the threads" if "threads" in by_name else ""
        yield drawn.MapLink(
            "kernel",
            "l1",
            "global",
            by_name["L1"].text,
            launch.share("l1_throughput") if not _shared_bytes(launch) else None,
            excess,
            tuple(filter(None, (used,))),
            f"{_L1} {_DISTINCT}",
        )
    if sectors := launch.value("local_sectors"):
        text = quantity(sectors * SECTOR, "byte")
        yield drawn.MapLink("kernel", "l1", "local memory", text, tip=_LOCAL)
    if moved := _shared_bytes(launch):
        use = launch.share("shared_wavefronts_share")
        conflicts = launch.exact_value(launch.waste.bank_conflicts)
        text = quantity(moved, "byte")
        yield drawn.MapLink("kernel", "shared", "", text, use, conflicts, tip=_SHARED)
    if others := launch.value("cluster_shared_bytes"):
        text = quantity(others, "byte")
        yield drawn.MapLink("kernel", "shared", "from other SMs", text, tip=_CLUSTER)
    if "L2" in by_name:
        stages = map(launch.share, ("l2_to_sm", "sm_to_l2", "l2_throughput"))
        use = max((each for each in stages if each is not None), default=None)
        level = by_name["L2"]
        yield drawn.MapLink("l1", "l2", "", level.text, use, notes=_times(level), tip=_L2)
    bulk = [launch.value(name) for name in ("tma_load_sectors", "tma_store_sectors")]
    if any(bulk):
        moved = SECTOR * sum(each or 0.0 for each in bulk)
        yield drawn.MapLink("shared", "l2", "bulk copies (TMA)", quantity(moved, "byte"), tip=_BULK)
    if "device memory" in by_name:
        use = launch.share("dram_throughput")
        level = by_name["device memory"]
        yield drawn.MapLink("l2", "dram", "", level.text, use, notes=_times(level), tip=_DRAM)


def _times(level: MemoryLevel) -> tuple[str, ...]:
    if level.multiple is None:
        return ()
    # What the caches hold at the end has not moved: it can be a little less.
    multiple = f"{factor(level.multiple)} the" if level.multiple >= _MORE else "the"
    return (f"{multiple} minimum",)


def _shared_bytes(launch: LaunchFigures) -> float | None:
    return product(shared_wavefronts(launch), WAVEFRONT)


def shared_wavefronts(launch: Numbers) -> float | None:
    """Wavefronts of shared memory, as the hardware counted them or by their addresses."""
    measured = launch.positive("shared_wavefronts_measured")
    return launch.positive("shared_wavefronts") if measured is None else measured


def _only_floats(manifest: Manifest | None) -> bool:
    """Whether all arrays of a kernel hold 4-byte floats: only then is what is asked for known."""
    if manifest is None or manifest.source is None or manifest.source.specification is None:
        return False
    arguments = manifest.source.specification.get("arguments")
    if not isinstance(arguments, list):
        return False
    kinds = {
        argument.get("type")
        for argument in arguments
        if isinstance(argument, dict) and "shape" in argument
    }
    return kinds == {"float32"}


def _notes(launch: LaunchFigures, fewest: float | None) -> Iterable[str]:
    if fewest is not None:
        least = quantity(fewest, "byte")
        yield f"The minimum number of bytes is {least}, according to the launch specification."
    local = launch.exact_value(launch.waste.local_part)
    if local is not None and local >= NOTABLE:
        yield (
            f"{share(local)} of the global and local sectors are for local memory: spilled "
            "registers or local arrays."
        )
