"""The way of bytes from the threads to device memory, against the fewest that are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.model.numbers import quantity, share
from kernelprof.report.charts.bars import Level
from kernelprof.report.figures.measured import finite

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.manifest import Manifest, TimingFacts
    from kernelprof.report.figures.measured import Launch

NOTABLE: Final = 0.01

_ASKED: Final = (
    "What the threads ask for, each by itself: a value that a whole warp reads counts for every "
    "thread of it."
)
_DISTINCT: Final = (
    "Different bytes that the warps' global loads and stores use; a value that several threads of "
    "a warp read at once counts once."
)
_L1: Final = (
    "32-byte sectors of global loads and stores, whether L1 held them or not, and of bulk copies "
    "(TMA). More than the threads use is waste."
)
_L2: Final = "32-byte sectors that L1 asked L2 for or sent to it."
_DRAM: Final = "Bytes read from and written to device memory."


@dataclass(frozen=True, slots=True)
class Memory:
    """The way from threads to device memory; ``excess`` is the needless share of the sectors."""

    levels: tuple[Level, ...]
    excess: float | None = None
    note: str = ""


def memory(launch: Launch, timing: TimingFacts | None, manifest: Manifest | None) -> Memory | None:
    """The picture of one launch; ``None`` where no level is known.

    ``timing`` and ``manifest`` are given where the launch is of the kernel that they describe.
    """
    traffic = launch.traffic()
    fewest = timing.min_bytes if timing is not None and timing.min_bytes else None
    of_floats = traffic.asked is not None and _only_floats(manifest)
    asked = traffic.asked if of_floats else traffic.distinct
    found = (
        ("threads", asked, None, _ASKED if of_floats else _DISTINCT),
        ("L1", traffic.l1, launch.share("l1_hit_rate"), _L1),
        ("L2", traffic.l2, launch.share("l2_hit_rate"), _L2),
        ("device memory", traffic.dram, None, _DRAM),
    )
    levels = tuple(
        Level(
            name=name,
            bytes=size,
            text=quantity(size, "byte"),
            multiple=None if fewest is None else size / fewest,
            hit_rate=hits,
            tip=tip,
        )
        for name, value, hits, tip in found
        if (size := finite(value)) is not None and size >= 0
    )
    if not levels:
        return None
    excess = launch.known(launch.waste.excess_sectors)
    return Memory(levels, excess, " ".join(_notes(launch, fewest)))


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


def _notes(launch: Launch, fewest: float | None) -> Iterable[str]:
    """What the levels do not show: local memory, and shared memory, which is beside L1."""
    if fewest is not None:
        yield f"The fewest bytes are {quantity(fewest, 'byte')}, by the launch specification."
    local = launch.known(launch.waste.local_part)
    if local is not None and local >= NOTABLE:
        yield f"{share(local)} of the sectors are local memory: spilled registers or local arrays."
    conflicts = launch.known(launch.waste.bank_conflicts)
    if conflicts is not None and conflicts >= NOTABLE:
        yield (
            f"Shared memory is not in the picture; {share(conflicts)} of its wavefronts come from "
            "bank conflicts."
        )
