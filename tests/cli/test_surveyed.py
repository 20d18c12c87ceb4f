"""A program that was surveyed and kept: the same numbers and the same answer in every format."""

from __future__ import annotations

import gzip
import re
import shutil
from typing import TYPE_CHECKING

import pytest

from kernelprof import read

if TYPE_CHECKING:
    from pathlib import Path

SENTENCE = "The GPU works 14 % of the time: 4,002 launches of 1.86 µs wait for the host."
GRAPH = "Launch what repeats as one CUDA graph"


@pytest.fixture
def short(captures: Path) -> str:
    return str(captures / "surveyed" / "short_kernels")


@pytest.fixture
def encoder(captures: Path) -> str:
    return str(captures / "surveyed" / "encoder")


def test_verdicts_of_one_configuration_share_its_time_as_it_was_measured(
    encoder, kernelprof
) -> None:
    """Two launches of one kernel and grid, 123.7 µs and 35.26 µs: two products of other sizes."""
    document = kernelprof.json("diagnose", encoder)
    alike = [
        each for each in document["kernels"] if each["surveyed"]["measured"] > each["launches"]
    ]
    long, short = (each for each in alike if each["surveyed"]["launches"] == 276)
    assert [each["duration_ns"]["median"] for each in (long, short)] == [123_680.0, 35_264.0]
    assert long["share"] / short["share"] == pytest.approx(123_680 / 35_264)
    (linear,) = [
        each
        for each in document["captures"][0]["survey"]["groups"]
        if each["name"] == "layers.*.linear2 (Linear)"
    ]
    assert long["share"] == pytest.approx(linear["share"], abs=0.001)
    shares = [each["share"] for each in document["kernels"]]
    assert shares == sorted(shares, reverse=True)
    said = kernelprof("diagnose", encoder, "--explain", "--top", "2").out
    assert (
        "276 launches of 78.13 µs, 2 measured, 1 with this verdict, 8.6 % of kernel time"
        in " ".join(said.split())
    )
    headings = kernelprof("diagnose", encoder, "--top", "11").out
    assert "ID 23, some of 276 launches of 123.7 µs, 8.6 % of kernel time" in headings
    assert "ID 49, some of 276 launches of 35.26 µs, 2.4 % of kernel time" in headings


def test_the_table_has_the_launches_of_the_program(encoder, kernelprof) -> None:
    rows = re.findall(
        r"^ *(\d+) .* ([\d,]+) +([\d.]+ .s|\d+ ns) ",
        kernelprof("diagnose", encoder, "--top", "0").out,
        re.MULTILINE,
    )
    assert len(rows) == 50
    assert rows[0] == ("1", "253", "90.21 µs")


def test_a_heading_keeps_name_and_time_at_eighty_columns(encoder, kernelprof) -> None:
    headings = re.findall(
        r"^\d+ .*─", kernelprof("diagnose", encoder, "--top", "9").out, re.MULTILINE
    )
    assert len(headings) == 9
    assert all(
        re.search(r"\w+.*, (some of )?[\d,]+ launches of .* of kernel time ", each)
        for each in headings
    )


def test_the_whole_programs_answer_is_in_every_format(short, kernelprof) -> None:
    brief = kernelprof("diagnose", short, "--format", "brief").out
    assert brief.index(SENTENCE) < brief.index(GRAPH) < brief.index("small-grid")
    log = kernelprof("diagnose", short, "--format", "sarif").json
    (invocation,) = log["runs"][0]["invocations"]
    (note,) = invocation["toolExecutionNotifications"]
    assert note["message"]["text"] == f"{short}: {SENTENCE}"
    for name in ("text", "markdown"):
        assert SENTENCE in kernelprof("diagnose", short, "--format", name).out


def test_of_several_captures_the_costliest_kernel_is_first(short, encoder, kernelprof) -> None:
    brief = kernelprof("diagnose", short, encoder, "--format", "brief").out
    first, second = re.findall(r"^[12] (.*)", brief, re.MULTILINE)[:2]
    assert "32x1x4" in first  # 22.8 ms of all launches
    assert "sm80_xmma_gemm" in second  # 18 ms; the additions of the other program take 7.4 ms


def test_the_next_step_names_the_capture_and_keeps_the_survey(short, tmp_path, kernelprof) -> None:
    folder = shutil.copytree(short, tmp_path / "kept one")
    commands = [
        line for line in kernelprof(f"diagnose '{folder}'").out.splitlines() if "--merge" in line
    ]
    assert commands == [f"kernelprof diagnose '{folder}' followup.csv --merge"]
    followup = tmp_path / "followup.csv"
    followup.write_bytes(gzip.decompress((folder / "raw.csv.gz").read_bytes()))
    merged = read([folder, followup], merge=True)
    assert merged.clock_control == "none"
    document = kernelprof.json(f"diagnose '{folder}' {followup} --merge")
    assert document["captures"][0]["survey"]["answer"]["sentence"] == SENTENCE
    assert document["kernels"][0]["surveyed"]["launches"] == 4001
    assert "--clock-control none" in document["kernels"][0]["verdict"]["command"]


def test_more_runs_of_a_surveyed_program_are_surveyed_too(short, kernelprof) -> None:
    said = kernelprof(f"gate {short} {short}").line
    again = "for i in 1 2 3 4 5; do kernelprof diagnose --keep runs/$i -- python3"
    assert f"command: {again} tests/gpu/survey/short_kernels.py; done" in said
