"""The gate: what passes, what fails, and what cannot be told. Real captures of an H200."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.comparison.gate.planted import (
    LABELS,
    PLANTED,
    RUNS,
    SAME_CODE,
    Planted,
    gated,
    of,
    passed_of,
    same_time_of_same_code,
    taken,
)
from tests.support.few import one_in

from kernelprof.comparison.gate.policy import Policy, load_policy
from kernelprof.errors import UsageError
from kernelprof.model.diagnosis import Confidence, Status, Verdict
from kernelprof.model.gate import Code, GateResult, Outcome
from kernelprof.model.snapshot import KernelSnapshot, OtherVerdict, Snapshot


def codes(result: GateResult, outcome: Outcome = Outcome.REGRESSION) -> set[Code]:
    """The codes that led to an outcome."""
    findings = [each for kernel in result.kernels for each in kernel.findings]
    return {each.code for each in (*findings, *result.general) if each.outcome is outcome}


def changed(snapshot: Snapshot, **values: object) -> Snapshot:
    (kernel,) = snapshot.kernels
    return replace(snapshot, kernels=(replace(kernel, **values),))  # type: ignore[arg-type]


def policy(tmp_path: Path, text: str) -> Policy:
    path = tmp_path / "gate.toml"
    path.write_text(text, "utf-8")
    return load_policy(path)


@pytest.mark.parametrize("label", one_in(4, LABELS, why="forty draws of each program"))
def test_the_same_code_passes(label: str) -> None:
    assert passed_of(label, 40) == 40


def test_kernels_of_one_process_are_as_fast_as_themselves() -> None:
    assert set(same_time_of_same_code(20).values()) == {20}


@pytest.mark.parametrize("planted", PLANTED, ids=lambda each: each.what)
def test_each_planted_change_is_a_regression_between_any_runs(planted: Planted) -> None:
    results = [gated(taken(planted.before, a), taken(planted.after, b)) for a in RUNS for b in RUNS]
    assert {each.exit_code for each in results} == {1}


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("coalesced", "naive", {Code.SLOWER, Code.COUNTER_WORSE, Code.NEW_BOTTLENECK}),
        ("tile-rolled", "tile-barrier", {Code.SLOWER, Code.COUNTER_WORSE}),
        ("four-blocks", "three-blocks", {Code.SLOWER, Code.COUNTER_WORSE, Code.NEW_BOTTLENECK}),
        ("chain", "chain-strides", {Code.COUNTER_WORSE}),
    ],
)
def test_what_tells_a_planted_change(before: str, after: str, why: set[Code]) -> None:
    assert why <= codes(gated(taken(before, "2"), taken(after, "3")))


@pytest.mark.parametrize(("before", "after"), [("naive", "coalesced"), ("tile-barrier", "tile")])
def test_an_improvement_passes_and_says_what_holds_the_kernel_back_now(
    before: str, after: str
) -> None:
    result = gated(taken(before, "1"), taken(after, "1"))
    assert result.exit_code == 0
    assert {Code.FASTER, Code.VERDICT_CHANGED} <= codes(result, Outcome.PASS)


def test_a_counter_that_got_worse_passes_where_it_bought_time() -> None:
    fast = changed(taken("chain-strides", "1"), events_ns=tuple([0.5e6] * 20), profiled_ns=(0.5e6,))
    result = gated(taken("chain", "1"), fast)
    assert result.exit_code == 0
    assert Code.COUNTER_WORSE in codes(result, Outcome.PASS)


def test_one_more_sector_a_request_is_found_without_any_statistics() -> None:
    before = taken("tile", "1")
    metrics = dict(before.kernels[0].metrics)
    metrics["global_load_sectors"] += metrics["global_load_requests"]
    result = gated(before, changed(before, metrics=metrics))
    assert result.exit_code == 1
    assert codes(result) == {Code.COUNTER_WORSE}
    # One single sector is a finding, too; it is exact.
    metrics["global_load_sectors"] = before.kernels[0].metrics["global_load_sectors"] + 1
    assert gated(before, changed(before, metrics=metrics)).exit_code == 1


def test_a_verdict_on_an_edge_is_told_and_does_not_fail() -> None:
    verdicts = {taken("padded", run).kernels[0].verdict.bottleneck: run for run in RUNS}
    assert set(verdicts) == {"fp32-throughput", "dependency-latency"}
    one, other = verdicts["fp32-throughput"], verdicts["dependency-latency"]
    result = gated(taken("padded", one), taken("padded", other))
    assert result.exit_code == 0
    (told,) = [each for each in result.kernels[0].findings if each.code is Code.VERDICT_CHANGED]
    assert told.text.endswith("neither time nor exact counters got worse: it stands on an edge")


def test_a_kernel_that_is_no_longer_at_its_limit_fails() -> None:
    before = taken("chain", "1")
    metrics = dict(before.kernels[0].metrics, instructions=2e9)
    worse = changed(
        before,
        verdict=Verdict(Status.BOTTLENECK, "instruction-issue", Confidence.HIGH, 1.5),
        metrics=metrics,
    )
    assert codes(gated(before, worse)) == {Code.COUNTER_WORSE, Code.LEFT_LIMIT}


def test_the_same_bottleneck_may_be_a_worse_one() -> None:
    before = taken("naive", "1")
    metrics = dict(
        before.kernels[0].metrics, instructions=1.001 * before.kernels[0].metrics["instructions"]
    )
    said = before.kernels[0].verdict
    for gain, code in ((5.3, 0), (6.5, 1)):
        assert said.gain == pytest.approx(5.2, abs=0.01)
        after = changed(before, verdict=replace(said, gain=gain), metrics=metrics)
        assert gated(before, after).exit_code == code


@pytest.mark.parametrize(
    ("machine", "reason"), [({"gpu": "NVIDIA A100"}, "GPU"), ({"ncu": "2026.1"}, "Nsight Compute")]
)
def test_another_machine_is_inconclusive_and_counters_still_count(
    machine: dict[str, str], reason: str
) -> None:
    before = taken("tile", "1")
    other = replace(before, machine=replace(before.machine, **machine))
    result = gated(before, other)
    assert result.exit_code == 3
    assert codes(result, Outcome.INCONCLUSIVE) == {Code.TIME_UNKNOWN}
    assert f"another {reason}" in result.kernels[0].findings[0].text
    naive = replace(taken("naive", "1"), machine=replace(before.machine, **machine))
    assert gated(taken("coalesced", "1"), naive).exit_code == 1
    # Code for another architecture is other code.
    other_code = replace(naive, machine=replace(naive.machine, compute_capability="8.0"))
    assert gated(taken("coalesced", "1"), other_code).exit_code == 3


def test_an_edge_is_no_regression_where_no_time_tells() -> None:
    verdicts = {taken("padded", run).kernels[0].verdict.bottleneck: run for run in RUNS}
    sides = [
        changed(taken("padded", verdicts[name]), events_ns=(), profiled_ns=(), median_ns=None)
        for name in ("fp32-throughput", "dependency-latency")
    ]
    result = gated(*sides)
    assert result.exit_code == 3
    assert Code.NEW_BOTTLENECK in codes(result, Outcome.INCONCLUSIVE)
    assert codes(result) == set()


def test_a_name_alone_makes_no_gain() -> None:
    before = changed(taken("tile", "1"), name="reduce_max", inputs=None)
    fast = tuple(each / 2 for each in before.kernels[0].events_ns)
    metrics = dict(before.kernels[0].metrics, instructions=1e8)
    other = changed(
        before,
        name="reduce_sum",
        events_ns=fast,
        profiled_ns=(before.kernels[0].profiled_ns[0] / 2,),
        metrics=metrics,
    )
    result = gated(before, other)
    assert result.exit_code == 3
    assert codes(result, Outcome.INCONCLUSIVE) == {Code.RENAMED}


def test_other_declared_work_is_other_work() -> None:
    before = taken("tile", "1")
    (kernel,) = before.kernels
    assert kernel.flops == 2 * 2048**3
    result = gated(before, changed(before, flops=1e9, events_ns=tuple([1e5] * 20)))
    assert result.exit_code == 3
    assert codes(result, Outcome.INCONCLUSIVE) == {Code.OTHER_WORK}


def test_larger_blocks_with_as_many_threads_cost_nothing() -> None:
    before = taken("tile", "1")
    metrics = dict(before.kernels[0].metrics)
    assert metrics["block_limit_registers"] == 2
    smaller = dict(
        metrics, block_limit_registers=4.0, block_limit_shared_mem=6.0, block_limit_warps=4.0
    )
    result = gated(changed(before, metrics=smaller, block=(16, 32, 1)), before)
    assert result.exit_code == 0


def test_leaving_out_all_kernels_judges_nothing(tmp_path: Path) -> None:
    result = gated(taken("tile", "1"), taken("naive", "1"), policy(tmp_path, 'ignore = ["*"]'))
    assert result.exit_code == 3


def test_other_sizes_are_inconclusive() -> None:
    before = taken("tile", "1")
    (kernel,) = before.kernels
    assert kernel.inputs is not None
    specification = {**(kernel.inputs.specification or {}), "sizes": {"M": 4096}}
    other = changed(before, inputs=replace(kernel.inputs, specification=specification))
    result = gated(before, other)
    assert result.exit_code == 3
    assert codes(result, Outcome.INCONCLUSIVE) == {Code.OTHER_WORK}


def test_a_vanished_kernel_is_inconclusive_and_a_new_one_passes(tmp_path: Path) -> None:
    tile, naive = taken("tile", "1"), taken("naive", "1")
    both = replace(tile, kernels=(*tile.kernels, *naive.kernels))
    gone = gated(both, tile)
    assert gone.exit_code == 3
    assert codes(gone, Outcome.INCONCLUSIVE) == {Code.VANISHED}
    strict = policy(tmp_path, 'vanished = "fail"\nappeared = "fail"')
    assert gated(both, tile, strict).exit_code == 1
    lax = policy(tmp_path, 'vanished = "allow"')
    assert gated(both, tile, lax).exit_code == 0
    # It takes nineteen times what all took before.
    come = gated(tile, both)
    assert come.exit_code == 3
    assert codes(come, Outcome.INCONCLUSIVE) == {Code.APPEARED}
    assert "1 new kernel takes 35" in come.general[0].text
    assert gated(tile, both, strict).exit_code == 1
    assert gated(tile, both, policy(tmp_path, 'appeared = "allow"')).exit_code == 0
    small = changed(naive, name="histogram", events_ns=(5e3,) * 20, profiled_ns=(5e3,))
    come = gated(tile, replace(tile, kernels=(*tile.kernels, *small.kernels)))
    assert come.exit_code == 0
    assert Code.APPEARED in codes(come, Outcome.PASS)


def test_more_launches_are_inconclusive_if_they_take_longer(tmp_path: Path) -> None:
    tile = taken("tile", "1")
    before = changed(tile, launches=10)
    often = changed(tile, launches=11)
    assert gated(before, often).exit_code == 3
    assert codes(gated(before, often), Outcome.INCONCLUSIVE) == {Code.LAUNCHED_MORE}
    fewer = gated(often, before)
    assert fewer.exit_code == 0
    assert Code.LAUNCHED_MORE in codes(fewer, Outcome.PASS)
    (kernel,) = tile.kernels
    fast = changed(
        tile,
        launches=11,
        events_ns=tuple(each / 2 for each in kernel.events_ns),
        profiled_ns=tuple(each / 2 for each in kernel.profiled_ns),
        median_ns=(kernel.median_ns or 0.0) / 2,
    )
    assert gated(before, fast).exit_code == 0
    strict = policy(tmp_path, 'launched_more = "fail"')
    assert gated(before, often, strict).exit_code == 1
    assert gated(before, often, policy(tmp_path, 'launched_more = "allow"')).exit_code == 0


def test_a_bottleneck_of_some_launches_is_inconclusive_unless_nothing_else_got_worse() -> None:
    before = changed(taken("tile", "1"), launches=8)
    (kernel,) = before.kernels
    other = OtherVerdict(Verdict(Status.BOTTLENECK, "barrier-stalls", Confidence.HIGH, 1.5), 2)
    same = gated(before, changed(before, others=(other,)))
    assert same.exit_code == 0
    assert Code.VERDICT_CHANGED in codes(same, Outcome.PASS)
    slow = tuple(1.2 * each for each in kernel.events_ns)
    slower = gated(before, changed(before, others=(other,), events_ns=slow))
    assert codes(slower, Outcome.INCONCLUSIVE) == {Code.NEW_BOTTLENECK}
    known = gated(
        changed(before, others=(other,)), changed(before, others=(other,), events_ns=slow)
    )
    assert Code.NEW_BOTTLENECK not in codes(known, Outcome.INCONCLUSIVE)


def test_a_renamed_kernel_is_compared_with_a_note() -> None:
    before = taken("tile", "1")
    result = gated(before, changed(before, name="sgemm_shared_tiles"))
    assert result.exit_code == 0
    assert codes(result, Outcome.PASS) == {Code.RENAMED}


def test_nothing_in_common_is_inconclusive_even_where_all_may_vanish(tmp_path: Path) -> None:
    before = taken("tile", "1")
    other = changed(before, name="histogram_of_bytes")
    lax = policy(tmp_path, 'vanished = "allow"')
    result = gated(before, other, lax)
    assert result.exit_code == 3
    assert result.general[0].text == "no kernel is on both sides: nothing was compared"
    assert gated(before, replace(before, kernels=()), lax).exit_code == 3


def test_a_counter_that_the_baseline_lacks_is_inconclusive() -> None:
    before = taken("tile", "1")
    metrics = dict(before.kernels[0].metrics)
    del metrics["instructions"]
    result = gated(changed(before, metrics=metrics), taken("tile", "2"))
    assert result.exit_code == 3
    assert codes(result, Outcome.INCONCLUSIVE) == {Code.COUNTER_MISSING}


def test_an_inconclusive_verdict_that_did_not_change_is_judged_by_time_and_counters() -> None:
    result = gated(of(SAME_CODE), of(SAME_CODE))
    assert result.exit_code == 0
    assert Code.VERDICT_INCONCLUSIVE in codes(result, Outcome.PASS)
    whole = of(SAME_CODE)
    slower = replace(
        whole,
        kernels=tuple(
            replace(each, profiled_ns=tuple(1.05 * ns for ns in each.profiled_ns))
            for each in whole.kernels
        ),
    )
    assert codes(gated(whole, slower)) == {Code.SLOWER}


def test_a_verdict_that_became_inconclusive_is_inconclusive() -> None:
    before = taken("tile", "1")
    open_now = changed(before, verdict=Verdict(Status.INCONCLUSIVE, None, Confidence.LOW))
    result = gated(before, open_now)
    assert result.exit_code == 3
    assert codes(result, Outcome.INCONCLUSIVE) == {Code.VERDICT_INCONCLUSIVE}
    # One that was open before and is not any more has nothing to be worse than.
    assert gated(open_now, before).exit_code == 0


def test_a_wrong_result_fails_however_fast_it_is() -> None:
    fast = changed(taken("tile", "1"), events_ns=tuple([1e5] * 20), passed=False)
    result = gated(taken("tile", "1"), fast)
    assert result.exit_code == 1
    assert codes(result) == {Code.WRONG_RESULT}


def test_single_launches_of_the_same_code_pass_with_a_note() -> None:
    before, after = (changed(taken("tile", run), events_ns=()) for run in ("1", "2"))
    program = replace(after, target=("--", "python3", "a b.py"))
    (general,) = gated(before, program).general
    assert "profile --repeat 5 -o runs -- python3 'a b.py', and kernelprof" in general.text
    result = gated(before, after)
    assert result.exit_code == 0
    (note,) = [f for f in result.kernels[0].findings if f.code is Code.FEW_LAUNCHES]
    assert "noise floor 0.70 % from what single launches as long as these differ by" in note.text
    (general,) = result.general
    assert general.text == (
        "1 kernel has fewer than 5 launches on a side: differences below 0.7 % do not show, and "
        "those from 20 % on show for sure. Five runs of each side, taken together, show more: "
        "kernelprof profile --repeat 5 -o runs cuda/ladder/03_shared_tile.cu, and kernelprof gate "
        "BEFORE runs"
    )


def test_single_launches_that_are_clearly_slower_fail_and_in_between_is_open() -> None:
    before = changed(taken("tile", "1"), events_ns=())
    (time,) = before.kernels[0].profiled_ns
    for by, code in ((1.22, 1), (1.18, 3), (1.01, 3), (1.005, 0), (2.0, 1)):
        assert gated(before, changed(before, profiled_ns=(by * time,))).exit_code == code
    open_now = gated(before, changed(before, profiled_ns=(1.01 * time,)))
    (finding,) = [f for f in open_now.kernels[0].findings if f.code is Code.TIME_UNDECIDED]
    assert "show differences from 20 % on for sure" in finding.text
    assert "kernelprof profile --repeat 5" in open_now.general[0].text


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
        "registers_per_thread may be at most 128 register/thread: it is 130 register/thread"
    )


def test_an_allowed_slowdown_passes(tmp_path: Path) -> None:
    rules = policy(
        tmp_path, 'max_slowdown = 0.5\ncounter_worse = "allow"\nnew_bottleneck = "allow"'
    )
    assert gated(taken("tile", "1"), taken("tile-rolled", "1"), rules).exit_code == 0
    assert gated(taken("coalesced", "1"), taken("naive", "1"), rules).exit_code == 1


def test_a_kernel_may_have_limits_of_its_own(tmp_path: Path) -> None:
    rules = policy(
        tmp_path,
        '[[kernel]]\nname = "sgemm_*"\nmax_slowdown = 20\n'
        '[[kernel]]\nname = "sgemm_naive"\ncounter_worse = "allow"\nnew_bottleneck = "allow"\n',
    )
    assert gated(taken("coalesced", "1"), taken("naive", "1"), rules).exit_code == 0
    assert gated(taken("tile", "1"), taken("tile-rolled", "1"), rules).exit_code == 1


def test_a_budget_on_what_was_not_measured_is_inconclusive(tmp_path: Path) -> None:
    rules = policy(tmp_path, "[budget]\ntcgen05_pipe = 10")
    result = gated(taken("tile", "1"), taken("tile", "2"), rules)
    assert result.exit_code == 3
    assert codes(result, Outcome.INCONCLUSIVE) == {Code.BUDGET_UNKNOWN}


def test_inconclusive_may_pass_or_be_a_regression(tmp_path: Path) -> None:
    before = taken("tile", "1")
    other = replace(before, machine=replace(before.machine, gpu="NVIDIA A100"))
    assert gated(before, other, policy(tmp_path, 'inconclusive = "allow"')).exit_code == 0
    assert gated(before, other, policy(tmp_path, 'inconclusive = "fail"')).exit_code == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("max_slowdwon = 1", "unknown key: max_slowdwon"),
        ("[budget]\nregisters = 1", "unknown key: budget.registers"),
        ("[max_increase]\nduration = 1", "unknown key: max_increase.duration"),
        ('max_slowdown = "much"', "max_slowdown has to be a fraction or a percentage"),
        ("max_slowdown = -1", "max_slowdown has to be"),
        ("max_slowdown = nan", "max_slowdown has to be"),
        ("max_slowdown = inf", "max_slowdown has to be"),
        ("[budget]\nregisters_per_thread = nan", "has to be a table"),
        ("max_slowdown = true", "max_slowdown has to be"),
        ('vanished = "perhaps"', '"fail" or "inconclusive" or "allow"'),
        ("ignore = 3", "ignore has to be a list"),
        ("[[kernel]]\nmax_slowdown = 1", "kernel[0].name has to be"),
        ('[[kernel]]\nname = "a"\nnmae = 1', "unknown key: kernel[0].nmae"),
        ("kernel = 1", "kernel has to be tables"),
        ("[budget]\nregisters_per_thread = {}", "at_most or at_least"),
        ("[budget]\nregisters_per_thread = { at_most = 'a' }", "at_most has to be a number"),
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
