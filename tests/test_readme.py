"""What the README and the pages behind it show is what the program prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kernelprof
from kernelprof.report.documents.diagnosis import document
from kernelprof.report.writers import terminal

if TYPE_CHECKING:
    from tests.conftest import RunCli

ROOT = Path(__file__).parent.parent
EXAMPLE = "examples/matvec.cu"
MOST_LINES = 150


def read(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


def test_the_readme_is_short_and_says_things_once() -> None:
    lines = read("README.md").splitlines()
    assert len(lines) <= MOST_LINES
    headings = [line for line in lines if line.startswith("## ")]
    assert headings == ["## What it prints", "## Use it", "## Figures", "## More"]


def test_the_interface_comes_right_after_the_two_commands() -> None:
    blocks = re.findall(r"```(\w+)\n(.*?)```", read("README.md"), re.DOTALL)
    (shell, commands), (language, first), *_ = blocks
    assert (shell, language) == ("sh", "python")
    assert [line.split("#")[0].split() for line in commands.splitlines()] == [
        ["make", "demo"],
        ["make", "test"],
    ]
    assert 'kp.read("capture.csv").diagnose().to_pandas()' in first


@pytest.mark.slow("ten commands, as the recorded answers have them")
def test_the_gate_s_examples_end_as_they_say(run_cli: RunCli, tmp_path: Path) -> None:
    said = []
    for page in ("README.md", "docs/gate.md"):
        for block in re.findall(r"```sh\n(.*?)```", read(page), re.DOTALL):
            if "h200_once" not in block:
                continue
            folder = re.search(r"^C=(\S+)", block, re.MULTILINE)
            assert folder is not None
            place = tmp_path / str(len(said))
            place.mkdir()
            for line in block.splitlines()[1:]:
                command, _, comment = line.partition("#")
                words = shlex.split(command.replace("$C", folder[1]))
                files = [word for each in words for word in sorted(globbed(each))]
                given = [str(place / each) if each.endswith(".json") else each for each in files]
                expected = re.search(r"(?:exit code|: )\s*(\d)$", comment)
                done = run_cli(*given[1:], cwd=ROOT)
                assert done.returncode == (int(expected[1]) if expected else 0), line
                said.append(done.returncode)
    assert [said.count(code) for code in (0, 1, 3)] == [5, 3, 2]


def globbed(word: str) -> list[str]:
    """What a shell makes of a word with a star."""
    return [str(each.relative_to(ROOT)) for each in ROOT.glob(word)] if "*" in word else [word]


@pytest.mark.slow("a prediction")
def test_the_prediction_of_the_first_screen_is_that_of_make_demo(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    printed = terminal.write(document(kernelprof.predict(EXAMPLE).diagnose(), explain=False))
    assert f"$ kernelprof diagnose {EXAMPLE} --predict\n" in read("README.md")
    (row,) = [line for line in printed.splitlines() if "sum += A[row" in line]
    assert row in read("docs/predict.md")
    makefile = read("Makefile")
    assert f"EXAMPLE := {EXAMPLE}\n" in makefile
    assert "kernelprof diagnose $(EXAMPLE) --predict" in makefile


def test_the_gate_s_figures_are_those_of_the_table_behind_them() -> None:
    page = read("reports/gate-h200.md")
    assert page.count("| 1: 25 |") == 7
    assert page.count("| 200 of 200 |") == 13 + 11
    for shown in ("README.md", "docs/gate.md"):
        told = " ".join(read(shown).split())
        assert "seven planted changes" in told
        assert "25 of 25 pairs of runs" in told
        assert "200 times of 200 for each of 13 kernels" in told


def test_the_figures_about_correctness_are_those_of_the_page_behind_them() -> None:
    assert "172 of 181" in read("README.md")
    assert "172 of all 181" in read("docs/verdicts.md")


def test_the_table_of_the_corpus_is_that_of_its_report() -> None:
    report = read("reports/corpus-h200.md")
    for shown in (read("README.md"), read("docs/corpus.md")):
        for label, cells in (
            ("planted bottleneck named first", ("125 of 127", "73 of 125", "20 of 125")),
            ("healthy kernel", ("16 of 17", "11 of 17", "8 of 17")),
            ("decoy", ("11 of 11", "6 of 11", "9 of 11")),
        ):
            told = next(line for line in shown.splitlines() if line.startswith(f"| {label}"))
            full = next(line for line in report.splitlines() if line.startswith(f"| {label}"))
            assert [cell.strip() for cell in told.split("|")[2:5]] == list(cells)
            assert all(cell in full for cell in cells)
    assert "1234 of 1280 (96 %)" in read("README.md")
    assert "1234 of 1280 (96 %)" in report


def test_the_figures_of_speed_are_those_of_their_page() -> None:
    page = read("docs/performance.md")
    for figure in ("2.6 s, 315 MB", "41 s, 1,828 MB"):
        assert figure in read("README.md")
        assert figure in page
    assert "process 2.8 s" in page
    assert "2.8 s, 377 MB" in read("README.md")
