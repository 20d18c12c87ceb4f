"""What ``kernelprof optimize`` has kept survives hostile commands and interrupts."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
from tests.support.processes import started

import kernelprof as kp
from kernelprof.report.writers.json import schema

ROOT = Path(__file__).parents[2]
NAIVE = ROOT / "cuda" / "ladder" / "01_naive.cu"
COALESCED = ROOT / "cuda" / "ladder" / "02_coalesced.cu"


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel with a recorded capture, on a machine without a GPU; scratch folders lie beside."""
    monkeypatch.setenv("KERNELPROF_NCU", "/no/such/ncu")
    scratch, work = tmp_path / "scratch", tmp_path / "work"
    scratch.mkdir()
    work.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    monkeypatch.chdir(work)
    place = work / "k.cu"
    place.write_bytes(NAIVE.read_bytes())
    return place


def _command(folder: Path, first: str, later: str) -> str:
    """A command that does this in the first round, and that in all others."""
    script = folder / "propose.sh"
    lines = f'if [ "$KERNELPROF_ROUND" = 1 ]; then\n{first}\nelse\n{later}\nfi\n'
    script.write_text(lines, encoding="utf-8")
    return f"sh {script}"


@pytest.mark.parametrize(
    ("first", "later", "decision"),
    [
        ("mkdir -p ../best ../proposed ../../round-2/work", "mkdir -p ../../best", "nothing"),
        ("true", "rm -rf ../..; exit 3", "failed"),
        ("true", "rm -rf ../..", "failed"),
        ("true", "cd ..; rm -rf work; ln -s /no/such work", "failed"),
    ],
)
def test_folders_that_a_command_makes_or_removes_lose_nothing(
    kernel: Path, kernelprof, first: str, later: str, decision: str
) -> None:
    command = _command(kernel.parent, f"cp {COALESCED} k.cu; {first}", later)
    words = f"optimize k.cu --with '{command}' --rounds 2 --format json"
    found = kernelprof(f"{words} --apply --best best.cu").json
    assert [each["decision"] for each in found["attempts"]] == ["kept", decision]
    assert found["applied"]
    assert kernel.read_bytes() == COALESCED.read_bytes()
    assert Path("best.cu").read_bytes() == COALESCED.read_bytes()


def test_a_command_that_is_gone_in_a_later_round_loses_nothing(kernel: Path) -> None:
    script = kernel.parent / "once"
    script.write_text(f"#!/bin/sh\ncp {COALESCED} k.cu\nrm $0\n", encoding="utf-8")
    script.chmod(0o755)
    found = kp.optimize(kernel, str(script), rounds=2)
    assert [each.decision.value for each in found.attempts] == ["kept", "failed"]
    assert "cannot be started" in found.attempts[1].reason
    assert found.text == COALESCED.read_text("utf-8")


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow("the same by another signal")),
    ],
)
def test_an_interrupt_writes_what_was_kept_and_applies_nothing(
    kernel: Path, cli_environment: dict[str, str], number: int, code: int
) -> None:
    reached = kernel.parent / "reached"
    command = _command(kernel.parent, f"cp {COALESCED} k.cu", f"touch {reached}; sleep 300")
    words = ["optimize", "k.cu", "--with", command, "--format", "json"]
    with started(
        [sys.executable, "-m", "kernelprof", *words, "--apply", "--best", "best.cu"],
        stdout=subprocess.PIPE,
        env={**cli_environment, "KERNELPROF_NCU": "/no/such/ncu"},
        text=True,
    ) as running:
        while running.poll() is None and not reached.exists():
            time.sleep(0.05)
        running.send_signal(number)
        out, _ = running.communicate(timeout=60)
    assert running.returncode == code
    found = json.loads(out)
    jsonschema.validate(found, json.loads(schema("optimization")))
    assert found["ended"] == "interrupted"
    assert [each["decision"] for each in found["attempts"]] == ["kept"]
    assert not found["applied"]
    assert found["text"] == COALESCED.read_text("utf-8")
    assert Path("best.cu").read_bytes() == COALESCED.read_bytes()
    assert kernel.read_bytes() == NAIVE.read_bytes()


def test_an_interrupt_goes_on_to_who_calls_the_loop(kernel: Path) -> None:
    """The report says in which round, and that nothing is replaced."""
    told: list[str] = []

    def interrupt(line: str) -> None:
        if "round 2" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kp.optimize(
            kernel,
            _command(kernel.parent, f"cp {COALESCED} k.cu", "exit 3"),
            remark=interrupt,
            interrupted=lambda found: told.append(found.to_text("markdown")),
        )
    (text,) = told
    assert "1 of 2 proposals kept: 12.1x faster" in text
    assert "Ended by an interrupt." in text
    assert "an interrupted run ignores --apply" in text


def test_a_source_that_a_command_overwrote_is_named_and_saved(kernel: Path, kernelprof) -> None:
    command = f"sh -c 'cp {COALESCED} k.cu; echo hi > {kernel}'"
    found = kernelprof.json("optimize k.cu --apply --with", command, code=2)
    jsonschema.validate(found, json.loads(schema("optimization")))
    assert found["changed"] == ["k.cu"]
    assert (Path(found["saved"]) / "k.cu").read_bytes() == NAIVE.read_bytes()
    assert kernel.read_text("utf-8") == "hi\n"
    kernel.write_bytes(NAIVE.read_bytes())
    told = kernelprof(
        "optimize k.cu --apply --with",
        command,
        code=2,
        says=[
            "Another program changed k.cu, so kernelprof did not replace the source.",
            "The original files are in",
        ],
    ).line
    assert "The source is unchanged" not in told
