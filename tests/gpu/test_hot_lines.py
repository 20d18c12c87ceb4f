"""Samples by source line of a real kernel: in the capture, and marked in its report."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.gpu import support

from kernelprof.model.capture import shares
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import read_lines, read_manifest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import RunCli
    from tests.gpu.conftest import Results

RUNG = Path(__file__).parents[2] / "cuda" / "ladder" / "03_shared_tile.cu"


@pytest.fixture(scope="module", autouse=True)
def _needs_pycuda(results: Results) -> None:
    del results
    if importlib.util.find_spec("pycuda") is None:
        pytest.skip("PyCUDA is not installed: pip install 'kernelprof[gpu]'")


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
    found = shares(lines, str(RUNG))[kernel]
    say(f"{support.passes(folder)} passes; shares by line: {found}")
    text = RUNG.read_text(encoding="utf-8").splitlines()
    hottest = max(found, key=lambda line: found[line])
    assert text[hottest - 1].strip() == "sum += As[ty][k] * Bs[k][tx];"
    stalled = sum(
        column.values[0]
        for name, column in capture.columns.items()
        if name.startswith("smsp__pcsamp_warps_issue_stalled_")
    )
    assert sum(each.samples for each in lines) == stalled

    done = run_cli("report", str(folder), "-o", str(page))
    assert done.returncode == 0, done.stderr
    assert f'of the samples are at <a href="#kernel-1-line-{hottest}">' in page.read_text("utf-8")


def test_a_diagnosis_with_a_page_takes_one_pass_more(
    run_cli: RunCli, tmp_path: Path, say: Callable[[str], None]
) -> None:
    passes = []
    for options in ([], ["--html", str(tmp_path / "page.html")]):
        keep = tmp_path / f"out{len(passes)}"
        done = run_cli("diagnose", str(RUNG), "--keep", str(keep), *options)
        assert done.returncode in {0, 3}, done.stderr
        passes.append(read_manifest(keep).runs[0].passes)
    say(f"passes without and with samples: {passes}")
    assert passes[0] is not None
    assert passes[1] == passes[0] + 1
    assert "of the samples are at" in (tmp_path / "page.html").read_text(encoding="utf-8")
