"""Ramp, steady part, phases and tail, of series made by hand and of public reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.series import action_of, stored

from kernelprof.analysis.over_time import (
    describe_notable,
    describe_over_time,
    describe_series,
    scale_series,
)
from kernelprof.model.launch_series import ACTIVE, LaunchSeries
from kernelprof.sources.ncu.timelines import series_of_launch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kernelprof.model.launch_series import OverTime

SCALARS = {
    "dram_throughput": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "l2_throughput": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1_throughput": "l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
    "issue_slots": "sm__inst_executed.avg.pct_of_peak_sustained_elapsed",
    ACTIVE: "sm__cycles_active.avg",
    "sm_cycles_elapsed": "sm__cycles_elapsed.max",
}


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def describe(**series: list[float]) -> OverTime:
    """Describe series whose means are the metrics of the launch: nothing is scaled."""
    launch = LaunchSeries(100e3, 100e3 / len(next(iter(series.values()))), {
        name: tuple(each) for name, each in series.items()
    })  # fmt: skip
    metrics = {name: mean(each) for name, each in series.items()} | {"sm_cycles_elapsed": 100.0}
    result = describe_series(launch, metrics.get)
    assert result is not None
    return result


def of_report(name: str) -> OverTime:
    document = stored(name)
    launch = series_of_launch(action_of(document))
    assert launch is not None
    metrics = {each: document["scalars"].get(ncu) for each, ncu in SCALARS.items()}
    result = describe_series(launch, metrics.get)
    assert result is not None
    return result


def test_a_tail_in_which_sms_are_idle_points_to_imbalance() -> None:
    result = describe(
        fma_pipe=[30.0] * 2 + [90.0] * 78 + [20.0] * 20,
        dram_throughput=[10.0] * 80 + [2.0] * 20,
        sm_cycles_active=[99.0] * 80 + [25.0] * 20,
    )
    assert (result.ramp, result.steady, result.tail) == pytest.approx((0.02, 0.78, 0.2))
    assert result.tail_active == pytest.approx(25 / 99)
    text = describe_over_time(result)
    assert text == (
        "Ramp 2.0 %, steady 78 % (FP32 pipe 90 %), tail 20 % with active SMs down to 25 %."
    )
    (note,) = describe_notable(result)
    assert note.startswith("the last 20 % of the time is a tail with active SMs down to 25 %")
    assert "workload-imbalance" in note


def test_sms_that_hold_blocks_but_do_little_are_a_phase() -> None:
    result = describe(
        fma_pipe=[90.0] * 80 + [20.0] * 20, sm_cycles_active=[99.0] * 100
    )  # fmt: skip
    assert (result.tail, result.tail_active) == (0.0, None)
    assert [(each.start, each.end, each.limit) for each in result.phases] == [
        (0.0, 0.8, "fma_pipe"),
        (0.8, 1.0, None),
    ]
    (note,) = describe_notable(result)
    assert note == (
        "the verdict applies to the average of 2 phases with different limits: "
        "80 % of the time with FP32 pipe at 90 %; "
        "20 % of the time with no unit above 20 % (busiest: FP32 pipe)"
    )


def test_sms_that_end_while_memory_stays_full_are_no_tail() -> None:
    active = [100.0 - at for at in range(50)]
    result = describe(dram_throughput=[90.0] * 100, sm_cycles_active=[100.0] * 50 + active)
    assert result.tail == 0.0
    assert describe_notable(result) == ()


def test_two_limits_are_two_phases_at_the_step_where_they_change() -> None:
    noise = [3.0 * (at % 3) for at in range(100)]
    result = describe(
        dram_throughput=[(88 if at < 37 else 12) + noise[at] for at in range(100)],
        tensor_pipe=[(5 if at < 37 else 85) + noise[at] for at in range(100)],
        sm_cycles_active=[100.0] * 100,
    )
    assert [each.limit for each in result.phases] == ["dram_throughput", "tensor_pipe"]
    assert result.phases[0].end == result.phases[1].start == 0.37


def test_a_limit_that_returns_makes_three_phases() -> None:
    result = describe(
        dram_throughput=[90.0] * 30 + [10.0] * 40 + [90.0] * 30,
        fma_pipe=[10.0] * 30 + [90.0] * 40 + [10.0] * 30,
    )
    assert [each.limit for each in result.phases] == [
        "dram_throughput",
        "fma_pipe",
        "dram_throughput",
    ]


@pytest.mark.parametrize(
    "other",
    [
        [84.0] * 50 + [86.0] * 50,  # another unit is first, by next to nothing
        [90.0] * 5 + [10.0] * 95,  # less than a tenth of the time
        [68.0] * 50 + [72.0] * 50,  # about the level from which a unit is near its limit
        [30.0 + 40.0 * (at % 2) for at in range(100)],
    ],
)
def test_what_makes_no_phases(other: list[float]) -> None:
    assert len(describe(dram_throughput=[85.0] * 100, l2_throughput=other).phases) == 1


def test_one_sample_in_a_tail_does_not_end_it() -> None:
    tail = [5.0] * 12 + [80.0] + [5.0] * 12
    result = describe(fma_pipe=[90.0] * 75 + tail, sm_cycles_active=[99.0] * 75 + [10.0] * 25)
    assert result.tail == 0.25


def test_a_unit_that_does_little_does_not_hide_the_tail() -> None:
    result = describe(
        fma_pipe=[90.0] * 80 + [5.0] * 20,
        xu_pipe=[4.0] * 100,
        sm_cycles_active=[99.0] * 80 + [5.0] * 20,
    )
    assert result.tail == pytest.approx(0.2)


def test_a_few_samples_are_drawn_but_not_judged() -> None:
    few = describe(dram_throughput=[90.0] * 12 + [5.0] * 7, sm_cycles_active=[99.0] * 19)
    assert (few.ramp, few.tail, few.phases) == (None, None, ())
    assert describe_over_time(few) == ""
    assert describe_notable(few) == ()
    assert len(few.units) == 2


def test_two_of_twenty_samples_are_a_tail() -> None:
    result = describe(
        dram_throughput=[90.0] * 18 + [5.0] * 2, sm_cycles_active=[99.0] * 18 + [1.0] * 2
    )
    assert result.tail == pytest.approx(0.1)
    assert describe_notable(result)


@pytest.mark.parametrize(
    ("mean_of_series", "metric", "scaled"),
    [(20.0, 40.0, [40.0] * 4), (20.0, 5.0, [5.0] * 4), (20.0, 90.0, None), (0.0, 40.0, None)],
)
def test_series_are_scaled_to_the_metric_of_the_launch(
    mean_of_series: float, metric: float, scaled: list[float] | None
) -> None:
    series = {"dram_throughput": [mean_of_series] * 4}
    result = scale_series(series, {"dram_throughput": metric}.get)
    assert result.get("dram_throughput") == (scaled if mean_of_series else [0.0] * 4)


def test_without_a_metric_parts_of_units_are_left_out() -> None:
    nothing: Callable[[str], float | None] = {}.get
    series = {"dram_throughput": [20.0] * 4, "tensor_pipe": [20.0] * 4, ACTIVE: [1.0] * 4}
    assert set(scale_series(series, nothing)) == {"tensor_pipe"}


@pytest.mark.parametrize(
    ("name", "limit", "tail"),
    [
        ("b200_nvfp4_gemm", None, 0.03),
        ("a100_silu", "dram_throughput", 0.04),
        ("gh200_silu", "dram_throughput", 0.02),
        ("gtx1660_gemm", None, 0.0),
    ],
)
def test_launches_of_public_reports_are_steady(name: str, limit: str | None, tail: float) -> None:
    result = of_report(name)
    assert result.tail == pytest.approx(tail, abs=0.011)
    assert [each.limit for each in result.phases] == [limit]
    assert describe_notable(result) == ()


def test_the_series_of_dram_on_a_gh200_shows_half_of_it() -> None:
    result = of_report("gh200_silu")
    dram = next(each for each in result.units if each.metric == "dram_throughput")
    stated = stored("gh200_silu")["scalars"][SCALARS["dram_throughput"]]
    assert mean(dram.values) == pytest.approx(stated, rel=0.03)
