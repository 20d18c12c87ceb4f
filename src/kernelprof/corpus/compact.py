"""Raw pages with only the columns that kernelprof knows: what is committed of the corpus."""

from __future__ import annotations

import csv
import io
from functools import cache
from typing import Final

from kernelprof.analysis.metrics.catalogue import catalogue
from kernelprof.collect.run import PASSES

_DEVICE: Final = frozenset(
    f"device__attribute_{name}"
    for name in (
        *("chip", "clock_rate", "compute_capability_major", "compute_capability_minor"),
        *("display_name", "global_memory_bus_width", "l2_cache_size", "memory_clock_rate"),
        *("multiprocessor_count", "single_to_double_precision_perf_ratio"),
    )
)
"""What describes the GPU: the reader, the rules and the reports look at these."""


def compact(page: bytes) -> bytes:
    """The raw page without columns that no metric, launch or GPU is read from.

    The page is one that ``ncu --import --csv --page raw`` printed: a line of names, one of units,
    then launches.
    """
    rows = list(csv.reader(io.StringIO(page.decode("utf-8"))))
    kept = [index for index, name in enumerate(rows[0]) if _is_kept(name)]
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([row[index] for index in kept] for row in rows)
    return out.getvalue().encode()


def _is_kept(name: str) -> bool:
    plain = "__" not in name  # ID, Kernel Name, Block Size and the like
    return (
        plain
        or name.startswith("launch__")
        or name in _DEVICE
        or name in _known()
        or name == PASSES
    )


@cache
def _known() -> frozenset[str]:
    """Every name of every metric, on any architecture."""
    return frozenset(name for metric in catalogue().values() for name in metric.all_ncu_names())
