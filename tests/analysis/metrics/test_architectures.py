"""What is known about GPU architectures stands in one file and has no holes where it matters."""

from __future__ import annotations

import pytest

from kernelprof.analysis.metrics.architectures import (
    ARCHITECTURES,
    CHIPS,
    COMMON,
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
