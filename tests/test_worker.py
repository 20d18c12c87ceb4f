"""Calls in a process of their own: what they return, how they die, and what they cannot reach."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from tests.support.processes import interruptible

from kernelprof import sandbox
from kernelprof.errors import InputError
from kernelprof.worker import CallLimits, Worker, WorkerError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIMITS = CallLimits(seconds=5.0, memory_bytes=256 << 20, answer_bytes=1 << 20)

MODULE = """
import os, signal, socket, subprocess, time
from kernelprof.errors import InputError

calls = 0

def prepare():
    pass

def answer(given):
    global calls
    calls += 1
    what, _, rest = given.decode().partition(" ")
    if what == "count":
        return b"%d" % calls
    if what == "raise":
        raise InputError("not this", where="there", hint="another")
    if what == "abort":
        os.abort()
    if what == "print":
        print("noise", flush=True)
        os.write(1, b"more")
        return b"quiet"
    if what == "sleep":
        time.sleep(60)
    if what == "memory":
        return b"%d" % len(bytearray(1 << 30))
    if what == "much":
        return bytes(2 << 20)
    if what == "error":
        1 / 0
    if what == "second" and calls > 1:
        os.abort()
    try:
        if what == "read":
            return open(rest, "rb").read()
        if what == "write":
            open(rest, "wb").write(b"x")
        if what == "connect":
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        if what == "run":
            subprocess.run([rest])
    except OSError as error:
        return type(error).__name__.encode()
    return b"done"
"""

confined = pytest.mark.skipif(not sandbox.version(), reason="this system cannot confine processes")


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "worked.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    made = Worker("worked")
    yield made
    made.close()


def test_calls_share_a_process_unless_they_are_to_be_alone(worker: Worker) -> None:
    counted = [worker.call(b"count", LIMITS, alone=alone) for alone in (False, False, True, False)]
    assert counted == [b"1", b"2", b"1", b"1"]
    assert worker.call(b"print", LIMITS) == b"quiet"


def test_an_error_of_ours_arrives_whole(worker: Worker) -> None:
    with pytest.raises(InputError, match="not this") as caught:
        worker.call(b"raise", LIMITS)
    assert (caught.value.where, caught.value.hint) == ("there", "another")


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("abort", "it was killed by SIGABRT"),
        ("memory", "it ran out of memory"),
        ("much", "its output is larger than 1 MiB"),
        ("error", "it ended with exit code 1"),
    ],
)
def test_a_call_that_dies_takes_no_other_with_it(worker: Worker, call: str, reason: str) -> None:
    assert worker.call(b"count", LIMITS) == b"1"
    with pytest.raises(WorkerError, match=f"^{reason}$"):
        worker.call(call.encode(), LIMITS)
    assert worker.call(b"count", LIMITS) in {b"1", b"3"}


def test_a_call_is_ended_at_its_time_limit(worker: Worker) -> None:
    begin = time.monotonic()
    with pytest.raises(WorkerError, match=r"^it took longer than 0\.3 s$"):
        worker.call(b"sleep", CallLimits(0.3, 256 << 20))
    assert time.monotonic() - begin < 5


def test_a_call_is_tried_again_in_a_fresh_process(worker: Worker) -> None:
    assert worker.call(b"count", LIMITS) == b"1"
    assert worker.call(b"second", LIMITS) == b"done"


def test_an_interrupt_ends_the_call_at_once(worker: Worker) -> None:
    worker.call(b"count", LIMITS)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    with interruptible(), pytest.raises(KeyboardInterrupt):
        worker.call(b"sleep", CallLimits(60.0, 256 << 20))
    assert time.monotonic() - begin < 2
    assert worker.call(b"count", LIMITS) == b"1"


@confined
def test_only_files_that_are_named_can_be_read(worker: Worker, tmp_path: Path) -> None:
    given, other = tmp_path / "given", tmp_path / "other"
    for each in (given, other):
        each.mkdir()
        (each / "file").write_text("text")
    (given / "link").symlink_to(other / "file")
    results = {
        name: worker.call(f"read {name}".encode(), LIMITS, [given])
        for name in (f"{given}/file", f"{other}/file", f"{given}/link", f"{given}/../other/file")
    }
    assert [*results.values()] == [b"text", *3 * [b"PermissionError"]]


@confined
@pytest.mark.parametrize("call", ["write {}", "connect", "run /bin/true"])
def test_nothing_is_written_or_sent_or_run(worker: Worker, tmp_path: Path, call: str) -> None:
    file = tmp_path / "new"
    given = call.format(file).encode()
    assert worker.call(given, LIMITS, [tmp_path]) == b"PermissionError"
    assert not file.exists()
