"""The scripts of PyTorch and Triton, as the corpus launches them."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="this Python has no PyTorch"
)


def launched(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.frameworks", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_pair_that_fails_is_told_and_the_next_is_checked_and_timed(tmp_path: Path) -> None:
    into = tmp_path / "lines"
    done = launched("time", "no-such-pair", "triton-product-unsplit", "--into", str(into))
    assert done.returncode == 1, done.stderr
    failed, *sides = map(json.loads, into.read_text("utf-8").splitlines())
    assert failed["pair"] == "no-such-pair"
    assert failed["failed"].startswith("FileNotFoundError: ")
    assert [each["side"] for each in sides] == ["before", "after"]
    for each in sides:
        assert len(each["times_ns"]) == 20
        assert min(each["times_ns"]) > 0
        assert 0 < each["largest_error"] <= each["tolerance"]


def test_a_side_is_called_once() -> None:
    done = launched("once", "triton-product-unsplit", "after")
    assert done.returncode == 0, done.stderr
