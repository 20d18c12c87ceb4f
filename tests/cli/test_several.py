"""Several captures at a time, and folders that hold them."""

from __future__ import annotations

import json
import re
import shutil
import sys
from typing import TYPE_CHECKING

import pytest
from tests.support.captures import copy_capture

if TYPE_CHECKING:
    from pathlib import Path

RAW = "pycuda_two_kernels.seven-metrics.raw.csv"
TEXT = "ncu_behaviour/stdout-no-csv.txt"


@pytest.fixture
def folder(captures: Path, tmp_path: Path) -> Path:
    """An export, a text page, a report and a capture directory, and what is none of these."""
    place = tmp_path / "runs"
    (place / "b" / "c").mkdir(parents=True)
    shutil.copy(captures / RAW, place / "a.csv")
    shutil.copy(captures / TEXT, place / "b" / "log")
    shutil.copy(captures / "fixture_basic.ncu-rep", place / "b" / "c" / "d.ncu-rep")
    copy_capture(captures / "h200_changes" / "naive" / "1", place / "e")
    (place / "README.md").write_text("# Runs\n", "utf-8")
    (place / "results.csv").write_text("name,time\nscale,3\n", "utf-8")
    (place / "scale.cu").write_text("", "utf-8")
    (place / ".hidden.csv").write_text("", "utf-8")
    (place / "again").symlink_to(place, target_is_directory=True)
    return place


@pytest.fixture(autouse=True)
def by_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ncu_report")
    monkeypatch.delenv("KERNELPROF_NCU", raising=False)


def _origins(text: str) -> list[str]:
    return [each["origin"].rpartition("runs/")[2] for each in json.loads(text)["captures"]]


def test_a_folder_is_diagnosed_capture_by_capture(folder: Path, kernelprof) -> None:
    told = kernelprof(f"diagnose {folder} --format json", code={0, 3})
    assert _origins(told.out) == ["a.csv", "b/log", "b/c/d.ncu-rep", "e"]
    lines = [line for line in told.err.splitlines() if "left out" in line]
    assert lines == [
        f"kernelprof: {folder}: 3 files left out (not readable as captures): "
        "README.md, results.csv, scale.cu"
    ]


def test_a_capture_directory_is_one_capture(folder: Path, kernelprof) -> None:
    told = kernelprof(f"diagnose {folder}/e --format json", code={0, 3})
    assert _origins(told.out) == ["e"]
    assert "left out" not in told.err


def test_folders_and_files_together(folder: Path, captures: Path, kernelprof) -> None:
    other = str(captures / "four_gemms.full.raw.csv")
    assert _origins(kernelprof(f"diagnose {other} {folder}/b --format json", code={0, 3}).out) == [
        other,
        "b/log",
        "b/c/d.ncu-rep",
    ]


def test_a_folder_without_a_capture(tmp_path: Path, kernelprof) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for *command, what in (
        ("diagnose", "there is no readable capture in this folder"),
        ("report", "-o", str(tmp_path / "x.html"), "there is no readable capture in this folder"),
        ("history", "there is no capture or baseline in this folder"),
    ):
        kernelprof(*command, empty, code=2, err=[what, f"where: {empty}"])
    (empty / "notes.md").write_text("Section: one\n", "utf-8")
    (empty / "a.cu").write_text("", "utf-8")
    kernelprof(
        f"diagnose {empty}", code=2, err="(searched 4 levels deep); it contains 2 other files"
    )
    assert not (tmp_path / "x.html").exists()


def test_a_damaged_capture_directory_in_a_folder_is_named_with_the_reason(
    folder: Path, kernelprof
) -> None:
    (folder / "e" / "raw.csv.gz").write_bytes(b"gone")
    told = kernelprof(
        f"diagnose {folder} --format json",
        code={0, 3},
        err="4 files left out (not readable as captures): README.md, results.csv, scale.cu "
        "and 1 more",
    )
    assert _origins(told.out) == ["a.csv", "b/log", "b/c/d.ncu-rep"]


def test_a_report_that_nothing_here_can_read_does_not_stop_the_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kernelprof
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "ncu_report", None)
    told = kernelprof(
        f"diagnose {folder}/b --format json",
        code={0, 3},
        err="c/d.ncu-rep (reading a .ncu-rep report needs Nsight Compute",
    )
    assert _origins(told.out) == ["b/log"]
    kernelprof(f"diagnose {folder}/b/c", code=4, err="pip install 'kernelprof[rep]'")


def test_a_named_file_that_is_no_capture_is_an_error_as_before(folder: Path, kernelprof) -> None:
    kernelprof(
        f"diagnose {folder}/a.csv {folder}/README.md", code=2, err=f"where: {folder / 'README.md'}"
    )


def test_one_page_over_all_of_a_folder(folder: Path, tmp_path: Path, kernelprof) -> None:
    page = tmp_path / "all.html"
    told = kernelprof(f"report {folder} -o {page}")
    text = page.read_text("utf-8")
    # two launches of the export, three of the log and of the report, one of the directory
    assert re.match(rf"{re.escape(str(page))}: \d+ launches from 4 captures\n", told.out)
    assert "3 files left out" in told.err
    assert text.count("<h2") >= 5
    for name in ("a.csv", "log", "d.ncu-rep"):
        assert f">{name}<" in text or f"/{name}<" in text, name
    anchors = re.findall(r'\bid="([^"]+)"', text)
    assert len(anchors) == len(set(anchors))
    for number in range(1, 5):
        assert f'id="capture-{number}"' in text
        assert f'href="#capture-{number}"' in text
        # A card that is put in when it is opened needs a link to it.
        assert f'href="#capture-{number}-kernel-1"' in text
    data = json.loads(re.search(r'id="data"[^>]*>(.*?)</script>', text, re.DOTALL)[1])
    assert len(data["captures"]) == 4


def test_diagnose_writes_the_same_page(folder: Path, tmp_path: Path, kernelprof) -> None:
    pages = tmp_path / "one.html", tmp_path / "two.html"
    files = [str(folder / "a.csv"), str(folder / "b" / "log")]
    kernelprof("diagnose", *files, "--html", pages[0], code={0, 3})
    kernelprof("report", *files, "-o", pages[1])
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_the_page_of_one_capture_is_as_before(captures: Path, tmp_path: Path, kernelprof) -> None:
    """Also where it is the only one of a folder."""
    place = tmp_path / "runs"
    place.mkdir()
    shutil.copy(captures / RAW, place / "a.csv")
    pages = tmp_path / "one.html", tmp_path / "two.html"
    kernelprof(f"report {place} -o {pages[0]}")
    assert kernelprof(f"report {place}/a.csv -o {pages[1]}").out.endswith(
        f"launches from {place / 'a.csv'}\n"
    )
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_a_folder_whose_captures_are_merged(captures: Path, tmp_path: Path, kernelprof) -> None:
    place = tmp_path / "runs"
    place.mkdir()
    shutil.copy(captures / "gemm_series.eight-metrics.raw.csv", place / "1.csv")
    shutil.copy(captures / "gemm_series.full.raw.csv", place / "2.csv")
    (place / "notes.txt").write_text("no capture\n", "utf-8")
    told = kernelprof(
        f"diagnose {place} --merge --format json",
        code={0, 3},
        err="1 file left out (not readable as captures): notes.txt",
    )
    assert len(told.json["captures"]) == 1
