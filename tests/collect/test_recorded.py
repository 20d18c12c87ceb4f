"""Recorded captures: a kernel is diagnosed from one only if it is just the kernel of the record."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from tests.support.wheels import without_wheels

from kernelprof.cli.main import main
from kernelprof.collect import recorded, store
from kernelprof.collect.environment import LocalGpu, LocalMachine
from kernelprof.errors import MissingToolError
from kernelprof.launch.source import launch_hashes
from kernelprof.launch.specification.reader import load_spec
from kernelprof.model.manifest import (
    CorrectnessFacts,
    GpuFacts,
    Manifest,
    RunFacts,
    SourceFacts,
    TimingFacts,
)
from kernelprof.model.records import to_json
from kernelprof.prediction import machine_code
from kernelprof.report.writers.json import schema
from kernelprof.sources.capture_directory import MANIFEST, read_manifest, read_stored

LADDER = Path(__file__).parents[2] / "cuda" / "ladder"
OLD, NEW = "2026-11-20T09:00:00Z", "2026-11-21T09:00:00Z"
SHIPPED = recorded.FOLDERS
FIRST_LINE = "as recorded on an NVIDIA H200 on 2026-11-21 with Nsight Compute 2025.3.1.0 (no GPU"

Recording = Callable[..., Path]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an ``ncu`` and neither GPU nor what predicts, and a folder for records."""
    folder = tmp_path / "work"
    folder.mkdir()
    ncu = tmp_path / "ncu"
    ncu.write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
    ncu.chmod(0o755)
    monkeypatch.setenv("KERNELPROF_NCU", str(ncu))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("kernelprof.collect.environment.query_machine", LocalMachine)
    monkeypatch.setattr(recorded, "FOLDERS", (tmp_path / "records",))
    monkeypatch.setattr(machine_code, "find_toolchain", without_wheels)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def source(work: Path) -> Path:
    """The ladder's first rung, which may be changed."""
    return Path(shutil.copy(LADDER / "01_naive.cu", work / "01_naive.cu"))


@pytest.fixture(scope="session")
def page(captures: Path) -> Callable[[str], bytes]:
    """The raw page of one kernel of the ladder."""
    text = gzip.decompress((captures / "ladder" / "ladder.full.raw.csv.gz").read_bytes()).decode()
    header, units, *rows = list(csv.reader(io.StringIO(text)))

    def cut(kernel: str) -> bytes:
        (row,) = [row for row in rows if row[header.index("Kernel Name")] == kernel]
        out = io.StringIO()
        csv.writer(out, quoting=csv.QUOTE_ALL).writerows([header, units, row])
        return out.getvalue().encode()

    return cut


@pytest.fixture
def record(page: Callable[[str], bytes]) -> Recording:
    """Writes a record of a source as it is now."""

    def write(
        source: Path, name: str = "01", created: str = NEW, kernel: str = "sgemm_naive"
    ) -> Path:
        spec = load_spec(source)
        hashes = launch_hashes(source, spec)
        folder = recorded.FOLDERS[0] / "ladder" / name
        with store.draft(folder) as draft:
            raw, digest = draft.store("raw", 0, page(kernel))
            run = RunFacts(
                command=("ncu", "python"),
                raw=raw,
                raw_sha256=digest,
                report="capture.ncu-rep",
                why="preset full",
                metrics=(),
                launches=1,
                passes=None,
                seconds=1.0,
            )
            facts = SourceFacts(
                path=f"cuda/ladder/{source.name}",
                sha256=hashes.source,
                specification=spec.document(),
                specification_sha256=hashes.specification,
                compile_sha256=hashes.compile,
                includes=dict(hashes.includes),
            )
            manifest = Manifest(
                created=created,
                kernelprof="0.1.0",
                target=(facts.path,),
                ncu="2025.3.1.0",
                driver="580.95.05",
                cuda="13.0",
                gpu=GpuFacts("NVIDIA H200", "9.0"),
                clock_control="none",
                runs=(run,),
                source=facts,
                timing=TimingFacts(20, 5, 2e6, 1.9e6, 2.2e6),
                correctness=CorrectnessFacts(True, "gemm", 2e-7, 1e-5),
            )
            draft.commit(manifest)
        return folder

    return write


def _change(folder: Path, **changes: object) -> None:
    manifest = replace(read_manifest(folder), **changes)  # type: ignore[arg-type]
    (folder / MANIFEST).write_text(to_json(manifest), encoding="utf-8")


def _verdict(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    assert main([*arguments, "--format", "json"]) == 0
    (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
    return kernel["name"], kernel["verdict"]["bottleneck"]


def test_a_kernel_is_diagnosed_from_its_record(source, record, capsys) -> None:
    folder = record(source)
    assert main(["diagnose", "01_naive.cu"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == f"01_naive.cu {FIRST_LINE} here)"
    assert "Limited by uncoalesced-global-access" in out
    assert err.splitlines() == [
        "kernelprof: as recorded: checked against gemm in float64: error 2e-07 (allowed 1e-05)",
        "kernelprof: as recorded: timed: median 2 ms (20 launches, 1.9 ms to 2.2 ms)",
    ]
    expected = _verdict(["diagnose", str(folder)], capsys)
    assert _verdict(["diagnose", "01_naive.cu"], capsys) == expected


def test_files_of_one_name_in_two_folders_have_records_of_their_own(
    source, record, work, capsys
) -> None:
    """Every ladder has a first rung that is called the same."""
    other = work / "bf16" / "01_naive.cu"
    other.parent.mkdir()
    other.write_text(source.read_text("utf-8") + "// another\n", encoding="utf-8")
    record(source, "01")
    record(other, "bf16/01", kernel="sgemm_shared_tile")
    names = {}
    for each in (source, other):
        assert main(["diagnose", str(each.relative_to(work))]) == 0
        names[each] = capsys.readouterr().out
    assert "shared-memory-throughput" in names[other]
    assert "uncoalesced-global-access" in names[source]
    other.write_text(source.read_text("utf-8") + "// changed\n", encoding="utf-8")
    assert main(["diagnose", "bf16/01_naive.cu"]) == 4
    assert "the source differs from the recorded one" in capsys.readouterr().err


def test_samples_by_source_line_of_a_record_are_on_its_page(source, record, work) -> None:
    folder = record(source)
    data = gzip.compress(b"file,function,line,samples\ncuda/ladder/01_naive.cu,sgemm_naive,3,1\n")
    (folder / "lines.csv.gz").write_bytes(data)
    (run,) = read_manifest(folder).runs
    digest = hashlib.sha256(data).hexdigest()
    _change(folder, runs=(replace(run, lines="lines.csv.gz", lines_sha256=digest),))
    assert main(["diagnose", "01_naive.cu", "--html", "page.html"]) == 0
    assert "100 % of the samples are at" in (work / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [["--format", "json"], ["--format", "markdown"], ["-o", "f"]])
def test_what_is_not_read_at_once_says_on_stderr_that_it_is_a_record(
    source, record, capsys, options
) -> None:
    record(source)
    assert main(["diagnose", "01_naive.cu", *options]) == 0
    out, err = capsys.readouterr()
    assert f"kernelprof: warning: 01_naive.cu {FIRST_LINE} here)\n" in err
    if options[-1] == "json":
        found = json.loads(out)
        jsonschema.Draft202012Validator(json.loads(schema())).validate(found)
        assert found["captures"][0]["origin"] == f"01_naive.cu {FIRST_LINE} here)"


def test_a_preset_judges_the_record(source, record, capsys) -> None:
    record(source)
    assert main(["diagnose", "01_naive.cu", "--preset", "dram", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["captures"][0]["preset"] == "dram"
    assert main(["diagnose", "01_naive.cu", "--preset", "drm"]) == 2


def _first_paragraph(capsys: pytest.CaptureFixture[str]) -> str:
    """What stands above the number of kernels, however it wraps."""
    return " ".join(capsys.readouterr().out.partition("\n1 kernel ")[0].split())


def test_the_first_line_says_what_is_missing(source, record, capsys, monkeypatch) -> None:
    record(source)
    monkeypatch.setenv("KERNELPROF_NCU", "no/such/ncu")
    assert main(["diagnose", "01_naive.cu"]) == 0
    assert "(no GPU and no ncu here)" in _first_paragraph(capsys)
    seen = LocalMachine((LocalGpu(0, "NVIDIA H200", (9, 0)),))
    monkeypatch.setattr("kernelprof.collect.environment.query_machine", lambda: seen)
    assert main(["diagnose", "01_naive.cu"]) == 0
    assert "(no ncu here)" in _first_paragraph(capsys)


def test_where_a_kernel_can_be_measured_no_record_stands_in(
    source, record, capsys, monkeypatch
) -> None:
    def prepare(*_: object, **__: object) -> None:
        raise MissingToolError("PyCUDA cannot be imported")

    record(source)
    seen = LocalMachine((LocalGpu(0, "NVIDIA H200", (9, 0)),))
    monkeypatch.setattr("kernelprof.collect.environment.query_machine", lambda: seen)
    monkeypatch.setattr("kernelprof.collect.run.prepare", prepare)
    assert main(["diagnose", "01_naive.cu"]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert "PyCUDA cannot be imported" in err


def test_a_profile_is_never_a_record(source, record, capsys) -> None:
    record(source)
    assert main(["profile", "01_naive.cu", "-o", "out"]) == 4
    assert "this machine has no NVIDIA GPU" in capsys.readouterr().err
    assert not Path("out").exists()


def test_one_byte_more_is_another_source(source, record, capsys) -> None:
    record(source)
    source.write_bytes(source.read_bytes() + b"\n")
    assert main(["diagnose", "01_naive.cu"]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert (
        "; 01_naive.cu was recorded on 2026-11-21, but the source differs from the recorded one\n"
    ) in err
    assert "\nkernelprof diagnose 01_naive.cu\n" in err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--size", "M=512"], "the launch specification differs (M is 4096 there and 512 here)\n"),
        (
            ["--define", "BLOCK=16"],
            "the launch specification differs (BLOCK is 32 there and 16 here), "
            "compile flags differ\n",
        ),
    ],
)
def test_other_sizes_and_defines_are_another_launch(
    source, record, capsys, options, expected
) -> None:
    record(source)
    assert main(["diagnose", "01_naive.cu", *options]) == 4
    err = capsys.readouterr().err
    assert f", but {expected}" in err
    assert f"\nkernelprof diagnose 01_naive.cu {' '.join(options)}\n" in err
    # The recorded size said once more changes nothing.
    assert main(["diagnose", "01_naive.cu", "--size", "M=4096"]) == 0


def test_another_included_file_is_another_kernel(source, record, capsys) -> None:
    header = source.with_name("tile.cuh")
    header.write_text("#pragma once\n", encoding="utf-8")
    text = source.read_text(encoding="utf-8")
    source.write_text(f'{text}\n#include "tile.cuh"\n', encoding="utf-8")
    record(source)
    assert main(["diagnose", "01_naive.cu"]) == 0
    header.write_text("#pragma once\n#define X\n", encoding="utf-8")
    capsys.readouterr()
    assert main(["diagnose", "01_naive.cu"]) == 4
    assert ", but an included file differs\n" in capsys.readouterr().err


def test_the_name_of_a_file_does_not_count(source: Path, record: Recording) -> None:
    record(source)
    assert main(["diagnose", str(source.rename("mine.cu"))]) == 0


def test_the_newest_of_several_counts(source, record, capsys) -> None:
    record(source, "a", OLD, "sgemm_coalesced")
    record(source, "b", NEW, "sgemm_naive")
    record(source, "c", OLD, "sgemm_warp_tile")
    assert _verdict(["diagnose", "01_naive.cu"], capsys)[0] == "sgemm_naive"


def test_the_nearest_record_says_what_differs(source, record, capsys) -> None:
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("// M = 4096", "// M = 2048") + "\n", encoding="utf-8")
    record(source, "a", NEW)
    source.write_text(text, encoding="utf-8")
    record(source, "b", OLD)
    assert main(["diagnose", "01_naive.cu", "--size", "K=64"]) == 4
    err = capsys.readouterr().err
    assert "was recorded on 2026-11-20, but the launch" in err
    assert "K is 4096 there and 64 here" in err


def test_a_damaged_record_is_as_good_as_none(source, record, capsys) -> None:
    older = record(source, "older", OLD)
    newer = record(source, "newer", NEW)
    broken = record(source, "broken", NEW)
    (broken / "manifest.json").write_text("{", encoding="utf-8")
    (newer / "raw.csv.gz").write_bytes(b"?")
    assert main(["diagnose", "01_naive.cu"]) == 0
    assert "on 2026-11-20 with" in capsys.readouterr().out.splitlines()[0]
    (older / "raw.csv.gz").unlink()
    assert main(["diagnose", "01_naive.cu"]) == 4
    err = capsys.readouterr().err
    assert f"its recorded capture is damaged ({newer})" in err
    assert "Traceback" not in err


def test_records_that_say_less_of_their_source_do_not_match(source, record, capsys) -> None:
    folder = record(source)
    facts = read_manifest(folder).source
    assert facts is not None
    _change(folder, source=SourceFacts(facts.path, facts.sha256))
    assert main(["diagnose", "01_naive.cu"]) == 4
    assert "the launch specification differs" in capsys.readouterr().err
    _change(folder, source=None)
    assert main(["diagnose", "01_naive.cu"]) == 4
    assert "there is no recorded capture of it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--keep", "out"], "--keep"),
        (["--sanitize", "memcheck", "--launch-count", "2"], "--sanitize and --launch-count"),
        (["--clock-control", "base"], "--clock-control"),
    ],
)
def test_what_only_a_measurement_can_do_is_refused(source, record, capsys, options, named) -> None:
    record(source)
    assert main(["diagnose", "01_naive.cu", *options]) == 4
    assert f"{named} cannot be done with a recorded capture" in capsys.readouterr().err
    assert not Path("out").exists()


def test_a_kernel_filter_applies_to_a_record(source, record, capsys) -> None:
    record(source)
    assert main(["diagnose", "01_naive.cu", "--kernel", "^sgemm_n"]) == 0
    assert main(["diagnose", "01_naive.cu", "--kernel", "softmax"]) == 2
    assert "no kernel's name matches" in capsys.readouterr().err


def test_the_shipped_records_can_all_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert recorded.FOLDER.is_dir()
    for path in (recorded.FOLDER / "h200").rglob(MANIFEST):
        manifest = read_manifest(path.parent)
        assert manifest.source is not None
        assert not Path(manifest.source.path).is_absolute()
        assert len(read_stored(path.parent))


def test_a_changed_kernel_is_not_compared_with_one_of_another_folder(
    tmp_path, capsys, monkeypatch
) -> None:
    """Every pair of the corpus has files of the same names."""
    monkeypatch.setattr(recorded, "FOLDERS", SHIPPED)
    known = Path(__file__).parents[2] / "cuda/pairs/transpose-column-reads"
    for folder, said in ((known.name, "but the source differs"), ("mine", "no recorded capture")):
        place = tmp_path / folder
        place.mkdir()
        text = (known / "before.cu").read_text("utf-8")
        monkeypatch.chdir(place)
        (place / "before.cu").write_text(text + "// changed\n", "utf-8")
        assert main(["diagnose", str(place / "before.cu")]) == 4
        assert said in capsys.readouterr().err
