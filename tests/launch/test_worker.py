"""A process that is asked again and again, against real processes."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from kernelprof.errors import MissingToolError
from kernelprof.launch import processes
from kernelprof.launch.processes import Interrupts, RequestWorker, TimeLimitError, WorkerEndedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SQUARES = """
from kernelprof.launch.processes import serve_requests
def answer(question):
    print("a kernel prints", question["n"], end="")
    print('{"times_ns": [1]}')
    return {"square": question["n"] ** 2}
serve_requests(answer)
"""


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    with Interrupts() as found:
        yield found


def _python(code: str) -> list[str]:
    return [sys.executable, "-P", "-c", code]


def test_each_question_has_its_answer_whatever_else_is_printed(interrupts: Interrupts) -> None:
    with RequestWorker(_python(SQUARES), interrupts) as child:
        assert [child.request({"n": n}, 60)["square"] for n in (2, 3, 12)] == [4, 9, 144]


def test_the_end_of_the_questions_is_the_end_of_the_process(interrupts: Interrupts) -> None:
    code = SQUARES.replace('{"square"', '{"pid": __import__("os").getpid(), "square"')
    with RequestWorker(_python(code), interrupts) as child:
        pid = child.request({"n": 1}, 60)["pid"]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_process_that_is_gone_leaves_its_last_words(interrupts: Interrupts) -> None:
    code = "import sys; input(); sys.exit('an illegal address')"
    with RequestWorker(_python(code), interrupts) as child:
        for _ in range(2):
            with pytest.raises(WorkerEndedError) as caught:
                child.request({"n": 1}, 60)
            assert caught.value.printed.strip() == b"an illegal address"


@pytest.mark.parametrize(
    "code",
    ["import time; time.sleep(600)", "while True: print('a kernel prints', flush=True)"],
    ids=["silent", "noisy"],
)
def test_one_that_does_not_answer_is_ended(code: str, interrupts: Interrupts) -> None:
    start = time.monotonic()
    with (
        pytest.raises(TimeLimitError, match=r"did not answer within 0\.2 s"),
        RequestWorker(_python(code), interrupts) as child,
    ):
        child.request({"n": 1}, 0.2)
    assert time.monotonic() - start < 30


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_the_process_too(tmp_path: Path) -> None:
    ready = tmp_path / "pid"
    code = (
        "import os, pathlib, sys, time\n"
        f"file = pathlib.Path({str(ready)!r})\n"
        "input()\n"
        "file.with_suffix('.new').write_text(str(os.getpid()))\n"
        "file.with_suffix('.new').rename(file)\n"
        "time.sleep(600)\n"
    )

    def interrupt() -> None:
        while not ready.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    waiting = threading.Thread(target=interrupt)
    waiting.start()
    with (
        pytest.raises(KeyboardInterrupt),
        Interrupts() as interrupts,
        RequestWorker(_python(code), interrupts) as child,
    ):
        child.request({"n": 1}, 60)
    waiting.join()
    with pytest.raises(ProcessLookupError):
        os.kill(int(ready.read_text(encoding="ascii")), 0)


def test_what_cannot_be_started(interrupts: Interrupts) -> None:
    with pytest.raises(MissingToolError, match="cannot be started"):
        RequestWorker(["/no/such/program"], interrupts)


PROFILER = """
import subprocess, sys
ended = subprocess.run([sys.executable, "-c", "import time; time.sleep(60)"])
print("the program ended with", ended.returncode)
"""


def test_only_the_program_is_ended() -> None:
    begin = time.monotonic()
    with processes.Interrupts() as interrupts:
        outcome = processes.run([sys.executable, "-c", PROFILER], interrupts, program_limit=0.5)
    assert time.monotonic() - begin < 20
    assert outcome.code == 0
    assert b"the program ended with -15" in outcome.printed
