"""``kernelprof ladder``: listing, climbing against the stand-in for ``ncu``, and what can fail."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import msgspec
import pytest
from tests.support.few import few
from tests.support.schemas import manifest_schema

from kernelprof.analysis.verdict import diagnose
from kernelprof.collect.environment import LocalMachine
from kernelprof.errors import InputError, MissingToolError
from kernelprof.ladder.ceiling import CeilingError
from kernelprof.ladder.registry import find_ladder, read_ladder
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import read_lines, read_manifest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "tests" / "captures" / "source_page" / "shared_tile.samples.csv.gz"


def _names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


# --- listing -----------------------------------------------------------------------------------


def test_the_list_has_a_file_for_diagnose_and_fits_80_columns(kernelprof, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    _, _, head, *lines, space, others = kernelprof("ladder list").out.splitlines()
    assert head.split() == ["#", "file", "title"]
    assert (space, others) == ("", "The BF16 GEMM ladder: kernelprof ladder list bf16.")
    assert len(lines) == len(find_ladder().rungs)
    assert max(map(len, lines)) <= 80
    for line, rung in zip(lines, find_ladder().rungs, strict=True):
        number, file, title = line.split(maxsplit=2)
        assert (int(number), title) == (rung.number, rung.title)
        assert file == f"cuda/ladder/{rung.file}"
        assert Path(file).is_file()


def test_from_elsewhere_the_list_has_whole_paths(kernelprof, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    _, _, _, first, *_ = kernelprof("ladder list").out.splitlines()
    assert Path(first.split()[1]) == find_ladder().rungs[0].path


def test_the_list_says_what_changes_where_that_is_asked_for(kernelprof, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    changes = [" ".join(rung.changes.split()) for rung in find_ladder().rungs]
    derived = "Derived from rung 3. A thread computes TM outputs"
    more = (derived, "cuda/ladder/08_register_tile_1d.cu")
    printed = kernelprof("ladder list --changes", says=(*changes, *more))
    assert max(map(len, printed.out.splitlines())) <= 80


def test_the_list_for_programs(kernelprof, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    found = kernelprof.json("ladder list")
    assert found["schema_version"] == "1"
    assert found["ladder"]["name"] == "sgemm"
    assert found["ladder"]["ceiling"]["precision"] == "float32"
    assert found["ladders"] == ["sgemm", "bf16"]
    assert {rung["ladder"] for rung in found["rungs"]} == {"sgemm"}
    first, second, *_ = found["rungs"]
    assert first["number"] == 1
    assert first["path"] == "cuda/ladder/01_naive.cu"
    assert first["after"] is None
    assert (second["after"], second["expected"]) == ("01_naive.cu", "l1-throughput")
    assert second["variants"] == [{"BLOCK": 8}, {"BLOCK": 16}]


# --- climbing ----------------------------------------------------------------------------------


@pytest.mark.slow("several runs")
def test_two_rungs_with_captures_and_a_report(
    machine, workshop, cublas, results, kernelprof
) -> None:
    command = shlex.split("--rung 1 --rung 02_coalesced.cu --captures caps -o ladder-h200.md")
    printed = kernelprof("ladder run", *command)
    assert printed.out == "ladder-h200.md: 2 rungs on NVIDIA H200\n"
    first, second = printed.err.splitlines()
    assert first.startswith("kernelprof: 1 of 2: 01_naive.cu: 35.31 ms, uncoalesced-global-access")
    assert second.startswith("kernelprof: 2 of 2: 02_coalesced.cu: 2.78 ms, l1-throughput (")
    assert workshop.asked == [("01_naive.cu", {}, {}), ("02_coalesced.cu", {}, {})]
    assert _names(machine) == ["caps", "gemm_series", "ladder-h200.json", "ladder-h200.md"]

    naive, coalesced = results(machine / "ladder-h200.json")["rungs"]
    assert naive["full"]["said"]["bottleneck"] == "uncoalesced-global-access"
    assert coalesced["full"]["said"]["bottleneck"] == "l1-throughput"
    assert naive["full"]["passes"] >= 38
    assert naive["traffic"]["asked"] == (2 * 2048**3 + 2048**2) * 4
    assert naive["defines"] == {"BLOCK": 32}
    (beside,) = coalesced["beside"]
    assert beside["size"] == 4096
    assert len(beside["rounds"]) == 9
    assert beside["rounds"][0] == [2_780_000.0, 345_000.0]
    assert beside["timing"] == coalesced["timing"]
    assert {size for size, _ in cublas.rows} == {4096}
    manifest = json.loads((machine / "caps" / "02_coalesced" / "manifest.json").read_text("utf-8"))
    assert manifest["timing"] == coalesced["timing"]

    report = (machine / "ladder-h200.md").read_text(encoding="utf-8")
    row = "| [1 Naive](#rung-1) | `uncoalesced-global-access` | high | 3.89 | 1.0 % (1.0 to 1.0) |"
    assert row in report
    assert "| 2: 12.7x |" in report
    assert "68.74 GB (341x)" in report
    assert shlex.join(["kernelprof", "ladder", "run", *command]) in report
    kernelprof("ladder report ladder-h200.json -o again.md")
    assert (machine / "again.md").read_text(encoding="utf-8") == report


@pytest.mark.usefixtures("workshop")
def test_a_capture_directory_can_travel(machine, kernelprof) -> None:
    kernelprof("ladder run --rung 3 --captures caps")
    assert _names(machine / "caps") == ["03_shared_tile"]
    folder = machine / "caps" / "03_shared_tile"
    assert _names(folder) == ["manifest.json", "raw.csv.gz"]
    text = (folder / "manifest.json").read_text(encoding="utf-8")
    found = json.loads(text)
    jsonschema.Draft202012Validator(json.loads(manifest_schema())).validate(found)
    assert str(machine.parent) not in text
    assert not [word for word in shlex.split(text.replace(",", " ")) if word.startswith("/")]
    (run,) = found["runs"]
    assert run["report"] is None
    assert run["command"][0] == "ncu"
    assert run["command"][-2:] == ["gemm_series", "--cubin=kernel.cubin"]
    assert run["application"] == "gemm_series"
    assert found["target"] == ["cuda/ladder/03_shared_tile.cu"]
    assert found["source"]["path"] == "cuda/ladder/03_shared_tile.cu"
    assert found["preset"]["name"] == "full"
    assert found["timing"]["median_ns"] == 1_870_000.0
    assert found["correctness"]["passed"] is True
    (kernel,) = diagnose(read_capture(folder)).kernels
    assert kernel.verdict.bottleneck == "shared-memory-throughput"


@pytest.mark.usefixtures("workshop")
def test_samples_by_source_line_travel_with_a_capture(machine, monkeypatch, kernelprof) -> None:
    page = f'zcat {PAGE} | sed "s#/project#{ROOT}#"'
    usual = f'exec {os.environ["KERNELPROF_NCU"]} "$@"'
    ncu = machine.parent / "other-ncu"
    ncu.write_text(
        f'#!/bin/sh\ncase "$*" in *--page\\ source*) {page}; exit ;; esac\n{usual}\n',
        encoding="utf-8",
    )
    ncu.chmod(0o755)
    monkeypatch.setenv("KERNELPROF_NCU", str(ncu))
    kernelprof("ladder run --rung 3 --captures caps")
    folder = machine / "caps" / "03_shared_tile"
    assert _names(folder) == ["code.json.gz", "lines.csv.gz", "manifest.json", "raw.csv.gz"]
    manifest = read_manifest(folder)
    assert manifest.runs[0].lines == "lines.csv.gz"
    lines = read_lines(folder, manifest)
    assert lines is not None
    assert {each.file for each in lines} == {"cuda/ladder/03_shared_tile.cu"}
    assert {each.line: each.samples for each in lines}[88] == 1_386_212


def test_without_the_profiler_and_at_another_size(
    machine, workshop, kernelprof, monkeypatch
) -> None:
    monkeypatch.setenv("KERNELPROF_NCU", "/no/such/ncu")
    out = kernelprof("ladder run --rung 1 --rung 2 --size 2048 --no-profile").out
    assert workshop.asked == [
        (name, {"M": 2048, "N": 2048, "K": 2048}, {}) for name in ("01_naive.cu", "02_coalesced.cu")
    ]
    assert out.startswith("# The GEMM ladder on NVIDIA H200\n")
    assert "M = N = K = 2048" in out
    assert "| [1 Naive](#rung-1) | - | - | 35.31 ms |" in out
    assert "## Bytes" not in out
    assert "drill-down" not in out
    assert _names(machine) == ["gemm_series"]


def test_a_rung_that_fails_is_listed_and_the_others_are_climbed(
    machine, workshop, results, kernelprof
) -> None:
    workshop.failing["01_naive.cu"] = InputError("the result is wrong", where="01_naive.cu: C")
    errors = (
        "1 of 2: 01_naive.cu: failed: the result is wrong",
        "2 of 2: 02_coalesced.cu: 2.78 ms",
        "warning: 01_naive.cu: C: the result is wrong",
    )
    kernelprof("ladder run --rung 1 --rung 2 --no-profile -o ladder.md", code=2, err=errors)
    assert "Warning: failed: the result is wrong (01_naive.cu: C" in (
        machine / "ladder.md"
    ).read_text("utf-8")
    naive, coalesced = results(machine / "ladder.json")["rungs"]
    assert naive["error"]["what"] == "the result is wrong"
    assert coalesced["error"] is None


def test_what_the_machine_lacks_ends_the_run_before_anything_was_measured(
    machine, workshop, kernelprof
) -> None:
    workshop.failing["01_naive.cu"] = MissingToolError("nvcc is not installed", hint="install it")
    kernelprof("ladder run -o ladder.md", code=4, err="error: nvcc is not installed")
    assert len(workshop.asked) == 1
    assert _names(machine) == ["gemm_series"]


def test_later_the_same_error_is_that_of_a_rung(machine, workshop, results, kernelprof) -> None:
    workshop.failing["02_coalesced.cu"] = MissingToolError("no memory")
    kernelprof("ladder run --rung 1 --rung 2 --no-profile --json found.json", code=4)
    naive, coalesced = results(machine / "found.json")["rungs"]
    assert naive["error"] is None
    assert coalesced["error"]["exit_code"] == 4


@pytest.mark.slow("several runs")
@pytest.mark.usefixtures("cublas")
def test_an_interrupted_run_keeps_what_is_done_and_goes_on_from_there(
    machine, workshop, *, results, kernelprof, monkeypatch
) -> None:
    short = msgspec.structs.replace(find_ladder(), rungs=find_ladder().rungs[:2])
    monkeypatch.setattr("kernelprof.ladder.registry.load_ladders", lambda: (short,))
    workshop.failing["02_coalesced.cu"] = KeyboardInterrupt()
    command = "ladder run --captures caps -o ladder.md"
    kernelprof(command, code=130)
    assert _names(machine / "caps") == ["01_naive"]
    assert _names(machine) == ["caps", "gemm_series", "ladder.json"]
    (before,) = results(machine / "ladder.json")["rungs"]

    workshop.failing.clear()
    workshop.asked.clear()
    kernelprof(command, "--continue", err="1 of 1: 02_coalesced.cu")
    assert [name for name, *_ in workshop.asked] == ["02_coalesced.cu"]
    assert _names(machine / "caps") == ["01_naive", "02_coalesced"]
    found = results(machine / "ladder.json")
    assert found["rungs"][0] == before
    assert "--continue" not in found["command"]
    assert [rung["file"] for rung in found["rungs"]] == ["01_naive.cu", "02_coalesced.cu"]

    workshop.asked.clear()
    shutil.rmtree(machine / "caps" / "01_naive")
    kernelprof(command, "--continue")
    assert [name for name, *_ in workshop.asked] == ["01_naive.cu"]


def test_what_is_done_is_left_out_and_what_is_not_is_done_again(
    workshop, cublas, results, *, kernelprof, monkeypatch, tmp_path
) -> None:
    whole, rungs = find_ladder(), list(find_ladder().rungs[:2])
    monkeypatch.setattr(
        "kernelprof.ladder.registry.load_ladders",
        lambda: (msgspec.structs.replace(whole, rungs=tuple(rungs)),),
    )
    command = "ladder run --no-profile -o ladder.md --continue"

    def climbed(*more: str) -> list[str]:
        workshop.asked.clear()
        kernelprof(command, *more)
        assert len(results(Path("ladder.json"))["rungs"]) == 2
        return [name for name, *_ in workshop.asked]

    assert climbed() == ["01_naive.cu", "02_coalesced.cu"]
    assert climbed() == []
    assert climbed("--rung", "2") == ["02_coalesced.cu"]
    changed = tmp_path / rungs[0].file
    changed.write_text(rungs[0].path.read_text("utf-8") + "// changed\n", encoding="utf-8")
    rungs[0] = msgspec.structs.replace(rungs[0], path=changed)
    assert climbed() == ["01_naive.cu"]
    assert climbed("2") == ["02_coalesced.cu"]
    assert climbed("sgemm") == []
    assert climbed("sgemm", "2") == climbed("2", "--rung", "sgemm") == ["02_coalesced.cu"]
    rungs[0] = msgspec.structs.replace(rungs[0], path=whole.rungs[0].path)
    assert climbed("sgemm", "2") == ["01_naive.cu", "02_coalesced.cu"]
    rows = len(cublas.rows)
    assert climbed() == []
    assert len(cublas.rows) == rows
    kernelprof(command, "--size", 2048, code=2, err="cannot continue: the results are for sizes")


@pytest.mark.usefixtures("workshop")
def test_what_a_run_without_the_profiler_did_not_know_is_added(results, kernelprof) -> None:
    command = "ladder run --rung 1 --json found.json"
    kernelprof(command, "--no-profile")
    before = results(Path("found.json"))["surroundings"]
    assert (before["ncu"], before["multiprocessors"], before["driver"]) == (
        None,
        None,
        "580.159.04",
    )
    kernelprof(command, "--continue")
    after = results(Path("found.json"))["surroundings"]
    assert (after["ncu"], after["multiprocessors"]) == ("2025.3.1.0", 132)
    kernelprof(command, "--continue", "--no-profile")
    assert results(Path("found.json"))["surroundings"] == after


@pytest.mark.slow("several runs")
def test_captures_are_replaced_and_other_things_are_not(machine, workshop, kernelprof) -> None:
    manifest = machine / "caps" / "02_coalesced" / "manifest.json"
    kernelprof("ladder run --rung 2 --captures caps")
    before = manifest.stat().st_ino
    kernelprof("ladder run --rung 2 --captures caps")
    assert manifest.stat().st_ino != before
    (machine / "caps" / "01_naive").mkdir()
    (machine / "caps" / "01_naive" / "thesis.tex").touch()
    workshop.asked.clear()
    kernelprof(
        "ladder run --captures caps", code=2, err="the path already exists and is not a capture"
    )
    assert workshop.asked == []


# --- another ladder ----------------------------------------------------------------------------


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A ladder of three rungs at two sizes, beside the first one."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    for each in find_ladder().rungs[:3]:
        shutil.copy(each.path, folder)
    text = find_ladder().rungs[0].path.with_name("ladder.toml").read_text("utf-8")
    head, first, second, third, *_ = text.partition('name = "sgemm"')[2].split("[[rung]]")
    head = 'schema_version = "1"\nname = "tiny"' + head.replace(
        "The GEMM ladder", "A tiny ladder"
    ).replace("[4096]", "[2048, 4096]").replace('"float32"', '"bfloat16"').replace('"nn"', '"nt"')
    file = folder / "ladder.toml"
    file.write_text("[[rung]]".join([head, first, second, third]), encoding="utf-8")
    both = (find_ladder(), read_ladder(file))
    monkeypatch.setattr("kernelprof.ladder.registry.load_ladders", lambda: both)
    return both[1]


@pytest.mark.slow("several runs")
def test_a_ladder_is_climbed_by_its_name_at_all_of_its_sizes(
    machine, workshop, tiny, *, cublas, results, kernelprof
) -> None:
    climbed = kernelprof("ladder run tiny --captures caps -o tiny.md --html tiny.html")
    assert [name for name, *_ in workshop.asked] == [rung.file for rung in tiny.rungs]
    assert _names(machine / "caps") == [rung.stem for rung in tiny.rungs]
    assert {size for size, _ in cublas.rows} == {2048, 4096}
    (product,) = cublas.products
    assert product == tiny.product
    found = results(machine / "tiny.json")
    assert (found["ladder"], found["title"]) == ("tiny", "A tiny ladder")
    assert found["product"] == {"precision": "bfloat16", "layout": "nt", "fill": "random"}
    tile = found["rungs"][2]
    small, large = tile["beside"]
    assert (small["size"], large["size"]) == (2048, 4096)
    assert tile["timing"] == large["timing"]
    assert small["timing"]["flops"] == 2.0 * 2048**3
    assert large["ceiling"]["min_bytes"] == 3 * 2 * 4096**2
    report = (machine / "tiny.md").read_text("utf-8")
    assert report.startswith("# A tiny ladder on NVIDIA H200\n")
    assert "M = N = K = 2048 and 4096" in report
    assert "A tiny ladder on NVIDIA H200" in (machine / "tiny.html").read_text("utf-8")
    manifest = json.loads((machine / "caps" / "01_naive" / "manifest.json").read_text("utf-8"))
    assert manifest["target"] == ["cuda/ladder/tiny/01_naive.cu"]
    assert "of another version of its file" not in climbed.err

    workshop.asked.clear()
    kernelprof("ladder run tiny/2 --no-profile --json tiny.json --continue")
    assert [name for name, *_ in workshop.asked] == ["02_coalesced.cu"]
    error = "cannot continue: the results are for ladder tiny, but this run is for"
    kernelprof("ladder run 1 --json tiny.json --continue", code=2, err=error)


@pytest.mark.usefixtures("workshop", "tiny")
def test_one_size_instead_of_those_of_a_ladder(cublas, results, kernelprof) -> None:
    kernelprof("ladder run tiny/1 --size 1024 --no-profile --json found.json")
    assert {size for size, _ in cublas.rows} == {1024}
    found = results(Path("found.json"))
    assert found["sizes"] == {"M": 1024, "N": 1024, "K": 1024}
    assert [each["size"] for each in found["rungs"][0]["beside"]] == [1024]


def test_another_ladder_is_listed_by_its_name(tiny, kernelprof) -> None:
    found = kernelprof.json("ladder list tiny")
    assert found["ladder"]["sizes"] == [2048, 4096]
    assert [rung["path"] for rung in found["rungs"]] == [str(rung.path) for rung in tiny.rungs]
    assert {rung["ladder"] for rung in found["rungs"]} == {"tiny"}
    assert kernelprof("ladder list tiny").out.startswith("A tiny ladder\n")
    kernelprof("ladder list hgemm", code=2, err="there is no ladder 'hgemm'")


@pytest.mark.usefixtures("tiny")
def test_rungs_of_two_ladders_are_not_climbed_together(workshop, kernelprof) -> None:
    kernelprof("ladder run 3 tiny/1", code=2, err="rungs of different ladders: sgemm and tiny")
    assert workshop.asked == []


# --- what cannot be done -----------------------------------------------------------------------


def test_without_cupy_the_ceiling_is_a_dash(workshop, kernelprof) -> None:
    kernelprof(
        "ladder run --rung 1 --no-profile",
        out=("Ceiling: cuBLAS was not measured", "| 35.31 ms | 487 | - |"),
        err="warning: cuBLAS was not measured: CuPy is not installed here; get it",
    )
    assert len(workshop.asked) == 1


def test_cublas_that_fails_on_the_way_leaves_the_rungs_alone(
    workshop, cublas, results, kernelprof
) -> None:
    climbed: list[int] = []
    cublas.ended = lambda: climbed.append(len(workshop.asked))
    cublas.fails_after = 15  # in the rounds of the second rung
    printed = kernelprof("ladder run 1 2 3 --no-profile --json found.json")
    assert climbed == [2]  # its process does not run beside the third
    assert printed.err.count("warning: cuBLAS was not measured: it is gone; look for it") == 1
    naive, coalesced, tile = results(Path("found.json"))["rungs"]
    assert len(naive["beside"]) == 1
    assert "beside" not in coalesced
    assert "beside" not in tile
    assert (coalesced["timing"]["median_ns"], coalesced["error"]) == (2_780_000.0, None)
    assert "| [2 Coalesced](#rung-2) | - | - | - | - | 12.7x |" in printed.out


def test_a_process_of_cublas_that_is_no_ceiling_does_not_stay(
    workshop, cublas, monkeypatch, kernelprof
) -> None:
    def refuse(size: int) -> None:
        raise CeilingError(f"cuBLAS did not compute in FP32 at {size}", hint="look for TF32")

    climbed: list[int] = []
    cublas.ended = lambda: climbed.append(len(workshop.asked))
    monkeypatch.setattr(cublas, "ceiling", refuse)
    kernelprof("ladder run 1 --no-profile")
    assert climbed == [0]


@pytest.mark.parametrize(
    ("options", "lacks"),
    [
        ([], "no NVIDIA GPU (nvidia-smi is missing or reports no GPU) and no ncu"),
        (["--no-profile"], "no NVIDIA GPU (nvidia-smi is missing or reports no GPU)\n"),
    ],
)
def test_without_a_gpu(options, lacks, machine, kernelprof, monkeypatch) -> None:
    monkeypatch.setattr("kernelprof.collect.environment.query_machine", LocalMachine)
    monkeypatch.setenv("KERNELPROF_NCU", "/no/such/ncu")
    errors = (
        f"the ladder cannot run here: this machine has {lacks}",
        "run this on a machine with a GPU, ncu, nvcc and PyCUDA:\nkernelprof ladder run --size",
    )
    kernelprof("ladder run --size 1024", *options, code=4, out="", err=errors)
    assert _names(machine) == ["gemm_series"]


@pytest.mark.usefixtures("machine")
def test_with_a_gpu_and_without_ncu(kernelprof, monkeypatch) -> None:
    monkeypatch.setenv("KERNELPROF_NCU", "/no/such/ncu")
    kernelprof("ladder run", code=4, err="this machine has no ncu (Nsight Compute)\n")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--rung", "99"], "the ladder sgemm has no rung '99'"),
        (
            ["--no-profile", "--captures", "c"],
            "--captures needs ncu, which --no-profile does not run",
        ),
        (["--continue"], "--continue needs the results of an earlier run"),
        (["-o", "no/such/folder/l.md"], "there is no such folder"),
        (["-o", "ladder.json"], "the report must be a Markdown file"),
        (["--size", "0"], "--size"),
        (["--captures", "a%b"], "a path with a % in it"),
    ],
    ids=" ".join,
)
def test_what_does_not_fit_is_refused_before_anything_is_built(
    options, what, workshop, kernelprof
) -> None:
    kernelprof("ladder run", *options, code=2, err=what)
    assert workshop.asked == []


def test_a_report_of_what_is_no_result(machine, kernelprof) -> None:
    kernelprof("ladder report no.json", code=2, err="the results cannot be read: No such file")
    (machine / "no.json").write_text("{}", encoding="utf-8")
    kernelprof("ladder report no.json", code=2, err="this is not the result of a ladder")


@pytest.mark.parametrize(
    "words",
    few(
        ["ladder --help", "ladder list", "ladder run", "ladder run --help"],
        "ladder list",
        "ladder run",
        why="starts one more process",
    ),
)
def test_starting_imports_nothing_heavy(words, cli_environment) -> None:
    code = (
        "import sys; from kernelprof.cli.main import main; main(sys.argv[1:]);"
        "heavy = {'numpy', 'pandas', 'scipy', 'jinja2'} & {*sys.modules};"
        "sys.stderr.write('\\n' + ' '.join(heavy))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words.split()],
        env={**cli_environment, "KERNELPROF_NCU": "/no/such/ncu", "PATH": "/no/such/folder"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr.rpartition("\n")[2] == ""


def test_report_and_results_are_two_files(kernelprof, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    kernelprof("ladder run -o r.md --json r.md", code=2, err="two outputs have the same file name")
