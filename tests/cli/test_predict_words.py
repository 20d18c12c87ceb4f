"""What is said of a prediction: on what it rests, what to type next, and why there is none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.cli.test_gate_sources import SCALE
from tests.cli.test_predict import ROOT, SOURCE, changed, said, work

from kernelprof.prediction import predictor

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["work"]


@pytest.mark.slow("two predictions")
def test_an_open_verdict_speaks_of_the_prediction(
    capsys: pytest.CaptureFixture[str], work: Path
) -> None:
    command = ["diagnose", "matvec.cu", "--predict", "--arch", "sm_120"]
    _, out, _ = said(capsys, *command, "--html", "p.html", "--explain")
    assert "Inconclusive: the prediction does not decide between" in out
    assert "capture does not" not in out
    page = (work / "p.html").read_text("utf-8")
    assert "This prediction does not show what limits the kernel" in page
    _, sarif, _ = said(capsys, *command, "--format", "sarif")
    texts = [each["message"]["text"] for each in json.loads(sarif)["runs"][0]["results"]]
    assert "Inconclusive: the prediction does not decide between" in texts[0]


@pytest.mark.slow("a kernel is predicted in each format")
def test_a_result_that_nothing_checks_is_told(
    capsys: pytest.CaptureFixture[str], work: Path
) -> None:
    (work / "scale.cu").write_text(SCALE, "utf-8")
    _, _, err = said(capsys, "diagnose", "scale.cu", "--predict")
    assert 'its result was not checked: it has reference = "none"' in err
    _, _, err = said(capsys, "diagnose", "matvec.cu", "--predict")
    assert "not checked" not in err


@pytest.mark.usefixtures("work")
def test_the_command_for_a_gpu_has_the_sizes_of_the_prediction(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sizes = ["--size", "M=512", "--size", "N=256"]
    _, out, _ = said(capsys, "diagnose", "matvec.cu", "--predict", *sizes, "--arch", "sm_120")
    assert "kernelprof diagnose matvec.cu --size M=512 --size N=256 --preset full\n" in out


@pytest.mark.usefixtures("work")
def test_without_the_memory_for_it_the_arrays_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def count(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(predictor, "count", count)
    code, _, err = said(capsys, "diagnose", "matvec.cu", "--predict", "--size", "M=1000000000")
    assert code == 4
    assert "its arrays take A 4.1 TB, y 4 GB, x 4.1 kB\n" in err
    assert "  next: take a smaller --size (it has M=1000000000, N=1024)\n" in err


def test_code_for_a_newer_architecture_is_said_in_a_few_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = ROOT / "cuda" / "ladder" / "bf16" / "04_wgmma.cu"
    code, _, err = said(capsys, "diagnose", str(source), "--predict", "--arch", "sm_80")
    assert code == 2
    lines = err.splitlines()
    assert len(lines) <= 12
    assert lines[1].startswith("  | ptxas application ptx input, line ")
    assert any(each.startswith("  | and ") and each.endswith("errors of ptxas") for each in lines)
    assert lines[-1] == "  next: its code needs sm_90a; --arch sm_90 predicts it for that"


@pytest.mark.slow("one more predicted page")
def test_a_page_says_that_its_operations_are_predicted(
    capsys: pytest.CaptureFixture[str], work: Path
) -> None:
    said(capsys, "diagnose", "matvec.cu", "--predict", "--html", "p.html")
    page = (work / "p.html").read_text("utf-8")
    assert "from the machine code, as predicted." in page
    assert "hardware counters" not in page


@pytest.mark.slow("two predictions")
def test_the_page_of_a_wrong_candidate_says_that_nothing_was_counted(
    capsys: pytest.CaptureFixture[str], work: Path
) -> None:
    name = changed(work, ("row >= M", "row > M"))
    assert said(capsys, "gate", SOURCE.name, name, "--predict", "--html", "g.html")[0] == 1
    page = (work / "g.html").read_text("utf-8")
    assert "It was not run to its end, so nothing was counted." in page
    assert "No exact counter changed" not in page
    assert "not run to its end</" in page
    assert "inconclusive</" not in page
