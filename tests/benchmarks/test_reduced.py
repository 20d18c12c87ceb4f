"""Small sets name what everything names, or nothing; what they name otherwise is counted."""

from __future__ import annotations

import pytest
from benchmarks.reduced import CAPTURES, SETS, agreement, captures, exports

from kernelprof.analysis.verdict import diagnose
from kernelprof.model.diagnosis import Confidence, Status
from kernelprof.sources import read_capture

OF_EXPORTS = {
    "basic": {"same": 78, "other": 6, "open": 123},
    "report": {"same": 206, "other": 1},
    "samples": {"same": 172, "other": 13, "open": 22},
}
MOST_OTHERS = {"basic": 14, "report": 2, "samples": 33}
LEAST_SAME = {"basic": 155, "report": 450, "samples": 422}


@pytest.mark.slow("judges 207 launches twice")
@pytest.mark.parametrize("name", SETS)
def test_a_small_set_of_an_export_names_as_recorded(name: str) -> None:
    counted = agreement(exports(), name)
    assert {kind: counted[kind] for kind in OF_EXPORTS[name]} == OF_EXPORTS[name]


@pytest.mark.exhaustive("judges 460 captures twice")
@pytest.mark.parametrize("name", SETS)
def test_a_small_set_seldom_names_another_bottleneck(name: str) -> None:
    counted = agreement(captures(), name)
    assert counted["other"] <= MOST_OTHERS[name], counted
    assert counted["same"] >= LEAST_SAME[name], counted


@pytest.mark.slow("dozens of launches to search for")
def test_what_is_decided_by_little_says_so_and_is_never_sure() -> None:
    found = diagnose(read_capture(CAPTURES / "validation" / "basic.raw.csv.gz")).kernels
    by_little = [k.verdict for k in found if any("alone" in note for note in k.verdict.notes)]
    assert len(by_little) > 20
    assert {each.confidence for each in by_little} == {Confidence.LOW}
    assert all(each.command for each in by_little)
    assert all(each.findings for each in by_little)


def test_every_launch_of_single_metrics_has_a_verdict_or_a_finding() -> None:
    found = diagnose(read_capture(CAPTURES / "pycuda_two_kernels.seven-metrics.raw.csv")).kernels
    assert found
    for kernel in found:
        verdict = kernel.verdict
        assert verdict.status is not Status.INCONCLUSIVE or verdict.findings
