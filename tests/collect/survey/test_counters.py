"""Which counters of those that a program is sampled for a GPU counts at once, as CUPTI plans it.

Its part for the host plans for any chip, without a GPU.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache
from importlib.metadata import files
from typing import TYPE_CHECKING, Any

import pytest

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.survey.series import ncu_name
from kernelprof.collect.survey.run import SAMPLED, SOURCES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PM_SAMPLING = 1  # CUPTI_PROFILER_TYPE_PM_SAMPLING
UNIT = ".avg.pct_of_peak_sustained_elapsed"


@cache
def cupti() -> ctypes.CDLL:
    installed = {each.name: str(each.locate()) for each in files("nvidia-cuda-cupti") or ()}
    ctypes.CDLL(installed["libnvperf_host.so"])  # which CUPTI looks for elsewhere
    return ctypes.CDLL(installed["libcupti.so.13"])


def call(function: str, **members: Any) -> Any:
    """Call a function of the host API with a block of parameters, which CUPTI fills in part."""
    fields = [("structSize", ctypes.c_size_t), ("pPriv", ctypes.c_void_p)]
    block = type(function, (ctypes.Structure,), {
        "_fields_": [*fields, *((name, type(value)) for name, value in members.items())]
    })(0, None, *members.values())  # fmt: skip
    block.structSize = ctypes.sizeof(block)
    block.failed = getattr(cupti(), f"cuptiProfilerHost{function}")(ctypes.byref(block))
    return block


def passes(chip: str, names: Sequence[str]) -> int | None:
    """How often kernels would have to run for all counters; ``None`` if the chip lacks one."""
    size, pointer, nothing = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p(None)
    made = call(
        "Initialize",
        profilerType=ctypes.c_int(PM_SAMPLING),
        pChipName=ctypes.c_char_p(chip.encode()),
        pCounterAvailabilityImage=nothing,
        pHostObject=nothing,
    )
    assert not made.failed
    host = pointer(made.pHostObject)
    try:
        words = (ctypes.c_char_p * len(names))(*(name.encode() for name in names))
        listed = ctypes.cast(words, pointer)
        count = size(len(names))
        if call("ConfigAddMetrics", o=host, ppMetricNames=listed, numMetrics=count).failed:
            return None
        image_bytes = call("GetConfigImageSize", o=host, configImageSize=size(0)).configImageSize
        buffer = ctypes.create_string_buffer(image_bytes)
        image = ctypes.cast(buffer, pointer)
        assert not call("GetConfigImage", o=host, bytes=size(image_bytes), image=image).failed
        planned = call("GetNumOfPasses", bytes=size(image_bytes), image=image, passes=size(0))
        return int(planned.passes)
    finally:
        call("Deinitialize", o=host)


def counted_at_once(chip: str, lines: Sequence[str]) -> list[str]:
    """As ``fill_set`` of the injected library chooses them."""
    firsts = [line.split()[0] for line in lines]
    if passes(chip, firsts) == 1:
        return firsts
    chosen: list[str] = []
    for line in lines:
        for name in line.split():
            if passes(chip, [*chosen, name]) == 1:
                chosen.append(name)
                break
    return chosen


def metrics_of(names: Iterable[str]) -> set[str]:
    """The metrics that counters of CUPTI are, by our names."""
    read = {ncu_name(name) for name in names}
    return {metric for metric, each in load_metrics().items() if read & {*each.all_ncu_names()}}


@pytest.mark.parametrize(
    ("chip", "sets", "missing"),
    [
        ("TU102", 4, {"dram_throughput", "fma_heavy_pipe", "tensor_pipe"}),
        ("GA100", 5, {"fma_heavy_pipe"}),
        ("GA102", 5, {"fma_pipe"}),
        ("AD102", 5, {"fma_pipe"}),
        ("GH100", 2, set[str]()),
        ("GB100", 4, {"fma_pipe"}),
        ("GB202", 5, {"alu_pipe"}),
    ],
)
def test_sets_have_what_a_gpu_counts(chip: str, sets: int, missing: set[str]) -> None:
    chosen: list[list[str]] = []
    for lines in SAMPLED:
        names = counted_at_once(chip, lines)
        assert passes(chip, names) == 1
        # As the library leaves out a set of counters that those before have
        if not all(any(name in each for each in chosen) for name in names):
            chosen.append(names)
    assert len(chosen) == sets
    wanted = metrics_of(name for lines in SAMPLED for line in lines for name in line.split())
    assert wanted - metrics_of(name for each in chosen for name in each) == missing
    for metric in ("sm_cycles_active", "l2_sectors", "l1_wavefronts", "issue_slots"):
        assert metric in metrics_of(chosen[0])


def test_the_library_has_room_for_all_sets() -> None:
    source = (SOURCES / "sampling.c").read_text(encoding="utf-8")
    (most,) = re.findall(r"MOST_SETS = (\d+)", source)
    assert int(most) >= len(SAMPLED)


def test_counters_that_a_gpu_lacks_or_does_not_count_at_once_are_told() -> None:
    assert passes("GH100", ["no_such_counter.sum"]) is None
    constants = f"idc__request_cycles_active{UNIT}"
    assert passes("GH100", [constants]) == 1
    assert passes("GH100", ["sm__cycles_active.avg", constants]) == 2
