"""Drill-down: fewer metrics, the same verdicts."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import pytest

from kernelprof.capture.drill import Round, drill
from kernelprof.errors import InputError, MissingToolError
from kernelprof.model.diagnosis import Status
from kernelprof.tables import read_capture
from kernelprof.verdict import diagnose

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kernelprof.metrics.catalogue import Metric
    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis

ALWAYS = ("device__", "launch__", "profiler__")


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
        names = {name for metric in metrics for name in metric.all_ncu_names()}
        rows = [
            row
            for row, launch in enumerate(self.full.launches)
            if kernels is None or launch.kernel in kernels
        ]
        return replace(
            self.full,
            launches=tuple(self.full.launches[row] for row in rows),
            columns={
                name: replace(column, values=column.values[rows])
                for name, column in self.full.columns.items()
                if (name in names or name.startswith(ALWAYS)) and name not in self.never
            },
            text={
                name: tuple(cells[row] for row in rows) for name, cells in self.full.text.items()
            },
        )


def _answers(diagnosis: Diagnosis) -> dict[int, tuple[Status, str | None]]:
    return {
        row: (kernel.verdict.status, kernel.verdict.bottleneck)
        for kernel in diagnosis.kernels
        for row in kernel.rows
    }


@pytest.fixture(scope="module")
def gemm_series(captures: Path) -> Capture:
    return read_capture(captures / "gemm_series.full.raw.csv")


def test_the_verdicts_of_the_full_capture_in_three_runs(gemm_series: Capture) -> None:
    replay = Replay(gemm_series)
    ticks = count()
    found = drill(replay, clock=lambda: float(next(ticks)))
    assert _answers(found.diagnosis) == _answers(diagnose(gemm_series))
    assert len(found.rounds) == len(replay.asked) == 3
    assert [each.number for each in found.rounds] == [0, 1, 2]
    assert [each.seconds for each in found.rounds] == [1.0, 1.0, 1.0]
    triage, open_, near = found.rounds
    assert triage.why.startswith("preset triage")
    assert triage.kernels is None
    assert "open between l1-throughput" in open_.why
    assert near.why == "3 kernels are a near tie"
    assert len(near.kernels or ()) == 3
    assert not set(triage.metrics) & set(open_.metrics)
    assert found.passes == sum(each.passes or 0 for each in found.rounds)


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("four_gemms.full.raw.csv", 3),
        ("fixture_full.raw.csv.gz", 2),
        ("validation/raw.csv.gz", 3),
        ("validation/more.raw.csv.gz", 3),
        ("validation/frameworks.raw.csv.gz", 3),
    ],
)
def test_other_captures_end_as_the_full_one_does(name: str, runs: int, captures: Path) -> None:
    full = read_capture(captures / name)
    found = drill(Replay(full))
    assert _answers(found.diagnosis) == _answers(diagnose(full))
    assert len(found.rounds) <= runs


def test_what_ncu_cannot_give_is_asked_for_once(gemm_series: Capture) -> None:
    lost = [name for name in gemm_series.columns if "shared" in name or "warps_issue" in name]
    replay = Replay(gemm_series, lost)
    found = drill(replay)
    for kernel in {launch.kernel for launch in gemm_series.launches}:
        names = [
            name
            for asked, kernels, _ in replay.asked
            if kernels is None or kernel in kernels
            for name in asked
        ]
        # A kernel's launches may be asked about one after the other, never twice in one state.
        assert max(names.count(name) for name in names) <= 2
    assert len(found.rounds) <= 5
    without = {n: c for n, c in gemm_series.columns.items() if n not in lost}
    best = _answers(diagnose(replace(gemm_series, columns=without)))
    assert _answers(found.diagnosis) == best


def test_the_last_round_takes_all_that_is_left(gemm_series: Capture) -> None:
    replay = Replay(gemm_series)
    found = drill(replay, most_rounds=1)
    assert len(found.rounds) == 2
    assert _answers(found.diagnosis) == _answers(diagnose(gemm_series))


def test_one_run_is_enough_where_the_triage_decides(gemm_series: Capture) -> None:
    decided = [
        kernel.rows[0]
        for kernel in diagnose(Replay(gemm_series)(_triage(), None, "")).kernels
        if kernel.verdict.status is not Status.INCONCLUSIVE and not kernel.verdict.also
    ]
    only = Replay(gemm_series)(_triage(), [gemm_series.launches[decided[0]].kernel], "")
    replay = Replay(only)
    assert len(drill(replay).rounds) == 1
    assert len(replay.asked) == 1


def test_a_follow_up_that_is_of_something_else_ends_it_with_a_warning(
    gemm_series: Capture,
) -> None:
    replay = Replay(gemm_series)

    def collect(metrics: Sequence[Metric], kernels: Sequence[str] | None, why: str) -> Capture:
        if replay.asked:
            raise InputError("no launch passed the filters")
        return replay(metrics, kernels, why)

    found = drill(collect)
    assert found.diagnosis.inconclusive
    assert any("no launch passed the filters" in each for each in found.diagnosis.warnings)


def test_a_failure_of_the_machine_is_passed_on(gemm_series: Capture) -> None:
    replay = Replay(gemm_series)

    def collect(metrics: Sequence[Metric], kernels: Sequence[str] | None, why: str) -> Capture:
        if replay.asked:
            raise MissingToolError("no permission")
        return replay(metrics, kernels, why)

    with pytest.raises(MissingToolError):
        drill(collect)


def test_a_watcher_hears_before_each_run(gemm_series: Capture) -> None:
    replay = Replay(gemm_series)
    heard: list[tuple[int, Round]] = []
    found = drill(replay, watch=lambda coming: heard.append((len(replay.asked), coming)))
    assert [runs for runs, _ in heard] == [0, 1, 2]
    assert [coming.why for _, coming in heard] == [each.why for each in found.rounds]


def _triage() -> Sequence[Metric]:
    from kernelprof.metrics.catalogue import preset

    return preset("triage").metrics


def test_values_of_the_first_run_stay(gemm_series: Capture) -> None:
    found = drill(Replay(gemm_series))
    times = "gpu__time_duration.sum"
    assert np.array_equal(found.capture.columns[times].values, gemm_series.columns[times].values)
    assert found.capture.origin == gemm_series.origin
