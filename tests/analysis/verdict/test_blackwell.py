"""Captures of B200 and RTX 5090 kernels by other people, whose cause their authors measured.

``labels.toml`` lists for each the causes that its author's variants or text allow (``accept``) and
exclude (``reject``). A launch is *tenable* with an accepted cause; a lead is what an inconclusive
launch points to first.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import replace
from fnmatch import fnmatch
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from tests.support.captures import CAPTURES, captured

from kernelprof.analysis.metrics.catalogue import TENSOR_MEMORY, load_metrics
from kernelprof.analysis.metrics.facts import Facts
from kernelprof.analysis.rules import RuleContext
from kernelprof.analysis.verdict import diagnose
from kernelprof.model.capture import Launches, MetricColumn, Origin
from kernelprof.model.diagnosis import Confidence

if TYPE_CHECKING:
    from kernelprof.model.diagnosis import KernelDiagnosis, Verdict

BLACKWELL = CAPTURES / "blackwell"
LABELS = tomllib.loads((BLACKWELL / "labels.toml").read_text(encoding="utf-8"))["case"]


class Score(NamedTuple):
    """Labelled launches of a file, and how many of them got what answer."""

    launches: int
    decided: int = 0
    tenable: int = 0
    rejected: int = 0
    tenable_leads: int = 0


SCORES = {
    "CodeGandee__accelsim-test/algo23_details.csv": Score(1, 1, 1),
    "CodeGandee__accelsim-test/algo23_raw.csv": Score(1, 1, 1),
    "CodeGandee__accelsim-test/algo64_details.csv": Score(1, 1, 1),
    "CodeGandee__accelsim-test/algo64_raw.csv": Score(1, 1, 1),
    "NaregAmirianMegan__NVFP4_Kernels/phase0_v1_k16384.ncu-rep": Score(1, 1, 1),
    "jIab-b__nvfp4_gemv-kernel/cuda_raw.csv": Score(1, 1, 1),
    "meinie0826/flashinfer_paged_decode__gqa_bf16_b1_ctx4k_p64.ncu.csv": Score(8),
    "meinie0826/flashinfer_paged_decode__gqa_bf16_b64_ctx4k_p64.ncu.csv": Score(
        32, tenable_leads=32
    ),
    "meinie0826/flashinfer_paged_decode__gqa_fp8_b8_ctx8k_p64.ncu.csv": Score(16, tenable_leads=16),
    "meinie0826/flashinfer_paged_decode__mha_bf16_b16_ctx4k_p64.ncu.csv": Score(
        16, tenable_leads=16
    ),
    "memxlife__rtx5090/direct_stalls_profile.csv": Score(1, tenable_leads=1),
    "memxlife__rtx5090/step20_lt_winner_profile.csv": Score(2, tenable_leads=2),
    "siglip/cublas_fc1_gemm.csv": Score(1, 1, 1),
    "siglip/cublas_fc2_gemm.csv": Score(1, 1, 1),
    "siglip/fc1_default_p_fused.csv": Score(1, 1, 1),
    "siglip/fc1_default_p_gemm.csv": Score(1, 1, 1),
    "siglip/fc1_default_p_strip.csv": Score(1, 1, 1),
    "siglip/fc2_default_p_fused.csv": Score(1, 1, 1),
    "siglip/fc2_default_p_gemm.csv": Score(1, 1, 1),
    "siglip/fc2_default_p_strip.csv": Score(1, 1, 1),
    "siglip/ncu_w3x_rowmajor_20260423_224615__dgsw.csv": Score(1, 1, 1),
}

FOLDERS = {
    "brandonmmusic-max__sm120-moe-bench": Score(4, 4, 4),
    "hibouwu__CUDA_optimazation": Score(23, 9, 9, tenable_leads=9),
    "waynehacking8__blackwell-tensorcore-kernels": Score(5, 3, 3, tenable_leads=1),
}
"""All files of a folder together."""


@cache
def judge(name: str) -> tuple[tuple[KernelDiagnosis, dict[str, list[str]]], ...]:
    """Return the entries of a file that have a label, each with it."""
    if name.endswith(".ncu-rep") and find_spec("ncu_report") is None:
        pytest.skip("reading a report needs NVIDIA's reader")
    labels = [each for each in LABELS if fnmatch(name, each["file"])]
    kernels = diagnose(captured(f"blackwell/{name}.gz")).kernels
    return tuple(
        (kernel, label)
        for kernel in kernels
        for label in [each for each in labels if re.search(each["kernel"], kernel.name)][:1]
    )


def lead(verdict: Verdict) -> str | None:
    """Return what an inconclusive verdict points to first."""
    if verdict.also:
        return verdict.also[0].bottleneck
    return next((each.bottleneck for each in verdict.findings if each.bottleneck), None)


def score(name: str) -> Score:
    counts = Counter[str]()
    for kernel, label in judge(name):
        slug = kernel.verdict.bottleneck
        named = [
            "launches",
            *(["decided"] if slug else []),
            *(["tenable"] if slug in label["accept"] else []),
            *(["rejected"] if slug in label["reject"] else []),
            *(["tenable_leads"] if not slug and lead(kernel.verdict) in label["accept"] else []),
        ]
        counts.update(dict.fromkeys(named, len(kernel.rows)))
    return Score(**counts)


@pytest.mark.parametrize("name", SCORES)
def test_answers_by_file(name: str) -> None:
    assert score(name) == SCORES[name]


@pytest.mark.parametrize("folder", FOLDERS)
def test_answers_by_folder(folder: str) -> None:
    files = sorted(each.stem for each in (BLACKWELL / folder).glob("*.gz"))
    scores = [score(f"{folder}/{name}") for name in files]
    assert Score(*map(sum, zip(*scores, strict=True))) == FOLDERS[folder]


@pytest.mark.parametrize("name", SCORES)
def test_no_launch_is_wrong_at_high_confidence(name: str) -> None:
    wrong = [
        (kernel.ids, kernel.verdict.bottleneck)
        for kernel, label in judge(name)
        if kernel.verdict.bottleneck not in (None, *label["accept"])
        if kernel.verdict.confidence is Confidence.HIGH
    ]
    assert wrong == []


def test_most_launches_with_a_sure_label_are_decided_and_tenable() -> None:
    """Without the weak ones, whose authors did not say what limits them."""
    sure = [each for name, each in SCORES.items() if not name.startswith("meinie")]
    assert sum(each.decided for each in sure) == sum(each.tenable for each in sure) == 15
    assert sum(each.launches for each in sure) == 18
    assert sum(each.tenable_leads for each in sure) == 3


def test_the_matrix_pipe_is_not_that_of_tcgen05_control() -> None:
    """Of the NVFP4 product: 5.2 % beside 10.4 %."""
    if find_spec("ncu_report") is None:
        pytest.skip("reading a report needs NVIDIA's reader")
    capture = captured("blackwell/NaregAmirianMegan__NVFP4_Kernels/phase0_v1_k16384.ncu-rep.gz")
    context = RuleContext(Facts(capture))
    assert context.units.pipe("tensor_pipe").low[0] == pytest.approx(0.0520, abs=1e-4)
    assert context.facts.values("tcgen05_pipe")[0] == pytest.approx(10.4, abs=0.1)


@pytest.mark.parametrize("cycles", ["elapsed", "active"])
def test_busy_tensor_memory_shows_tcgen05(cycles: str) -> None:
    """Where its control was not measured; an idle one shows that there is none."""
    if find_spec("ncu_report") is None:
        pytest.skip("reading a report needs NVIDIA's reader")
    memory = TENSOR_MEMORY.format(cycles)
    for name, uses in (
        ("NaregAmirianMegan__NVFP4_Kernels/phase0_v1_k16384.ncu-rep", True),
        ("jIab-b__nvfp4_gemv-kernel/cuda_raw.csv", False),
    ):
        capture = captured(f"blackwell/{name}.gz")
        columns = {
            each: column
            for each, column in capture.columns.items()
            if "pipe_tc_" not in each and ("mem_tensor_cycles" not in each or each == memory)
        }
        truth = RuleContext(Facts(replace(capture, columns=columns))).pipeline.uses_tcgen05
        assert (truth.sure[0], truth.maybe[0]) == (uses, uses)
        del columns[memory]
        truth = RuleContext(Facts(replace(capture, columns=columns))).pipeline.uses_tcgen05
        assert (truth.sure[0], truth.maybe[0]) == (False, True)


@pytest.mark.parametrize(("percent", "named"), [(55.0, True), (95.0, False)])
def test_a_pipeline_is_not_blamed_where_tensor_memory_is_full(percent: float, named: bool) -> None:
    capture = captured("blackwell/siglip/fc1_default_p_gemm.csv.gz")
    name = TENSOR_MEMORY.format("elapsed")
    column = MetricColumn(name, np.array([percent]), "%", "%", Origin.MEASURED)
    (kernel,) = diagnose(replace(capture, columns={**capture.columns, name: column})).kernels
    assert kernel.verdict.bottleneck == ("async-pipeline-stalls" if named else None)


@pytest.mark.parametrize(
    ("kernel", "fp64", "expected"),
    [
        ("fc1(CUtensorMap_st, const __nv_bfloat16 *)", None, 54.46),
        ("fc1(CUtensorMap_st, const __nv_bfloat16 *)", 4.46, 50.0),
        ("dgemm(const double *, double *)", None, None),
        ("dgemm(const double *, double *)", 54.46, 0.0),
    ],
)
def test_the_pipe_that_fp64_shares_is_the_matrix_pipe_without_fp64(
    kernel: str, fp64: float | None, expected: float | None
) -> None:
    capture = captured("blackwell/siglip/fc1_default_p_gemm.csv.gz")
    columns = dict(capture.columns)
    if fp64 is not None:
        name = load_metrics()["fp64_pipe"].ncu[0]
        columns[name] = MetricColumn(name, np.array([fp64]), "%", "%", Origin.MEASURED)
    launches = [replace(each, kernel=kernel) for each in capture.launches]
    changed = replace(capture, columns=columns, launches=Launches.from_sequence(launches))
    (value,) = Facts(changed).values("tensor_pipe")
    assert value == pytest.approx(np.nan if expected is None else expected, nan_ok=True)


def test_shares_of_waits_by_counts_of_warps() -> None:
    """The counts of warps sum up over a scheduler's cycles; on the RTX 5090 they are percents."""
    facts = Facts(captured("blackwell/siglip/fc1_default_p_gemm.csv.gz"))
    assert facts.stall_share("long_scoreboard")[0] == pytest.approx(2_980_197 / (1.5 * 3_216_079))
    facts = Facts(captured("blackwell/memxlife__rtx5090/direct_stalls_profile.csv.gz"))
    assert facts.stall_share("long_scoreboard")[0] == pytest.approx(0.7209)
    assert np.isnan(facts.stall_share("drain")[0])


def test_a_grid_with_fewer_blocks_than_any_such_gpu_has_sms_is_small() -> None:
    capture = captured("blackwell/siglip/fc1_default_p_gemm.csv.gz")
    launches = [replace(each, grid=(56, 1, 1)) for each in capture.launches]
    name = load_metrics()["grid_size"].ncu[0]
    blocks = MetricColumn(name, np.array([56.0]), "block", "block", Origin.MEASURED)
    changed = replace(
        capture,
        launches=Launches.from_sequence(launches),
        columns={**capture.columns, name: blocks},
    )
    (kernel,) = diagnose(changed).kernels
    assert kernel.verdict.bottleneck == "small-grid"
