"""Real captures whose answers are known."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.analysis.verdict.support import AT_LIMIT, CAPTURES, KNOWN, answers, by_row
from tests.support.captures import captured
from tests.support.few import few

from kernelprof.analysis.verdict import diagnose
from kernelprof.model.diagnosis import Confidence, Status
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from kernelprof.model.diagnosis import KernelDiagnosis

SAME_LAUNCHES = [
    "gemm_series.full.raw.csv",
    "gemm_series.full.raw.base-units.csv",
    "gemm_series.full.details.csv",
]

VALIDATION = {
    "raw": "validation/base-units.raw.csv.gz",
    "more": "validation/more.base-units.raw.csv.gz",
    "frameworks": "validation/frameworks.base-units.raw.csv.gz",
    "frameworks_more": "validation/frameworks_more.base-units.raw.csv.gz",
}


NAMED_SINCE = {"table-constant": "constant-cache"}
"""Launches whose bottleneck had no name when they were judged."""


@pytest.fixture(scope="module", params=SAME_LAUNCHES)
def gemm_series(request: pytest.FixtureRequest) -> dict[int, KernelDiagnosis]:
    return by_row(read_capture(CAPTURES / request.param))


class TestGemmSeries:
    def test_every_launch_has_the_verdict_that_the_next_change_showed_right(self, gemm_series):
        wrong = {
            row: gemm_series[row].verdict.bottleneck
            for row, names in KNOWN.items()
            if gemm_series[row].verdict.bottleneck not in names
        }
        assert wrong == {}
        assert len(gemm_series) == 26

    def test_the_conflict_free_twin_is_not_called_conflicting(self, gemm_series):
        assert gemm_series[13].verdict.bottleneck != "shared-bank-conflicts"
        assert gemm_series[13].verdict.status is Status.BOTTLENECK

    def test_units_full_of_needed_work_are_at_their_limit(self, gemm_series):
        at_limit = {r for r, k in gemm_series.items() if k.verdict.status is Status.AT_LIMIT}
        assert at_limit == AT_LIMIT
        assert all(gemm_series[row].verdict.gain is None for row in AT_LIMIT)

    def test_the_limiter_of_occupancy_is_named(self, gemm_series):
        assert (
            "Occupancy is limited by shared memory: 1 block per SM." in gemm_series[22].verdict.why
        )


@pytest.mark.parametrize(
    "name",
    few(
        [*SAME_LAUNCHES, "gemm_series.eight-metrics.raw.csv"],
        *SAME_LAUNCHES,
        why="what to measure next is searched",
    ),
)
def test_what_is_put_into_words_is_what_was_judged(name: str) -> None:
    capture = captured(name)
    said = {
        row: (kernel.verdict.status.value, kernel.verdict.bottleneck)
        for row, kernel in by_row(capture).items()
    }
    assert said == answers(capture)


def test_three_exports_of_the_same_launches_give_the_same_verdicts() -> None:
    first, *others = (answers(captured(name)) for name in SAME_LAUNCHES)
    assert all(other == first for other in others)


def test_a_barrier_too_many_is_second_to_the_instructions() -> None:
    verdict = by_row(captured(SAME_LAUNCHES[0]))[4].verdict
    assert verdict.also[0].bottleneck == "barrier-stalls"
    assert verdict.confidence is not Confidence.HIGH


def test_launches_of_one_configuration_with_other_behaviour_stay_apart() -> None:
    """bank_conflict with stride 32 and 1 differ in an argument only; so does strided_read."""
    entries = by_row(captured(SAME_LAUNCHES[0]))
    assert entries[12] is not entries[13]
    assert entries[24] is not entries[25]
    assert any(
        "same grid and block have a different verdict" in note for note in entries[12].verdict.notes
    )


def test_thirteen_launches_of_the_same_code_are_one_entry_with_their_spread() -> None:
    diagnosis = diagnose(captured("gemm_series.same-code-13x.raw.csv"))
    assert [kernel.launches for kernel in diagnosis.kernels] == [13] * 11
    for kernel in diagnosis.kernels:
        spread = kernel.duration_ns
        assert spread is not None
        assert spread.low <= spread.median <= spread.high
        assert spread.high / spread.low < 1.02
    assert sum(kernel.share or 0.0 for kernel in diagnosis.kernels) == pytest.approx(1.0)


class TestValidation:
    """Kernels of other kinds and hands, judged from code and times before anybody saw a counter."""

    @pytest.fixture(scope="class")
    @classmethod
    def judged(cls) -> list[tuple[str, dict[str, object], KernelDiagnosis]]:
        expected = tomllib.loads((CAPTURES / "validation/expected.toml").read_text("utf-8"))
        rows = []
        for table, name in VALIDATION.items():
            capture = captured(name)
            entries = by_row(capture)
            for row, launch in enumerate(capture.launches):
                judgement = expected[table][launch.id]
                rows.append((f"{table} {judgement['label']}", judgement, entries[row]))
        return rows

    @staticmethod
    def _right(judgement: dict[str, object], kernel: KernelDiagnosis) -> bool:
        accept = judgement["accept"]
        assert isinstance(accept, list)
        verdict = kernel.verdict
        if not accept:
            return verdict.bottleneck in (None, NAMED_SINCE.get(str(judgement["label"])))
        return verdict.bottleneck in accept

    def test_every_launch_judged_for_certain_is_called_so(self, judged):
        wrong = {
            label: kernel.verdict.bottleneck
            for label, judgement, kernel in judged
            if judgement["sure"] and not self._right(judgement, kernel)
        }
        assert wrong == {}

    def test_nearly_all_of_the_others_are_called_something_acceptable(self, judged):
        right = sum(self._right(judgement, kernel) for _, judgement, kernel in judged)
        assert len(judged) == 181
        assert right == 172, "docs/verdicts.md and the README give this figure"

    def test_no_name_that_would_be_wrong_is_given(self, judged):
        forbidden = {
            label: kernel.verdict.bottleneck
            for label, judgement, kernel in judged
            if kernel.verdict.bottleneck in judgement.get("must_not", [])
        }
        assert forbidden == {}

    def test_nothing_unexpected_is_said_with_high_confidence(self, judged):
        wrong = {
            label: kernel.verdict.bottleneck
            for label, judgement, kernel in judged
            if not self._right(judgement, kernel) and kernel.verdict.confidence is Confidence.HIGH
        }
        # Judged from the code alone as latency or L1; measured, L2 is at 87 % and the next unit at
        # 34 %: the judgement was open ("sure = false"), and the counters settle it.
        assert wrong == {"frameworks triton-matmul-fp16-tiles-16": "l2-bandwidth"}

    @pytest.mark.parametrize(
        ("details", "raw", "least"),
        [
            ("validation/details.csv.gz", "validation/raw.csv.gz", 50),
            ("validation/more.details.csv.gz", "validation/more.raw.csv.gz", 15),
            ("validation/frameworks.details.csv.gz", "validation/frameworks.raw.csv.gz", 15),
            ("validation/detailed.details.csv.gz", "validation/detailed.raw.csv.gz", 0),
            ("validation/basic.details.csv.gz", "validation/basic.raw.csv.gz", 0),
        ],
    )
    def test_the_details_page_never_contradicts_the_raw_page(
        self, details: str, raw: str, least: int
    ) -> None:
        measured = answers(captured(raw))
        said = answers(captured(details))
        decided = {
            row: answer
            for row, answer in said.items()
            if answer[1] is not None and measured[row][1] is not None
        }
        assert {row: measured[row] for row in decided} == decided
        assert len(decided) >= least


def test_a_busy_part_without_its_counter_is_inconclusive() -> None:
    """table_constant waits for the constant cache; without its counter it could be the ADU pipe."""
    capture = read_capture(CAPTURES / VALIDATION["raw"])
    row = next(r for r, launch in enumerate(capture.launches) if "table_constant" in launch.kernel)
    assert by_row(capture)[row].verdict.bottleneck == "constant-cache"
    rest = {name: each for name, each in capture.columns.items() if not name.startswith("idc__")}
    verdict = by_row(replace(capture, columns=rest))[row].verdict
    assert verdict.status is Status.INCONCLUSIVE
    assert "constant-cache" in verdict.why
    assert "constant_cache" in [each.metric for each in verdict.missing]


@pytest.mark.parametrize("name", ["fixture_basic", "fixture_sections"])
def test_a_report_gives_the_verdicts_of_its_exports(name: str) -> None:
    pytest.importorskip("ncu_report", reason="the extra 'rep' is not installed")
    from_report = answers(read_capture(CAPTURES / f"{name}.ncu-rep"))
    assert from_report == answers(read_capture(CAPTURES / f"{name}.raw.csv"))
    assert from_report == answers(read_capture(CAPTURES / f"{name}.base-units.raw.csv"))
