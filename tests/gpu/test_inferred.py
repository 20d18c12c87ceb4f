"""Kernels without a launch specification, and structures by value, built and measured on a GPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import subprocess

    from tests.conftest import RunCli

pytestmark = pytest.mark.usefixtures("needs_pycuda")

SOURCES = Path(__file__).parent / "launch"


def the_kernel(done: subprocess.CompletedProcess[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is said of the only kernel, and of its capture."""
    assert done.returncode in {0, 3}, done.stderr
    document = json.loads(done.stdout)
    (kernel,), (capture,) = document["kernels"], document["captures"]
    return kernel, capture


def test_a_kernel_without_a_specification_is_measured(run_cli: RunCli) -> None:
    done = run_cli("diagnose", str(SOURCES / "unspecified.cu"), "--format", "json")
    kernel, capture = the_kernel(done)
    assert kernel["name"].startswith("saxpy")
    assert (kernel["grid"], kernel["block"]) == ([65536, 1, 1], [256, 1, 1])
    assert "checked against saxpy in float64 at n=" in done.stderr
    assert capture["inferred"]["specification"]["reference"] == "saxpy"
    assert kernel["verdict"]["bottleneck"] == "dram-bandwidth"


def test_structures_and_vectors_reach_the_kernel(run_cli: RunCli) -> None:
    done = run_cli("diagnose", str(SOURCES / "structures.cu"), "--format", "json")
    kernel, capture = the_kernel(done)
    assert kernel["name"].startswith("affine")
    assert "checked against structures:affine at w=65, h=33" in done.stderr
    assert capture["inferred"] is None


def test_members_that_lie_otherwise_are_refused(run_cli: RunCli, tmp_path: Path) -> None:
    text = (SOURCES / "structures.cu").read_text("utf-8")
    source = tmp_path / "structures.cu"
    source.write_text(text.replace(", align = 16", ""), encoding="utf-8")
    (tmp_path / "structures.py").write_bytes((SOURCES / "structures.py").read_bytes())
    done = run_cli("diagnose", str(source))
    assert done.returncode == 2
    assert "list all members of a structure" in done.stderr
