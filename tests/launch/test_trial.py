"""What a launching process says to the one that started it, and what the driver's errors mean."""

from __future__ import annotations

import json
import math
import random
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelprof.errors import ExitCode, InputError, MissingToolError
from kernelprof.launch.run.faults import driver_error
from kernelprof.launch.run.trial import (
    CheckedOutput,
    DriverResources,
    LaunchError,
    Trial,
    read_trial,
    timing_facts,
)
from kernelprof.model.manifest import CompilerWarning

DRIVER_ERRORS = tomllib.loads(
    Path(__file__).with_name("driver_errors.toml").read_text(encoding="utf-8")
)["errors"]


@pytest.fixture
def trial() -> Trial:
    return Trial(
        gpu="NVIDIA H200",
        arch="sm_90",
        compiler="13.0.88",
        options=("-arch=sm_90", "-lineinfo"),
        resources=DriverResources(10, 0, 0, 0, 1024),
        compiler_warnings=(CompilerWarning("C7508", "'setmaxnreg' ignored"),),
        checked=(CheckedOutput("y", 2.8214781328473095e-08, 1e-05),),
        times_ns=(17216.0, 16896.0),
    )


def test_what_is_written_is_read_again(tmp_path, trial) -> None:
    for each in (Trial(), trial):
        each.write(tmp_path / "trial.json")
        assert read_trial(tmp_path / "trial.json") == each
    trial.fail(InputError("wrong", where="k.cu, kernel k"))
    trial.write(tmp_path / "trial.json")
    assert read_trial(tmp_path / "trial.json") == trial


def test_a_result_that_holds_nan_is_read_again(tmp_path) -> None:
    Trial(checked=(CheckedOutput("y", math.nan, 1e-5),)).write(tmp_path / "trial.json")
    found = read_trial(tmp_path / "trial.json")
    assert math.isnan(found.checked[0].error)


def test_no_file_and_half_a_file_are_no_trial(tmp_path, trial) -> None:
    path = tmp_path / "trial.json"
    assert read_trial(path) is None
    trial.write(path)
    text = path.read_text()
    for length in range(len(text) - 1):
        path.write_text(text[:length])
        assert read_trial(path) is None
    path.write_bytes(b"\xff\xfe")
    assert read_trial(path) is None


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("no", where="k.cu:3", hint="do"), ExitCode.BAD_INPUT),
        (MissingToolError("no", where="k.cu:3", hint="do"), ExitCode.ENVIRONMENT),
        (MissingToolError("no"), ExitCode.ENVIRONMENT),
    ],
)
def test_an_error_is_raised_as_it_was(tmp_path, error, code) -> None:
    trial = Trial()
    trial.raise_error()
    trial.fail(error)
    trial.write(tmp_path / "trial.json")
    assert json.loads((tmp_path / "trial.json").read_text())["error"]["exit_code"] == code.value
    found = read_trial(tmp_path / "trial.json")
    with pytest.raises(LaunchError) as caught:
        found.raise_error()
    said = caught.value
    assert (said.what, said.where, said.hint) == (error.what, error.where, error.hint)
    assert said.exit_code is code


@pytest.mark.parametrize("error", DRIVER_ERRORS, ids=lambda each: each["words"])
def test_the_drivers_words_are_explained(error) -> None:
    found = driver_error(RuntimeError(error["words"]), "k.cu, kernel k")
    assert isinstance(found, LaunchError)
    place, code = "k.cu, kernel k", error["code"]
    assert (found.what, found.where, found.exit_code) == (error["what"], place, code)
    assert error["hint"] in (found.hint or "")


TIMES = st.lists(st.floats(1.0, 1e12), min_size=1, max_size=60)


def test_the_interval_of_twenty_launches_is_the_sixth_to_the_fifteenth() -> None:
    # For n = 20 and p = 1/2 the binomial distribution has 2.1 % below 6: 95.9 % lie between.
    times = [100.0 + 3.0 * rank for rank in range(1, 21)]
    random.Random(1).shuffle(times)
    found = timing_facts(times, warm_up=5, flops=8e6, min_bytes=4e7)
    assert (found.launches, found.warm_up) == (20, 5)
    assert (found.low_ns, found.high_ns) == (103.0, 160.0)
    assert found.median_ns == 131.5
    assert (found.confidence_low_ns, found.confidence_high_ns) == (118.0, 145.0)
    assert found.times_ns == tuple(times)
    assert (found.flops, found.min_bytes) == (8e6, 4e7)


@pytest.mark.parametrize(
    ("count", "low", "median", "high"),
    [
        (1, None, 1.0, None),
        (2, None, 1.5, None),
        (5, None, 3.0, None),
        (6, 1.0, 3.5, 6.0),
        (19, 5.0, 10.0, 15.0),
        (100, 40.0, 50.5, 61.0),
    ],
)
def test_the_interval_needs_six_launches(count, low, median, high) -> None:
    found = timing_facts([float(rank) for rank in range(1, count + 1)], warm_up=0)
    assert found.median_ns == median
    assert (found.confidence_low_ns, found.confidence_high_ns) == (low, high)


def test_one_slow_launch_moves_neither_median_nor_interval() -> None:
    times = [float(rank) for rank in range(1, 21)]
    plain, slow = (timing_facts(each, warm_up=0) for each in (times, [*times[:-1], 1e9]))
    assert slow.high_ns == 1e9
    assert slow.median_ns == plain.median_ns
    assert slow.confidence_low_ns == plain.confidence_low_ns
    assert slow.confidence_high_ns == plain.confidence_high_ns


@settings(deadline=None)  # the first call loads SciPy
@given(TIMES)
def test_the_figures_stand_in_order(times) -> None:
    found = timing_facts(times, warm_up=0)
    low, high = found.confidence_low_ns, found.confidence_high_ns
    assert (low is None) == (high is None) == (len(times) < 6)
    if low is not None and high is not None:
        assert found.low_ns <= low <= found.median_ns <= high <= found.high_ns
        assert {low, high} <= set(times)
    assert found.low_ns <= found.median_ns <= found.high_ns


@settings(deadline=None)  # the first call loads SciPy
@given(TIMES, st.randoms())
def test_the_order_of_the_launches_does_not_matter(times, shuffled) -> None:
    other = list(times)
    shuffled.shuffle(other)
    one, two = timing_facts(times, warm_up=0), timing_facts(other, warm_up=0)
    assert one.median_ns == two.median_ns
    assert one.confidence_low_ns == two.confidence_low_ns
    assert one.confidence_high_ns == two.confidence_high_ns
