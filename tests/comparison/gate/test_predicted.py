"""How the gate judges predictions: by counts and their intervals, and with the lines to blame."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.comparison.predicted import (
    CHANGED,
    COUNTS,
    SPECIFICATION,
    TEXT,
    access,
    kernel,
    predicted,
    side,
)

from kernelprof.comparison.compare import compare_snapshots
from kernelprof.comparison.gate.judge import judge_comparison
from kernelprof.comparison.gate.policy import Policy, load_policy
from kernelprof.comparison.sides import (
    check_alike,
    find_stored_counts,
    make_code_snapshot,
    merge_predictions,
    predicted_architectures,
)
from kernelprof.comparison.words import gate_line, why
from kernelprof.errors import InputError
from kernelprof.model.diagnosis import Confidence, Status, Verdict
from kernelprof.model.gate import Code, GateResult, Outcome
from kernelprof.model.manifest import SourceFacts
from kernelprof.model.prediction import Mistake, OutputSample, PathCoverage, PredictionFacts
from kernelprof.model.waiting import SourceLocation
from kernelprof.report.document import Note, Paragraph, Section, Span
from kernelprof.report.documents.gate import document

if TYPE_CHECKING:
    from kernelprof.model.snapshot import KernelSnapshot


def before(**changes: Any) -> KernelSnapshot:
    found: KernelSnapshot = kernel(predicted(TEXT, access(4, sectors=2048)), **COUNTS)
    return replace(found, **changes)


def after(spread: dict[str, Any] | None = None, **counts: float) -> KernelSnapshot:
    code = predicted(CHANGED, access(4, sectors=4096), code="b")
    found: KernelSnapshot = kernel(code, spread, **{**COUNTS, **counts})
    return found


def gated(
    old: KernelSnapshot, new: KernelSnapshot, policy: dict[str, Any] | None = None
) -> GateResult:
    return judge_comparison(compare_snapshots(side(old), side(new)), load_policy(policy or {}))


def codes(result: GateResult) -> list[tuple[str, str]]:
    return [
        (each.outcome.value, each.code.value) for one in result.kernels for each in one.findings
    ]


def test_the_same_machine_code_passes_at_once_whatever_else_is_known() -> None:
    bare = replace(before(), metrics={}, passed=None)
    result = gated(before(), bare)
    assert codes(result) == [("pass", "same-code")]
    assert result.outcome is Outcome.PASS
    assert result.kernels[0].findings[0].text == "the same machine code for sm_90"


@pytest.mark.parametrize(
    "other",
    [
        {"inputs": replace(before().inputs, specification={**SPECIFICATION, "sizes": {"N": 8}})},
        {"grid": (32, 1, 1)},
        {"predicted": predicted(TEXT, code="b")},
    ],
    ids=["sizes", "grid", "code"],
)
def test_the_same_instructions_on_another_problem_are_compared(other: dict[str, Any]) -> None:
    (found,) = compare_snapshots(side(before()), side(before(**other))).kernels
    assert not found.same_code


def test_a_finding_names_the_line_that_changed_and_the_one_that_counts() -> None:
    (worse,) = [
        each
        for each in gated(before(), after(global_load_sectors=4096)).kernels[0].findings
        if each.outcome is Outcome.REGRESSION
    ]
    assert worse.text == ("global load sectors: 4 to 8 sector/request; at k.cu:4; changed: line 2")
    assert worse.places == (SourceLocation("k.cu", 2), SourceLocation("k.cu", 4))


def test_a_line_that_both_changed_and_counts_is_named_once() -> None:
    code = predicted(("one", "two", "three", "fourth"), access(4, sectors=4096), code="b")
    new = kernel(code, **{**COUNTS, "global_sectors": 6144})
    (worse,) = [
        each
        for each in gated(before(), new).kernels[0].findings
        if each.outcome is not Outcome.PASS
    ]
    assert worse.places == (SourceLocation("k.cu", 4),)
    assert worse.text.endswith("(+50 %); at k.cu:4")


def test_divergence_is_lanes_that_idle_and_not_an_average() -> None:
    """Instructions of whole warps went away: an instruction has fewer threads, none idles more."""
    old = before(metrics={**COUNTS, "instructions": 26_804_222, "threads_per_instruction": 30.7066})
    fewer = 32 - (32 - 30.7066) * 26_804_222 / 21_561_342
    result = gated(old, after(instructions=21_561_342, threads_per_instruction=fewer))
    assert codes(result) == [("pass", "counter-better")]
    assert why(result.kernels[0]) == "predicted: fewer instructions"
    changes = {each.metric: each.worse for each in result.kernels[0].kernel.counters}
    assert changes == {"instructions": False, "threads_per_instruction": None}


def test_more_lanes_that_idle_are_a_regression_that_names_them() -> None:
    (worse,) = gated(before(), after(threads_per_instruction=31)).kernels[0].findings
    assert worse.outcome is Outcome.REGRESSION
    assert (
        "32 to 31 thread (-3.12 %); idle lanes, summed over warp instructions: 0 to 8,192; "
        in worse.text
    )


def test_blocks_of_another_size_are_compared_by_their_threads() -> None:
    limits = {"block_limit_registers": 32, "block_limit_shared_mem": 32}
    small = replace(after(block_limit_warps=32, **limits), block=(32, 1, 1))
    result = gated(before(), small)
    (worse,) = result.kernels[0].findings
    assert worse.text.startswith("threads that fit on an SM: 2,048 to 1,024 thread (-50 %)")
    assert why(result.kernels[0]).startswith("predicted: fewer threads that fit on an SM")
    assert gated(small, before()).outcome is Outcome.PASS
    as_many = replace(small, block=(64, 1, 1))
    assert codes(gated(before(), as_many)) == []


def test_a_policy_says_whether_it_has_budgets() -> None:
    rules = {"budget": {"local_sectors": 0, "resident_blocks": {"at_least": 10}}}
    assert load_policy(rules).has_budgets
    assert load_policy({"kernel": [{"name": "x", "budget": {"local_sectors": 0}}]}).has_budgets
    assert not Policy().has_budgets


@pytest.mark.parametrize(
    ("microseconds", "expected"),
    [
        (250, [("regression", "slower"), ("regression", "counter-worse")]),
        (130, [("regression", "counter-worse")]),
        (110, [("regression", "counter-worse")]),
        (60, [("pass", "faster"), ("pass", "counter-worse")]),
    ],
)
def test_a_clear_predicted_time_weighs_more_than_counters(
    microseconds: float, expected: list[tuple[str, str]]
) -> None:
    old = before(metrics={**COUNTS, "duration": 120_000})
    new = after(global_load_sectors=4096, duration=1000 * microseconds)
    assert codes(gated(old, new)) == expected


def test_a_longer_predicted_time_alone_fails_with_the_changed_line() -> None:
    old = before(metrics={**COUNTS, "duration": 120_000})
    result = gated(old, after(duration=250_000))
    (slower,) = result.kernels[0].findings
    assert slower.text == (
        "predicted: 120 µs to 250 µs: 2.1x slower (39 % slower to 3.1x slower); changed: k.cu:2"
    )
    assert "120 µs to 250 µs: 2.1x slower" in str(document(result).blocks)
    assert codes(gated(old, after(duration=250_000), {"max_slowdown": "150 %"})) == [
        ("pass", "slower")
    ]
    budget = {"budget": {"duration": {"at_most": 1}}}
    assert codes(gated(old, after(duration=120_000), budget)) == [
        ("inconclusive", "budget-unknown")
    ]


def test_a_limit_by_shared_memory_may_be_on_one_side_only() -> None:
    """A prediction has it where nothing else limits the resident blocks."""
    limits = {"block_limit_registers": 8, "block_limit_warps": 8, "block_limit_blocks": 32}
    old = before(metrics={**COUNTS, **limits, "block_limit_shared_mem": 4})
    assert codes(gated(old, after(**limits))) == [("pass", "counter-better")]


def test_results_too_large_to_square_are_compared() -> None:
    sides = (
        replace(
            each,
            predicted=replace(
                each.predicted,
                coverage=PathCoverage(sampled=True),
                outputs=(OutputSample("x", "a", 1e-4, (0, 1), values),),
            ),
        )
        for each, values in ((before(), (1e200, 1.0)), (after(), (2e200, 1.0)))
    )
    (worse,) = gated(*sides).kernels[0].findings
    assert "the result differs at the real sizes: x[0] is 2e+200, previously 1e+200" in worse.text


def test_predicted_times_of_other_architectures_are_not_judged() -> None:
    old = before(metrics={**COUNTS, "duration": 120_000})
    new = after(global_load_sectors=4096, duration=60_000)
    sides = (replace(each, predicted=replace(each.predicted, arch="sm_80")) for each in (old, new))
    assert codes(gated(*sides)) == [("regression", "counter-worse")]


def test_other_sizes_are_other_work() -> None:
    inputs = replace(after().inputs, specification={**SPECIFICATION, "sizes": {"N": 8192}})
    result = gated(before(), replace(after(), inputs=inputs))
    assert codes(result) == [("inconclusive", "other-work")]
    assert why(result.kernels[0]) == "other sizes: N 4096 to 8192"
    assert result.kernels[0].kernel.kinds == ("source", "sizes")


def test_only_other_sizes_are_one_kind_of_change_though_they_stand_in_the_source() -> None:
    inputs = replace(
        before().inputs,
        source_sha256="f" * 64,
        specification={**SPECIFICATION, "sizes": {"N": 8192, "M": 2}},
    )
    result = gated(before(), replace(before(), grid=(32, 1, 1), inputs=inputs))
    assert codes(result) == [("inconclusive", "other-work")]
    assert why(result.kernels[0]) == "other sizes: N 4096 to 8192, M none to 2"
    assert result.kernels[0].kernel.kinds == ("sizes",)


def test_a_weaker_check_of_the_result_is_a_regression() -> None:
    inputs = replace(after().inputs, specification={**SPECIFICATION, "reference": "none"})
    result = gated(before(), replace(after(), inputs=inputs, passed=None))
    assert ("regression", "check-weakened") in codes(result)


def test_a_result_that_nothing_checks_is_noted() -> None:
    inputs = replace(after().inputs, specification={**SPECIFICATION, "reference": "none"})
    old, new = (replace(each, inputs=inputs, passed=None) for each in (before(), after()))
    (noted,) = gated(old, new).kernels
    assert noted.kernel.notes == ('Result not checked: reference = "none"',)
    (same,) = gated(before(), after()).kernels
    assert same.kernel.notes == ()


def test_another_verdict_is_told_and_decides_nothing() -> None:
    verdicts = [
        Verdict(Status.BOTTLENECK, name, Confidence.MEDIUM) for name in ("l1-throughput", "fp32")
    ]
    old, new = (
        replace(each, verdict=verdict)
        for each, verdict in zip((before(), after()), verdicts, strict=True)
    )
    result = gated(old, new)
    assert codes(result) == [("pass", "verdict-changed")]


def test_kernels_are_compared_with_those_for_the_same_architecture() -> None:
    def for_both(kernels: list[KernelSnapshot]) -> Any:
        return merge_predictions([side(each) for each in kernels])

    def of(each: KernelSnapshot, arch: str) -> KernelSnapshot:
        assert each.predicted is not None
        return replace(each, predicted=replace(each.predicted, arch=arch))

    old = for_both([of(before(), "sm_80"), before()])
    new = for_both([of(after(global_sectors=9000), "sm_80"), after()])
    result = judge_comparison(compare_snapshots(old, new), Policy())
    assert {each.kernel.arch: each.outcome.value for each in result.kernels} == {
        "sm_80": "regression",
        "sm_90": "pass",
    }
    assert predicted_architectures(new.kernels) == ("sm_80", "sm_90")
    older = judge_comparison(
        compare_snapshots(side(of(before(), "sm_80")), side(after())), Policy()
    )
    assert [each.text for each in older.general] == [
        "the baseline was predicted for sm_80, but the candidate for sm_90: not compared"
    ]
    alone = judge_comparison(compare_snapshots(old, side(after())), Policy())
    assert {each.kernel.match.value for each in alone.kernels} == {"same", "vanished"}
    assert alone.exit_code == 3


def test_what_nothing_is_compared_with_is_new_and_that_is_told_once() -> None:
    result = judge_comparison(compare_snapshots(side(), side(after())), Policy())
    assert gate_line(result) == "Inconclusive: 1 new."
    (first, *others) = document(result).blocks
    told = "Baseline and candidate have no kernel in common: nothing was compared."
    assert isinstance(first, Section)
    assert first.blocks == (Paragraph(Span(told)),)
    assert not [each for each in others if isinstance(each, Note)]


def test_a_prediction_is_not_compared_with_a_measurement() -> None:
    measured = side(replace(before(), predicted=None))
    with pytest.raises(InputError, match="one input was predicted") as error:
        check_alike(side(before()), measured)
    assert "--predict" in str(error.value.hint)
    check_alike(side(before()), side(after()))
    check_alike(side(), measured)


def test_what_is_the_same_code_counts_what_the_baseline_says() -> None:
    known = PredictionFacts(
        predicted(CHANGED, code="a"), SourceFacts("k.cu", "f" * 64, SPECIFICATION)
    )
    bare = make_code_snapshot("scale", (16, 1, 1), (256, 1, 1), known)
    found = find_stored_counts(side(before()), bare)
    assert found is not None
    assert found.metrics == COUNTS
    assert found.inputs == bare.inputs
    other = replace(known, counts=predicted(CHANGED, code="c"))
    assert (
        find_stored_counts(
            side(before()), make_code_snapshot("scale", (16, 1, 1), (256, 1, 1), other)
        )
        is None
    )


def test_a_mistake_is_the_only_finding_with_its_line_and_that_of_the_change() -> None:
    known = predicted(CHANGED, code="b")
    told = Mistake("it races", "for 4 bytes", "k.cu", 4)
    wrong = replace(kernel(replace(known, mistake=told)), passed=False)
    result = gated(before(), wrong, {"budget": {"instructions": {"at_most": 1}}})
    (finding,) = result.kernels[0].findings
    assert (finding.code, finding.outcome) == (Code.WRONG_RESULT, Outcome.REGRESSION)
    assert finding.text == "it races: for 4 bytes; at k.cu:4; changed: line 2"
    assert finding.places == (SourceLocation("k.cu", 2), SourceLocation("k.cu", 4))
    compared = result.kernels[0].kernel
    assert (compared.counters, compared.lacking) == ((), ())
    assert why(result.kernels[0]) == "it races; k.cu:2"


def test_a_mistake_of_a_new_kernel_fails_too() -> None:
    wrong = replace(predicted(TEXT), mistake=Mistake("it is wrong", ""))
    result = judge_comparison(
        compare_snapshots(
            side(before()),
            side(before(), replace(kernel(wrong), name="other", grid=(1, 1, 1), passed=False)),
        ),
        load_policy({}),
    )
    texts = [each.text for each in result.kernels[0].findings]
    assert (result.outcome, texts) == (Outcome.REGRESSION, ["it is wrong"])
