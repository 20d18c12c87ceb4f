"""Programs that are run: what they print, and that they end with all that they started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernelprof.errors import MissingToolError
from kernelprof.launch import processes
from kernelprof.launch.processes import Interrupts, Terminated

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

FAMILY = """
import os, subprocess, sys, time
from pathlib import Path
from types import SimpleNamespace
stubborn = "trap '' TERM; echo $$ > {0}.tmp; mv {0}.tmp {0}; sleep 300 & wait; sleep 300"
for number in range(2):
    where = Path(sys.argv[1]) / str(number)
    subprocess.Popen(["/bin/sh", "-c", stubborn.format(where)], start_new_session=number == 1)
time.sleep(300)
"""


def _gone(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return True
    return text.rpartition(")")[2].split()[0] in "ZX"


def _session(pid: int) -> str:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[3]


def _until(condition: object, seconds: float = 20) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_what_is_printed_is_kept_from_the_end() -> None:
    code = "import sys; print('x' * 300_000); print('last', file=sys.stderr); sys.exit(3)"
    command = [sys.executable, "-u", "-c", code]
    with Interrupts() as interrupts:
        some = processes.run(command, interrupts)
        everything = processes.run(command, interrupts, keep_all=True)
    assert some.code == everything.code == 3
    assert some.printed.endswith(b"\nlast\n")
    assert len(some.printed) < 200_000
    assert len(everything.printed) == 300_006


def test_a_program_has_no_standard_input_and_no_terminal() -> None:
    code = "import os, sys; print(sys.stdin.read() == '', os.getsid(0) == os.getpid())"
    with Interrupts() as interrupts:
        done = processes.run([sys.executable, "-c", code], interrupts)
    assert done.printed == b"True True\n"


def test_what_cannot_be_started() -> None:
    with Interrupts() as interrupts, pytest.raises(MissingToolError, match="cannot be started"):
        processes.run(["/no/such/program"], interrupts)


def test_at_the_time_limit_the_whole_family_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes.end, "__defaults__", (0.3,))
    passed = [0.0]
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + passed[0], sleep=time.sleep)
    monkeypatch.setattr(processes, "time", clock)

    def poll() -> None:
        """The time is over as soon as the family is there, however busy the machine is."""
        if all((tmp_path / name).exists() for name in "01"):
            passed[0] = 1000.0

    command = [sys.executable, "-c", FAMILY, str(tmp_path)]
    with Interrupts() as interrupts, pytest.raises(processes.TimeLimitError) as caught:
        processes.run(command, interrupts, time_limit=100, poll=poll)
    assert "--time-limit" in (caught.value.hint or "")
    pids = [int((tmp_path / name).read_text(encoding="ascii")) for name in "01"]
    assert [pid for pid in pids if not _gone(pid)] == []
    # What a member started after it was told to end is gone too.
    session = str(pids[1])
    others = [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]
    assert [pid for pid in others if not _gone(pid) and _session(pid) == session] == []


def test_a_child_of_a_session_whose_seen_members_have_all_ended_is_ended() -> None:
    process = subprocess.Popen(
        ["/bin/sh", "-c", "read line; sleep 300 & exit"],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    family = processes._Family(process.pid)
    assert not family.is_gone()
    process.communicate(b"\n")
    assert len(family.others(())) == 1
    processes.end(process, grace=0)
    assert family.is_gone()


DAEMON = """
import os, sys, time
from pathlib import Path
place = Path(sys.argv[1])
if os.fork():
    while not place.exists():
        time.sleep(0.01)
    sys.exit(3)
os.setsid()
if os.fork():
    os._exit(0)
os.close(1)
draft = place.with_suffix(".draft")
draft.write_text(str(os.getpid()))
draft.rename(place)
time.sleep(300)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="no other system has subreapers")
@pytest.mark.parametrize("limit", [60, 0.9])
def test_a_daemon_ends_with_a_program_that_runs_alone(tmp_path: Path, limit: float) -> None:
    place = tmp_path / "pid"
    code = DAEMON if limit > 1 else DAEMON.replace("sys.exit(3)", "time.sleep(300)")
    with Interrupts() as interrupts:
        try:
            command = [sys.executable, "-c", code, str(place)]
            done = processes.run(command, interrupts, time_limit=limit, alone=True)
        except processes.TimeLimitError:
            assert limit < 1
        else:
            assert done.code == 3
    assert _gone(int(place.read_text(encoding="ascii")))


def test_a_program_alone_that_cannot_be_started_or_is_killed() -> None:
    with Interrupts() as interrupts:
        with pytest.raises(MissingToolError, match=r"^/no/such cannot be started: No such file"):
            processes.run(["/no/such"], interrupts, alone=True)
        killed = processes.run(["/bin/sh", "-c", "kill -9 $$"], interrupts, alone=True)
    assert killed.code == (137 if sys.platform == "linux" else -9)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]
)
def test_an_interrupt_ends_the_family_and_goes_on(
    tmp_path: Path, number: int, kind: type[BaseException]
) -> None:
    ready = tmp_path / "0"
    before = signal.getsignal(number)

    def interrupt() -> None:
        _until(ready.exists)
        os.kill(os.getpid(), number)

    waiting = threading.Thread(target=interrupt)
    waiting.start()
    script = f"echo $$ > {ready}.tmp; mv {ready}.tmp {ready}; sleep 300"
    with pytest.raises(kind) as caught, Interrupts() as interrupts:
        processes.run(["/bin/sh", "-c", script], interrupts)
    waiting.join()
    assert getattr(caught.value, "code", 130) == 128 + number
    assert _gone(int(ready.read_text(encoding="ascii")))
    assert signal.getsignal(number) is before


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_that_nobody_saw_is_raised_at_the_end() -> None:
    with pytest.raises(KeyboardInterrupt), Interrupts():
        os.kill(os.getpid(), signal.SIGINT)


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts() as interrupts:
            os.kill(os.getpid(), signal.SIGHUP)
            interrupts.check()
    finally:
        signal.signal(signal.SIGHUP, before)
