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
from typing import TYPE_CHECKING

import jsonschema
import pytest
from tests.support.manifests import FULL, RUN
from tests.support.wheels import without_wheels

from kernelprof.collect import recorded, store
from kernelprof.collect.environment import LocalGpu, LocalMachine
from kernelprof.errors import MissingToolError
from kernelprof.launch.source import launch_hashes
from kernelprof.launch.specification.reader import load_spec
from kernelprof.model.manifest import (
    CorrectnessFacts,
    SourceFacts,
    TimingFacts,
)
from kernelprof.model.records import to_json
from kernelprof.prediction import machine_code
from kernelprof.report.writers.json import schema
from kernelprof.sources.capture_directory import MANIFEST, read_manifest, read_stored

if TYPE_CHECKING:
    from tests.support.commands import Command, Printed

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
            run = replace(RUN, raw=raw, raw_sha256=digest, lines=None, lines_sha256=None)
            facts = SourceFacts(
                path=f"cuda/ladder/{source.name}",
                sha256=hashes.source,
                specification=spec.document(),
                specification_sha256=hashes.specification,
                compile_sha256=hashes.compile,
                includes=dict(hashes.includes),
            )
            manifest = replace(
                FULL,
                created=created,
                target=(facts.path,),
                ncu="2025.3.1.0",
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


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with an H200."""
    seen = LocalMachine((LocalGpu(0, "NVIDIA H200", (9, 0)),))
    monkeypatch.setattr("kernelprof.collect.environment.query_machine", lambda: seen)


@pytest.fixture
def diagnose(kernelprof: Command) -> Callable[..., Printed]:
    """Runs ``diagnose 01_naive.cu`` with more options; exit code 4 where texts are refused."""

    def run(options: str = "", *, refused: object = ()) -> Printed:
        code = 4 if refused else 0
        printed = kernelprof(f"diagnose 01_naive.cu {options}", code=code, err=refused)
        assert not refused or printed.out == ""
        return printed

    return run


def _verdict(command: Command, source: object) -> tuple[str, str]:
    (kernel,) = command.json(f"diagnose {source}")["kernels"]
    return kernel["name"], kernel["verdict"]["bottleneck"]


def test_a_kernel_is_diagnosed_from_its_record(source, record, kernelprof, diagnose) -> None:
    folder = record(source)
    printed = diagnose()
    assert printed.out.splitlines()[0] == f"01_naive.cu {FIRST_LINE} here)"
    assert "Limited by uncoalesced-global-access" in printed.out
    assert printed.err.splitlines() == [
        "kernelprof: as recorded: checked against gemm in float64: error 2e-07 (allowed 1e-05)",
        "kernelprof: as recorded: timed: median 2 ms (20 launches, 1.9 ms to 2.2 ms)",
    ]
    assert _verdict(kernelprof, "01_naive.cu") == _verdict(kernelprof, folder)


def test_files_of_one_name_in_two_folders_have_records_of_their_own(
    source, record, work, kernelprof
) -> None:
    """Every ladder has a first rung that is called the same."""
    other = work / "bf16" / "01_naive.cu"
    other.parent.mkdir()
    other.write_text(source.read_text("utf-8") + "// another\n", encoding="utf-8")
    record(source, "01")
    record(other, "bf16/01", kernel="sgemm_shared_tile")
    kernelprof("diagnose 01_naive.cu", out="uncoalesced-global-access")
    kernelprof("diagnose bf16/01_naive.cu", out="shared-memory-throughput")
    other.write_text(source.read_text("utf-8") + "// changed\n", encoding="utf-8")
    differs = "the source differs"
    kernelprof("diagnose bf16/01_naive.cu", code=4, err=differs)


def test_samples_by_source_line_of_a_record_are_on_its_page(source, record, work, diagnose) -> None:
    folder = record(source)
    data = gzip.compress(b"file,function,line,samples\ncuda/ladder/01_naive.cu,sgemm_naive,3,1\n")
    (folder / "lines.csv.gz").write_bytes(data)
    (run,) = read_manifest(folder).runs
    digest = hashlib.sha256(data).hexdigest()
    _change(folder, runs=(replace(run, lines="lines.csv.gz", lines_sha256=digest),))
    diagnose("--html page.html")
    assert "100 % of the samples are at" in (work / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("options", ["--format json", "--format markdown", "-o f"])
def test_what_is_not_read_at_once_says_on_stderr_that_it_is_a_record(
    source, record, diagnose, options
) -> None:
    record(source)
    printed = diagnose(options)
    assert f"kernelprof: warning: 01_naive.cu {FIRST_LINE} here)\n" in printed.err
    if options == "--format json":
        jsonschema.Draft202012Validator(json.loads(schema())).validate(printed.json)
        assert printed.json["captures"][0]["origin"] == f"01_naive.cu {FIRST_LINE} here)"


def test_a_preset_and_a_filter_of_kernels_apply_to_a_record(source, record, kernelprof) -> None:
    record(source)
    judged = kernelprof.json("diagnose 01_naive.cu --preset dram")
    assert judged["captures"][0]["preset"] == "dram"
    kernelprof("diagnose 01_naive.cu --preset drm", code=2)
    kernelprof("diagnose 01_naive.cu --kernel regex:^sgemm_n")
    missing = "no kernel's name matches"
    kernelprof("diagnose 01_naive.cu --kernel softmax", code=2, err=missing)


@pytest.mark.parametrize(
    ("has_gpu", "lacking"), [(False, "(no GPU and no ncu here)"), (True, "(no ncu here)")]
)
def test_the_first_line_says_what_is_missing(
    source, record, diagnose, *, has_gpu, lacking, request, monkeypatch
) -> None:
    record(source)
    monkeypatch.setenv("KERNELPROF_NCU", "no/such/ncu")
    if has_gpu:
        request.getfixturevalue("gpu")
    # What stands above the number of kernels, however it wraps
    assert lacking in " ".join(diagnose().out.partition("\n1 kernel ")[0].split())


@pytest.mark.usefixtures("gpu")
def test_where_a_kernel_can_be_measured_no_record_stands_in(
    source, record, diagnose, monkeypatch
) -> None:
    def prepare(*_: object, **__: object) -> None:
        raise MissingToolError("PyCUDA cannot be imported")

    record(source)
    monkeypatch.setattr("kernelprof.collect.run.prepare_kernel", prepare)
    diagnose(refused="PyCUDA cannot be imported")


def test_a_profile_is_never_a_record(source, record, kernelprof) -> None:
    record(source)
    kernelprof("profile 01_naive.cu -o out", code=4, err="this machine has no NVIDIA GPU")
    assert not Path("out").exists()


def _add_byte(source: Path) -> None:
    source.write_bytes(source.read_bytes() + b"\n")


def _change_header(source: Path) -> None:
    source.with_name("tile.cuh").write_text("#pragma once\n#define X\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "options", "differing"),
    [
        (_add_byte, "", "the source differs\n"),
        (_change_header, "", "an included file differs\n"),
        (
            None,
            "--size M=512",
            "the launch specification differs (M was 4096 and is now 512)\n",
        ),
        (
            None,
            "--define BLOCK=16",
            "the launch specification differs (BLOCK was 32 and is now 16), compile flags differ\n",
        ),
    ],
)
def test_another_kernel_has_no_record_and_its_difference_is_reported(
    source, record, diagnose, *, change, options, differing
) -> None:
    source.with_name("tile.cuh").write_text("#pragma once\n", encoding="utf-8")
    text = source.read_text(encoding="utf-8")
    source.write_text(f'{text}\n#include "tile.cuh"\n', encoding="utf-8")
    record(source)
    diagnose("--size M=4096")  # the recorded size once more changes nothing
    if change is not None:
        change(source)
    command = f"\nkernelprof diagnose 01_naive.cu {options}".rstrip(" ")
    recorded_here = "; 01_naive.cu was recorded on 2026-11-21, but "
    diagnose(options, refused=[recorded_here + differing, command + "\n"])


def test_the_name_of_a_file_does_not_count(source, record, kernelprof) -> None:
    record(source)
    kernelprof("diagnose", source.rename("mine.cu"))


def test_the_newest_of_several_counts(source, record, kernelprof) -> None:
    record(source, "a", OLD, "sgemm_coalesced")
    record(source, "b", NEW, "sgemm_naive")
    record(source, "c", OLD, "sgemm_warp_tile")
    assert _verdict(kernelprof, "01_naive.cu")[0] == "sgemm_naive"


def test_the_nearest_record_says_what_differs(source, record, diagnose) -> None:
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("// M = 4096", "// M = 2048") + "\n", encoding="utf-8")
    record(source, "a", NEW)
    source.write_text(text, encoding="utf-8")
    record(source, "b", OLD)
    nearest = "was recorded on 2026-11-20, but the launch"
    diagnose("--size K=64", refused=[nearest, "K was 4096 and is now 64"])


def test_a_damaged_record_is_as_good_as_none(source, record, diagnose) -> None:
    older = record(source, "older", OLD)
    newer = record(source, "newer", NEW)
    broken = record(source, "broken", NEW)
    (broken / "manifest.json").write_text("{", encoding="utf-8")
    (newer / "raw.csv.gz").write_bytes(b"?")
    assert "on 2026-11-20 with" in diagnose().out.splitlines()[0]
    (older / "raw.csv.gz").unlink()
    diagnose(refused=f"the recorded capture of this kernel is damaged ({newer})")


def test_records_that_say_less_of_their_source_do_not_match(source, record, diagnose) -> None:
    folder = record(source)
    facts = read_manifest(folder).source
    assert facts is not None
    _change(folder, source=SourceFacts(facts.path, facts.sha256))
    diagnose(refused="the launch specification differs")
    _change(folder, source=None)
    diagnose(refused="no capture of this kernel was recorded")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("--keep out", "--keep"),
        ("--sanitize memcheck --launch-count 2", "--sanitize and --launch-count"),
        ("--clock-control base", "--clock-control"),
    ],
)
def test_what_only_a_measurement_can_do_is_refused(
    source, record, diagnose, options, named
) -> None:
    record(source)
    diagnose(options, refused=f"{named} cannot be used with a recorded capture")
    assert not Path("out").exists()


def test_the_shipped_records_can_all_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert recorded.FOLDER.is_dir()
    for path in (recorded.FOLDER / "h200").rglob(MANIFEST):
        manifest = read_manifest(path.parent)
        assert manifest.source is not None
        assert not Path(manifest.source.path).is_absolute()
        assert len(read_stored(path.parent))


def test_a_changed_kernel_is_not_compared_with_one_of_another_folder(
    tmp_path, kernelprof, monkeypatch
) -> None:
    """Every pair of the corpus has files of the same names."""
    monkeypatch.setattr(recorded, "FOLDERS", SHIPPED)
    known = Path(__file__).parents[2] / "cuda/pairs/transpose-column-reads"
    text = (known / "before.cu").read_text("utf-8")
    for folder, why in (
        (known.name, "but the source differs"),
        ("mine", "no capture of this kernel was recorded"),
    ):
        changed = tmp_path / folder / "before.cu"
        changed.parent.mkdir()
        changed.write_text(text + "// changed\n", "utf-8")
        monkeypatch.chdir(changed.parent)
        kernelprof("diagnose", changed, code=4, err=why)
