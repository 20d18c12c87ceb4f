"""What is known about GPU architectures stands in one file and has no holes where it matters."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from tests.support.captures import captured

from kernelprof.analysis.metrics.architectures import (
    ARCHITECTURES,
    CHIPS,
    COMMON,
    FLOPS_OF_FMA,
    architecture,
    chip_of,
    fp32_lanes,
    pipe_instructions,
    tensor_fmas,
)
from sassim.timing.pipes import load_pipes


def test_the_lanes_of_every_architecture_are_known() -> None:
    """Also of 10.3 and 12.1, which 0.1.0 had among the chips and not among the lanes."""
    assert {each for known in CHIPS.values() for each in known} <= set(ARCHITECTURES)
    for capability, known in ARCHITECTURES.items():
        assert known.capability == capability
        assert known.fp32_lanes in (64, 128)
    assert fp32_lanes("10.3") == fp32_lanes((12, 1)) == 128


@pytest.mark.parametrize("unknown", [None, "", "9", "99.0", "nine.zero", (99, 0)])
def test_an_architecture_that_is_not_known(unknown: tuple[int, int] | str | None) -> None:
    assert architecture(unknown) is None
    assert fp32_lanes(unknown) is None


def test_tensor_cores_do_twice_as_much_at_half_the_width() -> None:
    known = [each.tensor_fmas for each in ARCHITECTURES.values() if "bfloat16" in each.tensor_fmas]
    assert len(known) >= 2
    for rates in known:
        assert rates["float16"] == rates["bfloat16"] == 2 * rates["tf32"]
        assert {rates[name] for name in ("float8", "int8") if name in rates} == {
            2 * rates["bfloat16"]
        }
    assert tensor_fmas("9.0", "bfloat16") == tensor_fmas((9, 0), "float16") == 2048
    assert tensor_fmas("8.0", "float8") is None
    assert tensor_fmas("99.0", "bfloat16") is None


@pytest.mark.parametrize(
    ("name", "capability", "per_type"),
    [
        (
            "blackwell/NaregAmirianMegan__NVFP4_Kernels/phase0_v1_k16384.ncu-rep.gz",
            (10, 0),
            {
                "op_utchmma_src_bf16_dst_fp32": "bfloat16",
                "op_utchmma_src_fp16_dst_fp32": "float16",
                "op_utchmma_src_tf32_dst_fp32": "tf32",
                "op_utcqmma_src_fp4_fp6_fp8_dst_fp32": "float8",
                "op_utcomma_src_fp4_dst_fp32": "float4",
                "op_utcimma_src_int8": "int8",
            },
        ),
        (
            "gemm_series.full.raw.csv",
            (9, 0),
            {
                "op_hgmma_src_bf16_dst_fp32": "bfloat16",
                "op_hgmma_src_tf32_dst_fp32": "tf32",
                "op_igmma_src_int8": "int8",
                "src_fp8": "float8",
            },
        ),
    ],
)
def test_tensor_peaks_are_those_that_ncu_reports(
    name: str, capability: tuple[int, int], per_type: dict[str, str]
) -> None:
    if name.endswith("ncu-rep.gz") and find_spec("ncu_report") is None:
        pytest.skip("reading a report needs NVIDIA's reader")
    columns, chip = captured(name).columns, architecture(capability)
    assert chip is not None
    assert chip.sparse_fmas is not None
    assert chip.mma_sync is not None

    def peak(path: str, sparsity: str = "off") -> float:
        path = f"sm__ops_path_tensor_{path}_sparsity_{sparsity}.avg.peak_sustained"
        return float(columns[path].values[0])

    for path, kind in per_type.items():
        assert peak(path) == FLOPS_OF_FMA * chip.tensor_fmas[kind]
        assert peak(path, "on") == peak(path) * chip.sparse_fmas
    older = peak("op_hmma_src_bf16_dst_fp32")
    assert older == pytest.approx(
        FLOPS_OF_FMA * chip.tensor_fmas["bfloat16"] / chip.mma_sync, rel=1e-5
    )


@pytest.mark.parametrize(
    ("capability", "sms", "ghz", "gpu", "petaflops"),
    [
        ((8, 9), 142, 2.505, "NVIDIA RTX 6000 Ada Generation", {"float16": 0.3643}),
        ((8, 9), 128, 2.52, "NVIDIA GeForce RTX 4090", {"float16": 0.1652, "float8": 0.3303}),
        ((10, 0), 148, 1.856, "NVIDIA B200", {"float4": 9.0, "float8": 4.5, "float16": 2.25}),
        ((10, 3), 148, 1.856, "NVIDIA B300", {"float4": 13.5, "float8": 4.5, "float16": 2.25}),
        ((12, 0), 170, 2.407, "NVIDIA GeForce RTX 5090", {"float4": 1.676, "float8": 0.419}),
        ((12, 1), 48, 2.54, "NVIDIA GB10", {"float4": 0.5}),
    ],
)
def test_tensor_peaks_are_those_of_datasheets(
    capability: tuple[int, int], sms: int, ghz: float, gpu: str, petaflops: dict[str, float]
) -> None:
    for kind, expected in petaflops.items():
        lanes = tensor_fmas(capability, kind, gpu)
        assert lanes is not None
        assert sms * lanes * FLOPS_OF_FMA * ghz * 1e-6 == pytest.approx(expected, rel=0.005)


def test_counters_of_pipes_are_full_at_the_lanes_that_predictions_know() -> None:
    known, lanes = (
        pipe_instructions("9.0"),
        {name: each.lanes for name, each in load_pipes().items()},
    )
    for name in ("lsu", "adu", "uniform", "xu"):
        assert known[f"{name}_pipe"] * COMMON.warp_size == lanes[name]
    assert pipe_instructions("8.0") == pipe_instructions(None) == {}


def test_one_architecture_by_both_its_names() -> None:
    assert architecture("9.0") is architecture((9, 0))
    assert chip_of((10, 3)) == "gb100"
    assert chip_of((7, 0)) is None


def test_a_pipe_is_no_wider_than_what_is_issued() -> None:
    issued = COMMON.schedulers * COMMON.warp_size
    for lanes in (COMMON.alu_lanes, COMMON.fma_lanes, COMMON.xu_lanes):
        assert issued % lanes == 0
    for known in ARCHITECTURES.values():
        assert known.fp32_lanes is not None
        assert known.fp32_lanes <= issued
