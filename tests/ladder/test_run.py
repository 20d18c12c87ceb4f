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

from kernelprof.analysis.verdict import diagnose
from kernelprof.cli.main import main
from kernelprof.collect.environment import LocalMachine
from kernelprof.errors import InputError, MissingToolError
from kernelprof.ladder.ceiling import CeilingError
from kernelprof.ladder.registry import ladder, read_ladder
from kernelprof.model.manifest import schema
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import read_lines, read_manifest

RUN = ["ladder", "run"]
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "tests" / "captures" / "source_page" / "shared_tile.samples.csv.gz"


def _names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


# --- listing -----------------------------------------------------------------------------------


def test_the_list_has_a_file_for_diagnose_and_fits_80_columns(capsys, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["ladder", "list"]) == 0
    _, _, head, *lines, space, others = capsys.readouterr().out.splitlines()
    assert head.split() == ["#", "file", "title"]
    assert (space, others) == ("", "The BF16 GEMM ladder: kernelprof ladder list bf16.")
    assert len(lines) == len(ladder().rungs)
    assert max(map(len, lines)) <= 80
    for line, rung in zip(lines, ladder().rungs, strict=True):
        number, file, title = line.split(maxsplit=2)
        assert (int(number), title) == (rung.number, rung.title)
        assert file == f"cuda/ladder/{rung.file}"
        assert Path(file).is_file()


def test_from_elsewhere_the_list_has_whole_paths(capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    assert main(["ladder", "list"]) == 0
    _, _, _, first, *_ = capsys.readouterr().out.splitlines()
    assert Path(first.split()[1]) == ladder().rungs[0].path


def test_the_list_says_what_changes_where_that_is_asked_for(capsys, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["ladder", "list", "--changes"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    words = " ".join(out.split())
    for rung in ladder().rungs:
        assert " ".join(rung.changes.split()) in words
    assert "After 3. A thread computes TM outputs" in words
    assert "cuda/ladder/08_register_tile_1d.cu" in words


def test_the_list_for_programs(capsys, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["ladder", "list", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
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
def test_two_rungs_with_captures_and_a_report(machine, workshop, cublas, results, capsys) -> None:
    command = shlex.split("--rung 1 --rung 02_coalesced.cu --captures caps -o ladder-h200.md")
    assert main([*RUN, *command]) == 0
    out, err = capsys.readouterr()
    assert out == "ladder-h200.md: 2 rungs on NVIDIA H200\n"
    first, second = err.splitlines()
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
    assert shlex.join(["kernelprof", *RUN, *command]) in report
    assert main(["ladder", "report", "ladder-h200.json", "-o", "again.md"]) == 0
    assert (machine / "again.md").read_text(encoding="utf-8") == report


def test_a_capture_directory_can_travel(machine, workshop) -> None:
    del workshop
    assert main([*RUN, "--rung", "3", "--captures", "caps"]) == 0
    assert _names(machine / "caps") == ["03_shared_tile"]
    folder = machine / "caps" / "03_shared_tile"
    assert _names(folder) == ["manifest.json", "raw.csv.gz"]
    text = (folder / "manifest.json").read_text(encoding="utf-8")
    found = json.loads(text)
    jsonschema.Draft202012Validator(json.loads(schema())).validate(found)
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


def test_samples_by_source_line_travel_with_a_capture(machine, workshop, monkeypatch) -> None:
    del workshop
    page = f'zcat {PAGE} | sed "s#/project#{ROOT}#"'
    usual = f'exec {os.environ["KERNELPROF_NCU"]} "$@"'
    ncu = machine.parent / "other-ncu"
    ncu.write_text(
        f'#!/bin/sh\ncase "$*" in *--page\\ source*) {page}; exit ;; esac\n{usual}\n',
        encoding="utf-8",
    )
    ncu.chmod(0o755)
    monkeypatch.setenv("KERNELPROF_NCU", str(ncu))
    assert main(["ladder", "run", "--rung", "3", "--captures", "caps"]) == 0
    folder = machine / "caps" / "03_shared_tile"
    assert _names(folder) == ["code.json.gz", "lines.csv.gz", "manifest.json", "raw.csv.gz"]
    manifest = read_manifest(folder)
    assert manifest.runs[0].lines == "lines.csv.gz"
    lines = read_lines(folder, manifest)
    assert lines is not None
    assert {each.file for each in lines} == {"cuda/ladder/03_shared_tile.cu"}
    assert {each.line: each.samples for each in lines}[88] == 1_386_212


def test_without_the_profiler_and_at_another_size(machine, workshop, capsys, monkeypatch) -> None:
    monkeypatch.setenv("KERNELPROF_NCU", "/no/such/ncu")
    assert main([*RUN, "--rung", "1", "--rung", "2", "--size", "2048", "--no-profile"]) == 0
    out = capsys.readouterr().out
    assert workshop.asked == [
        (name, {"M": 2048, "N": 2048, "K": 2048}, {})
        for name in (
            "01_naive.cu",
            "02_coalesced.cu",
        )
    ]
    assert out.startswith("# The GEMM ladder on NVIDIA H200\n")
    assert "M = N = K = 2048" in out
    assert "| [1 Naive](#rung-1) | - | - | 35.31 ms |" in out
    assert "## Bytes" not in out
    assert "drill-down" not in out
    assert _names(machine) == ["gemm_series"]


def test_a_rung_that_fails_is_listed_and_the_others_are_climbed(
    machine, workshop, results, capsys
) -> None:
    workshop.failing["01_naive.cu"] = InputError("the result is wrong", where="01_naive.cu: C")
    command = [*RUN, "--rung", "1", "--rung", "2", "--no-profile", "-o", "ladder.md"]
    assert main(command) == 2
    err = capsys.readouterr().err
    assert "1 of 2: 01_naive.cu: failed: the result is wrong" in err
    assert "2 of 2: 02_coalesced.cu: 2.78 ms" in err
    assert "warning: 01_naive.cu: C: the result is wrong" in err
    assert "Warning: failed: the result is wrong (01_naive.cu: C" in (
        machine / "ladder.md"
    ).read_text("utf-8")
    naive, coalesced = results(machine / "ladder.json")["rungs"]
    assert naive["error"]["what"] == "the result is wrong"
    assert coalesced["error"] is None


def test_what_the_machine_lacks_ends_the_run_before_anything_was_measured(
    machine, workshop, capsys
) -> None:
    workshop.failing["01_naive.cu"] = MissingToolError("nvcc is not installed", hint="install it")
    assert main([*RUN, "-o", "ladder.md"]) == 4
    err = capsys.readouterr().err
    assert "error: nvcc is not installed" in err
    assert len(workshop.asked) == 1
    assert _names(machine) == ["gemm_series"]


def test_later_the_same_error_is_that_of_a_rung(machine, workshop, results) -> None:
    workshop.failing["02_coalesced.cu"] = MissingToolError("no memory")
    command = [*RUN, "--rung", "1", "--rung", "2", "--no-profile", "--json", "found.json"]
    assert main(command) == 4
    naive, coalesced = results(machine / "found.json")["rungs"]
    assert naive["error"] is None
    assert coalesced["error"]["exit_code"] == 4


@pytest.mark.slow("several runs")
def test_an_interrupted_run_keeps_what_is_done_and_goes_on_from_there(
    machine, workshop, cublas, *, results, capsys, monkeypatch
) -> None:
    del cublas
    short = msgspec.structs.replace(ladder(), rungs=ladder().rungs[:2])
    monkeypatch.setattr("kernelprof.ladder.registry.ladders", lambda: (short,))
    workshop.failing["02_coalesced.cu"] = KeyboardInterrupt()
    command = [*RUN, "--captures", "caps", "-o", "ladder.md"]
    assert main(command) == 130
    assert _names(machine / "caps") == ["01_naive"]
    assert _names(machine) == ["caps", "gemm_series", "ladder.json"]
    (before,) = results(machine / "ladder.json")["rungs"]

    workshop.failing.clear()
    workshop.asked.clear()
    capsys.readouterr()
    assert main([*command, "--continue"]) == 0
    assert [name for name, *_ in workshop.asked] == ["02_coalesced.cu"]
    assert "1 of 1: 02_coalesced.cu" in capsys.readouterr().err
    assert _names(machine / "caps") == ["01_naive", "02_coalesced"]
    found = results(machine / "ladder.json")
    assert found["rungs"][0] == before
    assert "--continue" not in found["command"]
    assert [rung["file"] for rung in found["rungs"]] == ["01_naive.cu", "02_coalesced.cu"]

    workshop.asked.clear()
    shutil.rmtree(machine / "caps" / "01_naive")
    assert main([*command, "--continue"]) == 0
    assert [name for name, *_ in workshop.asked] == ["01_naive.cu"]


def test_what_is_done_is_left_out_and_what_is_not_is_done_again(
    workshop, cublas, results, *, capsys, monkeypatch, tmp_path
) -> None:
    whole, rungs = ladder(), list(ladder().rungs[:2])
    monkeypatch.setattr(
        "kernelprof.ladder.registry.ladders",
        lambda: (msgspec.structs.replace(whole, rungs=tuple(rungs)),),
    )
    command = [*RUN, "--no-profile", "-o", "ladder.md", "--continue"]

    def climbed(*more: str) -> list[str]:
        workshop.asked.clear()
        assert main([*command, *more]) == 0
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
    assert main([*command, "--size", "2048"]) == 2
    assert "the results to continue are of another size" in capsys.readouterr().err


def test_what_a_run_without_the_profiler_did_not_know_is_added(workshop, results) -> None:
    del workshop
    command = [*RUN, "--rung", "1", "--json", "found.json"]
    assert main([*command, "--no-profile"]) == 0
    before = results(Path("found.json"))["surroundings"]
    assert (before["ncu"], before["multiprocessors"], before["driver"]) == (
        None,
        None,
        "580.159.04",
    )
    assert main([*command, "--continue"]) == 0
    after = results(Path("found.json"))["surroundings"]
    assert (after["ncu"], after["multiprocessors"]) == ("2025.3.1.0", 132)
    assert main([*command, "--continue", "--no-profile"]) == 0
    assert results(Path("found.json"))["surroundings"] == after


@pytest.mark.slow("several runs")
def test_captures_are_replaced_and_other_things_are_not(machine, workshop, capsys) -> None:
    command = [*RUN, "--rung", "2", "--captures", "caps"]
    assert main(command) == 0
    before = (machine / "caps" / "02_coalesced" / "manifest.json").stat().st_ino
    assert main(command) == 0
    assert (machine / "caps" / "02_coalesced" / "manifest.json").stat().st_ino != before
    (machine / "caps" / "01_naive").mkdir()
    (machine / "caps" / "01_naive" / "thesis.tex").touch()
    workshop.asked.clear()
    assert main([*RUN, "--captures", "caps"]) == 2
    assert "what is there is not a capture" in capsys.readouterr().err
    assert workshop.asked == []


# --- another ladder ----------------------------------------------------------------------------


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A ladder of three rungs at two sizes, beside the first one."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    for each in ladder().rungs[:3]:
        shutil.copy(each.path, folder)
    text = ladder().rungs[0].path.with_name("ladder.toml").read_text("utf-8")
    head, first, second, third, *_ = text.partition('name = "sgemm"')[2].split("[[rung]]")
    head = 'schema_version = "1"\nname = "tiny"' + head.replace(
        "The GEMM ladder", "A tiny ladder"
    ).replace("[4096]", "[2048, 4096]").replace('"float32"', '"bfloat16"').replace('"nn"', '"nt"')
    file = folder / "ladder.toml"
    file.write_text("[[rung]]".join([head, first, second, third]), encoding="utf-8")
    both = (ladder(), read_ladder(file))
    monkeypatch.setattr("kernelprof.ladder.registry.ladders", lambda: both)
    return both[1]


@pytest.mark.slow("several runs")
def test_a_ladder_is_climbed_by_its_name_at_all_of_its_sizes(
    machine, workshop, tiny, *, cublas, results, capsys
) -> None:
    assert main([*RUN, "tiny", "--captures", "caps", "-o", "tiny.md", "--html", "tiny.html"]) == 0
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
    assert "of another version of its file" not in capsys.readouterr().err

    workshop.asked.clear()
    assert main([*RUN, "tiny/2", "--no-profile", "--json", "tiny.json", "--continue"]) == 0
    assert [name for name, *_ in workshop.asked] == ["02_coalesced.cu"]
    assert main([*RUN, "1", "--json", "tiny.json", "--continue"]) == 2
    assert "the results to continue are of another ladder: tiny, and not" in capsys.readouterr().err


def test_one_size_instead_of_those_of_a_ladder(workshop, tiny, cublas, results) -> None:
    del workshop, tiny
    command = [*RUN, "tiny/1", "--size", "1024", "--no-profile", "--json", "found.json"]
    assert main(command) == 0
    assert {size for size, _ in cublas.rows} == {1024}
    found = results(Path("found.json"))
    assert found["sizes"] == {"M": 1024, "N": 1024, "K": 1024}
    assert [each["size"] for each in found["rungs"][0]["beside"]] == [1024]


def test_another_ladder_is_listed_by_its_name(tiny, capsys) -> None:
    assert main(["ladder", "list", "tiny", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ladder"]["sizes"] == [2048, 4096]
    assert [rung["path"] for rung in found["rungs"]] == [str(rung.path) for rung in tiny.rungs]
    assert {rung["ladder"] for rung in found["rungs"]} == {"tiny"}
    assert main(["ladder", "list", "tiny"]) == 0
    assert capsys.readouterr().out.startswith("A tiny ladder\n")
    assert main(["ladder", "list", "hgemm"]) == 2
    assert "there is no ladder 'hgemm'" in capsys.readouterr().err


def test_rungs_of_two_ladders_are_not_climbed_together(workshop, tiny, capsys) -> None:
    del tiny
    assert main([*RUN, "3", "tiny/1"]) == 2
    assert "rungs of different ladders: sgemm and tiny" in capsys.readouterr().err
    assert workshop.asked == []


# --- what cannot be done -----------------------------------------------------------------------


def test_without_cupy_the_ceiling_is_a_dash(workshop, capsys) -> None:
    assert main([*RUN, "--rung", "1", "--no-profile"]) == 0
    out, err = capsys.readouterr()
    assert "warning: cuBLAS was not measured: CuPy is not installed here; get it" in err
    assert "Ceiling: cuBLAS was not measured" in out
    assert "| 35.31 ms | 487 | - |" in out
    assert len(workshop.asked) == 1


def test_cublas_that_fails_on_the_way_leaves_the_rungs_alone(
    workshop, cublas, results, capsys
) -> None:
    climbed: list[int] = []
    cublas.ended = lambda: climbed.append(len(workshop.asked))
    cublas.fails_after = 15  # in the rounds of the second rung
    command = [*RUN, "1", "2", "3", "--no-profile", "--json", "found.json"]
    assert main(command) == 0
    assert climbed == [2]  # its process does not run beside the third
    out, err = capsys.readouterr()
    assert err.count("warning: cuBLAS was not measured: it is gone; look for it") == 1
    naive, coalesced, tile = results(Path("found.json"))["rungs"]
    assert len(naive["beside"]) == 1
    assert "beside" not in coalesced
    assert "beside" not in tile
    assert (coalesced["timing"]["median_ns"], coalesced["error"]) == (2_780_000.0, None)
    assert "| [2 Coalesced](#rung-2) | - | - | - | - | 12.7x |" in out


def test_a_process_of_cublas_that_is_no_ceiling_does_not_stay(
    workshop, cublas, monkeypatch
) -> None:
    def refuse(size: int) -> None:
        raise CeilingError(f"cuBLAS did not compute in FP32 at {size}", hint="look for TF32")

    climbed: list[int] = []
    cublas.ended = lambda: climbed.append(len(workshop.asked))
    monkeypatch.setattr(cublas, "ceiling", refuse)
    assert main([*RUN, "1", "--no-profile"]) == 0
    assert climbed == [0]


@pytest.mark.parametrize(
    ("options", "lacks"),
    [
        ([], "no NVIDIA GPU (none answers nvidia-smi) and no ncu"),
        (["--no-profile"], "no NVIDIA GPU (none answers nvidia-smi)\n"),
    ],
)
def test_without_a_gpu(options, lacks, machine, capsys, monkeypatch) -> None:
    monkeypatch.setattr("kernelprof.collect.environment.query_machine", LocalMachine)
    monkeypatch.setenv("KERNELPROF_NCU", "/no/such/ncu")
    assert main([*RUN, "--size", "1024", *options]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert f"the ladder cannot be climbed here: this machine has {lacks}" in err
    assert "on a machine with a GPU, ncu, nvcc and PyCUDA:\nkernelprof ladder run --size" in err
    assert _names(machine) == ["gemm_series"]


def test_with_a_gpu_and_without_ncu(machine, capsys, monkeypatch) -> None:
    del machine
    monkeypatch.setenv("KERNELPROF_NCU", "/no/such/ncu")
    assert main(RUN) == 4
    assert "this machine has no ncu (Nsight Compute)\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--rung", "99"], "the ladder sgemm has no rung '99'"),
        (["--no-profile", "--captures", "c"], "--captures needs the profiler"),
        (["--continue"], "there are no results to go on from"),
        (["-o", "no/such/folder/l.md"], "there is no such folder"),
        (["-o", "ladder.json"], "a report is Markdown"),
        (["--size", "0"], "--size"),
        (["--captures", "a%b"], "a path with a % in it"),
    ],
    ids=" ".join,
)
def test_what_does_not_fit_is_refused_before_anything_is_built(
    options, what, workshop, capsys
) -> None:
    assert main([*RUN, *options]) == 2
    assert what in capsys.readouterr().err
    assert workshop.asked == []


def test_a_report_of_what_is_no_result(machine, capsys) -> None:
    assert main(["ladder", "report", "no.json"]) == 2
    assert "the results cannot be read: No such file" in capsys.readouterr().err
    (machine / "no.json").write_text("{}", encoding="utf-8")
    assert main(["ladder", "report", "no.json"]) == 2
    assert "this is not the result of a climb" in capsys.readouterr().err


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


def test_report_and_results_are_two_files(capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*RUN, "-o", "r.md", "--json", "r.md"]) == 2
    assert "two outputs name one file" in capsys.readouterr().err
