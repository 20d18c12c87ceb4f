"""Samples of a whole GPU, and what they say of the kernels that ran meanwhile."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from tests.support.surveys import trace

from kernelprof.analysis.survey.answer import survey_program
from kernelprof.analysis.survey.series import (
    Mixture,
    find_shift,
    follow_smaller_grids,
    group_alike,
    overlaps,
    sampled_capture,
    sampled_kernels,
)
from kernelprof.model.survey import SampledKernel, from_bytes, to_bytes
from kernelprof.model.trace import KERNELS, SampledSeries

WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
MEASURED = {
    "nvjet": {"tensor_pipe": 89.9},
    "CUDAFunctorOnSelf_add": {"dram_throughput": 88.2},
    "cunn_SoftMaxForward": {"dram_throughput": 66.3},
    "sin_kernel": {"dram_throughput": 86.0},
}
"""What ``ncu --set full`` gave for the four kernels of ``tests/gpu/survey/mixed.py`` on the same
H100, in percent."""


def kernels(*rows: tuple[int, int]) -> np.ndarray:
    made = np.zeros(len(rows), KERNELS)
    made["start"], made["end"] = zip(*rows, strict=True)
    return made


def series(start: np.ndarray, length: int, values: np.ndarray) -> SampledSeries:
    return SampledSeries(0, ("sm__cycles_active.avg",), start, start + length, values)


def test_units_are_as_busy_as_ncu_measured_them() -> None:
    sampled = {key[0]: each for key, each in sampled_kernels(trace("mixed")).items()}
    assert len(sampled) == len(MEASURED)
    for name, expected in MEASURED.items():
        (found,) = (each for key, each in sampled.items() if name in key)
        units = {each.metric: each.value for each in found.units}
        for metric, value in expected.items():
            assert units[metric] == pytest.approx(value, abs=5.0), name
        lead = "tensor-throughput" if name == "nvjet" else "dram-bandwidth"
        assert (found.bottleneck, found.lead, found.confidence) == (lead, lead, "low")


@pytest.mark.parametrize("part", [1.0, 0.4], ids=["whole", "with_gaps"])
def test_a_kernel_has_the_clock_at_which_it_ran(part: float) -> None:
    """In samples with one kernel alone it is 1.648 GHz in the product and 1.98 in others."""
    rows = trace("mixed").kernels.copy()
    rows["end"] = rows["start"] + (part * (rows["end"] - rows["start"])).astype(np.int64)
    capture = sampled_capture(replace(trace("mixed"), kernels=rows))
    assert capture is not None
    cycles = capture.columns["sm__cycles_elapsed.max"].values
    clocks = cycles / capture.columns["gpu__time_duration.sum"].values
    expected = [1.65 if "nvjet" in each.kernel else 1.98 for each in capture.launches]
    assert clocks == pytest.approx(expected, abs=0.02)


def test_warps_wait_for_what_ncu_measured() -> None:
    """``ncu --set full`` gave memory-latency, medium, for the same sweep on the same H100."""
    (sweep,) = (
        each for key, each in sampled_kernels(trace("jacobi_sampled")).items() if "sweep" in key[0]
    )
    assert (sweep.bottleneck, sweep.confidence) == ("memory-latency", "low")
    assert sweep.reason == "based on samples: warps wait for memory, and DRAM is not saturated"
    assert [each.label for each in sweep.waits[:2]] == ["long scoreboard", "wait"]
    assert sweep.waits[0].value == pytest.approx(80.5, abs=5.0)
    assert sweep.metrics["sm__warps_active.avg.pct_of_peak_sustained_active"] == pytest.approx(
        74.9, abs=5.0
    )
    assert sweep.metrics["lts__t_sectors_srcunit_tex.sum"] == pytest.approx(5_729_628, rel=0.01)


def test_what_was_sampled_is_kept_with_the_survey() -> None:
    survey = survey_program(trace("mixed"), 3.0)
    assert from_bytes(to_bytes(survey)) == survey
    assert sum(each.share for each in survey.kernels if each.sampled) > 0.99


def test_samples_without_a_value_are_left_out() -> None:
    (own,) = trace("mixed").series
    known = sampled_kernels(trace("mixed"))
    values = own.values.copy()
    values[::3, 2] = np.nan
    fewer = sampled_kernels(replace(trace("mixed"), series=(replace(own, values=values),)))
    assert fewer.keys() == known.keys()
    for key, each in fewer.items():
        assert each.units[0].value == pytest.approx(known[key].units[0].value, abs=1.0)
    nothing = replace(own, values=np.full_like(own.values, np.nan))
    assert sampled_kernels(replace(trace("mixed"), series=(nothing,))) == {}


def test_idle_samples_need_the_counter_of_active_sms_alone() -> None:
    (own,) = trace("mixed").series
    known = sampled_kernels(trace("mixed"))
    values = own.values.copy()
    idle = values[:, own.metrics.index("sm__cycles_active.avg")] == 0
    assert idle.any()
    values[np.ix_(idle, np.arange(1, values.shape[1]))] = np.nan
    fewer = sampled_kernels(replace(trace("mixed"), series=(replace(own, values=values),)))
    for key, each in fewer.items():
        assert each.units[0].value == pytest.approx(known[key].units[0].value, abs=0.5)
    assert fewer.keys() == known.keys()


def test_warps_are_sampled_where_no_counter_was() -> None:
    sampled = trace("jacobi_sampled")
    whole = {key[0]: each for key, each in sampled_kernels(sampled).items()}
    alone = {key[0]: each for key, each in sampled_kernels(replace(sampled, series=())).items()}
    name = next(each for each in whole if "sweep" in each)
    assert alone[name].units == ()
    assert alone[name].waits == whole[name].waits
    assert alone[name].bottleneck is None  # none that goes by what units do
    assert sampled_kernels(replace(sampled, series=(), stalls={})) == {}


WAVES = "launch__waves_per_multiprocessor"
FULL = SampledKernel("at-limit", "integer-throughput", None, (), {WAVES: 36.1}, "low")
OPEN = SampledKernel("inconclusive", None, None, (), {WAVES: 88.8})
"""Two launches of ``md5hash`` of HeCBench: 98 % of the integer pipe, and without counters."""


@pytest.mark.parametrize(
    ("known", "threads", "waves", "expected"),
    [
        (FULL, 256, 88.8, "integer-throughput"),
        (FULL, 128, 88.8, None),
        (FULL, 256, 35.0, None),
        (structs.replace(FULL, bottleneck="dram-bandwidth"), 256, 88.8, None),
        (structs.replace(FULL, status="bottleneck"), 256, 88.8, None),
        (structs.replace(FULL, metrics={WAVES: 0.9}), 256, 88.8, None),
    ],
    ids=["more-blocks", "other-block", "fewer-blocks", "memory", "not-full", "part-of-the-gpu"],
)
def test_a_kernel_without_counters_fills_the_pipe_that_fewer_of_its_blocks_fill(
    known: SampledKernel, threads: int, waves: float, expected: str | None
) -> None:
    larger = structs.replace(OPEN, metrics={WAVES: waves})
    key = ("md5hash", (93790, 1, 1), (256, 1, 1))
    made = {("md5hash", (38147, 1, 1), (threads, 1, 1)): known, key: larger}
    found = dict(follow_smaller_grids(made))
    assert {each: (kernel.bottleneck, kernel.status) for each, kernel in found.items()} == (
        {key: (expected, "at-limit")} if expected else {}
    )
    assert all("smaller grid 38147 x 1 x 1" in (each.reason or "") for each in found.values())


def test_launches_of_almost_the_same_size_share_their_samples() -> None:
    kinds = [
        ("attention", (100, 2, 1), (128, 1, 1)),
        ("attention", (109, 2, 1), (128, 1, 1)),
        ("attention", (112, 2, 1), (128, 1, 1)),
        ("attention", (100, 2, 1), (64, 1, 1)),
        ("other", (100, 2, 1), (128, 1, 1)),
        ("attention", (105, 2, 1), (128, 1, 1)),
        ("attention", None, None),
    ]
    # The last but one takes twice as long: it has a wave more.
    first, second, *rest = group_alike(kinds, np.array([2.0, 2.1, 2.1, 2.0, 2.0, 4.0, 1.0]))
    assert first == second
    assert len({first, *rest}) == 1 + len(rest)


def test_samples_of_kernels_of_almost_the_same_size_are_those_of_one() -> None:
    whole = trace("mixed")
    known = sampled_kernels(whole)
    # The later half of the launches with a few blocks more
    more = tuple(
        replace(each, grid=(x, y + 1, z) if y > 1 else (x + 1, y, z))
        for each in whole.configurations
        for x, y, z in (each.grid,)
    )
    rows = whole.kernels.copy()
    rows["configuration"][len(rows) // 2 :] += len(more)
    halves = replace(whole, kernels=rows, configurations=(*whole.configurations, *more))
    found = sampled_kernels(halves)
    assert len(found) == 2 * len(known)
    for (name, _, _), each in found.items():
        (same,) = (kernel for key, kernel in known.items() if key[0] == name)
        assert each.units[0].value == pytest.approx(same.units[0].value, abs=0.01)


def test_next_to_no_conflicts_are_known_from_the_wavefronts_beside_them() -> None:
    (own,) = trace("mixed").series
    active = own.values[:, own.metrics.index("sm__cycles_active.avg")]
    noise = np.random.default_rng(3).normal(0, 0.5, len(active))
    values = np.column_stack([own.values, 100 * active, active * noise])
    metrics = (*own.metrics, f"SM_A.TriageCompute.{WAVEFRONTS}", CONFLICTS)

    def columns(*without: str) -> dict[str, np.ndarray]:
        chosen = [at for at, each in enumerate(metrics) if each not in without]
        names = tuple(metrics[at] for at in chosen)
        with_both = replace(own, metrics=names, values=values[:, chosen])
        capture = sampled_capture(replace(trace("mixed"), series=(with_both,)))
        assert capture is not None
        return {name: each.values for name, each in capture.columns.items()}

    known = columns()
    assert (known[CONFLICTS] < 0.01 * known[WAVEFRONTS]).all()
    assert np.isnan(columns(metrics[-2])[CONFLICTS]).all()


@pytest.mark.filterwarnings("error")
def test_a_series_that_ended_before_its_first_sample_says_nothing() -> None:
    (own,) = trace("mixed").series
    empty = replace(own, start=own.start[:0], end=own.end[:0], values=own.values[:0])
    assert sampled_kernels(replace(trace("mixed"), series=(empty,))) == {}


def test_a_trace_without_samples_gives_nothing() -> None:
    assert sampled_capture(trace("jacobi")) is None
    assert sampled_kernels(trace("jacobi")) == {}


@pytest.mark.parametrize("late", [-1_500_000, -70_000, 0, 40_000, 2_000_000])
def test_samples_that_are_late_are_put_right(late: int) -> None:
    known = trace("mixed")
    (own,) = known.series
    moved = replace(own, start=own.start + late, end=own.end + late)
    base = find_shift(own, known.kernels)
    assert find_shift(moved, known.kernels) == pytest.approx(base - late, abs=10_000)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=5),
    st.integers(2_000, 60_000),
    st.integers(0, 2**32 - 1),
)
def test_kernels_shorter_than_a_sample_have_their_own_values(
    rates: list[float], longest: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    numbers = random.integers(0, len(rates), 4000)
    lengths = random.integers(1_000, longest, 4000)
    ends = np.cumsum(lengths + random.integers(0, 3_000, 4000))
    ran = kernels(*zip((ends - lengths).tolist(), ends.tolist(), strict=True))
    start = np.arange(0, ends[-1], 20_000)
    parts = overlaps(series(start, 20_000, np.zeros((len(start), 1))), ran, numbers, len(rates))
    mixed = parts @ np.array(rates)
    fit = Mixture.from_parts(parts).fit(mixed + random.normal(0, 0.5, len(mixed)))
    for number, rate in enumerate(rates):
        if np.isfinite(fit.values[number]):
            assert fit.values[number] == pytest.approx(rate, abs=max(1.0, 6 * fit.errors[number]))
    assert np.isfinite(fit.values).any()


def test_occupancy_is_that_of_the_time_in_which_sms_work() -> None:
    known, share = trace("mixed"), "sm__warps_active.avg.pct_of_peak_sustained_active"
    (own,) = known.series
    # As a counter has it: kernels keep 30 % of the warps, of whatever part of a sample they take.
    active = own.values[:, own.metrics.index("sm__cycles_active.avg")]
    both = replace(
        own,
        metrics=(*own.metrics, share),
        values=np.column_stack([own.values, np.where(active > 0, 30.0, 0.0)]),
    )
    capture = sampled_capture(replace(known, series=(both,)))
    assert capture is not None
    assert capture.columns[share].values == pytest.approx(30.0, abs=0.01)


@pytest.mark.filterwarnings("error")
def test_a_ratio_that_is_constant_is_known_however_its_whole_varies() -> None:
    start = np.arange(0, 10 * 20_000, 20_000)
    ran = kernels(*((at, at + 20_000) for at in start))
    parts = overlaps(series(start, 20_000, np.zeros((10, 1))), ran, np.zeros(10, int), 2)
    whole = np.linspace(0.1, 2.0, 10)
    fit = Mixture.from_parts(parts).fit_ratio(60.0 * whole, whole)
    assert fit.values[0] == pytest.approx(60.0)
    assert fit.errors[0] < 1e-9
    assert np.isnan(fit.values[1])  # which never ran
    nothing = Mixture.from_parts(parts).fit_ratio(np.zeros(10), np.zeros(10))
    assert np.isnan(nothing.values).all()
    noise = np.random.default_rng(1).normal(0, 30.0, 10)
    assert Mixture.from_parts(parts).fit_ratio((60.0 + noise) * whole, whole).errors[0] > 5.0


def test_kernels_that_always_run_together_are_not_told_apart() -> None:
    start = np.arange(0, 2_000_000, 20_000)
    # Half of each sample is of one, half of the other.
    ran = kernels(*((at + part, at + part + 10_000) for at in start for part in (0, 10_000)))
    parts = overlaps(
        series(start, 20_000, np.zeros((len(start), 1))), ran, np.tile([0, 1], len(start)), 2
    )
    fit = Mixture.from_parts(parts).fit(np.full(len(start), 50.0))
    assert np.isnan(fit.values).all()


def test_a_kernel_of_two_samples_has_no_value() -> None:
    start = np.arange(0, 200_000, 20_000)
    parts = overlaps(
        series(start, 20_000, np.zeros((len(start), 1))), kernels((0, 40_000)), np.zeros(1, int), 1
    )
    assert parts.sum() == pytest.approx(2.0)
    assert np.isnan(Mixture.from_parts(parts).fit(np.full(len(start), 50.0)).values).all()
