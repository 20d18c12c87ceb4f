"""Drill-down: fewer metrics, the same verdicts."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from kernelprof.analysis.metrics.catalogue import preset
from kernelprof.analysis.verdict import diagnose
from kernelprof.collect.drill import collect_by_verdicts
from kernelprof.errors import InputError, MissingToolError
from kernelprof.model.diagnosis import Status
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kernelprof.analysis.metrics.catalogue import Metric
    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis

ALWAYS = ("device__", "launch__", "profiler__", "sm__maximum_warps_", "smsp__maximum_warps_")
"""Metrics that come with every run."""
SMALL = "speed-of-light"
"""A preset that decides little, so that several rounds are needed."""
RECORDED = (
    "gemm_series.full.raw.csv",
    "h200_drilldown/full-set.raw.csv.gz",
    "ladder/ladder.full.raw.csv.gz",
    "validation/raw.csv.gz",
    "validation/more.raw.csv.gz",
    "validation/frameworks.raw.csv.gz",
    "validation/frameworks_more.raw.csv.gz",
)
"""Captures with everything that ncu measures."""


class Replay:
    """Gives the metrics that are asked for out of a capture that has them all."""

    def __init__(self, full: Capture, never: Sequence[str] = ()) -> None:
        self.full = full
        self.never = never
        self.asked: list[tuple[set[str], Sequence[str] | None, str]] = []

    def __call__(
        self, metrics: Sequence[Metric], kernels: Sequence[str] | None, why: str
    ) -> Capture:
        self.asked.append(({metric.name for metric in metrics}, kernels, why))
        rows = [
            row
            for row, launch in enumerate(self.full.launches)
            if kernels is None or launch.kernel in kernels
        ]
        return _part(self.full, rows, metrics, self.never)


def _part(
    capture: Capture,
    rows: Sequence[int],
    metrics: Sequence[Metric] | None = None,
    never: Sequence[str] = (),
) -> Capture:
    """These launches of a capture, with all or some of its metrics."""
    names = {name for metric in metrics or () for name in metric.all_ncu_names()}
    return replace(
        capture,
        launches=tuple(capture.launches[row] for row in rows),
        columns={
            name: replace(column, values=column.values[list(rows)])
            for name, column in capture.columns.items()
            if metrics is None or name in names or name.startswith(ALWAYS)
            if name not in never
        },
        text={name: tuple(cells[row] for row in rows) for name, cells in capture.text.items()},
    )


@cache
def _full(path: Path) -> tuple[Capture, dict[int, tuple[Status, str | None]]]:
    """A capture with everything, and what it answers."""
    full = read_capture(path)
    return full, _answers(diagnose(full))


def _answers(diagnosis: Diagnosis) -> dict[int, tuple[Status, str | None]]:
    return {
        row: (kernel.verdict.status, kernel.verdict.bottleneck)
        for kernel in diagnosis.kernels
        for row in kernel.rows
    }


@pytest.fixture(scope="module")
def gemm_series(captures: Path) -> Capture:
    return read_capture(captures / "gemm_series.full.raw.csv")


@pytest.fixture(scope="module")
def four_gemms(captures: Path) -> Capture:
    return read_capture(captures / "four_gemms.full.raw.csv")


def test_the_verdicts_of_the_full_capture_in_two_runs(four_gemms: Capture) -> None:
    replay = Replay(four_gemms)
    found = collect_by_verdicts(replay, start=SMALL)
    assert _answers(found.diagnosis) == _answers(diagnose(four_gemms))
    assert len(found.rounds) == len(replay.asked) == 2
    assert [each.number for each in found.rounds] == [0, 1]
    assert all(each.seconds > 0 for each in found.rounds)
    first, open_ = found.rounds
    assert first.why == "preset speed-of-light: Speed of light"
    assert first.kernels is open_.kernels is None
    assert "4 kernels are undecided between uncoalesced-global-access, l1-throughput" in open_.why
    assert not set(first.metrics) & set(open_.metrics)
    assert found.passes == sum(each.passes or 0 for each in found.rounds)


def test_it_starts_from_the_triage(gemm_series: Capture) -> None:
    found = collect_by_verdicts(Replay(gemm_series))
    assert [each.why for each in found.rounds] == ["preset triage: Triage"]
    assert set(found.rounds[0].metrics) == {metric.name for metric in preset("triage").metrics}
    assert _answers(found.diagnosis) == _answers(diagnose(gemm_series))


@pytest.mark.parametrize(
    ("name", "start", "runs"),
    [
        ("fixture_full.raw.csv.gz", SMALL, 2),
        pytest.param("gemm_series.full.raw.csv", "occupancy", 2, marks=pytest.mark.slow),
        pytest.param("validation/raw.csv.gz", "triage", 2, marks=pytest.mark.slow),
        pytest.param("validation/raw.csv.gz", "dram", 3, marks=pytest.mark.slow),
        pytest.param("validation/more.raw.csv.gz", "triage", 2, marks=pytest.mark.slow),
        pytest.param("validation/more.raw.csv.gz", "compute-pipes", 2, marks=pytest.mark.slow),
        pytest.param("validation/frameworks.raw.csv.gz", "triage", 2, marks=pytest.mark.slow),
        pytest.param("validation/frameworks.raw.csv.gz", "coalescing", 3, marks=pytest.mark.slow),
    ],
)
def test_other_captures_end_as_the_full_one_does(name, start, runs, captures) -> None:
    full, everything = _full(captures / name)
    found = collect_by_verdicts(Replay(full), start=start)
    assert _answers(found.diagnosis) == everything
    assert len(found.rounds) == runs


@pytest.mark.exhaustive("judges 246 launches one by one")
def test_a_follow_up_is_rare_and_ends_as_everything_does(captures: Path) -> None:
    """Each recorded launch by itself, from the triage on; those that it decides need no loop."""
    launches, followed, wrong = 0, [], []
    for name in RECORDED:
        full, everything = _full(captures / name)
        found = diagnose(_part(full, range(len(full)), preset("triage").metrics))
        triage = _answers(found)
        for kernel in found.kernels:
            for row in kernel.rows:
                launches += 1
                answer = triage[row]
                if kernel.verdict.status is Status.INCONCLUSIVE or kernel.verdict.also:
                    drilled = collect_by_verdicts(Replay(_part(full, [row])))
                    answer = _answers(drilled.diagnosis)[0]
                    assert len(drilled.rounds) <= 2
                    followed += [(name, row)] * (len(drilled.rounds) - 1)
                if answer != everything[row]:
                    wrong.append((name, row, answer, everything[row]))
    assert wrong == []
    assert launches == 246
    assert 1 <= len(followed) <= 10, followed


def test_what_ncu_cannot_give_is_asked_for_once(four_gemms: Capture) -> None:
    lost = [name for name in four_gemms.columns if "shared" in name or "warps_issue" in name]
    replay = Replay(four_gemms, lost)
    found = collect_by_verdicts(replay, start="stalls")
    for kernel in {launch.kernel for launch in four_gemms.launches}:
        names = [
            name
            for asked, kernels, _ in replay.asked
            if kernels is None or kernel in kernels
            for name in asked
        ]
        # A kernel's launches may be asked about one after the other, never twice in one state.
        assert max(names.count(name) for name in names) <= 2
    assert len(found.rounds) == 3
    without = {n: c for n, c in four_gemms.columns.items() if n not in lost}
    best = _answers(diagnose(replace(four_gemms, columns=without)))
    assert _answers(found.diagnosis) == best


def test_the_last_round_takes_all_that_is_left(captures: Path) -> None:
    full, answers = _full(captures / "validation/more.raw.csv.gz")
    replay = Replay(full)
    found = collect_by_verdicts(replay, start="occupancy", most_rounds=1)
    assert len(found.rounds) == 2
    everything = {name for metric in preset("full").metrics for name in metric.ncu_names((9, 0))}
    assert everything & set(full.columns) <= set(found.capture.columns)
    assert _answers(found.diagnosis) == answers


def test_one_run_is_enough_where_the_triage_decides(gemm_series: Capture) -> None:
    triage = preset("triage").metrics
    decided = [
        kernel.rows[0]
        for kernel in diagnose(Replay(gemm_series)(triage, None, "")).kernels
        if kernel.verdict.status is not Status.INCONCLUSIVE and not kernel.verdict.also
    ]
    only = Replay(gemm_series)(triage, [gemm_series.launches[decided[0]].kernel], "")
    replay = Replay(only)
    assert len(collect_by_verdicts(replay).rounds) == 1
    assert len(replay.asked) == 1


def test_a_follow_up_that_is_of_something_else_ends_it_with_a_warning(four_gemms) -> None:
    replay = Replay(four_gemms)

    def collect(metrics: Sequence[Metric], kernels: Sequence[str] | None, why: str) -> Capture:
        if replay.asked:
            raise InputError("no launch matches the filters")
        return replay(metrics, kernels, why)

    found = collect_by_verdicts(collect, start="occupancy")
    assert found.diagnosis.inconclusive
    assert any("no launch matches the filters" in each for each in found.diagnosis.warnings)


def test_a_failure_of_the_machine_is_passed_on(four_gemms: Capture) -> None:
    replay = Replay(four_gemms)

    def collect(metrics: Sequence[Metric], kernels: Sequence[str] | None, why: str) -> Capture:
        if replay.asked:
            raise MissingToolError("no permission")
        return replay(metrics, kernels, why)

    with pytest.raises(MissingToolError):
        collect_by_verdicts(collect, start="occupancy")


def test_values_of_the_first_run_stay(four_gemms: Capture) -> None:
    found = collect_by_verdicts(Replay(four_gemms), start="occupancy")
    times = "gpu__time_duration.sum"
    assert np.array_equal(found.capture.columns[times].values, four_gemms.columns[times].values)
    assert found.capture.origin == four_gemms.origin
