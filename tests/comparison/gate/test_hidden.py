"""What a candidate could hide a change in: some launches, some runs, a folder, what is not said."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from tests.comparison.gate.planted import CHANGES, changed, gated, once, taken
from tests.support.captures import copy_capture
from tests.support.few import few

import kernelprof as kp
from kernelprof.comparison import pairs
from kernelprof.comparison.sides import pool_runs
from kernelprof.comparison.snapshots import join_runs
from kernelprof.errors import InputError
from kernelprof.model.gate import Code, GateResult, Outcome

if TYPE_CHECKING:
    from pathlib import Path


def open_codes(result: GateResult) -> set[Code]:
    found = [*result.general, *(each for kernel in result.kernels for each in kernel.findings)]
    return {each.code for each in found if each.outcome is not Outcome.PASS}


TIMES = taken("tile", "2").kernels[0].events_ns


@pytest.mark.parametrize(
    "times",
    [
        (*(0.97 * each for each in TIMES[:15]), *(4 * each for each in TIMES[15:])),
        (*(0.97 * each for each in TIMES[:15]), *(1.6 * each for each in TIMES[15:])),
        (*(0.98 * each for each in TIMES[:17]), *(1.4 * each for each in TIMES[17:])),
        (*TIMES[:17], *(10 * each for each in TIMES[17:])),
        (*TIMES[:16], *(2 * each for each in TIMES[16:])),
        (*TIMES[:3], *(10 * each for each in TIMES[3:5])),
        (*TIMES[:3], 10 * TIMES[3]),
        tuple(0.6 * each for each in TIMES),
    ],
    ids=["4x", "1.6x", "1.4x", "3 of 20", "4 of 20", "2 of 5", "1 of 4", "contradicts"],
)
def test_some_launches_that_are_slower_do_not_pass(times: tuple[float, ...]) -> None:
    profiled = (2 * taken("tile", "2").kernels[0].profiled_ns[0],)
    values: dict[str, Any] = {"events_ns": times}
    if max(times) < 1.9e6:
        values["profiled_ns"] = profiled
    result = gated(taken("tile", "1"), changed(taken("tile", "2"), **values))
    assert result.exit_code in {1, 3}
    assert open_codes(result) & {Code.TIME_UNDECIDED, Code.SLOWER}


def test_a_good_run_among_bad_ones_excuses_no_counter() -> None:
    good, bad = taken("chain", "2"), [taken("chain-strides", run) for run in "12345"]
    with pytest.raises(InputError, match="was built or launched differently"):
        pool_runs([good, *bad])
    bare = [changed(each, inputs=None, passed=None) for each in (taken("chain", "1"), good, *bad)]
    result = gated(bare[0], join_runs(bare[1:]))
    assert result.exit_code == 3
    (found,) = [
        each
        for each in result.kernels[0].findings
        if each.text.startswith("global load sectors in some launches")
    ]
    assert found.outcome is Outcome.INCONCLUSIVE


def test_the_baseline_s_own_capture_among_the_candidates_excuses_nothing() -> None:
    before, after = once("before", 1, 1)[0], once("after", 1, 1)[0]
    chains = [
        pairs.select_kernels(side, ["fma_chain"]) for side in (before, pool_runs([before, after]))
    ]
    assert gated(*chains).exit_code == 3


def test_runs_with_unlike_launches_are_damage() -> None:
    one, other = once("before", 1, 1)[0], once("before", 5, 1)[0]
    assert any("launched 1 times in one run" in each for each in join_runs([one, other]).damage)


def test_a_damaged_capture_in_a_folder_is_not_left_out(tmp_path: Path) -> None:
    for run, label in (("1", "walk"), ("2", "walk-far")):
        copy_capture(CHANGES / label / run, tmp_path / run)
    (tmp_path / "notes.txt").write_text("of a meeting", "utf-8")
    with (tmp_path / "2" / "raw.csv.gz").open("ab") as file:
        file.write(b"x")
    with pytest.raises(InputError, match="the capture is damaged"):
        kp.gate(CHANGES / "walk" / "2", tmp_path)
    shutil.rmtree(tmp_path / "2")
    assert kp.gate(CHANGES / "walk" / "2", tmp_path).exit_code == 0
    (tmp_path / "2.csv").write_text("==ERROR== LaunchFailed\n", "utf-8")
    with pytest.raises(InputError):
        kp.gate(CHANGES / "walk" / "2", tmp_path)


@pytest.mark.parametrize("lost", ["grid", "block"])
def test_a_launch_that_is_not_said_is_not_the_same_work(lost: str) -> None:
    before, after = once("before", 1, 2)
    result = gated(before, changed(after, **{lost: None}))
    assert result.exit_code == 3
    assert Code.OTHER_WORK in open_codes(result)


def test_totals_of_more_launches_are_of_one_clock() -> None:
    tile = taken("tile", "1")
    (kernel,) = tile.kernels
    before = changed(tile, events_ns=tuple(2.2 * each for each in TIMES))
    twice = changed(
        taken("tile", "2"),
        events_ns=(),
        profiled_ns=kernel.profiled_ns * 2,
        launches=2,
        inputs=None,
    )
    assert Code.LAUNCHED_MORE in open_codes(gated(before, twice))


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("check", []),
        ("check", {"sizes": [1]}),
        ("arguments", [{"fill": []}]),
        ("sizes", 7),
        ("reference", []),
        ("launch", "x"),
        ("compile", {"defines": "x"}),
    ],
)
def test_a_specification_of_another_kind_is_refused(
    part: str, value: object, tmp_path: Path
) -> None:
    copy_capture(CHANGES / "tile" / "2", tmp_path / "c")
    manifest = json.loads((tmp_path / "c" / "manifest.json").read_text("utf-8"))
    manifest["source"]["specification"][part] = value
    (tmp_path / "c" / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(InputError, match="its launch specification is invalid"):
        kp.gate(CHANGES / "tile" / "1", tmp_path / "c")


def test_a_result_that_is_off_by_more_than_allowed_is_wrong(tmp_path: Path) -> None:
    copy_capture(CHANGES / "tile" / "2", tmp_path / "c")
    manifest = json.loads((tmp_path / "c" / "manifest.json").read_text("utf-8"))
    manifest["correctness"]["largest_error"] = 1.0
    (tmp_path / "c" / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    result = kp.gate(CHANGES / "tile" / "1", tmp_path / "c")
    assert result.exit_code == 1
    assert Code.WRONG_RESULT in open_codes(result)


def test_instances_of_a_template_that_is_renamed_keep_their_arguments() -> None:
    before, after = once("before", 1, 2)
    names = pairs.parse_renames(["scale=scale"], before, after)
    assert {was for was, _ in names} == {now for _, now in names}
    assert all(was == now for was, now in names)


@pytest.mark.parametrize(
    "name",
    few(
        [
            "gemm_series.full.raw.csv",
            "gemm_series.same-code-13x.raw.csv",
            "four_gemms.full.raw.csv",
            "pycuda_two_kernels.seven-metrics.raw.csv",
            "h200_once/after-5.1.csv.gz",
            "ladder/ladder.full.raw.csv.gz",
        ],
        "four_gemms.full.raw.csv",
        "pycuda_two_kernels.seven-metrics.raw.csv",
        "h200_once/after-5.1.csv.gz",
        why="captures alike",
    ),
)
def test_a_file_is_as_good_as_itself(name: str) -> None:
    file = CHANGES.parent / name
    assert kp.gate(file, file).exit_code == 0
