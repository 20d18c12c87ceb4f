"""What the counters of predictions cost, so that what matters most is told first.

A prediction knows no time. What it counts is work, of which the parts can be added up; what fits on
an SM, or idles in a warp, is set beside that as far as it goes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.comparison import CounterChange
    from kernelprof.model.snapshot import KernelSnapshot

RESIDENT_BLOCKS: Final = "resident_blocks"
"""Blocks that fit on an SM: the least of what registers, shared memory and warps allow."""

RESIDENT_THREADS: Final = "resident_threads"
"""Their threads: what is compared where blocks have another size."""

BANK_CONFLICTS: Final = "conflict_wavefronts"
"""Shared-memory wavefronts beyond those that the same accesses need without conflicts."""

THREADS: Final = "threads_per_instruction"

WORK: Final = (
    "global_sectors",
    "local_sectors",
    "shared_wavefronts",
    "global_atomic_requests",
    "global_reduction_requests",
    "instructions",
)
"""What is work, each counted once. A sector, a wavefront and an instruction of a warp count alike:
an SM takes two sectors a cycle from L2, one wavefront, and four instructions (architectures.toml;
https://docs.nvidia.com/nsight-compute/ProfilingGuide/, "Memory Tables", "Scheduler")."""

_PART_OF: Final = {"global_load_sectors": "global_sectors", BANK_CONFLICTS: "shared_wavefronts"}
"""Counters that others hold as well: of the two the one is told that says more."""

LEAST: Final = 0.001
"""Relative changes below this are not told: a line more of the same length would say nothing."""

_LANES: Final = 32
"""Threads of a warp."""

_MOST_TOLD: Final = 3


def lanes_did(before: KernelSnapshot, after: KernelSnapshot) -> bool | None:
    """Whether more lanes idle than before, or fewer; ``None`` where neither is known."""
    old, new = _idle(before), _idle(after)
    if old is None or new is None or (new[0] <= old[1] and old[0] <= new[1]):
        return None
    return new[0] > old[1] if abs(more_idle(before, after)) >= LEAST else None


def idle_lanes(kernel: KernelSnapshot) -> float:
    """The lanes that idle in all instructions of a kernel; nothing where that is not known."""
    executed, threads = (kernel.metrics.get(name) for name in ("instructions", THREADS))
    return 0.0 if executed is None or threads is None else executed * (_LANES - threads)


def more_idle(before: KernelSnapshot, after: KernelSnapshot) -> float:
    """How many lanes more idle, as a part of all lanes that the instructions had before."""
    executed = before.metrics.get("instructions") or 0.0
    return (idle_lanes(after) - idle_lanes(before)) / (_LANES * executed) if executed else 0.0


def whole(kernel: KernelSnapshot) -> float:
    """All work of a kernel."""
    return sum(kernel.metrics.get(name, 0.0) for name in WORK)


def sorted_by_cost(
    changes: Iterable[CounterChange], before: KernelSnapshot, after: KernelSnapshot
) -> list[CounterChange]:
    """What is worse first, and of that what costs most; then what is better, by what it saves."""

    def order(change: CounterChange) -> tuple[int, float, float]:
        by = _cost(change, before, after)
        return (True, False, None).index(change.worse), -by, -_relative(change)

    return sorted(changes, key=order)


def _cost(change: CounterChange, before: KernelSnapshot, after: KernelSnapshot) -> float:
    """How much a change is, as a part of all work of before.

    Of what fits on an SM the factor by which it changed: as much longer latencies may take.
    """
    work = whole(before)
    if change.metric in {RESIDENT_BLOCKS, RESIDENT_THREADS}:
        fewer, more = sorted((change.before, change.after))
        return more / fewer - 1 if fewer else float(more > 0)
    if change.metric == THREADS:
        added = (idle_lanes(after) - idle_lanes(before)) / _LANES
    else:
        known = change.metric in WORK or change.metric in _PART_OF
        added = change.after - change.before if known else 0.0
    return abs(added) / work if work else 0.0


def told(changes: Sequence[CounterChange]) -> list[CounterChange]:
    """The few that a line has room for: what got worse or better, in the order of ``changes``.

    Without what others of them say, and without what hardly changed.
    """
    found: dict[str, CounterChange] = {}
    for each in changes:
        if each.worse is not None and _relative(each) >= LEAST:
            found.setdefault(_PART_OF.get(each.metric, each.metric), each)
    return list(found.values())[:_MOST_TOLD]


def _relative(change: CounterChange) -> float:
    return abs(change.after / change.before - 1) if change.before else math.inf


def _idle(kernel: KernelSnapshot) -> tuple[float, float] | None:
    """The lanes that idle, at least and at most."""
    executed, threads = (_ends(kernel, name) for name in ("instructions", THREADS))
    if executed is None or threads is None:
        return None
    return executed[0] * (_LANES - threads[1]), executed[1] * (_LANES - threads[0])


def _ends(kernel: KernelSnapshot, name: str) -> tuple[float, float] | None:
    if name in kernel.spread:
        return kernel.spread[name]
    found = kernel.metrics.get(name)
    return None if found is None else (found, found)
