"""Series of a report: chosen by their times, cut to the launch, resampled, or left out."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.series import NAMES, FakeAction, FakeMetric, action_of, stored

from kernelprof.model.launch_series import ACTIVE, ISSUE, MOST_STEPS, read_series, series_to_text
from kernelprof.sources import ncu_report, read_capture
from kernelprof.sources.ncu import report_package
from kernelprof.sources.ncu.timelines import CounterSamples, combine, resample, series_of_launch

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = 1_765_678_280_153_882_400


def a_series(values: list[float], step: int = 1000, begin: int = BEGIN) -> CounterSamples:
    return CounterSamples(
        [begin + step * at for at in range(len(values) + 1)], values, is_count=False
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_mean_is_that_within_the_launch(name: str) -> None:
    """A count is the launch's own one over its time, whatever was sampled before and after."""
    document = stored(name)
    launch = series_of_launch(action_of(document))
    assert launch is not None
    duration = document["scalars"]["gpu__time_duration.sum"]
    assert launch.duration_ns == pytest.approx(duration, rel=0.1)
    cycles = document["scalars"]["sm__cycles_active.avg"]
    assert fmean(launch.series[ACTIVE]) * launch.duration_ns == pytest.approx(cycles, rel=0.05)
    issued = document["scalars"].get("sm__inst_executed.avg.pct_of_peak_sustained_elapsed")
    if issued is not None:
        assert fmean(launch.series[ISSUE]) == pytest.approx(issued, rel=0.05)


def test_series_of_other_passes_have_windows_of_their_own() -> None:
    document = stored("a100_silu")
    launch = series_of_launch(action_of(document))
    assert launch is not None
    assert {"l1_wavefronts", ACTIVE, "dram_throughput"} <= set(launch.series)
    assert {len(each) for each in launch.series.values()} == {23}
    assert min(launch.series["dram_throughput"][1:-2]) > 40  # which is nothing outside the launch


def test_a_chip_that_samples_instructions_by_active_cycle() -> None:
    launch = series_of_launch(action_of(stored("gtx1660_gemm")))
    assert launch is not None
    assert fmean(launch.series[ISSUE]) == pytest.approx(25, rel=0.03)


def test_resampling_keeps_the_integral_and_the_digits_of_times() -> None:
    samples = a_series([10.0, 20.0, 30.0, 40.0])
    window = (BEGIN + 500, BEGIN + 3500)
    assert list(resample(samples, window, 3)) == [15.0, 25.0, 35.0]
    flat = a_series([50.0] * 1000, step=992)
    steps = list(resample(flat, (BEGIN + 41, BEGIN + 990_041), MOST_STEPS))
    assert steps == [50.0] * MOST_STEPS


def test_only_series_with_times_are_chosen() -> None:
    """By correlation IDs, which are addresses of instructions in other metrics."""
    by_address = FakeMetric(1.0, [16 * at for at in range(50)], [1.0] * 50)
    action = FakeAction(
        {"pmsampling:dramc__throughput.avg.pct_of_peak_sustained_elapsed": by_address}
    )
    assert series_of_launch(action) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda metric: metric.values.__setitem__(3, math.nan),
        lambda metric: metric.values.__setitem__(3, -1.0),
        lambda metric: metric.times.__setitem__(3, metric.times[2]),
        lambda metric: metric.times.reverse(),
        lambda metric: metric.times.clear(),
    ],
)
def test_an_odd_series_is_left_out(damage: Any) -> None:
    action = action_of(stored("b200_nvfp4_gemm"))
    name = next(each for each in action.metrics if "dram__throughput" in each and "Triage" in each)
    damage(action.metrics[name])
    launch = series_of_launch(action)
    assert launch is not None
    assert "dram_throughput" not in launch.series
    assert ACTIVE in launch.series


def test_samples_that_do_not_cover_the_launch() -> None:
    samples = {"dram_throughput": a_series([50.0] * 50)}
    assert combine(dict(samples), [BEGIN], [BEGIN + 50_000], 5e4) is not None
    assert combine(dict(samples), [BEGIN], [BEGIN + 60_000], 6e4) is None
    assert combine(dict(samples), [BEGIN], [BEGIN], 0.0) is None
    assert combine(dict(samples), [], [], 5e4) is None  # nothing tells when it began


def test_a_package_that_fails_for_series_reads_the_rest() -> None:
    class Broken(FakeAction):
        def metric_names(self) -> list[str]:
            raise TypeError

    assert report_package._series_of(Broken({})) is None


def test_series_travel_with_their_launches(captures: Path) -> None:
    capture = read_capture(captures / "gemm_series.eight-metrics.raw.csv")
    launch = series_of_launch(action_of(stored("b200_nvfp4_gemm")))
    assert launch is not None
    added = ncu_report._with_series(capture, (None, series_to_text(launch)))
    assert read_series(added, range(len(added))) == (1, launch)
    assert read_series(added.rows([2, 1]), [0, 1]) == (1, launch)
    assert read_series(added.part(2, 4), [0, 1]) is None
    other = ncu_report._with_series(capture.rows([1, 0]), (series_to_text(launch),))
    assert read_series(other, [0]) is None  # launches that are not all of the report's


@pytest.mark.parametrize(
    "cell",
    [
        "",
        "[",
        "[" * 5000,
        '{"duration_ns": 100, "interval_ns": 1, "series": {}}',
        '{"duration_ns": 100, "interval_ns": 1, "series": {"dram_throughput": [1, 2]}}',
        '{"duration_ns": 100, "interval_ns": 1, "series": {"dram_throughput": [1, 2, 3, -4]}}',
        '{"duration_ns": 100, "interval_ns": 0, "series": {"dram_throughput": [1, 2, 3, 4]}}',
        '{"duration_ns": 100, "interval_ns": 1, "series": {"other": [1, 2, 3, 4]}}',
        '{"duration_ns": 100, "interval_ns": 1, "series": {"dram_throughput": '
        f"[{', '.join(['1'] * (MOST_STEPS + 1))}]}}}}",
    ],
)
def test_odd_text_is_no_series(cell: str, captures: Path) -> None:
    capture = read_capture(captures / "gemm_series.eight-metrics.raw.csv")
    assert read_series(ncu_report._with_series(capture, (cell,)), [0]) is None


def test_where_ncu_reads_a_report_the_package_reads_its_series(
    captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = series_of_launch(action_of(stored("a100_silu")))
    assert launch is not None
    packaged = report_package.PackagedReport(series=(series_to_text(launch),))
    whole = read_capture(captures / "gemm_series.eight-metrics.raw.csv")
    monkeypatch.setattr(ncu_report, "_find_tool", lambda: "ncu")
    monkeypatch.setattr(ncu_report, "find_spec", lambda _: object())
    monkeypatch.setattr(ncu_report, "_through_ncu", lambda *_: whole)
    monkeypatch.setattr(ncu_report, "_code_by_ncu", lambda *_: ())
    monkeypatch.setattr(ncu_report, "read_by_package", lambda *_, **__: packaged)
    capture = ncu_report._read_file(tmp_path / "report.ncu-rep", "report.ncu-rep")
    assert read_series(capture, [0]) == (0, launch)
    assert read_series(capture, [1]) is None
