"""Samples by source line in a capture directory: written, read again, and what can go wrong."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support import manifests

from kernelprof.collect import run as collection
from kernelprof.collect.recorded import strip_folders
from kernelprof.collect.store import draft
from kernelprof.errors import InputError
from kernelprof.ladder.registry import find_ladder
from kernelprof.launch.processes import Interrupts
from kernelprof.model.capture import SampledLine
from kernelprof.sources.capture_directory import read_lines

if TYPE_CHECKING:
    from kernelprof.model.manifest import Manifest
    from kernelprof.model.sampled import SampledCode

PAGES = Path(__file__).parents[1] / "captures" / "source_page"
FIXTURE = "/project/tests/kernels/fixture.cu"
LINES = (
    SampledLine("k.cu", "k(int)", 7, 13),
    SampledLine('/a/"b", c.cuh', "void m<1, 2>(é)", 1042, 1_386_212),
    SampledLine("k.cu", "k(int)", 8, 0),
)
RUN = dataclasses.replace(manifests.RUN, lines=None, lines_sha256=None)
MANIFEST = dataclasses.replace(manifests.FULL, runs=(RUN,))


def _packed(text: bytes) -> bytes:
    return gzip.compress(text, mtime=0)


def _stored(folder: Path, *parts: tuple[SampledLine, ...] | None) -> Manifest:
    """A directory with the lines of several runs."""
    runs = []
    with draft(folder) as stage:
        for number, part in enumerate(parts):
            run = RUN
            if part is not None:
                name, digest = stage.store("lines", number, collection.lines_to_csv(part))
                run = dataclasses.replace(RUN, lines=name, lines_sha256=digest)
            runs.append(run)
        manifest = dataclasses.replace(MANIFEST, runs=tuple(runs))
        stage.commit(manifest)
    return manifest


def test_lines_are_written_and_read_back(tmp_path: Path) -> None:
    manifest = _stored(tmp_path / "out", LINES)
    assert manifest.runs[0].lines == "lines.csv.gz"
    assert read_lines(tmp_path / "out", manifest) == LINES
    text = gzip.decompress((tmp_path / "out" / "lines.csv.gz").read_bytes()).decode()
    assert text.splitlines()[:2] == ["file,function,line,samples", "k.cu,k(int),7,13"]


def test_lines_of_several_runs_are_added_up(tmp_path: Path) -> None:
    manifest = _stored(tmp_path / "out", LINES[:1], None, (*LINES[1:2], *LINES[:1]))
    assert [run.lines for run in manifest.runs] == ["lines.csv.gz", None, "lines.2.csv.gz"]
    assert read_lines(tmp_path / "out", manifest) == (
        SampledLine("k.cu", "k(int)", 7, 26),
        LINES[1],
    )


def test_a_capture_without_lines_has_none(tmp_path: Path) -> None:
    assert read_lines(tmp_path, MANIFEST) is None


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "does not match its hash in the manifest"),
        (None, r"lines\.csv\.gz cannot be read \(No such file"),
    ],
)
def test_a_file_that_was_changed_is_refused(tmp_path: Path, data: bytes | None, said: str) -> None:
    manifest = _stored(tmp_path / "out", LINES)
    path = tmp_path / "out" / "lines.csv.gz"
    path.unlink()
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(InputError, match=said):
        read_lines(tmp_path / "out", manifest)


@pytest.mark.parametrize(
    "data",
    [
        b"no gzip",
        _packed(b"file,function,line,samples\nk.cu,k,7\n"),
        _packed(b"file,function,line,samples\nk.cu,k,seven,1\n"),
        _packed(b"line,samples\n7,1\n"),
        _packed(b"file,function,line,samples\n\xff,k,7,1\n"),
        _packed(b"file,function,line,samples\na\rb,k,7,1\n"),
        _packed(collection.lines_to_csv(LINES))[:-20],
        _packed(b""),
    ],
)
def test_a_file_that_holds_something_else_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "lines.csv.gz").write_bytes(data)
    run = dataclasses.replace(
        RUN, lines="lines.csv.gz", lines_sha256=hashlib.sha256(data).hexdigest()
    )
    with pytest.raises(InputError, match=r"damaged: lines\.csv\.gz cannot be read"):
        read_lines(tmp_path, dataclasses.replace(MANIFEST, runs=(run,)))


def test_a_manifest_cannot_name_lines_elsewhere(tmp_path: Path) -> None:
    data = gzip.compress(collection.lines_to_csv(LINES))
    (tmp_path / "lines.csv.gz").write_bytes(data)
    run = dataclasses.replace(
        RUN, lines="../lines.csv.gz", lines_sha256=hashlib.sha256(data).hexdigest()
    )
    with pytest.raises(InputError, match="its manifest names a file outside the directory"):
        read_lines(tmp_path / "out", dataclasses.replace(MANIFEST, runs=(run,)))


@pytest.fixture
def ncu(tmp_path: Path) -> Path:
    """A program that prints a real source page, and notes how it was called."""
    path = tmp_path / "ncu"
    page = PAGES / "fixture.csv.gz"
    path.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\nzcat {page}\n', encoding="utf-8")
    path.chmod(0o755)
    return path


def _export(ncu: Path) -> tuple[tuple[SampledLine, ...], tuple[SampledCode, ...]]:
    report = ncu.with_name("capture.1.ncu-rep")
    with Interrupts() as interrupts:
        return collection.export_lines(
            str(ncu), report, interrupts, lambda path: path.rpartition("/")[2]
        )


def test_a_report_is_exported_under_names_that_fit(ncu: Path, tmp_path: Path) -> None:
    found, code = _export(ncu)
    assert [(each.function, each.file, each.samples) for each in code] == [
        ("scale(float *, float, int)", "fixture.cu", 1317),
        ("strided(const float *, float *, int, int)", "fixture.cu", 3867),
        ("rounds(float *, int)", "fixture.cu", 4971),
    ]
    assert found[0] == SampledLine("fixture.cu", "scale(float *, float, int)", 13, 20)
    assert len(found) == 14
    assert (tmp_path / "asked").read_text(encoding="utf-8").split() == [
        "--import",
        str(tmp_path / "capture.1.ncu-rep"),
        "--csv",
        "--page",
        "source",
        "--print-source",
        "cuda,sass",
    ]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["asked", "ncu"]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo ==ERROR== no such view; exit 3", "with exit code 3: ==ERROR== no such view."),
        ("exit 4", "ncu ended with exit code 4."),
        ("sleep 60", "ncu did not print them within 0.2 s."),
    ],
)
def test_an_export_that_fails_says_why(ncu, monkeypatch, script, said) -> None:
    ncu.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    if "sleep" in script:
        monkeypatch.setattr(collection, "_LIMIT_S", 0.2)
    with pytest.raises(collection.NoLinesError) as caught:
        _export(ncu)
    assert str(caught.value).startswith("Samples per source line are missing: ")
    assert str(caught.value).endswith(said)
    assert [each.name for each in ncu.parent.iterdir()] == ["ncu"]


def test_an_export_without_a_tool_or_a_place_says_why(ncu: Path, tmp_path: Path) -> None:
    with pytest.raises(collection.NoLinesError, match="nosuch cannot be started"):
        _export(tmp_path / "nosuch")
    with Interrupts() as interrupts, pytest.raises(collection.NoLinesError, match="No such file"):
        collection.export_lines(
            str(ncu), tmp_path / "gone" / "x.ncu-rep", interrupts, collection.keep_name
        )


def test_an_interrupt_goes_through(ncu: Path) -> None:
    ncu.write_text("#!/bin/sh\nsleep 60\n", encoding="utf-8")
    with Interrupts() as interrupts:
        interrupts._came = 2
        with pytest.raises(KeyboardInterrupt):
            collection.export_lines(
                str(ncu), ncu.with_suffix(".ncu-rep"), interrupts, collection.keep_name
            )
        interrupts._came = None
    assert not ncu.with_suffix(".source.csv").exists()


def test_the_own_source_is_called_as_in_the_manifest(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    real = tmp_path / "real"
    real.mkdir()
    (real / "k.cu").touch()
    (tmp_path / "link").symlink_to(real)
    name = collection.name_files_as(Path("link/k.cu"), "link/k.cu", os.path.basename)
    for own in (real / "k.cu", tmp_path / "link" / "k.cu"):
        assert name(str(own)) == "link/k.cu"
    assert name(f"{tmp_path}/./link//k.cu") == "link/k.cu"
    assert name("/usr/include/cuda.h") == "cuda.h"
    plain = collection.name_files_as(Path("k.cu"), "k.cu")
    assert plain("/usr/include/cuda.h") == "/usr/include/cuda.h"


def test_the_samples_of_a_rung_name_no_folder_of_the_machine() -> None:
    rung = find_ladder().rungs[2]
    name = collection.name_files_as(rung.path, rung.target, strip_folders)
    assert name(str(rung.path.resolve())) == "cuda/ladder/03_shared_tile.cu"
    assert name("/usr/local/cuda/include/mma.h") == "mma.h"
    assert name("kernel of the launch specification") == "kernel of the launch specification"
