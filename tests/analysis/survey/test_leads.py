"""Verdicts on samples of programs, against those on what ``ncu`` measured of the same kernels."""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.survey.leads import SAMPLED_LEADS
from kernelprof.analysis.verdict.ranking import rank_bottlenecks
from kernelprof.model.capture import Capture, Launch, Launches, MetricColumn, Origin
from kernelprof.model.diagnosis import Status

CAPTURES = Path(__file__).parents[2] / "captures"
KERNELS: list[dict[str, Any]] = json.loads(
    gzip.decompress((CAPTURES / "h200_sampled" / "kernels.json.gz").read_bytes())
)


def sampled() -> Capture:
    units = {name: each.unit for each in load_metrics().values() for name in each.all_ncu_names()}
    columns = {}
    for name in sorted({name for each in KERNELS for name in each["metrics"]}):
        values = np.array([each["metrics"].get(name, np.nan) for each in KERNELS])
        unit = units.get(name, "")
        columns[name] = MetricColumn(name, values, unit, unit, Origin.MEASURED)
    launches = [
        Launch(
            str(row),
            each["name"],
            tuple(each["grid"]),
            tuple(each["block"]),
            compute_capability=(9, 0),
        )
        for row, each in enumerate(KERNELS)
    ]
    return Capture(
        Launches([each.id for each in launches], np.arange(len(launches)), launches), columns
    )


@pytest.fixture(scope="module")
def named() -> list[str | None]:
    judged = rank_bottlenecks(sampled(), SAMPLED_LEADS)
    return [
        None if judged.status(row) is Status.INCONCLUSIVE else judged.rule(row).slug
        for row in range(len(KERNELS))
    ]


def test_most_name_what_was_measured(named: list[str | None]) -> None:
    counted = Counter(
        "open" if name is None else "same" if name == kernel["measured"] else "other"
        for name, kernel in zip(named, KERNELS, strict=True)
        if "share" not in kernel
    )
    # The first answers of eight programs: 29, 12 and 14 of 55; of second runs: 54, 15 and 7 of 76;
    # of those with wider sets, mostly kernels that had no verdict before: 5, 10 and 14 of 29; of
    # those with short ones 13, 4 and 4 of 21, before imbalance had a lead, and waits beside shared
    # memory another. All were 156, 49 and 19 before pipelines had limits of their own.
    assert counted == {"same": 177, "other": 33, "open": 14}


# Percent of a program's kernel time: the same as measured, and another. All are in view now; the
# answers to the last five, of leads that had not seen them, were 28 and 3, 3 and 2, 35 and 3, 46
# and 10, 56 and 0.
BY_TIME = {
    "jax, by time": (97, 1),
    "compiled, by time": (79, 11),
    "resnet, by time": (76, 4),
    "encoder, by time": (82, 4),
    "bert": (32, 0),
    "convnext": (5, 1),
    "jaxconv": (35, 3),
    "cupysig": (52, 10),
    "points": (64, 0),
}


@pytest.mark.parametrize("program", BY_TIME)
def test_most_of_the_time_is_named_as_measured(program: str, named: list[str | None]) -> None:
    same = other = 0.0
    for name, kernel in zip(named, KERNELS, strict=True):
        if kernel["program"] == program and name is not None:
            same += kernel["share"] * (name == kernel["measured"])
            other += kernel["share"] * (name != kernel["measured"])
    assert (round(100 * same), round(100 * other)) == BY_TIME[program]


@pytest.mark.parametrize(
    ("program", "kernel", "bottleneck", "missing"),
    [
        ("jax, by time", "wrapped_subtract_3", "memory-latency", "sm__inst_executed"),
        ("bert", "reduce_kernel", "workload-imbalance", "sm__cycles_active"),
    ],
)
def test_what_was_not_sampled_is_no_evidence(
    program: str, kernel: str, bottleneck: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (whole, *_) = (
        each
        for each in KERNELS
        if each["program"] == program and kernel in each["name"] and each["measured"] == bottleneck
    )
    metrics = whole["metrics"].items()
    less = whole | {"metrics": {k: v for k, v in metrics if k.split(".")[0] != missing}}
    monkeypatch.setattr(sys.modules[__name__], "KERNELS", [whole, less])
    judged = rank_bottlenecks(sampled(), SAMPLED_LEADS)
    assert judged.rule(0).slug == bottleneck
    assert judged.status(0) is not Status.INCONCLUSIVE
    assert judged.status(1) is Status.INCONCLUSIVE or judged.rule(1).slug != bottleneck


def test_few_contradict_a_measurement_of_high_confidence(named: list[str | None]) -> None:
    high = [
        (kernel["program"], name, kernel["measured"])
        for name, kernel in zip(named, KERNELS, strict=True)
        if kernel["confidence"] == "high" and name is not None
    ]
    assert len(high) == 123
    assert [each for each in high if each[1] != each[2]] == [
        ("cupy_science", "memory-latency", "low-occupancy"),
        ("jax_attn", "async-pipeline-stalls", "tensor-throughput"),
        ("lstm", "small-grid", "async-pipeline-stalls"),
        ("unet", "memory-latency", "uncoalesced-global-access"),
        # A fill of 63 MB: caches are empty for ncu, and full of dirty lines in the program.
        ("compiled, wider sets", "dram-bandwidth", "l2-bandwidth"),
        ("compiled, by time", "dram-bandwidth", "l2-bandwidth"),
        ("jaxconv", "memory-latency", "dram-bandwidth"),
        ("cupysig", "memory-latency", "uncoalesced-global-access"),
    ]


@pytest.mark.parametrize(
    ("kernel", "bottlenecks"),
    [
        ("softMax", ["uncoalesced-global-access"]),
        ("floydWarshallPass", ["memory-latency"]),
        ("fmha_cutlassB", ["async-pipeline-stalls"]),
        ("cutlass__5x_cudnn", ["shared-memory-throughput"]),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128", ["small-grid"] * 2),
        ("sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc", ["small-grid"]),
        ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT", ["small-grid"] * 2),
    ],
)
def test_a_lead_names_it(kernel: str, bottlenecks: list[str], named: list[str | None]) -> None:
    rows = [
        row for row, each in enumerate(KERNELS) if kernel in each["name"] and "share" not in each
    ]
    assert [named[row] for row in rows] == bottlenecks
