"""Pages of many kernels are the same from the few columns that are read for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.few import few

from kernelprof.analysis.verdict import diagnose
from kernelprof.cli.main import main
from kernelprof.interface import captures as interface
from kernelprof.report.documents.metrics import MOST_WITH_ALL
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "name",
    few(
        [
            "gemm_series.full.raw.csv",
            "validation/frameworks.raw.csv.gz",
            "validation/more.raw.csv.gz",
            "h200_drilldown/full-set.raw.csv.gz",
            "four_gemms.full.raw.csv",
        ],
        "validation/frameworks.raw.csv.gz",
        "four_gemms.full.raw.csv",
        why="captures alike",
    ),
)
def test_the_page_is_the_same(name: str, captures: Path, tmp_path: Path, monkeypatch) -> None:
    path = captures / name
    pages = []
    for least in (0, path.stat().st_size + 1):
        monkeypatch.setattr(interface, "_LONG", least)
        assert main(["report", str(path), "-o", str(tmp_path / "page.html")]) == 0
        pages.append((tmp_path / "page.html").read_bytes())
    assert pages[0] == pages[1]


def test_a_page_of_few_kernels_keeps_every_metric(captures: Path, monkeypatch) -> None:
    monkeypatch.setattr(interface, "_LONG", 0)
    path = captures / "four_gemms.full.raw.csv"
    said = interface.diagnose_for_page(path)
    found = said.capture
    assert len(said.kernels) <= MOST_WITH_ALL
    assert found.columns.keys() == read_capture(path).columns.keys()
    assert said.kernels == diagnose(found).kernels


@pytest.mark.parametrize(
    ("name", "kernels"), [("surveyed/encoder", 50), ("validation/raw.csv.gz", 85)]
)
def test_a_page_of_many_kernels_is_small(
    name: str, kernels: int, captures: Path, tmp_path: Path
) -> None:
    diagnosis = interface.diagnose_for_page(captures / name)
    assert len(diagnosis.kernels) == kernels
    diagnosis.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 700_000 * min(kernels, 60) / 60
