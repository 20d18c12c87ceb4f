"""What the README and the pages behind it show is what the program prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.documentation import PAGES

import kernelprof

if TYPE_CHECKING:
    from tests.conftest import RunCli

ROOT = Path(__file__).parent.parent
EXAMPLE = "examples/matvec.cu"
MOST_LINES = 120
MOST_WORDS = 21_000
"""Of all pages together."""


def read(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


def test_the_readme_is_short_and_in_the_order_of_a_first_use() -> None:
    lines = read("README.md").splitlines()
    assert len(lines) <= MOST_LINES
    headings = [line for line in lines if line.startswith("## ")]
    assert headings == [
        f"## {title}" for title in ("Install", "First commands", "Output", "Accuracy", "More")
    ]
    first = re.findall(r"```sh\n(.*?)```", read("README.md"), re.DOTALL)[0]
    assert [line.split("#")[0].split() for line in first.splitlines()] == [
        ["make", "demo"],
        ["make", "test"],
    ]


def test_all_pages_together_are_short() -> None:
    assert sum(len(page.read_text("utf-8").split()) for page in PAGES) <= MOST_WORDS


def test_the_version_is_the_same_everywhere() -> None:
    release = re.search(r"^## \[([\d.]+)\] - (\S+)$", read("CHANGELOG.md"), re.MULTILINE)
    assert release is not None
    assert release[1] == kernelprof.__version__
    assert f"version: {release[1]}\ndate-released: {release[2]}\n" in read("CITATION.cff")


@pytest.mark.slow("six commands, as the recorded answers have them")
def test_the_gate_s_examples_end_as_they_say(run_cli: RunCli, tmp_path: Path) -> None:
    said = []
    blocks = re.findall(r"```sh\n(.*?)```", read("docs/gate.md"), re.DOTALL)
    (block,) = [each for each in blocks if "h200_once" in each]
    folder = re.search(r"^C=(\S+)", block, re.MULTILINE)
    assert folder is not None
    for line in block.splitlines()[1:]:
        command, _, comment = line.partition("#")
        words = shlex.split(command.replace("$C", folder[1]))
        files = [word for each in words for word in sorted(globbed(each))]
        given = [str(tmp_path / each) if each.endswith(".json") else each for each in files]
        expected = re.search(r"exit code (\d)$", comment)
        done = run_cli(*given[1:], cwd=ROOT)
        assert done.returncode == (int(expected[1]) if expected else 0), line
        said.append(done.returncode)
    assert said == [0, 0, 1, 3, 0, 1]


def globbed(word: str) -> list[str]:
    """What a shell makes of a word with a star."""
    return [str(each.relative_to(ROOT)) for each in ROOT.glob(word)] if "*" in word else [word]


def test_the_output_is_that_of_make_demo() -> None:
    assert f"$ kernelprof diagnose {EXAMPLE} --predict\n" in read("README.md")
    assert f"EXAMPLE := {EXAMPLE}\n" in read("Makefile")


def test_the_gate_s_figures_are_those_of_the_table_behind_them() -> None:
    page = read("reports/gate-h200.md")
    assert page.count("| 1: 25 |") == 7
    assert page.count("| 200 of 200 |") == 13 + 11
    shown = " ".join(read("docs/gate.md").split())
    assert "seven planted changes" in shown
    assert "25 of 25 pairs of runs" in shown
    assert "200 out of 200 times for each of 13 kernels" in shown
    assert "each of seven planted changes in 25 of 25 pairs" in read("README.md")


def test_the_figures_about_correctness_are_those_of_the_page_behind_them() -> None:
    assert "172 of 181" in read("README.md")
    assert "172 of 181, including all 101" in read("docs/verdicts.md")


def test_the_table_of_the_corpus_is_that_of_its_report() -> None:
    readme, report = read("README.md"), read("reports/corpus-h200.md")
    for label, cells in (
        ("planted bottleneck named first", ("125 of 127", "73 of 125", "20 of 125")),
        ("healthy kernel", ("16 of 17", "11 of 17", "8 of 17")),
        ("decoy", ("11 of 11", "6 of 11", "9 of 11")),
    ):
        shown = next(line for line in readme.splitlines() if line.startswith(f"| {label}"))
        full = next(line for line in report.splitlines() if line.startswith(f"| {label}"))
        assert [cell.strip() for cell in shown.split("|")[2:5]] == list(cells)
        assert all(cell in full for cell in cells)
    assert "1234 of 1280 (96 %)" in readme
    assert "1234 of 1280 (96 %)" in report
