"""Times: large and significant, or nothing is concluded."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelprof.comparison.times import (
    COARSE_AT_1_US,
    FEWEST_SAMPLES,
    LEAST_FLOOR,
    scatter_floor,
    single_launch_floor,
    time_change,
)
from kernelprof.model.comparison import TimeOutcome
from kernelprof.model.diagnosis import Confidence, Status, Verdict
from kernelprof.model.snapshot import KernelSnapshot, Noise

SAID = Verdict(Status.BOTTLENECK, "l1-throughput", Confidence.HIGH)


def kernel(
    events: list[float], profiled: list[float] | None = None, noise: Noise | None = None
) -> KernelSnapshot:
    return KernelSnapshot(
        "k",
        (1, 1, 1),
        (32, 1, 1),
        1,
        SAID,
        events_ns=tuple(events),
        profiled_ns=tuple(profiled or ()),
        median_ns=float(np.median(events or profiled or [1.0])),
        noise=noise,
    )


def around(median: float, spread: float, count: int = 20) -> list[float]:
    """Times of a normal shape: its quantiles, so that nothing is left to chance."""
    from scipy import stats

    quantiles = (np.arange(count) + 0.5) / count
    return list(median * (1 + spread * stats.norm.ppf(quantiles)))


@pytest.mark.parametrize(
    ("by", "outcome"),
    [
        (1.0, TimeOutcome.SAME),
        (1.004, TimeOutcome.SAME),
        (1.01, TimeOutcome.SLOWER),
        (0.99, TimeOutcome.FASTER),
        (2.0, TimeOutcome.SLOWER),
    ],
)
def test_a_quiet_kernel(by: float, outcome: TimeOutcome) -> None:
    found = time_change(kernel(around(1e6, 0.001)), kernel(around(by * 1e6, 0.001)), None)
    assert found.outcome is outcome
    assert found.ratio == pytest.approx(by)
    assert found.ratio_low is not None
    assert found.ratio_high is not None
    assert found.ratio_low <= by <= found.ratio_high
    assert found.measured_by == "CUDA events"
    assert found.noise_floor is not None
    assert found.noise_floor == LEAST_FLOOR


def test_a_large_difference_of_a_noisy_kernel_is_not_one() -> None:
    found = time_change(kernel(around(1e6, 0.05)), kernel(around(1.05e6, 0.05)), None)
    assert found.outcome is TimeOutcome.SAME
    assert found.noise_floor == pytest.approx(2.5 * 0.05, rel=0.15)


def test_a_difference_over_the_floor_that_is_not_significant_is_undecided() -> None:
    calm = Noise(0.001, 5, "CUDA events")
    old, new = around(1e6, 0.05, 6), around(1.01e6, 0.05, 6)
    found = time_change(kernel(old, noise=calm), kernel(new), None)
    assert found.outcome is TimeOutcome.UNDECIDED
    assert found.noise_floor == pytest.approx(0.0015)
    assert found.noise_floor_from == "calibration over 5 captures"
    assert found.p is not None
    assert found.p > 0.1


@pytest.mark.parametrize("count", range(1, FEWEST_SAMPLES))
@pytest.mark.parametrize(
    ("by", "outcome"),
    [
        (9.0, TimeOutcome.SLOWER),
        (1.22, TimeOutcome.SLOWER),
        (1.18, TimeOutcome.UNDECIDED),
        (1.015, TimeOutcome.UNDECIDED),
        (1.005, TimeOutcome.SAME),
        (1 / 1.015, TimeOutcome.UNDECIDED),
        (0.5, TimeOutcome.FASTER),
    ],
)
def test_few_launches_of_a_millisecond_show_what_is_clear(count, by, outcome) -> None:
    found = time_change(kernel([1e6] * count), kernel([by * 1e6] * 20), None)
    assert found.outcome is outcome
    assert found.ratio == pytest.approx(by)
    assert (found.p, found.ratio_low) == (None, None)
    assert found.noise_floor == pytest.approx(COARSE_AT_1_US / math.sqrt(1000 * min(1, by)))


@pytest.mark.parametrize(
    ("microseconds", "floor"),
    [(1, 0.25), (4, 0.15), (100, 0.03), (1_000, 0.0095), (1e6, LEAST_FLOOR)],
)
def test_the_floor_of_single_launches_follows_their_duration(microseconds, floor) -> None:
    assert single_launch_floor(microseconds * 1e3) == pytest.approx(floor, rel=0.01)
    found = time_change(kernel([microseconds * 1e3]), kernel([2 * microseconds * 1e3]), None)
    assert found.outcome is TimeOutcome.SLOWER


def test_calibration_counts_for_single_launches_too() -> None:
    calm = Noise(0.001, 5, "CUDA events")
    for by, outcome in (
        (1.001, TimeOutcome.SAME),
        (1.002, TimeOutcome.UNDECIDED),
        (1.004, TimeOutcome.SLOWER),
    ):
        found = time_change(kernel([1e6], noise=calm), kernel([by * 1e6]), None)
        assert found.outcome is outcome
        assert found.noise_floor == pytest.approx(0.0015)


def test_half_of_the_launches_seven_times_slower_is_slower() -> None:
    calm = around(1e6, 0.001)
    found = time_change(kernel(calm), kernel([*calm[:11], *(7 * each for each in calm[11:])]), None)
    assert (found.outcome, found.statistic) == (TimeOutcome.SLOWER, "mean")
    assert found.ratio == pytest.approx(1 + 6 * 9 / 20, rel=0.01)
    assert found.reason.startswith("the times are means of all launches; the median changed by ")
    back = time_change(kernel([*calm[:11], *(7 * each for each in calm[11:])]), kernel(calm), None)
    assert (back.outcome, back.statistic) == (TimeOutcome.FASTER, "mean")


def test_a_faster_median_does_not_hide_slower_launches() -> None:
    old = around(1e6, 0.001)
    new = [0.9 * each for each in old[:11]] + [7 * each for each in old[11:]]
    assert time_change(kernel(old), kernel(new), None).outcome is TimeOutcome.SLOWER
    old = around(1e6, 0.001, 200)
    new = [0.5 * each for each in old[:160]] + [7 * each for each in old[160:]]
    found = time_change(kernel(old), kernel(new), None)
    assert found.outcome is TimeOutcome.UNDECIDED
    assert "the median launch time is 0.5 times as long" in found.reason
    assert time_change(kernel(new), kernel(old), None).outcome is TimeOutcome.UNDECIDED


def test_slow_launches_that_got_slower_leave_it_open_where_the_total_stands() -> None:
    old = around(1e6, 0.001, 200)
    new = [*(0.5e6 for _ in old[:40]), *old[40:160], *(1.5e6 for _ in old[160:])]
    found = time_change(kernel(old), kernel(new), None)
    assert found.outcome is TimeOutcome.UNDECIDED
    assert found.reason == "the launch times' 90th percentile is 1.5 times as large as before"


def test_one_slow_launch_of_twenty_changes_nothing() -> None:
    calm = around(1e6, 0.001)
    found = time_change(kernel(calm), kernel([*calm[:19], 7e6]), None)
    assert found.outcome is TimeOutcome.SAME


def test_times_of_one_side_that_contradict_each_other_decide_nothing() -> None:
    honest = kernel(around(1e6, 0.001), [1.05e6])
    for wrong in (kernel(around(1e6, 0.001), [1e8]), kernel(around(1e4, 0.001), [1.05e6])):
        for pair in ((honest, wrong), (wrong, honest)):
            found = time_change(*pair, None)
            assert found.outcome is TimeOutcome.NOT_MEASURED
            assert "contradict each other" in found.reason
    # What a launch costs counts in one of them alone.
    short = kernel(around(2e4, 0.001), [1.5e3])
    assert time_change(short, short, None).outcome is TimeOutcome.SAME


def test_the_profiler_has_to_see_the_change_that_events_show() -> None:
    before = kernel(around(1e6, 0.001), [1.05e6])
    copied = kernel(around(1e6, 0.001), [2.1e6])
    found = time_change(before, copied, None)
    assert found.outcome is TimeOutcome.UNDECIDED
    assert found.reason == (
        "the time changed by a factor of 1 according to CUDA events, "
        "but by 2 according to the profiler"
    )


def test_five_launches_each_are_enough_for_the_clearest_order() -> None:
    found = time_change(
        kernel([1e6 + i for i in range(5)]), kernel([2e6 + i for i in range(5)]), None
    )
    assert found.outcome is TimeOutcome.SLOWER
    assert found.p == pytest.approx(2 / 252)


def test_like_is_compared_with_like() -> None:
    both = kernel(around(1e6, 0.001), around(5e6, 0.001))
    only_profiled = kernel([], around(5e6, 0.001))
    found = time_change(both, only_profiled, None)
    assert found.measured_by == "the profiler"
    assert found.outcome is TimeOutcome.SAME
    unlike = time_change(kernel(around(1e6, 0.001)), only_profiled, None)
    assert unlike.outcome is TimeOutcome.NOT_ENOUGH_SAMPLES
    assert unlike.ratio == pytest.approx(5.0)


def test_times_of_two_machines_are_not_compared() -> None:
    found = time_change(kernel(around(1e6, 0.001)), kernel(around(2e6, 0.001)), "another GPU")
    assert (found.outcome, found.reason) == (TimeOutcome.NOT_COMPARABLE, "another GPU")
    assert found.ratio is None


def test_one_slow_launch_does_not_make_a_kernel_noisy_and_two_groups_do() -> None:
    calm = [1e6] * 19
    assert scatter_floor([*calm, 3e6]) < 0.11
    assert scatter_floor([*calm, 1.0e6]) == 0.0
    assert scatter_floor([1e6] * 17 + [1.01e6] * 3) > 0.006


def test_calibration_counts_for_the_times_that_it_was_made_with() -> None:
    old, new = around(1e6, 0.001), around(1.004e6, 0.001)
    by_events = Noise(0.001, 5, "CUDA events")
    by_profiler = Noise(0.001, 5, "the profiler")
    assert time_change(kernel(old, noise=by_events), kernel(new), None).noise_floor == 0.0015
    assert time_change(kernel(old, noise=by_profiler), kernel(new), None).noise_floor == LEAST_FLOOR
    few = Noise(0.001, 3, "CUDA events")
    assert time_change(kernel(old, noise=few), kernel(new), None).noise_floor == pytest.approx(
        0.003
    )


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 0.0, -1e6, 1e-21, 1.0, 1e20])
def test_a_time_that_is_none_decides_nothing(bad: float) -> None:
    old = [bad, *around(1e6, 0.001)]
    for pair in (
        (kernel(old), kernel(around(3e6, 0.001))),
        (kernel(around(1e6, 0.001)), kernel(old)),
    ):
        assert time_change(*pair, None).outcome is TimeOutcome.NOT_MEASURED


def test_a_tie_does_not_hide_the_clearest_order() -> None:
    old, new = [1e6, 1e6, 1.001e6, 1.002e6, 1.003e6], [9e6, 9e6, 9.001e6, 9.002e6, 9.003e6]
    found = time_change(kernel(old), kernel(new), None)
    assert found.outcome is TimeOutcome.SLOWER
    assert found.p == pytest.approx(2 / 252)


def test_a_candidate_that_scatters_does_not_excuse_itself() -> None:
    found = time_change(kernel(around(1e6, 0.0001)), kernel(around(1.15e6, 0.05)), None)
    assert found.outcome is TimeOutcome.SLOWER
    assert found.noise_floor == pytest.approx(0.02)


@pytest.mark.slow("hundreds of samples are drawn again")
@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(1e3, 1e9), min_size=5, max_size=30),
    st.lists(st.floats(1e3, 1e9), min_size=5, max_size=30),
)
def test_faster_and_slower_are_mirrored(old: list[float], new: list[float]) -> None:
    there = time_change(kernel(old), kernel(new), None)
    back = time_change(kernel(new), kernel(old), None)
    mirror = {TimeOutcome.FASTER: TimeOutcome.SLOWER, TimeOutcome.SLOWER: TimeOutcome.FASTER}
    assert there.p == pytest.approx(back.p)
    assert there.noise_floor == back.noise_floor
    # Ratios of 1.3 and of 1 / 1.3 are not as far from one: near the floor only one may count.
    if {there.outcome, back.outcome} <= set(mirror):
        assert back.outcome is mirror[there.outcome]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(1e3, 1e9), min_size=5, max_size=30))
def test_the_same_times_are_the_same(times: list[float]) -> None:
    assert time_change(kernel(times), kernel(list(times)), None).outcome is TimeOutcome.SAME


@pytest.mark.parametrize(
    ("old", "new", "noise", "expected"),
    [
        (around(1e6, 0.0001), around(1e6, 0.0001), None, LEAST_FLOOR),
        (around(1e6, 0.0001), around(2e6, 0.0001), Noise(0.001, 5, "CUDA events"), 0.0015),
        # Six launches that scatter by more than the floor: the interval of their mean
        (around(1e6, 0.05, 6), around(1e6, 0.05, 6), Noise(0.001, 5, "CUDA events"), 0.0558),
        (around(1e6, 0.05), around(1e6, 0.05), None, 0.1096),
        (around(1e6, 0.001, 4), around(1e6, 0.001), None, 0.2),
        # The slow third counts in the mean, not in the median
        (around(1e6, 0.0001, 60), [1e6] * 40 + [1.004e6] * 20, None, 0.00411),
    ],
)
def test_the_smallest_detectable_slowdown(old, new, noise, expected) -> None:
    found = time_change(kernel(old, noise=noise), kernel(new), None)
    assert found.smallest_detectable == pytest.approx(expected, rel=0.01)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(1e5, 1.3e5), min_size=1, max_size=12),
    st.lists(st.floats(1e5, 1.3e5), min_size=1, max_size=12),
    st.sampled_from([None, Noise(0.001, 5, "CUDA events")]),
)
def test_what_is_above_the_smallest_detectable_is_slower_and_below_is_not(old, new, noise) -> None:
    before = kernel(old, noise=noise)
    least = time_change(before, kernel(new), None).smallest_detectable
    assert least is not None
    same = np.asarray(new) * np.median(old) / np.median(new)
    # Where none is too small, the change of the median alone is not what decides.
    for by in (0.999 * least - 1e-5, 1.001 * least + 1e-5) if least else (1e-5,):
        found = time_change(before, kernel((same * (1 + by)).tolist()), None)
        assert (found.outcome is TimeOutcome.SLOWER) is (by > least)
