"""Several runs as one side, kernels that are chosen, and kernels under two names."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from msgspec import structs
from tests.comparison.gate.planted import CHANGES, ONCE, gated, once, taken

import kernelprof as kp
from kernelprof.comparison import pairs
from kernelprof.comparison.compare import compare_snapshots
from kernelprof.comparison.sides import pool_runs
from kernelprof.errors import InputError, UsageError
from kernelprof.interface.changes import load_side
from kernelprof.model.comparison import Match
from kernelprof.model.diagnosis import Confidence, Status, Verdict
from kernelprof.model.gate import Code, Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.model.snapshot import KernelSnapshot, Snapshot

FIRST = [str(ONCE / f"before-1.{run}.csv.gz") for run in range(1, 6)]
SECOND = [str(ONCE / f"before-1.{run}.csv.gz") for run in range(6, 11)]


def named(snapshot: Snapshot, name: str) -> KernelSnapshot:
    (found,) = [each for each in snapshot.kernels if each.name.startswith(name)]
    return found


def test_runs_are_pooled_launch_by_launch() -> None:
    runs = once("before", 1, 5)
    whole = pool_runs(runs)
    for kernel in whole.kernels:
        times = [
            each.profiled_ns[0] for run in runs for each in run.kernels if each.key == kernel.key
        ]
        assert kernel.profiled_ns == tuple(times)
        assert kernel.launches == 1
    assert whole.origin == ", ".join(each.origin for each in runs)
    assert pool_runs(runs[:1]) is runs[0]


@pytest.mark.slow("hundreds of captures")
def test_candidates_and_folders_are_pooled(tmp_path: Path) -> None:
    for file in FIRST:
        shutil.copy(file, tmp_path)
    result = kp.gate(tmp_path, SECOND)
    assert result.exit_code == 0
    assert {each.kernel.time.samples.fewer for each in result.kernels} == {5}
    assert {each.kernel.time.outcome.value for each in result.kernels} == {"same"}
    after = [str(ONCE / f"after-1.{run}.csv.gz") for run in range(1, 6)]
    slower = kp.gate(tmp_path, after, kernels=["walk_far"])
    (far,) = [each for each in slower.kernels if "walk_far" in each.kernel.name]
    assert far.kernel.time.outcome.value == "slower"
    assert far.kernel.time.ratio == pytest.approx(1.032, abs=0.002)


def test_a_kernel_that_only_some_runs_have_is_damage() -> None:
    runs = once("before", 1, 3)
    less = replace(runs[2], kernels=runs[2].kernels[1:])
    whole = pool_runs([*runs[:2], less])
    assert whole.damage == (f"{runs[2].kernels[0].name} is in only 2 of 3 runs.",)
    result = gated(pool_runs(runs), whole)
    assert result.exit_code == 3
    assert result.general[0].code is Code.DAMAGED_CAPTURE


def test_runs_of_two_machines_are_not_taken_together() -> None:
    tile = taken("tile", "1")
    other = replace(taken("tile", "2"), machine=structs.replace(tile.machine, gpu="NVIDIA A100"))
    with pytest.raises(InputError, match="cannot be pooled: different GPU"):
        pool_runs([tile, other])


def test_the_verdict_of_runs_is_that_of_most() -> None:
    runs = [taken("tile", run) for run in "123"]
    odd = Verdict(Status.BOTTLENECK, "barrier-stalls", Confidence.LOW)
    first = replace(runs[0], kernels=(replace(runs[0].kernels[0], verdict=odd),))
    (kernel,) = pool_runs([first, *runs[1:]]).kernels
    assert kernel.verdict.bottleneck == "shared-memory-throughput"
    assert [(each.verdict.bottleneck, each.launches) for each in kernel.others] == [
        ("barrier-stalls", 1)
    ]
    wrong = replace(runs[1], kernels=(replace(runs[1].kernels[0], passed=False),))
    assert pool_runs([runs[0], wrong]).kernels[0].passed is False


def test_only_the_kernels_that_are_asked_for_are_judged() -> None:
    after = ONCE / "after-1.1.csv.gz"
    assert kp.gate(FIRST[0], after).exit_code == 1
    unchanged = kp.gate(FIRST[0], after, kernels=[r"^void scale<2\d>"])
    assert unchanged.exit_code == 0
    assert len(unchanged.kernels) == 4
    both = kp.gate(FIRST[0], after, kernels=["walk_far", "gemm_mapped"])
    assert {each.outcome for each in both.kernels} == {Outcome.REGRESSION, Outcome.INCONCLUSIVE}
    with pytest.raises(InputError, match="no kernel's name matches 'nobody'"):
        kp.gate(FIRST[0], after, kernels=["nobody"])


def test_a_kernel_that_only_one_side_has_can_be_asked_for() -> None:
    tile, chain = taken("tile", "1"), taken("chain", "1")
    both = replace(tile, kernels=(*tile.kernels, *chain.kernels))
    before, after = pairs.select_in_both(both, tile, ["fma"])
    assert [each.name for each in before.kernels] == ["fma_chain(const float *, float *, int)"]
    assert after.kernels == ()


def renamed(snapshot: Snapshot, name: str, new: str) -> Snapshot:
    kernel = named(snapshot, name)
    kernels = [replace(each, name=new) if each is kernel else each for each in snapshot.kernels]
    return replace(snapshot, kernels=tuple(kernels))


def test_a_new_name_is_suggested_where_launch_and_counters_agree() -> None:
    before, run = once("before", 1, 2)
    after = renamed(run, "gemm_padded", "matmul")
    result = gated(before, after)
    (gone,) = [each for each in result.kernels if each.kernel.match is Match.VANISHED]
    assert gone.findings[0].text == (
        "the baseline has this kernel but the candidate does not; matmul has the same grid, "
        "block and counters; if it is the same kernel, use --rename gemm_padded=matmul"
    )
    names = pairs.parse_renames(["gemm_padded=matmul"], before, after)
    (found,) = [
        each for each in compare_snapshots(before, after, names).kernels if each.name == "matmul"
    ]
    assert (found.match, found.confirmed) == (Match.RENAMED, True)
    assert found.before is not None
    assert found.before.name == "gemm_padded"


def test_a_name_that_is_given_goes_before_all_others() -> None:
    before, after = once("before", 1, 1)[0], once("after", 1, 1)[0]
    names = pairs.parse_renames(["gemm_barrier=gemm_unrolled"], before, after)
    found = {
        each.name: each for each in compare_snapshots(before, after, names).kernels if each.after
    }
    assert found["gemm_unrolled"].before is not None
    assert found["gemm_unrolled"].before.name == "gemm_barrier"


def test_names_of_templates_and_functions_can_be_given() -> None:
    before, after = once("before", 1, 1)[0], once("after", 1, 1)[0]
    assert pairs.parse_renames(["walk_far=walk_often"], before, after) == (
        ("far::walk_far(const int *, int *, int)", "often::walk_often(const int *, int *, int)"),
    )
    assert len(pairs.parse_renames(["scale=gemm_barrier"], before, after)) == 6
    with pytest.raises(UsageError, match="there is no kernel 'nobody'") as caught:
        pairs.parse_renames(["walk_far=nobody"], before, after)
    assert caught.value.where == after.origin
    with pytest.raises(UsageError, match="has no ="):
        pairs.parse_renames(["walk_far"], before, after)


def test_a_baseline_of_a_folder_has_all_runs() -> None:
    whole = load_side(CHANGES / "tile")
    assert len(whole.kernels[0].events_ns) == 100
    assert whole.kernels[0].launches == 1
