"""Bytes on their way from device memory to the threads, from the counters of one launch.

A warp's load is one request. ``ncu`` counts the requests, the 32-byte sectors that they move, and
how many different bytes of a sector they use. What the threads ask for, each by itself, no counter
says: a value that a whole warp reads is one element to the counters and 32 to the threads. It is
worked out for a kernel of ``float``: a request is 32 threads with 4 bytes each, or, where the
accesses are vectorized, the different bytes that it uses if those are more. In a kernel that
vectorizes and shares in one request that is a lower bound. Bulk copies (TMA) ask for what they
move.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.metrics.groups import BULK_COPIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.analysis.metrics.architectures import Capability
    from kernelprof.analysis.metrics.facts import Facts

SECTOR: Final = 32
REQUEST: Final = 32 * 4
"""Bytes that the threads of a full warp ask for with one value of 4 bytes each."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes on their way to the threads of one launch; ``None`` is not known, never nothing.

    ``asked`` is what the threads ask for, each by itself; ``distinct`` counts a value once that
    several threads of a warp ask for in one instruction. The others are bytes that were moved.
    """

    asked: float | None = None
    distinct: float | None = None
    l1: float | None = None
    l2: float | None = None
    dram: float | None = None


def traffic_at(facts: Facts, row: int) -> Traffic:
    """Return the traffic of one launch; what a counter is missing for is ``None``."""

    def counter(name: str) -> float | None:
        value = float(facts.values(name)[row])
        return value if math.isfinite(value) else None

    return traffic_of(counter, facts.capture.launches[row].compute_capability)


def traffic_of(
    counter: Callable[[str], float | None], compute_capability: Capability | None
) -> Traffic:
    """Return the traffic that counters tell, which are asked for by canonical name."""
    bulk = _bulk(counter, compute_capability)
    in_bulk = None if bulk is None else bulk * SECTOR
    ways = (_global(counter, "load"), _global(counter, "store"), (in_bulk, in_bulk, bulk))
    requested, distinct, sectors = (_sum(*each) for each in zip(*ways, strict=True))
    from_l1 = counter("l2_sectors_from_l1")
    return Traffic(
        asked=requested,
        distinct=distinct,
        l1=None if sectors is None else sectors * SECTOR,
        l2=None if from_l1 is None else from_l1 * SECTOR,
        dram=_sum(counter("dram_bytes_read"), counter("dram_bytes_written")),
    )


def _bulk(
    counter: Callable[[str], float | None], compute_capability: Capability | None
) -> float | None:
    sectors = [counter(name) for name in BULK_COPIES]
    if None not in sectors:
        return _sum(*sectors)
    # These need numpy, which listing the rungs of a ladder does without.
    import numpy as np

    from kernelprof.analysis.metrics.relations import without_bulk_copies

    def value(name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        count = counter(name)
        return np.array([np.nan if count is None else count])

    without = all(load_metrics()[name].is_zero_on(compute_capability) for name in BULK_COPIES)
    return 0.0 if without or without_bulk_copies(value).all() else None


def _global(
    counter: Callable[[str], float | None], way: str
) -> tuple[float | None, float | None, float | None]:
    requests = counter(f"global_{way}_requests")
    sectors = counter(f"global_{way}_sectors")
    used = counter(f"global_{way}_bytes_per_sector")
    if sectors == 0:
        return 0.0, 0.0, 0.0
    # Asynchronous copies (cp.async) count as loads that use no bytes.
    distinct = None if sectors is None or not used else sectors * used
    requested = None if requests is None or distinct is None else max(requests * REQUEST, distinct)
    return requested, distinct, sectors


def _sum(*parts: float | None) -> float | None:
    values = [part for part in parts if part is not None]
    return sum(values) if len(values) == len(parts) else None
