"""Judging many launches at once says of each what judging it alone says."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelprof.analysis import verdict
from kernelprof.analysis.metrics.catalogue import SHOWN_ONLY, names_read
from kernelprof.analysis.metrics.facts import Facts
from kernelprof.analysis.verdict import diagnose, split_by_time
from kernelprof.analysis.verdict.sensitivity import Sensitivity
from kernelprof.report.writers.json import write as render_json
from kernelprof.sources import raw_page, read_capture, source

CAPTURES = Path(__file__).parents[2] / "captures"
EXPORTS = sorted(
    path
    for path in CAPTURES.rglob("*.csv*")
    if "source_page" not in path.parts
    and not path.name.endswith(("times.csv", "lines.csv.gz"))
    and ("h200_changes" not in path.parts or path.parent.name == "1")
)
AGAIN = re.compile(
    r"validation/(\w+\.)?(base-units|basic|detail)|frameworks_more|nvtx|two_proc|same-code-13x"
    r"|h200_once/(before-\d\.\d|\w+-\d\.([2-9]|1\d))|h200_\w+/full\.|gemm_series.*base-units"
)
"""The launches or kernels of another export, in other units or with fewer sections."""


def _export(path: Path, at: int = 0) -> Any:
    name = str(path.relative_to(CAPTURES))
    why = "judges launches again that another export has, or exports alike"
    if AGAIN.search(name) or at % 3:
        return pytest.param(path, id=name, marks=pytest.mark.exhaustive(why))
    return pytest.param(path, id=name, marks=pytest.mark.slow(why) if at % 9 else ())


@pytest.fixture
def short(monkeypatch) -> None:
    """What to measure next is searched for in the same way on both paths; that takes long."""
    monkeypatch.setattr(Sensitivity, "deciding", lambda *asked: tuple(asked[-1]))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("path", [_export(path, at) for at, path in enumerate(EXPORTS)])
def test_the_fast_path_writes_what_the_plain_one_writes(path: Path, monkeypatch) -> None:
    """Plain: every metric is read, row by row, and each launch is judged by itself."""
    monkeypatch.setattr(source, "FIRST", 1 << 15)
    monkeypatch.setattr(source, "LARGEST", 1 << 17)
    monkeypatch.setattr(raw_page, "WORTH_A_BLOCK", 0)
    fast = diagnose(read_capture(path, only=names_read()))
    monkeypatch.setattr(raw_page, "WORTH_A_BLOCK", math.inf)
    monkeypatch.setattr(verdict, "BLOCK", 1)
    plain = diagnose(read_capture(path))
    assert render_json([fast]) == render_json([plain])


@pytest.mark.slow("all captures")
def test_no_rule_or_relation_reads_what_only_reports_show(monkeypatch) -> None:
    asked: set[str] = set()
    column = Facts._column

    def noted(facts: Facts, name: str):
        asked.add(name)
        return column(facts, name)

    monkeypatch.setattr(Facts, "_column", noted)
    for name in ("gemm_series.full.raw.csv", "gemm_series.eight-metrics.raw.csv"):
        diagnose(read_capture(CAPTURES / name))
    assert len(asked) > 90
    assert not asked.intersection(SHOWN_ONLY)


def test_launches_whose_times_differ_several_fold_are_shown_apart() -> None:
    """The scatter of one program: into many places, and into few of them."""
    capture = read_capture(CAPTURES / "validation" / "frameworks.raw.csv.gz")
    found = [
        (round(kernel.duration_ns.median / 1000), kernel.verdict.bottleneck)
        for kernel in diagnose(capture).kernels
        if "_scatter_gather_elementwise" in kernel.name and kernel.duration_ns is not None
    ]
    assert found == [(1624, "atomic-contention"), (54, "uncoalesced-global-access")]


def test_times_decide_only_where_they_differ_several_fold() -> None:
    times = np.array([100.0, 101.0, 250.0, 900.0, 905.0]) * 1000.0
    rows = np.arange(5)
    assert [part.tolist() for part in split_by_time(rows, times)] == [[0, 1], [2], [3, 4]]
    assert [part.tolist() for part in split_by_time(rows, times * 1e-3)] == [[0, 1, 2, 3, 4]]
    assert len(split_by_time(rows, np.array([100.0, 150.0, 200.0, 250.0, 310.0]) * 1000.0)) == 1
    assert len(split_by_time(rows, np.array([100.0, np.nan, 200.0, 250.0, 910.0]) * 1000.0)) == 1
