"""``python -m benchmarks.corpus`` as it is typed: output, files and exit codes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from benchmarks.corpus.__main__ import main
from benchmarks.corpus.pairs import all_pairs, corpus, scripts
from benchmarks.corpus.stored import FOLDER

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.corpus.pairs import Pair

NAMES = ["random-walks-stored-by-path", "transpose-column-reads"]


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_the_list_has_every_pair(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [each.name for each in all_pairs()]


@pytest.mark.parametrize(("only", "pairs"), [("kernels", corpus()), ("frameworks", scripts())])
def test_the_list_has_those_of_one_form(
    only: str, pairs: tuple[Pair, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", "--only", only]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [each.name for each in pairs]


def test_a_score_of_some_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", f"cuda/pairs/{NAMES[1]}/", NAMES[0]]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    words = " ".join(out.split())
    assert "The corpus: 2 planted bottlenecks. Measured on NVIDIA H200, driver " in words
    assert re.search(r"^planted bottleneck named first +(2 of 2 \(100 %\) *)+$", out, re.MULTILINE)
    assert max(map(len, out.splitlines())) <= 80


def test_formats_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", *NAMES, "--format", "json"]) == 0
    printed = capsys.readouterr().out
    assert [each["name"] for each in json.loads(printed)["pairs"]] == NAMES
    report, page = tmp_path / "score.md", tmp_path / "score.html"
    words = ["--captures", str(FOLDER), "--format", "markdown", "-o", str(report)]
    assert main(["score", *NAMES, *words, "--html", str(page)]) == 0
    assert capsys.readouterr().out == ""
    assert report.read_text("utf-8").startswith("# How often the verdict is right\n")
    assert "Predicted and measured gains" in page.read_text("utf-8")


def test_other_analyzers_stand_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    path = tmp_path / "peers.json"
    answer = {"label": "uncoalesced", "slugs": ["uncoalesced-global-access"]}
    path.write_text(json.dumps({"fournex": {"version": "1", "pairs": {NAMES[0]: answer}}}), "utf-8")
    assert main(["score", NAMES[0], "--peers", str(path)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^of the kernels +all metrics .*Fournex 1$", out, re.MULTILINE)
    assert re.search(r"^planted bottleneck named first( +1 of 1 \(100 %\)){4}$", out, re.MULTILINE)


@pytest.mark.parametrize(
    "mistake",
    [
        (["no-such-pair"], "the corpus has no pair 'no-such-pair'", "benchmarks.corpus list"),
        (
            ["--captures", "nowhere"],
            "the folder of captures of the corpus does not exist",
            "benchmarks.corpus run",
        ),
        (["--captures", "."], "no pair was measured as it is now", "benchmarks.corpus run"),
        (["--peers", "nowhere.json"], "answers cannot be read: No such file", "docs/corpus.md"),
        (["-o", "no/folder.md"], "there is no such folder to write to", "no: "),
        (["--html", "no/page.html"], "there is no such folder to write to", "no: "),
    ],
)
def test_mistakes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    mistake: tuple[list[str], str, str],
) -> None:
    words, what, hint = mistake
    monkeypatch.chdir(tmp_path)
    assert main(["score", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert what in err
    assert hint in err


def test_what_is_left_out_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / NAMES[0]).symlink_to(FOLDER / NAMES[0])
    assert main(["score", *NAMES, "--captures", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "Not scored (1):" in out
    assert f"- {NAMES[1]}: no capture of before and after as it is now" in " ".join(out.split())
    assert err == (
        "benchmarks.corpus: warning: 1 of 2 pairs are left out: not measured as they are now\n"
    )
