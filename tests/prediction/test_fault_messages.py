"""What is told of kernels with one mistake each, in ``code/faults.cu``."""

from __future__ import annotations

import gzip
import re
import tomllib
from pathlib import Path

import pytest
from tests.conftest import CAPTURES
from tests.sassim.sanitizer.running import CODE, bound, checked, line, told

from kernelprof.errors import ExitCode
from kernelprof.launch.run.trial import LaunchError
from kernelprof.prediction.fault_messages import translate_faults
from sassim.faults import AccessError

FAULTS = tomllib.loads(Path(__file__).with_name("faults.toml").read_text(encoding="utf-8"))
MARK = re.compile(r"{(#?)(\w+)}")


@pytest.mark.parametrize("name", FAULTS)
def test_a_kernel_with_one_mistake(name: str) -> None:
    row = FAULTS[name]

    def place(mark: re.Match[str]) -> str:
        return line(name, mark[2]).removeprefix("faults.cu:" if mark[1] else "")

    assert told("faults", name) == MARK.sub(place, row["text"]).splitlines()
    error = checked("faults", name)
    if not row["text"]:
        assert error is None
        return
    assert error is not None
    assert (error.where, error.exit_code) == (
        f"/kernels/{line(name, row['where'])}",
        ExitCode.BAD_INPUT,
    )
    hint = error.hint or ""
    assert row.get("hint", "") in hint
    assert ("cp.async.wait_group" in hint) == (
        "with no intervening wait for the asynchronous copy" in row["text"]
    )


def test_far_from_all_arrays_the_nearest_is_named() -> None:
    *_, where = told("faults", "far_outside")
    assert where.startswith("address 0x7f00")
    assert "is in none of the kernel's arrays; y, the nearest, is " in where


def test_a_hint_has_the_lines_that_an_instruction_is_inlined_at() -> None:
    at = line("inlined", "inlined")
    number = int(at.partition(":")[2])
    error = checked("faults", "inlined")
    assert error is not None
    assert (error.hint or "").endswith(f"{at}, inlined at faults.cu:{number + 3})")


def test_every_kernel_with_a_mistake_is_tried_here() -> None:
    source = (CODE / "faults.cu").read_text(encoding="utf-8")
    names = set(re.findall(r"^KERNEL\((\w+)\)", source, re.MULTILINE))
    assert names - FAULTS.keys() == {"counts_on", "adds_until", "far_outside"}


def test_the_thread_and_the_line_are_those_that_the_tool_told_on_a_gpu() -> None:
    recorded = CAPTURES / "sanitizer" / "past_the_end.memcheck.txt.gz"
    lines = gzip.decompress(recorded.read_bytes()).decode().splitlines()
    what, at, who = (each.removeprefix("=========").strip() for each in lines[1:4])
    _, ours, where, whom, _ = told("past_the_end")
    assert (ours, whom) == (what, f"{who}:")
    assert where.endswith(" in past_the_end.cu:39")
    assert at.endswith(" in past_the_end.cu:39")


def test_the_race_is_the_one_that_the_tool_told_on_a_gpu() -> None:
    recorded = (CAPTURES / "sanitizer" / "races.racecheck.txt").read_text(encoding="utf-8")
    assert "Write access at turn(const float *, float *)+0xf0 in races.cu:28" in recorded
    assert "Read access at turn(const float *, float *)+0x100 in races.cu:29" in recorded
    assert "[4096 hazards]" in recorded
    _, first, second, _, size = told("races")
    assert first == "Race reported between Write access at turn in races.cu:28"
    assert second == "and Read access at turn in races.cu:29"
    # The tool counts the bytes of all four blocks.
    assert f"one of {4096 // 4} bytes" in size


def test_an_output_that_is_read_and_an_assert_are_told_as_on_a_gpu() -> None:
    _, what, where, *_ = told("reads_output")
    assert what == "Uninitialized __global__ memory read of size 4 bytes"
    assert where.endswith(" in reads_output.cu:39")
    assert told("asserts")[0].startswith("the assertion 'i < 500' does not hold")


def test_other_errors_go_through() -> None:
    _, launch = bound("faults", "clean")
    with (
        pytest.raises(ValueError, match="of something else"),
        translate_faults(launch, CODE, "clean"),
    ):
        raise ValueError("of something else")


def test_a_fault_stays_the_cause_of_the_error() -> None:
    error = checked("faults", "past_the_end")
    assert isinstance(error, LaunchError)
    assert isinstance(error.__cause__, AccessError)
    assert error.__cause__.tool == "memcheck"
