"""Long captures say how far they are, on a terminal only, and can be broken off."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from tests.support.processes import started

from kernelprof.cli import progress
from kernelprof.cli.main import main
from kernelprof.interface import captures as interface

if TYPE_CHECKING:
    from pathlib import Path


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def long(monkeypatch) -> None:
    """Every capture is a long one."""
    monkeypatch.setattr(progress, "LONG", 0)


@pytest.mark.usefixtures("long")
def test_a_terminal_shows_bytes_and_launches(
    captures: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    """The bars are taken away again; what was drawn meanwhile is told by their steps."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    folder = tmp_path / "a_folder_whose_name_alone_is_longer_than_half_a_line_of_a_terminal"
    folder.mkdir()
    path = folder / f"{'long_' * 8}.full.raw.csv"
    shutil.copy(captures / "gemm_series.full.raw.csv", path)
    assert main(["diagnose", str(path), "--format", "json"]) == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue())
    assert "reading long_long" in text
    assert "of 635.8 kB" in text
    assert "judging long_long" in text
    assert "100 % of 26 launches" in text
    assert max(map(len, re.split(r"[\r\n]+", text))) <= 80
    assert capsys.readouterr().out.startswith("{")


@pytest.mark.usefixtures("long")
def test_what_comes_through_a_pipe_has_no_length(captures: Path, monkeypatch) -> None:
    """The bar is drawn without one: a second capture may be long enough to be watched."""
    data = (captures / "gemm_series.full.raw.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    assert main(["diagnose", "-", "--format", "json"]) == 0
    assert "reading" in shown.getvalue()


def test_steps_add_up(captures: Path) -> None:
    steps: dict[str, list[int]] = {}

    class Meter:
        def steps(self, _what: str, total: int, unit: str):
            steps[unit] = [total]
            return steps[unit].append

    path = captures / "gemm_series.eight-metrics.raw.csv"
    interface.diagnose(path, whole=False, meter=Meter())
    assert steps["bytes"][0] == sum(steps["bytes"][1:]) == path.stat().st_size
    assert steps["launches"] == [26, 26]


@pytest.mark.usefixtures("long")
def test_nothing_is_shown_where_nobody_watches(captures: Path, capfd) -> None:
    assert main(["diagnose", str(captures / "gemm_series.full.raw.csv"), "--top", "0"]) == 0
    assert capfd.readouterr().err == ""


def test_ctrl_c_ends_it_and_writes_nothing(tmp_path: Path, cli_environment) -> None:
    """The pipe stays open: the program is in the middle of reading when it is interrupted."""
    pipe, out = tmp_path / "capture.csv", tmp_path / "out.json"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "kernelprof", "diagnose", str(pipe), "--format", "json"]
    words = [*command, "-o", str(out)]
    with (
        started(words, stderr=subprocess.PIPE, text=True, env=cli_environment) as child,
        pipe.open("wb") as writer,
    ):
        writer.write(b'"ID","Kernel Name","a"\n"","","%"\n"0","k","1"\n')
        writer.flush()
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=30)
    assert child.returncode == 130
    assert "Traceback" not in said
    assert not out.exists()
    assert list(tmp_path.iterdir()) == [pipe]
