"""What the README shows is what the program prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernelprof.report.comparison_text import render_gate_text
from tests.compare.gate.planted import gated, taken

from kernelprof.analysis.verdict import diagnose
from kernelprof.report.documents.diagnosis import document
from kernelprof.report.writers import terminal
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parent.parent
CAPTURE = "tests/captures/four_gemms.full.raw.csv"


def test_the_output_in_the_readme_is_the_real_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    readme = (ROOT / "README.md").read_text("utf-8")
    capture = read_capture(CAPTURE)
    printed = terminal.write(document(diagnose(capture), top=4)).rstrip("\n")
    for card in printed.split("\n\n"):
        assert card in readme


def test_the_gate_s_output_in_the_readme_is_the_real_one() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    result = gated(taken("tile", "1"), taken("tile-rolled", "1"))
    printed = render_gate_text(result)
    shown = printed[printed.index("Regression:") : printed.index("  compared with")]
    assert shown.rstrip() in readme


def test_the_gate_s_table_in_the_readme_is_the_one_behind_it() -> None:
    page = (ROOT / "reports" / "gate-h200.md").read_text("utf-8")
    assert page.count("| 1: 25 |") == 7
    assert page.count("| 200 of 200 |") == 13 + 11


def test_the_figures_about_correctness_are_those_of_the_page_behind_them() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    page = (ROOT / "docs/verdicts.md").read_text("utf-8")
    assert "172 of 181" in readme
    assert "172 of all 181" in page


def test_the_table_of_the_corpus_is_that_of_its_report() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    report = (ROOT / "reports/corpus-h200.md").read_text("utf-8")
    for label, cells in (
        ("planted bottleneck named first", ("92 of 94", "63 of 94", "17 of 94")),
        ("healthy kernel", ("12 of 12", "10 of 12", "7 of 12")),
        ("decoy", ("10 of 10", "6 of 10", "8 of 10")),
    ):
        told = next(line for line in readme.splitlines() if line.startswith(f"| {label}"))
        full = next(line for line in report.splitlines() if line.startswith(f"| {label}"))
        assert [cell.strip() for cell in told.split("|")[2:5]] == list(cells)
        assert all(cell in full for cell in cells)
    assert "906 of 940 (96 %)" in readme
    assert "906 of 940 (96 %)" in report


def test_no_section_stands_twice() -> None:
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    headings = [line for line in lines if line.startswith("## ")]
    assert len(headings) == len(set(headings)) == 9
