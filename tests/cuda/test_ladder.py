"""The ladder's registry and its files agree, and each rung's capture says what was expected."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.text import unwrapped

from kernelprof.analysis.verdict import diagnose
from kernelprof.cli.main import main
from kernelprof.collect.environment import Machine
from kernelprof.interface.ladder import report
from kernelprof.ladder.registry import Rung, ladder
from kernelprof.ladder.results import from_json
from kernelprof.launch.read_spec import load_spec
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import read_manifest

ROOT = Path(__file__).parents[2]
LADDER = ROOT / "cuda" / "ladder"
RECORDS = ROOT / "src" / "kernelprof" / "recorded" / "h200"
RUNGS = ladder()
FILES = [rung.file for rung in RUNGS]

each_rung = pytest.mark.parametrize("rung", RUNGS, ids=FILES)


def head_of(rung: Rung) -> tuple[str, str]:
    """The first line of the file's comment, and what follows up to the specification, unwrapped."""
    text = rung.path.read_text("utf-8")
    comment, found, _ = text.partition("// /// kernelprof\n")
    assert found
    lines = comment.splitlines()
    assert all(line == "//" or line.startswith("// ") for line in lines)
    first, *rest = (line.removeprefix("//").strip() for line in lines)
    return first, " ".join(line for line in rest if line)


def test_every_kernel_is_listed_once_in_ascending_order() -> None:
    assert sorted(path.name for path in LADDER.glob("*.cu")) == FILES
    assert [file[:2] for file in FILES] == [f"{number:02}" for number in range(1, len(FILES) + 1)]


def test_titles_differ() -> None:
    titles = [rung.title for rung in RUNGS]
    assert len(set(titles)) == len(titles)


def test_all_but_the_first_come_after_another() -> None:
    assert [rung.file for rung in RUNGS if rung.after is None] == FILES[:1]


@each_rung
def test_the_file_says_what_the_registry_says(rung: Rung) -> None:
    first, rest = head_of(rung)
    before = f" Before: {rung.before}" if rung.before is not None else ""
    assert first == rung.title
    assert rest.startswith(f"Changes: {rung.changes}{before} Sizes: ")


@each_rung
def test_a_profile_is_said_of_the_verdict_that_was_expected(rung: Rung) -> None:
    expected = {each.file: each.expected for each in RUNGS}.get(rung.after or "")
    if expected is not None:
        assert rung.before is not None
        assert rung.before.startswith(expected)


@each_rung
def test_the_specification_launches_what_the_file_holds(rung: Rung) -> None:
    spec = load_spec(rung.path)
    assert spec.kernel == "sgemm_" + rung.stem[3:]
    assert f"{spec.kernel}(" in rung.path.read_text("utf-8")
    assert spec.reference == "gemm"
    assert [argument.name for argument in spec.arguments] == ["A", "B", "C", "M", "N", "K"]


@each_rung
def test_the_flops_and_bytes_are_those_of_a_product(rung: Rung) -> None:
    at = load_spec(rung.path).resolve()
    m, n, k = (at.sizes[name] for name in "MNK")
    assert at.flops == 2.0 * m * n * k
    assert at.min_bytes == 4.0 * (m * k + k * n + m * n)


@each_rung
def test_variants_sweep_defines_of_the_file(rung: Rung) -> None:
    defines = load_spec(rung.path).compile.defines
    whole = [{**defines, **variant} for variant in rung.variants]
    for variant, every in zip(rung.variants, whole, strict=True):
        assert set(variant) <= set(defines)
        assert every != dict(defines)
        assert whole.count(every) == 1


@each_rung
def test_a_variant_can_be_launched_at_both_sets_of_sizes(rung: Rung) -> None:
    spec = load_spec(rung.path)
    for variant in rung.variants:
        changed = spec.changed(defines=variant)
        changed.resolve()
        changed.resolve(changed.check_sizes)


@pytest.mark.parametrize(("unroll", "multiplications"), [(16, 16), (4, 4), (1, 1)])
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


@each_rung
def test_a_rung_is_diagnosed_from_its_record_where_there_is_no_gpu(
    rung: Rung, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("kernelprof.collect.environment.machine", Machine)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(ROOT)
    path = rung.path.relative_to(ROOT)
    assert main(["diagnose", str(path)]) == 0
    out = capsys.readouterr().out
    manifest = read_manifest(RECORDS / rung.stem)
    made = f"on an NVIDIA H200 on {manifest.created[:10]} with Nsight Compute {manifest.ncu}"
    assert unwrapped(out).startswith(f"{path} as recorded {made}")
    (said,) = [line for line in out.splitlines() if "Confidence: " in line]
    if rung.expected is not None:
        assert rung.expected in said


@each_rung
def test_a_changed_byte_refuses_the_record(
    rung: Rung, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("kernelprof.collect.environment.machine", Machine)
    copy = tmp_path / rung.file
    source = rung.path.read_bytes()
    copy.write_bytes(source)
    assert main(["diagnose", str(copy)]) == 0
    copy.write_bytes(source[:-1] + b" \n")
    assert main(["diagnose", str(copy)]) == 4
    assert "the source differs from the recorded one" in capsys.readouterr().err


@each_rung
def test_a_record_says_what_the_report_says(rung: Rung) -> None:
    results = json.loads((ROOT / "reports" / "ladder-h200.json").read_text("utf-8"))
    (row,) = [each for each in results["rungs"] if each["file"] == rung.file]
    manifest = read_manifest(RECORDS / rung.stem)
    assert manifest.timing is not None
    assert row["timing"]["median_ns"] == manifest.timing.median_ns
    (kernel,) = diagnose(read_capture(RECORDS / rung.stem)).kernels
    assert kernel.verdict.bottleneck == row["full"]["said"]["bottleneck"]
    assert kernel.verdict.status.value == row["full"]["said"]["status"]


def test_the_reports_are_those_of_the_results() -> None:
    text = (ROOT / "reports" / "ladder-h200.json").read_text("utf-8")
    climb = from_json(text, "ladder-h200.json")
    reports = ROOT / "reports"
    assert (reports / "ladder-h200.md").read_text("utf-8") == report(climb)


def test_there_is_a_record_of_every_rung_and_nothing_else() -> None:
    assert sorted(path.name for path in RECORDS.iterdir()) == [rung.stem for rung in RUNGS]


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
