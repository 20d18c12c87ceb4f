"""Verdicts in the light of values that a launch could have as well."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.support.captures import PAIRS

import kernelprof
from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.metrics.groups import STALLS
from kernelprof.analysis.verdict import diagnose
from kernelprof.analysis.verdict.ranking import OPEN_IN_A_CASE, PREDICTED
from kernelprof.model.diagnosis import Confidence

if TYPE_CHECKING:
    from kernelprof.model.capture import Capture


def read(name: str) -> Capture:
    return kernelprof.read(PAIRS / name / "before")


@pytest.fixture(scope="module")
def conflicts() -> Capture:
    return read("edit-distance-table-diagonals")


def without_waits(capture: Capture) -> Capture:
    names = {f"stall_{each}" for each in STALLS} | {"warp_cycles_per_instruction"}
    gone = {each for name in names for each in load_metrics()[name].ncu}
    columns = {n: each for n, each in capture.columns.items() if n not in gone}
    return replace(capture, columns=columns)


def test_a_verdict_that_all_cases_share_is_less_than_sure(conflicts: Capture) -> None:
    alone = diagnose(conflicts).kernels[0].verdict
    both = diagnose(replace(conflicts, cases=(without_waits(conflicts), conflicts)))
    verdict = both.kernels[0].verdict
    assert alone.bottleneck == verdict.bottleneck == "shared-bank-conflicts"
    assert alone.confidence is Confidence.HIGH
    assert verdict.confidence is Confidence.MEDIUM
    assert verdict.notes == (PREDICTED, *alone.notes)


def test_a_case_that_decides_nothing_makes_it_less_sure(conflicts: Capture) -> None:
    nothing = replace(conflicts, columns={})
    verdict = diagnose(replace(conflicts, cases=(conflicts, nothing))).kernels[0].verdict
    assert verdict.bottleneck == "shared-bank-conflicts"
    assert verdict.confidence is Confidence.MEDIUM
    assert OPEN_IN_A_CASE in verdict.notes


def test_a_case_with_another_verdict_makes_it_doubtful(conflicts: Capture) -> None:
    other = replace(conflicts, columns=read("chacha-nonce-search").columns)
    verdict = diagnose(replace(conflicts, cases=(conflicts, other))).kernels[0].verdict
    assert verdict.bottleneck == "shared-bank-conflicts"
    assert verdict.confidence is Confidence.LOW
    assert any("integer-throughput" in each for each in verdict.notes)


def test_parts_of_a_capture_keep_their_cases(conflicts: Capture) -> None:
    capture = replace(conflicts, cases=(without_waits(conflicts),))
    for some in (capture.rows([0]), capture.part(0, 1)):
        assert len(some.cases) == 1
        assert some.cases[0].columns.keys() == capture.cases[0].columns.keys()
        assert len(some.cases[0]) == 1
