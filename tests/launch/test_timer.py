"""A prepared kernel that is timed when somebody asks, against processes that stand in for it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from kernelprof.errors import ExitCode
from kernelprof.launch.prepare import PreparedKernel
from kernelprof.launch.processes import Interrupts
from kernelprof.launch.timer import timer
from kernelprof.launch.trial import LaunchError

if TYPE_CHECKING:
    from collections.abc import Iterator

ANSWERS = """
import sys
from kernelprof.launch.asked import answer_all
assert sys.argv[-1] == "--answer"
answer_all(lambda question: {"times_ns": [question["sizes"]["N"]] * question["count"]})
"""
FAILS = """
from kernelprof.launch.asked import answer_all
error = {"what": "too little memory", "where": "k.cu", "hint": "smaller sizes", "exit_code": 4}
answer_all(lambda question: {"error": error})
"""


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    with Interrupts() as found:
        yield found


def _prepared(code: str) -> PreparedKernel:
    return PreparedKernel("k.cu", (sys.executable, "-P", "-c", code))


def test_times_at_the_sizes_and_as_many_as_asked_for(interrupts: Interrupts) -> None:
    with timer(_prepared(ANSWERS), interrupts) as times:
        assert times({"N": 64}, 3) == [64.0, 64.0, 64.0]
        assert times({"N": 128}, 1) == [128.0]


def test_an_error_of_the_launch_is_raised_as_it_was_met(interrupts: Interrupts) -> None:
    with (
        pytest.raises(LaunchError, match="too little memory") as caught,
        timer(_prepared(FAILS), interrupts) as times,
    ):
        times({"N": 64}, 3)
    assert (caught.value.where, caught.value.hint) == ("k.cu", "smaller sizes")
    assert caught.value.exit_code == ExitCode.ENVIRONMENT


def test_a_process_that_ends_is_an_error_with_its_last_words(interrupts: Interrupts) -> None:
    with (
        pytest.raises(LaunchError, match="ended without an answer when the kernel was timed") as it,
        timer(_prepared("print('it faulted')"), interrupts) as times,
    ):
        times({"N": 64}, 3)
    assert it.value.where == "k.cu"
    assert "  it faulted" in str(it.value.hint)


def test_a_process_that_does_not_answer_is_an_error_of_the_kernel(
    interrupts: Interrupts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelprof.launch.timer.LIMIT_S", 0.2)
    with (
        pytest.raises(LaunchError, match=r"did not answer within 0\.2 s when the kernel") as caught,
        timer(_prepared("import time; time.sleep(600)"), interrupts) as times,
    ):
        times({"N": 64}, 3)
    assert caught.value.where == "k.cu"
    assert caught.value.hint
