"""Kernels whose busiest unit does work that other code avoids: none of them is at its limit."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.few import part_of

import kernelprof
from kernelprof.model.diagnosis import Status

if TYPE_CHECKING:
    from kernelprof.model.diagnosis import Verdict

TESTS = Path(__file__).parents[2]
TABLE = tomllib.loads(Path(__file__).with_name("false_limits.toml").read_text("utf-8"))
MEASURED = TABLE["measured"]
PREDICTED = TABLE["predicted"]


def named(entry: dict[str, Any]) -> str:
    arch = f" on {entry['arch']}" if "arch" in entry else ""
    return f"{entry['waste']}{arch}"


def verdict_of(capture: kernelprof.Capture, kernel: str = "") -> Verdict:
    kernels = capture.diagnose().kernels
    return next(each.verdict for each in kernels if each.name.startswith(kernel))


def check_waste(verdict: Verdict, entry: dict[str, Any]) -> None:
    assert verdict.status is Status.BOTTLENECK
    assert verdict.bottleneck in entry["bottleneck"]
    said = " ".join((verdict.why, *verdict.advice[:2]))
    assert entry["names"] in said
    assert verdict.gain is not None


@pytest.mark.parametrize("entry", MEASURED, ids=named)
def test_measured_waste_is_no_limit(entry: dict[str, Any]) -> None:
    capture = kernelprof.read(TESTS / "captures" / entry["capture"])
    check_waste(verdict_of(capture, entry.get("kernel", "")), entry)


@pytest.mark.parametrize(
    "entry",
    part_of(4, PREDICTED, *PREDICTED[:2], why="seconds to compile and run"),
    ids=named,
)
def test_predicted_waste_is_no_limit(entry: dict[str, Any], tmp_path: Path) -> None:
    source = tmp_path / "kernel.cu"
    source.write_text(TABLE["specification"].format(**entry) + entry["source"], encoding="utf-8")
    check_waste(verdict_of(kernelprof.predict(source, arch=entry.get("arch", "sm_90"))), entry)


@pytest.mark.parametrize("entry", TABLE["limits"], ids=lambda entry: entry["work"])
def test_needed_work_at_its_limit_says_so(entry: dict[str, Any]) -> None:
    capture = kernelprof.read(TESTS / "captures" / entry["capture"])
    verdict = verdict_of(capture, entry.get("kernel", ""))
    assert (verdict.status, verdict.bottleneck) == (Status.AT_LIMIT, entry["bottleneck"])
    assert [each.label for each in verdict.waste] == entry["sought"]
