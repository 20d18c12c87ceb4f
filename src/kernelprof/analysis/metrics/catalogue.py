"""The metrics and presets that kernelprof ships, read once.

Only :mod:`tomllib` and dataclasses are behind this, so that listing presets starts fast.
"""

from __future__ import annotations

import difflib
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.presets import SAMPLES, Metric, Preset, load_presets
from kernelprof.errors import UsageError
from kernelprof.model.capture import DEVICE_NAME
from kernelprof.resources import data_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "SAMPLES",
    "SHOWN_ONLY",
    "Metric",
    "Preset",
    "catalogue",
    "metrics_for",
    "names_known",
    "names_read",
    "preset",
    "presets",
]

SPILLING_REQUESTS: Final = "derived__local_spilling_requests"
"""What rules of Nsight Compute count spills by; it is in no preset, and read where it is there."""


SHOWN_ONLY: Final = (
    "block_size", "branch_uniformity", "constant_cache", "l1_requests", "l1_writeback", "lsu_pipe",
    "memory_access_throughput", "memory_request_throughput", "registers_per_thread",
    "shared_memory_per_block", "sm_clock", "sm_cycles_active_max", "sm_cycles_active_min",
    "threads_per_instruction_predicated", "uniform_pipe",
)  # fmt: skip
"""Metrics that reports show and comparisons list, and no rule looks at."""


@cache
def presets() -> Mapping[str, Preset]:
    """All presets by name."""
    return MappingProxyType(load_presets(data_folder("metric_presets")))


@cache
def catalogue() -> Mapping[str, Metric]:
    """All metrics by canonical name."""
    metrics = {metric.name: metric for each in presets().values() for metric in each.metrics}
    return MappingProxyType(dict(sorted(metrics.items())))


def names_known() -> frozenset[str]:
    """Every ``ncu`` name of a metric of a preset."""
    return _names(catalogue().values())


@cache
def names_read() -> frozenset[str]:
    """Every ``ncu`` name under which a diagnosis may look at a raw page."""
    read = (each for each in catalogue().values() if each.name not in SHOWN_ONLY)
    return _names(read) | {SPILLING_REQUESTS, DEVICE_NAME}


def _names(metrics: Iterable[Metric]) -> frozenset[str]:
    return frozenset(name for each in metrics for name in each.all_ncu_names())


def preset(name: str) -> Preset:
    """One preset; :class:`UsageError` where there is none of that name."""
    known = presets()
    if name not in known:
        raise UsageError(f"no preset is called {name!r}", hint=_suggestion(name, known))
    return known[name]


def metrics_for(
    names: Iterable[str], compute_capability: tuple[int, int] | None = None
) -> tuple[Metric, ...]:
    """Metrics by canonical name, without those that the architecture lacks, each once."""
    known = catalogue()
    found: dict[str, Metric] = {}
    for name in names:
        if name not in known:
            raise UsageError(f"no metric is called {name!r}", hint=_suggestion(name, known))
        if known[name].ncu_names(compute_capability):
            found[name] = known[name]
    return tuple(found.values())


def _suggestion(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=3)
    return f"did you mean {' or '.join(close)}?" if close else f"known are {', '.join(known)}"
