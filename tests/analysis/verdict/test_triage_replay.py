"""The presets of today as ``make gpu-test`` measured them on an H200, each in a run of its own."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from tests.analysis.verdict.support import CAPTURES, answers

from kernelprof.analysis.metrics.catalogue import preset
from kernelprof.analysis.verdict import diagnose
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from kernelprof.model.capture import Capture

FOLDER = CAPTURES / "h200_triage"
RUN: dict[str, Any] = json.loads((FOLDER / "drilldown.json").read_text("utf-8"))
LABELS = [kernel["label"] for kernel in RUN["kernels"]]
RUNS = {"triage": "triage.csv.gz", "full": "full.csv.gz", "set full": "full-set.raw.csv.gz"}


@cache
def recorded(run: str) -> Capture:
    return read_capture(FOLDER / RUNS[run])


@pytest.mark.parametrize("run", ["triage", "full"])
def test_fewer_metrics_give_the_verdicts_of_the_full_set(run: str) -> None:
    assert len(recorded(run)) == len(LABELS)
    assert answers(recorded(run)) == answers(recorded("set full"))


def test_the_triage_settles_every_kernel_in_one_run() -> None:
    assert RUN["outcomes"] == {"passed": 127}
    assert all(kernel.verdict.bottleneck for kernel in diagnose(recorded("triage")).kernels)


ASYNCHRONOUS = [
    "tma_load_sectors", "tma_store_sectors", "tma_reduction_sectors", "async_copies",
    "tensor_pipe_active", "matrix_pipe", "wgmma_pipe",
]  # fmt: skip
ADDED_SINCE = {
    "triage": [
        "constant_cache",
        "l2_atomic_unit_hottest",
        "l2_atomic_sectors",
        "l2_reduction_sectors",
        "sm_clock",
        *ASYNCHRONOUS,
    ],
    "full": [*ASYNCHRONOUS, "tma_loads", "cluster_shared_bytes"],
}
"""Metrics of today's presets that the recorded runs did not ask for."""


@pytest.mark.parametrize("run", ["triage", "full"])
def test_a_preset_gets_all_that_this_chip_has(run: str) -> None:
    named = preset(run).metrics
    got = recorded(run).columns
    lacking = [
        metric.name for metric in named if not any(name in got for name in metric.all_ncu_names())
    ]
    of_blackwell = [metric.name for metric in named if metric.only_on == ("gb100", "11.0")]
    assert sorted(lacking) == sorted([*of_blackwell, *ADDED_SINCE[run]])
