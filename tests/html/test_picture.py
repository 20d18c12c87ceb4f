"""A report as a picture, taken by the browser that is there."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from kernelprof.collect.recorded import FOLDER

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from playwright.sync_api import Browser
    from tests.conftest import RunCli

TILE = FOLDER / "h200" / "03_shared_tile"


def size(picture: Path) -> tuple[int, int]:
    """Width and height, which stand at the start of a PNG file."""
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def test_a_report_and_a_comparison_become_pictures(
    run_process: RunCli, browser: Browser, tmp_path: Path
):
    del browser  # where there is none, this is skipped
    picture = tmp_path / "tile.png"
    page = str(tmp_path / "tile.html")
    run = run_process("report", str(TILE), "-o", page, "--png", str(picture))
    assert run.returncode == 0, run.stderr
    width, height = size(picture)
    assert width == 1800
    assert 1000 < height < 2400
    changed = tmp_path / "change.png"
    sides = [str(FOLDER / "h200" / name) for name in ("01_naive", "02_coalesced")]
    run = run_process("compare", *sides, "--png", str(changed), "-o", str(tmp_path / "text"))
    assert run.returncode == 0, run.stderr
    assert 800 < size(changed)[1] < 2600


def test_a_picture_is_called_one(run_cli: RunCli, tmp_path: Path):
    target = str(tmp_path / "page.html")
    run = run_cli("report", str(TILE), "-o", target, "--png", str(tmp_path / "page.jpg"))
    assert run.returncode == 2
    assert "the image must be a PNG file" in run.stderr
    assert not (tmp_path / "page.html").exists()


def test_without_a_browser_nothing_is_written(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("KERNELPROF_CHROMIUM", str(tmp_path / "none"))
    target = tmp_path / "page.html"
    run = run_cli("report", str(TILE), "-o", str(target), "--png", str(tmp_path / "page.png"))
    assert run.returncode == 4
    assert "PNG output needs Chromium; none found" in run.stderr
    assert not target.exists()
