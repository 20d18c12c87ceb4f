"""Two GPUs of one host: a sweep on one and on both, times beside a profiler, two profilers at once.

Run it where ``nvidia-smi`` lists two GPUs of one kind: ``python -m benchmarks.fleet gpus``.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from benchmarks.fleet.waiting import Watch

from kernelprof.errors import KernelprofError, MissingToolError
from kernelprof.fleet.executor import Call, CallProcess, GpuDevice, LocalExecutor, local_devices
from kernelprof.fleet.plan import read_plan
from kernelprof.fleet.results import Done
from kernelprof.fleet.run import run_plan
from kernelprof.fleet.store import FleetStore
from kernelprof.tools import find_ncu, find_nvcc

HERE: Final = Path(__file__).parent
_PLAN: Final = """
schema_version = "1"
name = "sweep"
preset = "triage"
[[ladder]]
name = "sgemm"
size = [2048]
variants = true
"""
_KERNEL: Final = "cuda/ladder/08_register_tile_1d.cu"
_ROUNDS: Final = 5
_LAUNCHES: Final = (8, 32)


def two() -> tuple[GpuDevice, GpuDevice]:
    """The first two GPUs; :class:`MissingToolError` where there are not two of one kind."""
    found = local_devices()
    if len(found) < 2 or found[0].name != found[1].name:
        raise MissingToolError("two GPUs of one kind are needed", where=f"{len(found)} here")
    return found[0], found[1]


def sweep(jobs: int) -> dict[str, Any]:
    """The seconds that the first ``jobs`` jobs of the ladder's sweep take on one GPU and on two."""
    devices = two()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "plan.toml")
        file.write_text(_PLAN, encoding="utf-8")
        plan = read_plan(file)
        groups = plan.groups[:: max(1, len(plan.groups) // jobs)][:jobs]
        plan = replace(plan, groups=groups)
        seconds, failed = {}, []
        for count in (0, 1, 2):  # the first one warms up what is cached, and is not counted
            some = replace(plan, groups=groups[:2]) if count == 0 else plan
            store = FleetStore.at(str(Path(folder, str(count))))
            with LocalExecutor(devices[: max(count, 1)], 4, 0) as executor:
                found = run_plan(some, store, executor)
            seconds[count] = found.seconds
            failed += [f"{each.job}: {each.why}" for each in found.jobs if each.done is Done.FAILED]
    return {
        "jobs": len(groups),
        "one_s": seconds[1],
        "two_s": seconds[2],
        "ratio": seconds[2] / seconds[1],
        "failed": failed,
    }


def times_of(source: str) -> tuple[float, ...]:
    """Times of launches by CUDA events, of a kernel that is built and checked for it; ns."""
    from kernelprof.launch.processes import Interrupts
    from kernelprof.launch.run.prepare import prepare_kernel
    from kernelprof.launch.specification.overrides import LaunchOverrides

    changes = LaunchOverrides(dict.fromkeys("MNK", 2048))
    with (
        Interrupts() as interrupts,
        prepare_kernel(Path(source), changes, interrupts, lambda _: None) as prepared,
    ):
        assert prepared.timing is not None
        return prepared.timing.times_ns


def profile_of(asked: tuple[str, str, int]) -> float:
    """Seconds of a program with so many launches under ``ncu``, as one process after the other."""
    program, folder, times = asked
    start = time.monotonic()
    for at in range(times):
        _ncu(program, 32, Path(folder, f"busy{at}")).wait()
    return time.monotonic() - start


def _ncu(
    program: str, launches: int, report: Path, environment: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    sections = ["--section", "SpeedOfLight", "--section", "Occupancy", "--clock-control", "none"]
    return subprocess.Popen(
        [find_ncu(), *sections, "-f", "-o", str(report), program, str(launches)],
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    )


def beside() -> dict[str, Any]:
    """Times of one kernel on each GPU, alone and with the other one under ``ncu``; ns."""
    devices = two()
    with tempfile.TemporaryDirectory() as folder:
        program = _program(Path(folder))
        first, second = (CallProcess(each.uuid) for each in devices)
        try:
            quiet = [_asked(first, times_of, _KERNEL) for _ in range(_ROUNDS)]
            other = [_asked(second, times_of, _KERNEL) for _ in range(_ROUNDS)]
            busy: list[tuple[float, ...]] = []
            second.send(Call(profile_of, (program, folder, 4)))
            while not second.connection.poll() and len(busy) < _ROUNDS:
                busy.append(_asked(first, times_of, _KERNEL))
            second.answer()
            after = [_asked(first, times_of, _KERNEL) for _ in range(2)]
        finally:
            for each in (first, second):
                each.end()
                each.join()
    found = {"quiet": quiet, "other_gpu": other, "beside_ncu": busy, "quiet_again": after}
    medians = {name: [statistics.median(each) for each in runs] for name, runs in found.items()}
    middle = {name: statistics.median(each) for name, each in medians.items() if each}
    return {
        "medians_ns": medians,
        "beside_ncu_to_quiet": middle.get("beside_ncu", float("nan")) / middle["quiet"],
        "other_gpu_to_quiet": middle["other_gpu"] / middle["quiet"],
        "scatter": {
            name: float(np.std(np.concatenate(runs)) / np.mean(np.concatenate(runs)))
            for name, runs in found.items()
            if runs
        },
    }


def _asked(process: CallProcess, function: Any, argument: Any) -> Any:
    process.send(Call(function, argument))
    value, failure = process.answer()
    if failure is not None:
        raise KernelprofError(failure.what, where=failure.where, hint=failure.hint)
    return value


def together() -> list[dict[str, Any]]:
    """What two ``ncu`` at once take, each on its own GPU, and what they were seen to wait for."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = _program(folder)
        return [
            _together(folder, program, launches, how)
            for launches in _LAUNCHES
            for how in ("alone", "both", "both, a TMPDIR each", "started 2 s apart")
        ]


def _together(folder: Path, program: str, launches: int, how: str) -> dict[str, Any]:
    devices = two()[: 1 if how == "alone" else 2]
    started, running = [], []
    with Watch("ncu", "launches", "Tree") as watch:
        for at, device in enumerate(devices):
            if at and how.startswith("started"):
                time.sleep(2)
            own = folder / f"tmp{at}"
            own.mkdir(exist_ok=True)
            more = {"CUDA_VISIBLE_DEVICES": device.uuid}
            if "TMPDIR" in how:
                more["TMPDIR"] = str(own)
            started.append(time.monotonic())
            running.append(_ncu(program, launches, folder / f"report{at}", more))
        seconds: list[float] = [0.0] * len(running)
        while any(each == 0.0 for each in seconds):
            for at, process in enumerate(running):
                if not seconds[at] and process.poll() is not None:
                    seconds[at] = time.monotonic() - started[at]
            time.sleep(0.01)
    return {
        "how": how,
        "launches": launches,
        "seconds": [round(each, 2) for each in seconds],
        "exit_codes": [each.returncode for each in running],
        "samples": watch.samples,
        "seen": [[*each, count] for each, count in watch.seen.most_common(12)],
        "locks": dict(watch.locks.most_common(6)),
        "waits": dict(watch.waits.most_common(6)),
        "lock_file": Path("/tmp/nsight-compute-lock").exists(),
    }


def _program(folder: Path) -> str:
    target = folder / "launches"
    command = [find_nvcc(), "-arch=native", "-O3", "-o", str(target), str(HERE / "launches.cu")]
    subprocess.run(command, check=True, capture_output=True)
    return str(target)
