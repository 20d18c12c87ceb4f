"""Baselines: what may be one, what their file holds, and what calibration adds."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from msgspec import structs
from tests.comparison.gate.planted import RUNS, SAME_CODE, changed, gated, of, taken
from tests.comparison.predicted import access, amount, kernel, predicted, side

from kernelprof.comparison.compare import compare_snapshots
from kernelprof.comparison.gate.baseline import (
    accept,
    calibrate_noise,
    from_text,
    make_baseline,
    to_text,
    update,
)
from kernelprof.comparison.gate.policy import load_policy
from kernelprof.errors import InputError
from kernelprof.model.comparison import TimeOutcome
from kernelprof.model.diagnosis import Confidence, Status, Verdict
from kernelprof.model.prediction import LineWork
from kernelprof.model.snapshot import Acceptance, Noise

NOW = "2026-11-21T12:00:00Z"
CONSENT = Acceptance("", NOW, "Ada", "the loop must stay rolled")


def test_a_baseline_is_read_as_it_was_written() -> None:
    made = make_baseline(taken("tile", "1"), NOW)
    read = from_text(to_text(made), "b.json")
    assert to_text(read) == to_text(made)
    snapshot = read.snapshot("b.json")
    assert snapshot.origin == "b.json"
    # Counters keep every digit, and times as many as matter.
    assert snapshot.kernels[0].metrics["shared_wavefronts"] == 419_430_400
    result = gated(snapshot, taken("tile", "1"))
    assert result.kernels[0].kernel.time.ratio == pytest.approx(1.0, abs=1e-6)
    assert result.outcome.value == "pass"


def test_the_file_is_small_and_a_diff_shows_what_changed() -> None:
    one = to_text(make_baseline(taken("tile", "1"), NOW)).splitlines()
    assert len("\n".join(one)) < 8_000
    assert sum("events_ns" in line for line in one) == 1
    (times,) = (line for line in one if "events_ns" in line)
    assert times.count(",") == 20
    metrics = json.loads("\n".join(one))["kernels"][0]["metrics"]
    assert list(metrics) == sorted(metrics)


@pytest.mark.parametrize("schema", ["2", "10", None, 1])
def test_a_schema_that_is_not_known_is_refused(schema: object) -> None:
    values = json.loads(to_text(make_baseline(taken("tile", "1"), NOW)))
    values["schema_version"] = schema
    with pytest.raises(InputError, match="schema version") as caught:
        from_text(json.dumps(values), "b.json")
    assert caught.value.hint == "install a newer kernelprof"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is not JSON"),
        ("[]", "it is not a JSON object"),
        ('{"schema_version": "1"}', "the file is not a baseline"),
        ('{"kind": "kernelprof-baseline", "schema_version": "1"}', "'created' is missing"),
    ],
)
def test_a_damaged_file_is_named(text: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        from_text(text, "b.json")
    assert says in caught.value.what
    assert caught.value.where == "b.json"


def test_a_capture_that_decides_nothing_is_no_baseline_unless_the_policy_allows_it() -> None:
    with pytest.raises(InputError, match=r"for 11 of 11 kernels \(100 % of the kernel time"):
        make_baseline(of(SAME_CODE), NOW)
    made = make_baseline(of(SAME_CODE), NOW, load_policy({"inconclusive": "allow"}))
    assert len(made.kernels) == 11
    assert to_text(from_text(to_text(made), "b.json")) == to_text(made)
    assert gated(made.snapshot("b"), of(SAME_CODE)).outcome.value == "pass"
    one = load_policy({"kernel": [{"name": "gemm_tiled*", "inconclusive": "allow"}]})
    with pytest.raises(InputError, match="is inconclusive for 4 of 11 kernels"):
        make_baseline(of(SAME_CODE), NOW, one)


def test_one_undecided_kernel_beside_others_is_held_by_time_and_counters() -> None:
    tile, chain = taken("tile", "1"), taken("chain", "1")
    undecided = Verdict(Status.INCONCLUSIVE, None, Confidence.LOW)
    both = replace(
        tile, kernels=(*tile.kernels, replace(chain.kernels[0], verdict=undecided))
    )  # 37 % of the time
    made = make_baseline(both, NOW)
    assert [each.verdict.status.value for each in made.kernels] == ["inconclusive", "bottleneck"]
    held = from_text(to_text(made), "b.json").snapshot("b")
    assert gated(held, both).outcome.value == "pass"
    times = tuple(1.1 * each for each in chain.kernels[0].events_ns)
    slow = replace(both, kernels=(both.kernels[0], replace(both.kernels[1], events_ns=times)))
    assert gated(held, slow).outcome.value == "regression"


def test_a_damaged_capture_is_no_baseline_unless_the_policy_allows_it() -> None:
    cut = replace(taken("tile", "1"), damage=("The input ends in the middle of a row.",))
    with pytest.raises(InputError, match="is incomplete and cannot be a baseline: The input ends"):
        make_baseline(cut, NOW)
    assert len(make_baseline(cut, NOW, load_policy({"damaged": "allow"})).kernels) == 1
    with pytest.raises(InputError, match="is incomplete"):
        accept(make_baseline(taken("tile", "2"), NOW), cut, (), CONSENT)


def test_a_wrong_kernel_is_no_baseline() -> None:
    tile = taken("tile", "1")
    wrong = changed(tile, passed=False)
    with pytest.raises(InputError, match="wrong result"):
        make_baseline(wrong, NOW)
    with pytest.raises(InputError, match="wrong result"):
        accept(make_baseline(tile, NOW), wrong, (), CONSENT)
    with pytest.raises(InputError, match="the input has no kernels"):
        make_baseline(replace(tile, kernels=()), NOW)


def test_an_accepted_regression_is_on_record_and_passes_from_then_on() -> None:
    before, after = taken("tile", "1"), taken("tile-rolled", "1")
    made = accept(make_baseline(before, NOW), after, (), CONSENT)
    (record,) = made.accepted
    assert (record.kernel, record.who, record.when) == ("sgemm_shared_tile_rolled", "Ada", NOW)
    assert record.reason == "the loop must stay rolled"
    assert (record.before.bottleneck, record.after.bottleneck) == (
        "shared-memory-throughput",
        "instruction-issue",
    )
    assert record.after_ns == pytest.approx(2.665e6, rel=0.001)
    assert gated(made.snapshot("b"), taken("tile-rolled", "2")).outcome.value == "pass"
    # An update keeps the record.
    assert update(made, taken("tile-rolled", "3"), NOW).accepted == made.accepted


def test_only_the_kernels_that_are_named_are_accepted() -> None:
    tile, padded = taken("tile", "1"), taken("padded", "1")
    both = replace(tile, kernels=(*tile.kernels, *padded.kernels))
    worse = replace(
        tile, kernels=(*taken("tile-rolled", "1").kernels, *taken("padded-0", "1").kernels)
    )
    made = accept(make_baseline(both, NOW), worse, ["sgemm_bank_conflict_free"], CONSENT)
    assert [each.name for each in made.kernels] == ["sgemm_bank_conflict_free", "sgemm_shared_tile"]
    assert made.kernels[0].metrics["shared_wavefronts"] == 56_623_104
    assert made.kernels[1].metrics["shared_wavefronts"] == 419_430_400
    with pytest.raises(InputError, match="no kernel is named nobody"):
        accept(made, worse, ["nobody"], CONSENT)


def test_a_new_kernel_that_is_named_replaces_no_other() -> None:
    tile = taken("tile", "1")
    other = replace(tile, kernels=(replace(tile.kernels[0], name="softmax"),))
    made = accept(make_baseline(tile, NOW), other, ["softmax"], CONSENT)
    assert [each.name for each in made.kernels] == [tile.kernels[0].name, "softmax"]


def test_a_baseline_of_another_gpu_accepts_nothing() -> None:
    tile = taken("tile", "1")
    other = replace(tile, machine=structs.replace(tile.machine, gpu="NVIDIA A100"))
    both = replace(tile, kernels=(*tile.kernels, *taken("padded", "1").kernels))
    with pytest.raises(InputError, match="different GPU"):
        accept(make_baseline(both, NOW), other, ["sgemm_shared_tile"], CONSENT)
    # All of its kernels take the machine along, and noise of another one does not stay.
    made = accept(make_baseline(tile, NOW), other, (), CONSENT)
    assert made.machine.gpu == "NVIDIA A100"


def test_a_kernel_that_is_gone_can_leave_the_baseline() -> None:
    tile, padded = taken("tile", "1"), taken("padded", "1")
    both = make_baseline(replace(tile, kernels=(*tile.kernels, *padded.kernels)), NOW)
    made = accept(both, tile, ["sgemm_bank_conflict_free"], CONSENT)
    assert [each.name for each in made.kernels] == ["sgemm_shared_tile"]
    (record,) = made.accepted
    assert (record.kernel, record.after) == ("sgemm_bank_conflict_free", None)
    assert gated(made.snapshot("b"), tile).outcome.value == "pass"


def test_a_new_kernel_takes_no_other_s_place() -> None:
    tile = taken("tile", "1")
    a, b, ab = (replace(tile.kernels[0], name=name) for name in ("gemm_a", "gemm_b", "gemm_ab"))
    before = make_baseline(replace(tile, kernels=(a, b)), NOW)
    made = accept(before, replace(tile, kernels=(a, b, ab)), ["gemm_ab"], CONSENT)
    assert [each.name for each in made.kernels] == ["gemm_a", "gemm_ab", "gemm_b"]


def test_small_slowdowns_do_not_add_up_over_updates() -> None:
    tile = taken("tile", "1")
    held = make_baseline(tile, NOW)
    for step in range(1, 6):
        by = 1.004**step
        times = tuple(by * each for each in tile.kernels[0].events_ns)
        slower = changed(tile, events_ns=times)
        if gated(held.snapshot("b"), slower).outcome.value != "pass":
            break
        held = update(held, slower, NOW)
    assert step == 2


def test_calibration_measures_the_noise_between_runs() -> None:
    made, without = calibrate_noise(
        make_baseline(taken("coalesced", "1"), NOW), [taken("coalesced", run) for run in RUNS[1:]]
    )
    assert without == ()
    assert made.kernels[0].noise == Noise(
        floor=pytest.approx(0.0065, abs=1e-4), captures=5, how="CUDA events"
    )
    read = from_text(to_text(made), "b.json")
    assert read.kernels[0].noise == made.kernels[0].noise


def test_with_calibration_a_quiet_kernel_is_held_to_less() -> None:
    quiet, _ = calibrate_noise(
        make_baseline(taken("chain", "1"), NOW), [taken("chain", run) for run in RUNS[1:]]
    )
    (kernel,) = quiet.kernels
    times = tuple(1.002 * each for each in kernel.events_ns)
    candidate = changed(taken("chain", "1"), events_ns=times)
    plain = compare_snapshots(taken("chain", "1"), candidate).kernels[0].time
    held = compare_snapshots(quiet.snapshot("b"), candidate).kernels[0].time
    assert (plain.outcome, held.outcome) == (TimeOutcome.SAME, TimeOutcome.SLOWER)
    assert held.noise_floor == pytest.approx(0.001)


def test_a_counter_that_varies_is_not_held_against_a_kernel() -> None:
    tile = taken("tile", "1")
    metrics = dict(tile.kernels[0].metrics, instructions=1.02 * 725_876_736)
    odd = changed(tile, metrics=metrics)
    made, _ = calibrate_noise(make_baseline(tile, NOW), [odd, taken("tile", "2")])
    assert made.kernels[0].noise is not None
    assert made.kernels[0].noise.varying == {"instructions": 0.02}
    for instructions, outcome in ((1.015, "pass"), (1.03, "regression")):
        more = dict(metrics, instructions=instructions * 725_876_736)
        candidate = changed(tile, metrics=more)
        assert gated(tile, candidate).outcome.value == "regression"
        assert gated(made.snapshot("b"), candidate).outcome.value == outcome


def test_calibration_refuses_other_code_other_machines_and_too_few() -> None:
    tile = make_baseline(taken("tile", "1"), NOW)
    with pytest.raises(InputError, match="one capture is not enough"):
        calibrate_noise(tile, [taken("tile", "2")])
    with pytest.raises(InputError, match="no kernel has times in the baseline"):
        calibrate_noise(tile, [taken("naive", "2"), taken("naive", "3")])
    with pytest.raises(InputError, match="another source or with other options"):
        calibrate_noise(
            make_baseline(taken("padded", "1"), NOW), [taken("padded-0", "1"), taken("padded", "2")]
        )
    other = taken("tile", "2")
    other = replace(other, machine=structs.replace(other.machine, ncu="2026.1"))
    with pytest.raises(InputError, match="measured differently from the baseline"):
        calibrate_noise(tile, [other, taken("tile", "3")])


def test_a_baseline_of_predictions_is_read_as_it_was_written_with_a_line_a_record() -> None:
    lines = tuple(LineWork("k.cu", at, amount(8 * at, 0.5), amount(256)) for at in range(1, 40))
    known = predicted(("aa", "", "bb"), access(3, sectors=64), access(4, wavefronts=2), lines=lines)
    held = kernel(known, {"instructions": (90.5, 110)}, instructions=100, global_sectors=64)
    made = make_baseline(side(held), "2026-11-22T00:00:00Z")
    text = to_text(made)
    assert from_text(text, "k.json") == made
    assert text.count('"line": ') == 2 + 39
    assert sum('"file": "k.cu", "line": ' in line for line in text.splitlines()) == 2 + 39
    assert '  "text": ["aa", "", "bb"]' in text


def test_a_prediction_without_a_verdict_may_be_a_baseline() -> None:
    """Of a measurement it may not: little would be held."""
    held = kernel(predicted(("aa",)), instructions=100)
    assert make_baseline(side(held), "2026-11-22T00:00:00Z").kernels == (held,)
    with pytest.raises(InputError, match="inconclusive for 1 of 1"):
        make_baseline(side(replace(held, predicted=None)), "2026-11-22T00:00:00Z")
