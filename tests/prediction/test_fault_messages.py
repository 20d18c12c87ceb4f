"""What is told of kernels with one mistake each, in ``code/faults.cu``."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from tests.conftest import CAPTURES
from tests.sassim.sanitizer.running import CODE, bound, checked, line, told

from kernelprof.errors import ExitCode
from kernelprof.launch.run.faults import ILLEGAL_ACCESS, MISALIGNED
from kernelprof.launch.run.trial import LaunchError
from kernelprof.prediction.fault_messages import translate_faults
from sassim.faults import AccessError

OUTSIDE = {
    "past_the_end": (
        "Invalid __global__ read of size 4 bytes",
        "by thread (232,0,0) in block (3,0,0)",
        "x[1000] is 1 element (4 bytes) past the last of x, which has 1000 elements (4000 bytes)",
    ),
    "writes_past_the_end": (
        "Invalid __global__ write of size 4 bytes",
        "by thread (232,0,0) in block (3,0,0)",
        "y[1000] is 1 element (4 bytes) past the last of y, which has 1000 elements (4000 bytes)",
    ),
    "before_the_start": (
        "Invalid __global__ read of size 4 bytes",
        "by thread (0,0,0) in block (0,0,0)",
        "x[-2] is 2 elements (8 bytes) before the first of x, which has 1000 elements (4000 bytes)",
    ),
    "partly_outside": (
        "Invalid __global__ read of size 16 bytes",
        "by thread (250,0,0) in block (0,0,0)",
        "x[1000] is 4 elements (16 bytes) past the last of x, which has 1000 elements (4000 bytes)",
    ),
    "null_pointer": (
        "Invalid __global__ read of size 4 bytes",
        "by thread (0,0,0) in block (0,0,0)",
        "address 0x4 is a null pointer plus 4 bytes",
    ),
    "shared_outside": (
        "Invalid __shared__ write of size 4 bytes",
        "by thread (255,0,0) in block (0,0,0)",
        "byte 1028 is 4 bytes past the last of shared memory, of which a block has 1028 bytes",
    ),
    "local_outside": (
        "Invalid __local__ read of size 4 bytes",
        "by thread (64,0,0) in block (0,0,0)",
        "byte 1024 is 4 bytes past the last of local memory, of which a thread has 1024 bytes",
    ),
    "bulk_outside": (
        "Invalid __global__ read of size 16 bytes",
        "by thread (0,0,0) in block (0,0,0)",
        "x[1000] is 4 elements (16 bytes) past the last of x, which has 1000 elements (4000 bytes)",
    ),
    "atomic_outside": (
        "Invalid __global__ atomic of size 4 bytes",
        "by thread (0,0,0) in block (0,0,0)",
        "y[1000] is 1 element (4 bytes) past the last of y, which has 1000 elements (4000 bytes)",
    ),
}
UNWRITTEN = {
    "reads_output": (
        "Uninitialized __global__ memory read of size 4 bytes",
        "by thread (0,0,0) in block (0,0,0)",
        "nothing was written to y[0] before",
    ),
    "shared_unwritten": (
        "Uninitialized __shared__ memory read of size 4 bytes",
        "by thread (185,0,0) in block (0,0,0)",
        "nothing was written to byte 280 of shared memory, of which a block has 1024 bytes before",
    ),
    "half_unwritten": (
        "Uninitialized __shared__ memory read of size 4 bytes",
        "by thread (0,0,0) in block (0,0,0)",
        "nothing was written to byte 0 of shared memory, of which a block has 1024 bytes before",
    ),
}
RACES = {
    "read_after_write": ("write", "read", 32, 1024),
    "write_after_read": ("write", "read", 64, 1024),
    "write_after_write": ("write", "write", 32, 128),
    "atomic_and_write": ("write", "atomic", 32, 128),
    "atomic_and_read": ("atomic", "read", 32, 128),
}
"""How two threads touch byte 0: thread 0, and which other one; and bytes they race for."""


def mark_of(what: str) -> str:
    return next(each for each in ("atomic", "write", "read") if f" {each} of size" in what)


@pytest.mark.parametrize("name", OUTSIDE)
def test_an_access_outside_is_told_with_thread_and_place(name: str) -> None:
    what, who, where = OUTSIDE[name]
    at = line(name, mark_of(what))
    assert told("faults", name) == [
        f"{ILLEGAL_ACCESS}:",
        what,
        f"at {name} in {at}",
        f"{who}:",
        where,
    ]
    error = checked("faults", name)
    assert error is not None
    assert (error.where, error.exit_code) == (f"/kernels/{at}", ExitCode.BAD_INPUT)


def test_far_from_all_arrays_the_nearest_is_named() -> None:
    *_, where = told("faults", "far_outside")
    assert where.startswith("address 0x7f00")
    assert "is in none of the kernel's arrays; y, the nearest, is " in where


def test_an_address_that_the_size_does_not_divide_is_told() -> None:
    assert told("faults", "misaligned") == [
        f"{MISALIGNED}:",
        "Invalid __global__ read of size 16 bytes",
        f"at misaligned in {line('misaligned')}",
        "by thread (1,0,0) in block (0,0,0):",
        "x[1] is not aligned: 16 does not divide byte 4 of x, which has 1000 elements (4000 bytes)",
    ]


def test_a_line_of_an_include_of_the_compiler_is_the_users_that_calls_it() -> None:
    at = line("inlined", "inlined")
    assert told("faults", "inlined")[2] == f"at inlined in {at}"
    error = checked("faults", "inlined")
    assert error is not None
    assert error.where == f"/kernels/{at}"
    number = int(at.partition(":")[2])
    chain = f"{at}, inlined at faults.cu:{number + 3})"
    assert (error.hint or "").endswith(chain)
    assert "the instruction is LDG.E.CONSTANT R" in (error.hint or "")


@pytest.mark.parametrize("name", UNWRITTEN)
def test_a_read_of_what_nothing_was_written_to_is_told(name: str) -> None:
    what, who, where = UNWRITTEN[name]
    assert told("faults", name) == [
        "the kernel read memory that nothing was written to before:",
        what,
        f"at {name} in {line(name)}",
        f"{who}:",
        where,
    ]


@pytest.mark.parametrize("name", RACES)
def test_a_race_is_told_with_both_lines_and_threads(name: str) -> None:
    first, second, other, size = RACES[name]
    assert told("faults", name) == [
        "threads of a block race for shared memory:",
        f"Race reported between {first.title()} access at {name} in {line(name, first)}",
        f"and {second.title()} access at {name} in {line(name, second)}",
        f"by thread (0,0,0) and thread ({other},0,0) in block (0,0,0), with no barrier between:",
        f"byte 0 of shared memory, one of {size} that the block's threads race for",
    ]


@pytest.mark.parametrize(
    ("name", "other", "between", "byte", "size"),
    [
        ("copy_not_waited_for", 0, "before the copy was waited for", 0, 1024),
        ("newest_copy_not_waited_for", 0, "before the copy was waited for", 4096, 1024),
        ("copy_of_another_warp", 32, "with no barrier between", 0, 1024),
    ],
)
def test_a_copy_that_is_read_too_early_is_told(
    name: str, other: int, between: str, byte: int, size: int
) -> None:
    assert told("faults", name)[1:] == [
        f"Race reported between Write access at {name} in {line(name, 'copy')}",
        f"and Read access at {name} in {line(name)}",
        f"by thread (0,0,0) and thread ({other},0,0) in block (0,0,0), {between}:",
        f"byte {byte} of shared memory, one of {size} that the block's threads race for",
    ]
    error = checked("faults", name)
    assert error is not None
    assert ("cp.async.wait_group" in (error.hint or "")) == (other == 0)


@pytest.mark.parametrize(
    ("name", "kind", "here", "there", "threads"),
    [
        ("parts_of_a_warp", "warp", "odd", "even", (1, 0)),
        ("half_a_warp", "warp", "inner", "outer", (0, 16)),
        ("parts_of_a_block", "block", "first", "second", (0, 64)),
    ],
)
def test_a_barrier_that_threads_do_not_come_to_together_is_told(
    name: str, kind: str, here: str, there: str, threads: tuple[int, int]
) -> None:
    one, other = threads
    assert told("faults", name) == [
        "not all threads that have to come to a barrier do:",
        f"Barrier error detected. Divergent thread(s) in {kind}",
        f"at {name} in {line(name, here)}",
        f"by thread ({one},0,0) in block (0,0,0):",
        f"thread ({other},0,0) waits at {name} in {line(name, there)}",
    ]


def test_threads_that_wait_for_others_that_never_come_are_told() -> None:
    assert told("faults", "too_few_come") == [
        "the kernel never ends: its threads wait for each other:",
        "256 wait at a barrier of the block, the first",
        f"at too_few_come in {line('too_few_come', 'barrier')}",
        "by thread (0,0,0) in block (0,0,0);",
        "768 have ended",
    ]


def test_threads_that_wait_for_a_phase_that_never_ends_are_told() -> None:
    error = checked("faults", "one_never_arrives")
    assert told("faults", "one_never_arrives")[1:] == [
        "1024 wait for a phase of an mbarrier, the first",
        f"at one_never_arrives in {line('clean', 'wait')}",
        "by thread (0,0,0) in block (0,0,0);",
        "0 have ended",
    ]
    assert error is not None
    assert (error.hint or "").startswith("an mbarrier was told of more threads")


def test_a_loop_that_waits_for_nobody_is_told() -> None:
    assert told("faults", "waits_for_nobody") == [
        "the kernel never ends: a loop comes back to where it was, and nothing changes:",
        f"at waits_for_nobody in {line('waits_for_nobody', 'loop')}",
        "by thread (44,0,0) in block (1,0,0)",
    ]


def test_an_assertion_and_a_trap_are_told() -> None:
    at = line("asserts", "assert")
    number = at.partition(":")[2]
    assert told("faults", "asserts") == [
        f"the assertion 'AT < n' does not hold (line {number} of /kernels/faults.cu):",
        f"at asserts in {at}",
        "by thread (232,0,0) in block (3,0,0)",
    ]
    assert told("faults", "traps") == [
        "the kernel stops itself (__trap):",
        f"at traps in {line('traps', 'trap')}",
        "by thread (77,0,0) in block (0,0,0)",
    ]


@pytest.mark.parametrize(
    "name",
    [
        "clean",
        "no_race",
        "copies",
        "copies_with_barrier",
        "copy_in_bulk",
        "polls",
        "some_leave_early",
        "named_barriers",
    ],
)
def test_a_kernel_without_a_mistake_is_told_nothing(name: str) -> None:
    assert told("faults", name) == []


def test_every_kernel_with_a_mistake_is_tried_here() -> None:
    source = (CODE / "faults.cu").read_text(encoding="utf-8")
    tried = Path(__file__).read_text(encoding="utf-8")
    names = set(re.findall(r"^KERNEL\((\w+)\)", source, re.MULTILINE))
    assert not {name for name in names if f'"{name}"' not in tried} - {"counts_on", "adds_until"}


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
    assert f"one of {4096 // 4} that" in size


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
