"""The gate: what passes, what fails, and what cannot be told. Real captures of an H200."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.comparison.gate.planted import (
    CHANGES,
    LABELS,
    PLANTED,
    RUNS,
    SAME_CODE,
    Planted,
    changed,
    gated,
    of,
    passed_of,
    same_time_of_same_code,
    taken,
)
from tests.support.captures import CAPTURES, source_of
from tests.support.few import one_in

from kernelprof.comparison import words
from kernelprof.comparison.gate.policy import Policy, load_policy
from kernelprof.errors import UsageError
from kernelprof.model.diagnosis import Cause, Confidence, Status, Verdict
from kernelprof.model.gate import Code, GateResult, Outcome

if TYPE_CHECKING:
    from kernelprof.model.snapshot import KernelSnapshot

TWO_CAUSES = CAPTURES / "h200_two_causes"


def codes(result: GateResult, outcome: Outcome = Outcome.REGRESSION) -> set[Code]:
    """The codes that led to an outcome."""
    findings = [each for kernel in result.kernels for each in kernel.findings]
    return {each.code for each in (*findings, *result.general) if each.outcome is outcome}


def policy(tmp_path: Path, text: str) -> Policy:
    path = tmp_path / "gate.toml"
    path.write_text(text, "utf-8")
    return load_policy(path)


def test_each_source_is_stored_where_manifests_name_it() -> None:
    for label in LABELS:
        assert all(source_of(CHANGES / label / run) for run in RUNS)


@pytest.mark.parametrize("label", one_in(4, LABELS, why="forty draws of each program"))
def test_the_same_code_passes(label: str) -> None:
    assert passed_of(label, 40) == 40


def test_the_gate_finds_what_is_above_the_smallest_detectable_slowdown() -> None:
    before, after = taken("coalesced", "1"), taken("coalesced", "2")
    (found,) = gated(before, after).kernels
    time = found.kernel.time
    assert found.kernel.after is not None
    assert time.ratio is not None
    assert time.smallest_detectable == pytest.approx(0.009092, abs=1e-6)
    assert words.passed_text(gated(before, after)).endswith("; smallest detectable: 0.91 %")
    for by, outcome in (
        (0.003, Outcome.PASS),
        (0.009, Outcome.INCONCLUSIVE),
        (0.0092, Outcome.REGRESSION),
    ):
        slower = [(1 + by) / time.ratio * each for each in found.kernel.after.events_ns]
        assert gated(before, changed(after, events_ns=tuple(slower))).outcome is outcome


def test_kernels_of_one_process_are_as_fast_as_themselves() -> None:
    assert set(same_time_of_same_code(20).values()) == {20}


@pytest.mark.parametrize("planted", PLANTED, ids=lambda each: each.what)
def test_each_planted_change_is_a_regression_between_any_runs(planted: Planted) -> None:
    results = [gated(taken(planted.before, a), taken(planted.after, b)) for a in RUNS for b in RUNS]
    assert {each.exit_code for each in results} == {1}


def test_one_kernel_is_on_an_edge() -> None:
    verdicts = {taken("padded", run).kernels[0].verdict.bottleneck for run in RUNS}
    assert verdicts == {"fp32-throughput", "dependency-latency"}


POLICY = """
max_slowdown = "2 %"
inconclusive = "allow"
ignore = ["histogram*"]

[max_increase]
instructions = 0.5

[budget]
registers_per_thread = 128
load_sectors_per_request = { at_most = 16 }
resident_warps = 1
"""


def test_a_policy_says_what_may_be(tmp_path: Path) -> None:
    rules = policy(tmp_path, POLICY.replace("resident_warps = 1\n", ""))
    limits = rules.limits_of("anything")
    assert limits.max_slowdown == pytest.approx(0.02)
    assert limits.max_increase == {"instructions": 0.5}
    assert [(name, each.at_most) for name, each in limits.budget.items()] == [
        ("registers_per_thread", 128),
        ("load_sectors_per_request", 16),
    ]
    assert rules.ignores("histogram(int *)")
    before = taken("four-blocks", "1")
    assert gated(before, taken("four-blocks", "2"), rules).exit_code == 0
    result = gated(before, taken("three-blocks", "2"), rules)
    assert Code.OVER_BUDGET in codes(result)
    (text,) = [f.text for f in result.kernels[0].findings if f.code is Code.OVER_BUDGET]
    assert text == (
        "registers_per_thread is 130 register/thread, but its budget is at most 128 register/thread"
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("max_slowdwon = 1", "unknown key: max_slowdwon"),
        ("[budget]\nregisters = 1", "unknown key: budget.registers"),
        ("[max_increase]\nduration = 1", "unknown key: max_increase.duration"),
        ('max_slowdown = "much"', "max_slowdown must be a fraction or a percentage"),
        ("max_slowdown = -1", "max_slowdown must be"),
        ("max_slowdown = nan", "max_slowdown must be"),
        ("max_slowdown = inf", "max_slowdown must be"),
        ("[budget]\nregisters_per_thread = nan", "must be a table"),
        ("max_slowdown = true", "max_slowdown must be"),
        ('vanished = "perhaps"', '"fail" or "inconclusive" or "allow"'),
        ("ignore = 3", "ignore must be a list"),
        ("[[kernel]]\nmax_slowdown = 1", "kernel[0].name must be"),
        ('[[kernel]]\nname = "a"\nnmae = 1', "unknown key: kernel[0].nmae"),
        ("kernel = 1", "kernel must be tables"),
        ("[budget]\nregisters_per_thread = {}", "at_most or at_least"),
        ("[budget]\nregisters_per_thread = { at_most = 'a' }", "at_most must be a number"),
        ("= 1", "the policy is not TOML"),
    ],
)
def test_a_mistake_in_a_policy_is_named(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        policy(tmp_path, text)
    assert says in caught.value.what
    assert str(tmp_path) in str(caught.value.where)


def test_the_policy_of_the_documentation_is_one(tmp_path: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "gate.md"
    _, _, rest = page.read_text("utf-8").partition("```toml\n")
    rules = policy(tmp_path, rest.partition("```")[0])
    limits = rules.limits_of("sgemm_naive")
    assert limits.max_slowdown == pytest.approx(0.05)
    assert limits.budget.keys() >= {"resident_blocks", "local_sectors"}
    assert gated(taken("chain", "1"), taken("chain", "2"), rules).exit_code == 0


def test_a_policy_in_pyproject(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[tool.kernelprof.gate]\nmax_slowdown = "3 %"\n[tool.other]\nx = 1\n', "utf-8")
    assert load_policy(path).limits.max_slowdown == pytest.approx(0.03)
    path.write_text("[tool.other]\nx = 1\n", "utf-8")
    assert load_policy(path) == Policy()


def test_every_kernel_of_a_result_is_there_once() -> None:
    result = gated(of(SAME_CODE), of(SAME_CODE))
    kernels: list[KernelSnapshot | None] = [each.kernel.after for each in result.kernels]
    assert len(kernels) == len({(k.name, k.block) for k in kernels if k is not None}) == 11


def test_a_cause_behind_the_first_is_credited_and_its_return_is_found(run_cli) -> None:
    """Records in other order: few blocks stay the limit, and with L1's hits gone it is slower."""
    both, one = (str(TWO_CAUSES / f"1_grid_layout{fixed}.raw.csv.gz") for fixed in ("", "_B"))
    fixed = run_cli("compare", both, one).stdout
    assert "no longer limited by uncoalesced-global-access" in " ".join(fixed.split())
    back = " ".join(run_cli("gate", one, both).stdout.split())
    assert (
        "pass verdict-changed: still small-grid; now also limited by uncoalesced-global-access"
    ) in back


def test_a_removed_cause_is_credited_in_a_gate_and_the_same_causes_say_nothing(run_cli) -> None:
    both, one = (str(TWO_CAUSES / f"1_grid_layout{fixed}.raw.csv.gz") for fixed in ("", "_B"))
    fixed = " ".join(run_cli("gate", both, one).stdout.split())
    assert "still small-grid; no longer limited by uncoalesced-global-access" in fixed
    assert "limited by" not in run_cli("gate", both, both).stdout


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("a b c", "a", "no longer limited by b and c"),
        ("a", "a b", "now also limited by b"),
        ("a b", "a c", "now also limited by c; no longer limited by b"),
        ("a b", "b", ""),
        ("a b", "b a", ""),
        ("", "a b", ""),
    ],
    ids=["removed", "added", "replaced", "first one removed", "other order", "none listed"],
)
def test_causes_behind_the_first(before: str, after: str, text: str) -> None:
    sides = (
        Verdict(
            Status.BOTTLENECK,
            "a",
            Confidence.HIGH,
            causes=tuple(
                Cause(slug, 2.0, 1.2, 3.4, 2.0, Confidence.HIGH) for slug in slugs.split()
            ),
        )
        for slugs in (before, after)
    )
    assert words.further_text(*sides) == text
