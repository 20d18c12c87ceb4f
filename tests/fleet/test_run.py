"""A plan carried out: what is stored, what is skipped, and that nothing stored is ever lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.fleet.conftest import ROOT, Measures
from tests.support.processes import started

from kernelprof.errors import ErrorFacts
from kernelprof.fleet.executor import LocalExecutor, recorded_devices
from kernelprof.fleet.plan import read_plan
from kernelprof.fleet.query import QueryFilters, ask
from kernelprof.fleet.results import Done
from kernelprof.fleet.run import run_plan
from kernelprof.fleet.status import find_missing
from kernelprof.fleet.store import FleetStore
from kernelprof.interface.fleet import status

LIMITED = """
import resource, signal, sys
from kernelprof.cli.main import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (16_000, resource.RLIM_INFINITY))
sys.dont_write_bytecode = True  # Python would keep a part of it, which cannot be read
sys.exit(main(sys.argv[1:]))
"""


def _outcomes(found) -> dict[str, str]:
    return {each.job: each.done.value for each in found.jobs}


def test_captures_are_stored_once(write_plan, some_captures, store) -> None:
    plan = read_plan(write_plan(some_captures))
    (plan.path.parent / "captures" / "notes.txt").write_text("no capture", encoding="utf-8")
    plan = read_plan(plan.path)
    with LocalExecutor((), 2, 0) as executor:
        first = run_plan(plan, store, executor)
        second = run_plan(plan, FleetStore(store.backend), executor)
    assert first.count(Done.DIAGNOSED) == 6
    assert first.count(Done.LEFT_OUT) == 1
    assert (first.open, first.exit_code) == (0, 0)
    assert second.count(Done.UNCHANGED) == 6
    assert len(FleetStore(store.backend).names()) == 6
    runs = list(store.runs(5))
    assert [each["counts"] for each in runs] == [
        {"unchanged": 6, "left out": 1},
        {"diagnosed": 6, "left out": 1},
    ]


def test_two_runs_at_once_store_captures_once(write_plan, some_captures, store) -> None:
    plan = read_plan(write_plan(some_captures))
    both = (store, FleetStore(store.backend))
    for each in both:
        assert each.names() == []  # from here on each knows what is stored
    with LocalExecutor((), 2, 0) as executor:
        counts = [run_plan(plan, each, executor).count(Done.DIAGNOSED) for each in both]
    assert counts == [6, 6]
    names = FleetStore(store.backend).names()
    assert len(names) == 6
    assert store.check_all(names) == (names, ())
    assert both[0].names() == both[1].names() == names


@pytest.mark.slow("compiles two kernels")
def test_a_kernel_with_the_same_machine_code_is_not_measured_again(write_plan, store) -> None:
    entry = '[[kernel]]\nsource = "kernel.cu"\n'
    source = ROOT / "cuda" / "ladder" / "02_coalesced.cu"
    copy = write_plan("").parent / "kernel.cu"
    copy.write_bytes(source.read_bytes())
    plan = read_plan(write_plan(entry))
    with LocalExecutor(recorded_devices(), 1, 0) as executor:
        first = run_plan(plan, store, executor, recorded=True)
        copy.write_bytes(source.read_bytes() + b"\n// A comment moves no instruction.\n")
        second = run_plan(plan, store, executor, recorded=True)
        copy.write_bytes(source.read_bytes().replace(b"+=", b"-="))
        third = run_plan(plan, store, executor, recorded=True)
    assert _outcomes(first) == {"kernel.cu": "recorded"}
    assert _outcomes(second) == {"kernel.cu": "unchanged"}
    assert second.jobs[0].why == "the same machine code is stored"
    # Another kernel was never recorded, and nothing stands in for it.
    assert _outcomes(third) == {"kernel.cu": "failed"}
    assert third.exit_code == 4


@pytest.mark.slow("compiles two kernels four times")
def test_two_that_are_compared_are_measured_together_or_not_at_all(write_plan, store) -> None:
    ladder = ROOT / "cuda" / "ladder"
    entry = f'''[[kernel]]
source = "{ladder / "01_naive.cu"}"
against = "{ladder / "02_coalesced.cu"}"
'''
    plan = read_plan(write_plan(entry))
    with LocalExecutor(recorded_devices(), 1, 0) as executor:
        first = run_plan(plan, store, executor, recorded=True)
        assert first.count(Done.RECORDED) == 2
        Path(store.backend.path(store.names()[0])).unlink()
        store = FleetStore(store.backend)
        again = run_plan(plan, store, executor, recorded=True)
        assert again.count(Done.RECORDED) == 2
        last = run_plan(plan, store, executor, recorded=True)
    assert last.count(Done.UNCHANGED) == 2


def test_where_nothing_is_recorded_a_job_fails_and_the_others_go_on(
    write_plan, some_captures, store, tmp_path
) -> None:
    (tmp_path / "broken.cu").write_text("__global__ void k(", encoding="utf-8")
    plan = read_plan(write_plan('[[kernel]]\nsource = "broken.cu"\n' + some_captures))
    with LocalExecutor(recorded_devices(), 1, 0) as executor:
        found = run_plan(plan, store, executor, recorded=True)
    assert found.count(Done.FAILED) == 1
    assert found.count(Done.DIAGNOSED) == 6
    assert found.exit_code == 2


@pytest.mark.slow("Ray is started, and one of its workers again")
def test_a_worker_that_is_killed_loses_nothing(
    write_plan, some_captures, store, monkeypatch
) -> None:
    monkeypatch.setattr("kernelprof.fleet.run._AT_ONCE", 1)
    plan = read_plan(write_plan(some_captures))
    killed = []

    def kill(done: int, *_: object) -> None:
        if done == 2:
            busy = next(each for each in executor._slots if each.doing is not None)
            killed.append(busy.worker.pid)
            os.kill(busy.worker.pid, signal.SIGKILL)

    with LocalExecutor((), 2, 2) as executor:
        found = run_plan(plan, store, executor, tell=kill)
    assert len(killed) == 1
    assert found.count(Done.DIAGNOSED) == 6
    assert sum(each.deaths for each in found.jobs) <= 1
    assert len(FleetStore(store.backend).names()) == 6


@pytest.mark.slow("Ray is started twice")
def test_without_room_what_is_stored_stays_and_the_next_run_goes_on(
    write_plan, some_captures, store, cli_environment
) -> None:
    plan = write_plan(some_captures)
    words = ["fleet", "run", str(plan), "--workers", "1", "--format", "json"]

    def ended(code: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *code, *words],
            # Half of a module's code would be taken for the whole of it.
            env={**cli_environment, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    full = ended(["-c", LIMITED])
    assert full.returncode == 4, full.stderr
    said = json.loads(full.stdout)
    assert "File too large" in str(said["stopped"]), said
    assert store.names() == []
    left = [each for each in Path(store.backend.path("")).rglob("*") if each.is_file()]
    assert left == []
    again = ended(["-m", "kernelprof"])
    assert again.returncode == 0, again.stderr
    assert len(FleetStore(store.backend).names()) == 6


NVCC = """#!/bin/sh
sleep 300 &
echo $$ $! > "$RUNNING"
wait
"""
"""A compiler that never ends, and starts another process as the real one does."""


def _is_there(pid: str) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@pytest.mark.slow("waits for a compiler to be under way")
def test_ctrl_c_ends_compilers_and_leaves_no_folders(write_plan, tmp_path, cli_environment) -> None:
    plan = write_plan('[[ladder]]\nname = "sgemm"\nrungs = ["1"]\n')
    running, folder, nvcc = tmp_path / "running", tmp_path / "tmp", tmp_path / "bin" / "nvcc"
    folder.mkdir()
    nvcc.parent.mkdir()
    nvcc.write_text(NVCC, encoding="utf-8")
    nvcc.chmod(0o755)
    environment = {
        **cli_environment,
        "PATH": f"{nvcc.parent}:{os.environ['PATH']}",
        "TMPDIR": str(folder),
        "RUNNING": str(running),
    }
    command = [sys.executable, "-m", "kernelprof", "fleet", "run", str(plan), "--recorded"]
    with started(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not running.exists() or not running.read_text(encoding="utf-8").split():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        pids = running.read_text(encoding="utf-8").split()
        assert all(map(_is_there, pids))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert said == "kernelprof: interrupted: 0 of 1 job stored; run the plan again to continue\n"
    assert not any(map(_is_there, pids))
    assert list(folder.glob("kernelprof-*")) == []


@pytest.mark.slow("waits for a run to be under way")
def test_after_ctrl_c_a_run_goes_on_where_it_was(
    write_plan, some_captures, store, cli_environment
) -> None:
    plan = write_plan(some_captures)
    command = [sys.executable, "-m", "kernelprof", "fleet", "run", str(plan), "--workers", "1"]
    process = subprocess.Popen(command, env=cli_environment, stderr=subprocess.PIPE, text=True)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode in (130, 0), said
    assert "Traceback" not in said
    whole = FleetStore(store.backend)
    assert whole.check_all(whole.names())[1] == ()
    hidden = [each for each in Path(store.backend.path("")).rglob(".*") if each.is_file()]
    assert hidden == []
    subprocess.run(command, env=cli_environment, check=True, capture_output=True, timeout=100)
    assert len(FleetStore(store.backend).names()) == 6


def test_a_recorded_capture_is_no_measurement_but_for_another_recorded_run(
    write_plan, store
) -> None:
    plan = read_plan(write_plan('[[ladder]]\nname = "sgemm"\nrungs = ["1"]\n'))
    with Measures() as gpu:
        assert run_plan(plan, store, gpu, recorded=True).count(Done.RECORDED) == 1
        assert run_plan(plan, store, gpu, recorded=True).count(Done.UNCHANGED) == 1
        assert run_plan(plan, store, gpu).count(Done.MEASURED) == 1
        assert run_plan(plan, store, gpu).count(Done.UNCHANGED) == 1
        # What is measured is more than what is recorded.
        assert run_plan(plan, store, gpu, recorded=True).count(Done.UNCHANGED) == 1
    assert len(FleetStore(store.backend).names()) == 2


def test_what_is_damaged_is_told_and_measured_again(write_plan, store) -> None:
    plan = read_plan(write_plan('[[ladder]]\nname = "sgemm"\nrungs = ["1", "2"]\n'))
    with Measures() as gpu:
        run_plan(plan, store, gpu)
        bad = Path(store.backend.path(store.names()[0]))
        data = bytearray(bad.read_bytes())
        data[len(data) // 4] ^= 1
        bad.write_bytes(data)
        again = run_plan(plan, FleetStore(store.backend), gpu)
    assert (again.count(Done.MEASURED), again.count(Done.UNCHANGED)) == (1, 1)
    assert [str(bad) in each for each in again.warnings] == [True]


@pytest.mark.parametrize("more", ["", f'against = "{ROOT}/cuda/ladder/02_coalesced.cu"\n'])
def test_what_a_plan_names_twice_is_measured_once(write_plan, store, more) -> None:
    source = f'source = "{ROOT}/cuda/ladder/01_naive.cu"\n{more}'
    sizes = "sizes = [{ M = 4096 }, { M = 4096 }]\n"
    plan = read_plan(write_plan(f"[[kernel]]\n{source}{sizes}[[kernel]]\n{source}"))
    with Measures() as gpu:
        found = run_plan(plan, store, gpu)
    sides = 2 if more else 1
    assert (found.count(Done.MEASURED), found.count(Done.SAME)) == (2 * sides, sides)
    keys = [name.rpartition("/")[2].partition(".")[0] for name in store.names()]
    assert len(set(keys)) == len(keys) == 2 * sides


def test_a_side_that_cannot_be_identified_fails_its_comparison(
    write_plan, store, monkeypatch
) -> None:
    folder = ROOT / "cuda" / "ladder"
    sides = f'source = "{folder}/01_naive.cu"\nagainst = "{folder}/02_coalesced.cu"\n'
    plan = read_plan(write_plan(f"[[kernel]]\n{sides}"))
    with Measures() as gpu:
        identify = gpu._identity
        broken = ErrorFacts("it does not compile")
        monkeypatch.setattr(gpu, "_identity", lambda job: broken if "02_" in job else identify(job))
        found = run_plan(plan, store, gpu)
    assert [each.done for each in found.jobs] == [Done.FAILED] * 2
    assert found.jobs[1].why == "the other kernel of the comparison failed"
    assert (found.exit_code, store.names()) == (2, [])


def test_status_counts_what_is_missing_on_gpus_that_the_store_does_not_know(
    write_plan, store
) -> None:
    ladder = '[[ladder]]\nname = "sgemm"\nrungs = ["1", "2"]\n'
    path = write_plan(ladder)
    new = status(str(path))
    assert (new.planned, len(new.missing or ()), new.holdings.rows) == (2, 2, ())
    with Measures() as gpu:
        run_plan(read_plan(path), store, gpu)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("[[ladder]]", 'gpus = ["B200"]\n[[ladder]]'), encoding="utf-8")
    other = status(str(path))
    assert other.planned == 2
    assert [each.gpu for each in other.missing or ()] == ["B200", "B200"]
    assert other.holdings.rows[0][:3] == ("NVIDIA H200", "2026-11", 2)


def test_code_that_was_changed_back_is_measured_again(write_plan, store) -> None:
    """With two presets and rounds a series has several keys of the same code."""
    ladder = '[[ladder]]\nname = "sgemm"\nrungs = ["1"]\nrepeat = 2\n'
    path = write_plan(f'{ladder}{ladder}preset = "triage"\n')
    plan = read_plan(path)

    def regressions() -> int:
        return len(ask(FleetStore(store.backend), "regressions", QueryFilters()).rows)

    with Measures() as gpu:
        assert run_plan(plan, store, gpu).count(Done.MEASURED) == 4
        assert run_plan(plan, store, gpu).count(Done.UNCHANGED) == 4
        gpu.code, gpu.takes = "b", 2.0
        assert run_plan(plan, store, gpu).count(Done.MEASURED) == 4
        assert regressions() == 1
        gpu.code, gpu.takes = "a", 1.0
        assert run_plan(plan, store, gpu).count(Done.MEASURED) == 4
        assert regressions() == 0
        assert run_plan(plan, store, gpu).count(Done.UNCHANGED) == 4
        # A recorded run measures nothing, whatever came after.
        gpu.code = "b"
        assert run_plan(plan, store, gpu, recorded=True).count(Done.UNCHANGED) == 4


def test_a_plans_status_counts_what_a_run_would_measure(write_plan, store) -> None:
    plan = read_plan(write_plan('[[ladder]]\nname = "sgemm"\nrungs = ["1"]\n'))

    def lacking() -> int:
        planned, open_, recorded = find_missing(plan, FleetStore(store.backend), gpu)
        assert (planned, recorded) == (1, 0)
        return len(open_)

    with Measures() as gpu:
        run_plan(plan, store, gpu)
        assert lacking() == 0
        gpu.code = "b"
        assert lacking() == 1
        run_plan(plan, store, gpu)
        assert lacking() == 0
        gpu.code = "a"
        assert lacking() == 1
