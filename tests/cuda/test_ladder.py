"""The ladders' registries and files agree, and each rung's capture says what was expected."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.few import few, one_in
from tests.support.wheels import without_wheels

from kernelprof.analysis.verdict import diagnose
from kernelprof.collect.environment import LocalMachine
from kernelprof.interface.ladder import report
from kernelprof.ladder.registry import Ladder, Rung, load_ladders
from kernelprof.ladder.results import from_json
from kernelprof.launch.specification.elements import element_bytes
from kernelprof.launch.specification.reader import load_spec
from kernelprof.prediction import machine_code
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import read_manifest

if TYPE_CHECKING:
    from tests.support.commands import Command

ROOT = Path(__file__).parents[2]
LADDERS = load_ladders()
OF = {each.name: each for each in LADDERS}
RUNGS = [rung for each in LADDERS for rung in each.rungs]


def results_of(of: Ladder) -> Path:
    """What the climb of a ladder on the H200 kept, and beside it its reports."""
    name = "ladder" if of.name == "sgemm" else f"ladder-{of.name}"
    return ROOT / "reports" / f"{name}-h200.json"


def records_of(of: Ladder) -> Path:
    """The captures of that climb."""
    name = "h200" if of.name == "sgemm" else f"h200-{of.name}"
    return ROOT / "src" / "kernelprof" / "recorded" / name


CLIMBED = [each for each in LADDERS if results_of(each).is_file() or records_of(each).is_dir()]

each_ladder = pytest.mark.parametrize("of", LADDERS, ids=lambda of: of.name)
each_climbed = pytest.mark.parametrize("of", CLIMBED, ids=lambda of: of.name)
each_rung = pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.target)
CLIMBED_RUNGS = [rung for of in CLIMBED for rung in of.rungs]
each_climbed_rung = pytest.mark.parametrize("rung", CLIMBED_RUNGS, ids=lambda rung: rung.target)
some_climbed_rungs = pytest.mark.parametrize(
    "rung", one_in(4, CLIMBED_RUNGS, why="records alike"), ids=lambda rung: rung.target
)


def head_of(rung: Rung) -> tuple[str, str]:
    """The first line of the file's comment, and what follows up to the specification, unwrapped."""
    text = rung.path.read_text("utf-8")
    comment, found, _ = text.partition("// /// kernelprof\n")
    assert found
    lines = comment.splitlines()
    assert all(line == "//" or line.startswith("// ") for line in lines)
    first, *rest = (line.removeprefix("//").strip() for line in lines)
    return first, " ".join(line for line in rest if line)


def test_the_first_ladder_has_been_climbed() -> None:
    assert LADDERS[0] in CLIMBED


@each_ladder
def test_every_kernel_is_listed_once_after_another_with_a_title_of_its_own(of: Ladder) -> None:
    files = [rung.file for rung in of.rungs]
    assert sorted(path.name for path in of.rungs[0].path.parent.glob("*.cu")) == files
    assert [file[:2] for file in files] == [f"{number:02}" for number in range(1, len(files) + 1)]
    assert [rung.file for rung in of.rungs if rung.after is None] == files[:1]
    assert len({rung.title for rung in of.rungs}) == len(files)
    assert len({each.title for each in LADDERS}) == len(LADDERS)


@each_rung
def test_the_file_says_what_the_registry_says(rung: Rung) -> None:
    first, rest = head_of(rung)
    before = f" Before: {rung.before}" if rung.before is not None else ""
    assert first == rung.title
    assert rest.startswith(f"Changes: {rung.changes}{before} Sizes: ")
    earlier = {each.file: each.expected for each in OF[rung.ladder].rungs}
    if (expected := earlier.get(rung.after or "")) is not None:
        assert rung.before is not None
        assert rung.before.startswith(expected)


@each_rung
def test_the_specification_launches_what_the_file_holds(rung: Rung) -> None:
    spec = load_spec(rung.path)
    assert spec.kernel == f"{rung.ladder}_{rung.stem[3:]}"
    assert f"{spec.kernel}(" in rung.path.read_text("utf-8")
    if rung.ladder == "sgemm":
        assert [argument.name for argument in spec.arguments] == ["A", "B", "C", "M", "N", "K"]


@each_rung
def test_a_rung_computes_the_product_of_its_ceiling_at_the_last_size(rung: Rung) -> None:
    spec, of = load_spec(rung.path), OF[rung.ladder]
    assert spec.sizes == dict.fromkeys("MNK", of.sizes[-1])
    assert spec.reference == {"nn": "gemm", "nt": "gemm_nt"}[of.product.layout]
    arrays = {each.name: each for each in spec.arguments if each.shape is not None}
    assert {"A", "B", "C"} <= set(arrays)
    assert {arrays[name].type for name in "ABC"} == {of.product.precision}
    assert {arrays[name].fill for name in "AB"} == {of.product.fill}
    shapes = {
        each.argument.name: each for each in spec.resolve({"M": 256, "N": 512, "K": 1024}).arguments
    }
    assert shapes["A"].shape == (256, 1024)
    assert shapes["B"].shape == {"nn": (1024, 512), "nt": (512, 1024)}[of.product.layout]
    assert shapes["C"].shape == (256, 512)

    width = element_bytes(of.product.precision)
    at = spec.resolve()
    m, n, k = (at.sizes[name] for name in "MNK")
    assert at.flops == 2.0 * m * n * k
    assert at.min_bytes == width * (m * k + k * n + m * n)


@each_rung
def test_variants_sweep_defines_of_the_file_at_both_sets_of_sizes(rung: Rung) -> None:
    spec = load_spec(rung.path)
    defines = spec.compile.defines
    whole = [{**defines, **variant} for variant in rung.variants]
    for variant, every in zip(rung.variants, whole, strict=True):
        assert set(variant) <= set(defines)
        assert every != dict(defines)
        assert whole.count(every) == 1
        changed = spec.changed(defines=variant)
        changed.resolve()
        changed.resolve(changed.check_sizes)


@pytest.mark.parametrize(
    ("unroll", "multiplications"), few([(16, 16), (4, 4), (1, 1)], (4, 4), why="compiles again")
)
def test_a_define_says_how_far_the_loop_of_the_block_shapes_is_unrolled(
    unroll: int, multiplications: int, tmp_path: Path
) -> None:
    """A macro in ``#pragma unroll`` would be ignored: nvcc warns, and unrolls as it likes."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("there is no nvcc here")
    rung = next(each for each in RUNGS if "UNROLL" in load_spec(each.path).compile.defines)
    spec = load_spec(rung.path).changed(defines={"UNROLL": unroll})
    target = tmp_path / "kernel.ptx"
    command = [nvcc, "-ptx", *spec.compile.arguments(), "-o", str(target), str(rung.path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert target.read_text("ascii").count("fma.rn.f32") == multiplications


@some_climbed_rungs
def test_a_rung_is_diagnosed_from_its_record_where_there_is_no_gpu(
    rung: Rung, monkeypatch: pytest.MonkeyPatch, kernelprof: Command
) -> None:
    monkeypatch.setattr("kernelprof.collect.environment.query_machine", LocalMachine)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(ROOT)
    path = rung.path.relative_to(ROOT)
    printed = kernelprof("diagnose", path)
    manifest = read_manifest(records_of(OF[rung.ladder]) / rung.stem)
    made = f"on an NVIDIA H200 on {manifest.created[:10]} with Nsight Compute {manifest.ncu}"
    assert printed.line.startswith(f"{path} as recorded {made}")
    (said,) = [line for line in printed.out.splitlines() if "Confidence: " in line]
    if rung.expected is not None:
        assert rung.expected in said


@some_climbed_rungs
@pytest.mark.slow("records alike")
def test_a_changed_byte_refuses_the_record(
    rung: Rung, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernelprof: Command
) -> None:
    monkeypatch.setattr("kernelprof.collect.environment.query_machine", LocalMachine)
    monkeypatch.setattr(machine_code, "find_toolchain", without_wheels)
    # Both ladders begin with a 01_naive.cu: the folder tells which of them a copy is of.
    copy = tmp_path / rung.path.parent.name / rung.file
    copy.parent.mkdir()
    for header in rung.path.parent.glob("*.cuh"):
        shutil.copy(header, copy.parent)
    source = rung.path.read_bytes()
    copy.write_bytes(source)
    kernelprof("diagnose", copy)
    copy.write_bytes(source[:-1] + b" \n")
    kernelprof("diagnose", copy, code=4, err="the source differs")


@each_climbed_rung
def test_a_record_says_what_the_report_says(rung: Rung) -> None:
    results = json.loads(results_of(OF[rung.ladder]).read_text("utf-8"))
    (row,) = [each for each in results["rungs"] if each["file"] == rung.file]
    manifest = read_manifest(records_of(OF[rung.ladder]) / rung.stem)
    assert manifest.timing is not None
    assert row["timing"]["median_ns"] == manifest.timing.median_ns
    (kernel,) = diagnose(read_capture(records_of(OF[rung.ladder]) / rung.stem)).kernels
    assert kernel.verdict.bottleneck == row["full"]["said"]["bottleneck"]
    assert kernel.verdict.status.value == row["full"]["said"]["status"]


@each_climbed
def test_the_reports_are_those_of_the_results(of: Ladder) -> None:
    file = results_of(of)
    climb = from_json(file.read_text("utf-8"), file.name)
    assert climb.ladder == of.name
    assert climb.product == of.product
    assert file.with_suffix(".md").read_text("utf-8") == report(climb)


@each_climbed
def test_there_is_a_record_of_every_rung_and_nothing_else(of: Ladder) -> None:
    assert sorted(path.name for path in records_of(of).iterdir()) == [
        rung.stem for rung in of.rungs
    ]


def test_the_ladder_reaches_what_it_is_to_show() -> None:
    results = json.loads((ROOT / "reports" / "ladder-h200.json").read_text("utf-8"))
    assert results["sizes"] == {"M": 4096, "N": 4096, "K": 4096}
    ceiling = results["ceiling"]["timing"]["median_ns"]
    times = {each["file"]: each["timing"]["median_ns"] for each in results["rungs"]}
    assert ceiling / times["12_warp_tile.cu"] >= 0.70
    measured = json.loads((ROOT / "reports" / "ladder-measured-h200.json").read_text("utf-8"))
    named = {each["file"]: each["full"]["said"]["bottleneck"] for each in results["rungs"]}
    assert [each["file"] for each in measured["rungs"]] == list(named)
    for each in measured["rungs"]:
        assert each["drilldown"]["said"]["bottleneck"] == named[each["file"]]
        assert each["drilldown"]["passes"] <= each["full_set"]["passes"] / 2
