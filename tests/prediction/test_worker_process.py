"""Work in a fork of a process, and what becomes of it where it fails or there is none."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from kernelprof.launch.run.trial import LaunchError
from kernelprof.prediction.worker_process import WorkerProcess

if TYPE_CHECKING:
    from pathlib import Path

needs_two = pytest.mark.skipif(
    not sys.platform.startswith("linux") or len(os.sched_getaffinity(0)) < 2,
    reason="there is one processor",
)


def alone(program: str) -> subprocess.CompletedProcess[str]:
    """A program without threads, which those that run tests side by side have."""
    start = "import os, time\nfrom kernelprof.prediction.worker_process import WorkerProcess\n"
    return subprocess.run(
        [sys.executable, "-c", start + program], capture_output=True, text=True, check=False
    )


@needs_two
def test_it_is_done_by_another_process_meanwhile() -> None:
    done = alone(
        "def work():\n"
        "    time.sleep(0.5)\n"
        "    return os.getpid()\n"
        "begin = time.monotonic()\n"
        "with WorkerProcess(work) as other:\n"
        "    time.sleep(0.5)\n"
        "    assert other.result() != os.getpid()\n"
        "assert time.monotonic() - begin < 0.9\n"
    )
    assert done.returncode == 0, done.stderr


@needs_two
def test_its_error_is_that_of_this_process_and_comes_before_it_is_waited_for() -> None:
    done = alone(
        "def work():\n"
        "    raise LookupError('wrong') from KeyError('cause')\n"
        "with WorkerProcess(work) as other:\n"
        "    for each in range(1000):\n"
        "        time.sleep(0.01)\n"
        "        try:\n"
        "            other.refuse_failed()\n"
        "        except LookupError as error:\n"
        "            assert isinstance(error.__cause__, KeyError)\n"
        "            try:\n"
        "                other.result()\n"
        "            except LookupError as again:\n"
        "                assert again is error\n"
        "                raise SystemExit(7)\n"
    )
    assert done.returncode == 7, done.stderr


@needs_two
def test_work_that_goes_well_is_not_refused() -> None:
    done = alone(
        "with WorkerProcess(lambda: 'done') as other:\n"
        "    other.refuse_failed()\n"
        "    time.sleep(0.3)\n"
        "    other.refuse_failed()\n"
        "    assert other.result() == other.result() == 'done'\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


@needs_two
@pytest.mark.parametrize("end", ["os._exit(1)", "os.kill(os.getpid(), 9)", "1 / 0"])
def test_where_the_other_one_ended_it_is_done_here(end: str) -> None:
    done = alone(
        "here = os.getpid()\n"
        "def work():\n"
        f"    if os.getpid() != here: {end}\n"
        "    return 'done'\n"
        "with WorkerProcess(work) as other:\n"
        "    assert other.result() == 'done'\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


@needs_two
def test_what_is_not_waited_for_ends_with_the_context() -> None:
    done = alone(
        "begin = time.monotonic()\n"
        "with WorkerProcess(lambda: time.sleep(60)) as other:\n"
        "    process = other._process.pid\n"
        "assert time.monotonic() - begin < 10\n"
        "try:\n"
        "    os.kill(process, 0)\n"
        "except ProcessLookupError:\n"
        "    raise SystemExit(7)\n"
    )
    assert done.returncode == 7, done.stderr


@needs_two
def test_it_ends_with_a_process_that_is_killed() -> None:
    begin = time.monotonic()
    # Its standard output stays open as long as one of them is there.
    done = alone(
        "with WorkerProcess(lambda: time.sleep(60)) as other:\n"
        "    time.sleep(0.5)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    assert done.returncode == -9
    assert time.monotonic() - begin < 30


def test_beside_a_thread_it_is_done_here() -> None:
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        with WorkerProcess(os.getpid) as other:
            assert other.result() == os.getpid()
    finally:
        ended.set()
        thread.join()


def test_where_it_is_wanted_here_it_comes_before_all_else() -> None:
    begun: list[float] = []

    def work() -> int:
        begun.append(time.monotonic())
        raise LaunchError("wrong")

    other = WorkerProcess(work, here=True)
    assert not begun
    with pytest.raises(LaunchError, match="wrong"), other:
        pytest.fail("the context was entered")
    assert len(begun) == 1


@needs_two
def test_a_worker_of_a_pool_does_it_itself() -> None:
    done = alone(
        "import multiprocessing\n"
        "def work(_):\n"
        "    with WorkerProcess(os.getpid) as other:\n"
        "        return other.result() == os.getpid()\n"
        "with multiprocessing.get_context('fork').Pool(1) as pool:\n"
        "    assert pool.map(work, [1, 2]) == [True, True]\n"
    )
    assert done.returncode == 0, done.stderr


@needs_two
def test_where_there_can_be_no_more_processes_it_is_done_here() -> None:
    done = alone(
        "def refuse():\n"
        "    raise BlockingIOError(11, 'Resource temporarily unavailable')\n"
        "os.fork = refuse\n"
        "with WorkerProcess(os.getpid) as other:\n"
        "    assert other.result() == os.getpid()\n"
    )
    assert done.returncode == 0, done.stderr


@needs_two
def test_what_it_prints_is_printed_once() -> None:
    done = alone(
        "print('before')\n"
        "with WorkerProcess(lambda: print('meanwhile')) as other:\n    other.result()\n"
    )
    assert done.stdout == "before\nmeanwhile\n"


ENDLESS = """\
// /// kernelprof
// kernel = "waits"
// block = [32]
// grid = [1]
// reference = "none"
// arguments = [{ name = "x", type = "float32", shape = [32], fill = "zeros", output = true }]
// ///
__global__ void waits(volatile float* x) {
    while (x[threadIdx.x] == 0.0f) {}
    x[threadIdx.x] = 1.0f;
}
"""


@needs_two
@pytest.mark.slow("waits until a kernel counts as endless")
def test_on_one_processor_a_kernel_that_never_ends_is_told_as_well(tmp_path: Path) -> None:
    source = tmp_path / "endless.cu"
    source.write_text(ENDLESS, encoding="utf-8")
    program = (
        "import os, sys\n"
        "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
        "from kernelprof.cli.main import main\n"
        f"sys.exit(main(['diagnose', {str(source)!r}, '--predict']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert "never ends" in done.stderr
