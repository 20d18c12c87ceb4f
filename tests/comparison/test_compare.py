"""Comparisons of real captures of an H200: what each planted change looks like."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from msgspec import structs
from tests.comparison.gate.planted import PLANTED, SAME_CODE, changed, of, taken
from tests.conftest import CAPTURES

from kernelprof.comparison.compare import compare_snapshots
from kernelprof.comparison.snapshots import join_runs, make_snapshot
from kernelprof.comparison.words import headline, notes, several_text, summary
from kernelprof.model.comparison import Match, TimeOutcome
from kernelprof.model.diagnosis import Confidence, Status, Verdict
from kernelprof.model.snapshot import MeasurementSetup, OtherVerdict
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from kernelprof.model.comparison import KernelComparison
    from kernelprof.model.snapshot import KernelSnapshot, Snapshot


def only(before: Snapshot, after: Snapshot) -> KernelComparison:
    (found,) = compare_snapshots(before, after).kernels
    return found


def test_remapped_threads() -> None:
    found = only(taken("coalesced", "1"), taken("naive", "1"))
    assert found.match is Match.RENAMED
    assert found.time.outcome is TimeOutcome.SLOWER
    assert found.time.ratio == pytest.approx(13.05, rel=0.01)
    counters = {each.metric: each for each in found.counters}
    # A warp's loads of A and B: 4 and 1 sectors, then 32 and 1.
    assert counters["global_load_sectors"].before_each == 2.5
    assert counters["global_load_sectors"].after_each == 16.5
    assert counters["global_load_sectors"].worse is True
    assert found.metrics[0].metric.startswith("l1_throughput")
    assert headline(found) == (
        "13.1x slower; more global load sectors; l1-throughput is gone; now "
        "uncoalesced-global-access"
    )


def test_the_other_way_round_it_is_a_gain() -> None:
    found = only(taken("naive", "2"), taken("coalesced", "2"))
    assert found.time.outcome is TimeOutcome.FASTER
    assert headline(found).startswith("13.1x faster; uncoalesced-global-access is gone; now l1-")
    assert [each.worse for each in found.counters if each.worse is not None] == [False, False]


def test_a_register_too_many() -> None:
    found = only(taken("four-blocks", "1"), taken("three-blocks", "1"))
    counters = {each.metric: (each.before, each.after, each.worse) for each in found.counters}
    assert counters["resident_blocks"] == (4, 3, True)
    assert counters["registers_per_thread"] == (128, 130, None)
    assert counters["instructions"][2] is False
    assert [(each.kind, each.what) for each in found.inputs] == [("defines", "MIN_BLOCKS")]
    assert found.verdict_changed


def test_a_pad_of_nothing() -> None:
    found = only(taken("padded", "1"), taken("padded-0", "1"))
    worse = [(each.metric, each.before, each.after) for each in found.counters if each.worse]
    assert worse == [
        ("conflict_wavefronts", 0, 2_097_152),
        ("shared_wavefronts", 54_525_952, 56_623_104),
    ]


def test_a_changed_source_is_shown() -> None:
    sides = []
    for label, text in (("tile", "a\nb\nc\n"), ("tile-rolled", "a\n#pragma unroll 1\nb\nc\n")):
        side = taken(label, "1")
        inputs = side.kernels[0].inputs
        assert inputs is not None
        sides.append(replace(side, sources={inputs.source_sha256: text}))
    (found,) = compare_snapshots(sides[0], sides[1]).kernels
    assert "+#pragma unroll 1" in found.diff.splitlines()
    assert [each.kind for each in found.inputs] == ["source"]


def test_one_run_and_another_of_the_same_code_differ_in_nothing_that_counts() -> None:
    for label in ("coalesced", "tile", "padded", "four-blocks", "three-blocks", "chain"):
        found = only(taken(label, "1"), taken(label, "3"))
        assert found.match is Match.SAME
        assert found.time.outcome is TimeOutcome.SAME, label
        assert found.counters == found.inputs == found.lacking == ()


def test_several_kinds_of_change_are_pointed_out() -> None:
    before, after = taken("padded", "1"), taken("padded-0", "1")
    (kernel,) = after.kernels
    assert kernel.inputs is not None
    more = changed(after, inputs=replace(kernel.inputs, source_sha256="0" * 64))
    found = only(before, more)
    assert [each.kind for each in found.inputs] == ["source", "defines"]
    assert found.kinds == ("source", "defines")
    assert several_text(found) == (
        "2 kinds of change at once (source, defines): the difference cannot be attributed to one "
        "of them; measure one kind at a time"
    )
    assert notes(found) == (several_text(found),)
    assert not several_text(only(before, after))


def test_a_kernel_that_is_launched_more_often_is_told() -> None:
    before = taken("tile", "1")
    often = changed(before, launches=3)
    assert only(before, often).notes == (
        "launched 3 times, previously 1: 1.85 ms to 5.54 ms in total",
    )
    assert only(before, before).notes == ()


def test_runs_of_one_side_are_not_more_launches() -> None:
    runs = [taken("tile", each) for each in ("1", "2", "3")]
    assert join_runs(runs).kernels[0].launches == 1
    assert only(join_runs(runs), runs[0]).notes == ()


def test_launches_with_another_verdict_than_most_are_told() -> None:
    before = taken("tile", "1")
    other = OtherVerdict(Verdict(Status.BOTTLENECK, "barrier-stalls", Confidence.HIGH, 1.5), 2)
    after = changed(before, launches=8, others=(other,))
    assert only(changed(before, launches=8), after).notes == (
        "after: verdict barrier-stalls in 2 of 8 launches",
    )


def test_launches_of_one_configuration_keep_all_their_verdicts() -> None:
    capture = read_capture(CAPTURES / "gemm_series.full.raw.csv")
    launches = tuple(
        replace(each, kernel="gemm", grid=(1, 1, 1), block=(32, 1, 1)) for each in capture.launches
    )
    found = make_snapshot(replace(capture, launches=launches))
    (kernel,) = found.kernels
    others = {each.verdict.bottleneck: each.launches for each in kernel.others}
    assert kernel.verdict.bottleneck not in others
    assert sum(others.values()) < kernel.launches == len(launches)
    assert {"l1-throughput", "shared-bank-conflicts"} <= {*others, kernel.verdict.bottleneck}


def sized(snapshot: Snapshot, size: int) -> Snapshot:
    (kernel,) = snapshot.kernels
    assert kernel.inputs is not None
    assert kernel.inputs.specification is not None
    specification = {**kernel.inputs.specification, "sizes": {"M": size, "N": size, "K": size}}
    return changed(snapshot, inputs=replace(kernel.inputs, specification=specification))


def test_other_sizes_are_other_work() -> None:
    found = only(taken("tile", "1"), sized(taken("tile", "2"), 4096))
    assert found.other_work
    assert found.time.outcome is TimeOutcome.NOT_COMPARABLE
    assert found.time.reason == "other sizes: M 2048 to 4096, N 2048 to 4096, K 2048 to 4096"


def test_another_grid_without_a_specification_may_be_another_problem() -> None:
    before, after = taken("tile", "1"), taken("tile", "2")
    plain = changed(before, inputs=None)
    found = only(plain, changed(after, inputs=None, grid=(32, 32, 1)))
    assert found.match is Match.LAUNCH
    assert found.other_work
    assert "a different number of threads (4,194,304 before, 1,048,576 after)" in found.time.reason
    # With a specification on both sides and the same sizes it is another way to the same problem.
    assert not only(before, changed(after, grid=(32, 32, 1))).other_work


@pytest.mark.parametrize(
    ("machine", "reason"),
    [
        ({"gpu": "NVIDIA A100"}, "different GPU (NVIDIA H200 before, NVIDIA A100 after)"),
        ({"compute_capability": "8.0"}, "different compute capability (9.0 before, 8.0 after)"),
        ({"ncu": "2026.1.0.0"}, "different Nsight Compute (2025.3.1.0 before, 2026.1.0.0 after)"),
        ({"clock_control": "base"}, "different clock control (none before, base after)"),
        ({"sm_hz": 1.7e9}, "SM clocks more than 1 % apart (1980 MHz before, 1700 MHz after)"),
    ],
)
def test_another_machine_leaves_counters_and_no_times(machine, reason) -> None:
    before, after = taken("coalesced", "4"), taken("naive", "4")
    before = replace(before, machine=structs.replace(before.machine, sm_hz=1.98e9))
    other = replace(after, machine=structs.replace(before.machine, **machine))  # type: ignore[arg-type]
    found = compare_snapshots(before, other)
    assert not found.times_comparable
    (kernel,) = found.kernels
    assert kernel.time.outcome is TimeOutcome.NOT_COMPARABLE
    assert kernel.time.reason == reason
    assert any(each.metric == "global_load_sectors" and each.worse for each in kernel.counters)
    assert found.notes == (f"times are not compared: {reason}",)


def test_what_one_side_does_not_tell_is_no_difference() -> None:
    before, after = taken("tile", "1"), taken("tile", "2")
    silent = replace(after, machine=MeasurementSetup(gpu=before.machine.gpu))
    assert compare_snapshots(before, silent).times_comparable
    driver = replace(after, machine=structs.replace(before.machine, driver="600.1"))
    found = compare_snapshots(before, driver)
    assert found.times_comparable
    assert [(each.what, each.after) for each in found.machine] == [("different driver", "600.1")]


def test_kernels_that_come_and_go_are_told() -> None:
    whole = of(SAME_CODE)
    names = [each.name.partition("(")[0] for each in whole.kernels]
    fewer = replace(whole, kernels=tuple(k for k in whole.kernels if "gemm_bad" not in k.name))
    gone = compare_snapshots(whole, fewer)
    assert sum(each.match is Match.VANISHED for each in gone.kernels) == 2
    assert len(gone.kernels) == len(whole.kernels) == 11
    assert summary(gone) == (
        "11 kernels: 9 as fast as before, 2 vanished; smallest detectable: 0.5 to 0.72 %"
    )
    come = compare_snapshots(fewer, whole)
    assert [names[0]] * 2 == [
        each.name.partition("(")[0] for each in come.kernels if each.match is Match.APPEARED
    ]
    assert summary(come) == (
        "11 kernels: 9 as fast as before, 2 new; smallest detectable: 0.5 to 0.72 %"
    )


def test_every_kernel_ends_up_once() -> None:
    whole = of(SAME_CODE)
    found = compare_snapshots(whole, replace(whole, kernels=whole.kernels[::-1]))

    def key(kernel: KernelSnapshot | None) -> tuple[object, ...]:
        assert kernel is not None
        return kernel.name, kernel.grid, kernel.block

    assert [key(each.before) for each in found.kernels] == [
        key(each.after) for each in found.kernels
    ]
    assert len({key(each.before) for each in found.kernels}) == 11


@pytest.mark.parametrize("planted", PLANTED, ids=lambda each: each.what)
def test_each_planted_change_is_one_kind_of_change(planted: object) -> None:
    found = only(taken(planted.before, "1"), taken(planted.after, "1"))  # type: ignore[attr-defined]
    kinds = {each.kind for each in found.inputs}
    assert len(kinds) == 1
    assert kinds <= {"source", "defines"}
