"""Operations of tensor cores by kind, and their peaks where a capture does not give them."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from tests.support.captures import captured

from kernelprof.model.capture import Capture, MetricColumn, Origin
from kernelprof.report.figures.measured import LaunchFigures, Measured
from kernelprof.report.figures.roofline import FlopCount, count_operations

NVFP4 = "blackwell/NaregAmirianMegan__NVFP4_Kernels/phase0_v1_k16384.ncu-rep.gz"


@pytest.fixture
def nvfp4() -> Capture:
    """A block-scaled FP4 product on a B200, with the full set."""
    if find_spec("ncu_report") is None:
        pytest.skip("reading a report needs NVIDIA's reader")
    return captured(NVFP4)


def counted(capture: Capture, **values: float) -> FlopCount | None:
    """Return what is counted with these values of ``<kind>`` a cycle in place of the capture's."""
    columns = dict(capture.columns)
    for kind, value in values.items():
        for name in [each for each in columns if kind in each]:
            del columns[name]
        name = f"sm__ops_path_tensor_{kind}.sum.per_cycle_elapsed"
        columns[name] = MetricColumn(name, np.array([value]), "", "", Origin.MEASURED)
    changed = replace(capture, columns=columns)
    return count_operations(LaunchFigures(Measured(changed), 0), None)


def test_fp4_operations_have_the_peak_of_fp4(nvfp4: Capture) -> None:
    count = counted(nvfp4)
    assert count is not None
    assert count.ceiling is not None
    assert count.precision == "tensor cores (FP4 to FP32)"
    assert count.rate == pytest.approx(2.9016e14, rel=1e-4)
    # Dense: half of the peak of the counter that sums up dense and sparse operations.
    assert count.ceiling.value == pytest.approx(1.11511614e16 / 2, rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "label", "lanes"),
    [
        ("op_utcomma_src_fp4_dst_fp32_sparsity_off", "FP4 to FP32", 16384),
        ("op_utcomma_src_fp4_dst_fp32_sparsity_on", "FP4 to FP32 sparse", 32768),
        ("op_utcqmma_src_fp4_fp6_fp8_dst_fp32_sparsity_off", "FP4/FP6/FP8 to FP32", 8192),
        ("op_utchmma_src_bf16_dst_fp32_sparsity_off", "BF16 to FP32", 4096),
        ("op_hmma_src_bf16_dst_fp32_sparsity_off", "BF16 to FP32", 1024),
        ("src_fp8_sparsity_off", "FP8", 8192),
    ],
)
def test_a_count_by_cycle_is_a_rate_with_the_peak_of_the_architecture(
    nvfp4: Capture, kind: str, label: str, lanes: int
) -> None:
    """What presets ask for is operations a cycle, without peaks."""
    count = counted(nvfp4, **{kind: 1e6})
    assert count is not None
    assert count.precision == f"tensor cores ({label})"
    hertz = count.rate / 1e6
    assert count.ceiling is not None
    assert count.ceiling.origin == "computed"
    assert count.ceiling.value == pytest.approx(148 * lanes * 2 * hertz)


def test_a_peak_that_the_table_lacks_is_none(nvfp4: Capture) -> None:
    for kind in ("op_hmma_src_bf16_dst_fp32_sparsity_on", "op_newmma_src_fp2_sparsity_off"):
        count = counted(nvfp4, **{kind: 1e6})
        assert count is not None
        assert count.ceiling is None
