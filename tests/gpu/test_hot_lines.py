"""Samples by source line of a real kernel: in the capture, and marked in its report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.gpu import support

from kernelprof.model.capture import line_shares
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import read_lines, read_manifest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import RunCli

pytestmark = pytest.mark.usefixtures("needs_pycuda")

ROOT = Path(__file__).parents[2]
TRANSPOSE = ROOT / "cuda" / "pairs" / "transpose-column-reads" / "before.cu"
RUNG = ROOT / "cuda" / "ladder" / "03_shared_tile.cu"


def test_the_hottest_line_of_a_kernel_is_found(
    run_cli: RunCli, tmp_path: Path, say: Callable[[str], None]
) -> None:
    folder, page = tmp_path / "out", tmp_path / "page.html"
    done = run_cli("profile", str(RUNG), "-o", str(folder))
    assert done.returncode == 0, done.stderr
    manifest = read_manifest(folder)
    assert manifest.runs[0].warnings == ()
    lines = read_lines(folder, manifest)
    assert lines is not None
    capture = read_capture(folder)
    (kernel,) = {launch.kernel for launch in capture.launches}
    found = line_shares(lines, str(RUNG))[kernel]
    say(f"{support.passes(folder)} passes; shares by line: {found}")
    text = RUNG.read_text(encoding="utf-8").splitlines()
    hottest = max(found, key=lambda line: found[line])
    assert text[hottest - 1].strip() == "sum += As[ty][k] * Bs[k][tx];"
    stalled = sum(
        column.values[0]
        for name, column in capture.columns.items()
        if name.startswith("smsp__pcsamp_warps_issue_stalled_") and "not_issued" not in name
    )
    assert sum(each.samples for each in lines) == stalled

    done = run_cli("report", str(folder), "-o", str(page))
    assert done.returncode == 0, done.stderr
    assert f'of the samples are at <a href="#kernel-1-line-{hottest}">' in page.read_text("utf-8")


def test_samples_and_what_instructions_did_take_few_passes(
    run_cli: RunCli, tmp_path: Path, say: Callable[[str], None]
) -> None:
    passes = []
    for options in (["--preset", "triage"], ["--html", str(tmp_path / "page.html")]):
        keep = tmp_path / f"out{len(passes)}"
        done = run_cli("diagnose", str(RUNG), "--keep", str(keep), *options)
        assert done.returncode in {0, 3}, done.stderr
        passes.append(read_manifest(keep).runs[0].passes)
    say(f"passes without and with samples: {passes}")
    assert passes[0] is not None
    assert passes[0] < passes[1] <= passes[0] + 8
    assert "of the samples are at" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_access_that_wastes_sectors_is_named(
    run_cli: RunCli, tmp_path: Path, say: Callable[[str], None]
) -> None:
    folder = tmp_path / "out"
    done = run_cli("profile", str(TRANSPOSE), "-o", str(folder))
    assert done.returncode == 0, done.stderr
    for target in (folder, folder / "capture.ncu-rep"):
        done = run_cli("diagnose", str(target), "--format", "json")
        assert done.returncode == 0, done.stderr
        (kernel,) = json.loads(done.stdout)["kernels"]
        place, waiting = kernel["place"], kernel["waiting"]
        say(f"{target.name}: {place}; {waiting['samples']} samples")
        assert (place["line"], place["of"], place["share"]) == (49, "excess sectors", 1.0)
        assert (place["sectors"], place["ideal"]) == (32.0, 4.0)
        assert waiting["waiting"] > 0.5 * waiting["samples"]
        assert waiting["unknown"] < 0.01
        assert waiting["lines"][0]["line"] == 49


def test_warps_wait_for_the_loads_of_a_tile(run_cli: RunCli, say: Callable[[str], None]) -> None:
    done = run_cli("diagnose", str(RUNG), "--format", "json")
    assert done.returncode in {0, 3}, done.stderr
    (kernel,) = json.loads(done.stdout)["kernels"]
    lines = {each["line"]: each["share"] for each in kernel["waiting"]["lines"]}
    say(f"{kernel['place']}; waiting by line: {lines}")
    assert kernel["place"]["text"] == "sum += As[ty][k] * Bs[k][tx];"
    assert sum(lines.values()) > 0.5
