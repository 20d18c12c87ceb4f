"""Two sources compared on a GPU: built, checked, timed and profiled in turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import RunCli

pytestmark = pytest.mark.usefixtures("needs_pycuda")

LADDER = Path(__file__).parents[2] / "cuda" / "ladder"
SMALLER = ("--size=M=2048", "--size=N=2048", "--size=K=2048")


def test_a_remapping_is_found_with_what_it_brought(
    run_cli: RunCli, tmp_path: Path, say: Callable[[str], None]
) -> None:
    output, page = tmp_path / "out.json", tmp_path / "page.html"
    sources = [str(LADDER / name) for name in ("01_naive.cu", "02_coalesced.cu")]
    options = ("--format", "json", "-o", str(output), "--html", str(page))
    done = run_cli("compare", *sources, *SMALLER, *options)
    assert done.returncode == 0, done.stderr
    document = json.loads(output.read_text("utf-8"))
    (kernel,) = document["kernels"]
    say(f"{kernel['summary']}; {kernel['time']['samples']} launches")
    assert kernel["time"]["outcome"] == "faster"
    assert kernel["time"]["samples"] == {"before": 40, "after": 40}
    assert 5 < 1 / kernel["time"]["ratio"] < 50
    assert kernel["before"]["verdict"]["bottleneck"] == "uncoalesced-global-access"
    assert kernel["after"]["verdict"]["bottleneck"] == "l1-throughput"
    assert {each["metric"] for each in kernel["counters"]} >= {"global_sectors"}
    assert "source" in {each["kind"] for each in kernel["inputs"]}
    assert "<html" in page.read_text("utf-8")


def test_a_source_beside_itself_is_the_same(run_cli: RunCli, say: Callable[[str], None]) -> None:
    source = str(LADDER / "03_shared_tile.cu")
    done = run_cli("compare", source, source, *SMALLER, "--format", "json")
    assert done.returncode == 0, done.stderr
    (kernel,) = json.loads(done.stdout)["kernels"]
    say(f"ratio {kernel['time']['ratio']:.4f}, floor {kernel['time']['noise_floor']:.4f}")
    assert kernel["time"]["outcome"] == "same"
    assert kernel["counters"] == []
    assert kernel["inputs"] == []
