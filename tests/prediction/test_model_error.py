"""Where values of models lie: around what is predicted, and measured on the corpus."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelprof.analysis.metrics.catalogue import catalogue
from kernelprof.analysis.metrics.groups import STALLS
from kernelprof.prediction.model_error import ModelError, spreads


def test_an_interval_is_between_two_factors_of_what_is_moved() -> None:
    spread = ModelError(kernels=40, offset=2.0, low=0.5, high=3.0)
    assert spread.around(6.0) == (2.0, 22.0)
    assert spread.around(0.0) == (0.0, 4.0)


@given(name=st.sampled_from(sorted(spreads())), value=st.floats(0, 1e15))
def test_the_prediction_is_in_its_interval(name: str, value: float) -> None:
    low, high = spreads()[name].around(value)
    assert 0 <= low <= value <= high


def test_all_that_models_say_has_one() -> None:
    names = spreads().keys()
    assert names <= catalogue().keys()
    never = {"gmma", "sleeping", "tex_throttle"}  # of kernels that a model of time takes
    assert {f"stall_{each}" for each in STALLS if each not in never} <= names
    assert {"duration", "dram_throughput", "l2_throughput", "achieved_occupancy"} <= names


def test_what_is_known_exactly_is_left_so() -> None:
    assert spreads()["sm_count"].around(132.0) == pytest.approx((132.0, 132.0))
