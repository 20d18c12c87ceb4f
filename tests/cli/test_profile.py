"""``kernelprof profile`` and ``kernelprof diagnose -- APP`` against the stand-in for ``ncu``."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from tests.support.few import few
from tests.support.processes import read_terminal, started, wait_for_file
from tests.support.schemas import manifest_schema

from kernelprof.analysis.metrics.catalogue import preset
from kernelprof.collect import drill
from kernelprof.report.progress import ProgressLine
from kernelprof.sources import read_capture


def _names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def _manifest(folder: Path) -> dict:
    found = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(json.loads(manifest_schema())).validate(found)
    return found


def _verdicts(document: dict) -> dict[str, tuple[str, str]]:
    return {
        identity: (kernel["verdict"]["status"], kernel["verdict"]["bottleneck"])
        for kernel in document["kernels"]
        for identity in kernel["ids"]
    }


@pytest.fixture
def full_verdicts(kernelprof, captures):
    return _verdicts(kernelprof.json(f"diagnose {captures}/gemm_series.full.raw.csv"))


def test_a_program_becomes_a_capture_directory(machine, kernelprof, full_verdicts) -> None:
    out = kernelprof(
        "profile -o 'out/run 1' -- ./gemm_series -o 2048", out="measured on NVIDIA H200 at 20"
    ).out
    assert out.startswith("out/run 1: 26 launches in ")
    folder = machine / "out" / "run 1"
    assert _names(folder) == ["capture.ncu-rep", "manifest.json", "raw.csv.gz"]
    assert _names(machine / "out") == ["run 1"]
    found = _manifest(folder)
    (run,) = found["runs"]
    assert found["target"] == run["command"][-3:] == ["./gemm_series", "-o", "2048"]
    assert found["preset"]["name"] == "full"
    assert found["ncu"] == "2025.3.1.0"
    assert found["gpu"]["name"] == "NVIDIA H200"
    assert found["clock_control"] == "none"
    assert run["command"][run["command"].index("--clock-control") + 1] == "none"
    assert run["command"][run["command"].index("--target-processes") + 1] == "all"
    exported = run["command"][run["command"].index("--export") + 1]
    assert exported == str(folder / "capture.ncu-rep")
    assert run["launches"] == 26
    assert run["application"] == str(machine / "gemm_series")
    assert _verdicts(kernelprof.json(f"diagnose '{folder}'")) == full_verdicts


@pytest.mark.usefixtures("machine")
def test_what_settles_a_kept_capture_runs_the_same_program_again(kernelprof) -> None:
    words = ["./gemm_series", "--rows", "a b"]
    kernelprof("profile --preset dram -o out --", *words)
    kernels = kernelprof.json("diagnose out", code=3)["kernels"]
    commands = [shlex.split(each["verdict"]["command"] or "") for each in kernels]
    assert all(command[0] == "ncu" and command[-3:] == words for command in commands)


def test_filters_reach_ncu_and_the_manifest(machine, kernelprof) -> None:
    options = ["--kernel", "gemm_bad|copy", "--launch-skip", "1", "--launch-count", "2"]
    command = ["profile", "-o", "out", "--preset", "dram", *options, "--clock-control", "base"]
    kernelprof(*command, "--", "./gemm_series", out="out: 2 launches")
    assert [launch.kernel.partition("(")[0] for launch in read_capture("out").launches] == [
        "gemm_bad",
        "copy_vec4",
    ]
    assert _manifest(machine / "out")["clock_control"] == "base"


def test_a_program_that_fails_late_is_kept_with_a_warning(machine, kernelprof) -> None:
    kernelprof(
        "profile -o out -- ./gemm_series late", err="exit code 7 after its kernels were profiled"
    )
    assert _manifest(machine / "out")["runs"][0]["program_exit_code"] == 7


def test_a_metric_without_a_trace_is_named(kernelprof, machine) -> None:
    """The stand-in, like ``ncu``, says nothing about a column that it cannot give."""
    err = kernelprof("profile -o out -- ./gemm_series").err
    lost = _manifest(machine / "out")["unavailable"]
    # It does not say what its GPU is either, and is asked for what only others have.
    metrics = preset("full").metrics
    assert lost == sorted(each.ncu[0] for each in metrics if each.only_on == ("gb100", "11.0"))
    assert f"ncu could not collect these metrics: {lost[0]}" in err


def test_a_capture_is_replaced_only_on_demand(machine, kernelprof) -> None:
    command = "profile -o out --preset dram"
    kernelprof(f"{command} -- ./gemm_series")
    kernelprof(f"{command} -- ./gemm_series", code=2, err="--force")
    kernelprof(f"{command} --kernel copy --force -- ./gemm_series")
    assert len(read_capture("out")) == 1
    assert _names(machine) == ["gemm_series", "out", "quiet"]


@pytest.fixture
def validation(machine) -> Path:
    """A program of which a few kernels need more than the triage."""
    return shutil.copy(machine / "gemm_series", machine / "validation")


@pytest.mark.usefixtures("validation")
def test_drill_down_ends_with_the_verdicts_of_the_full_capture(
    machine, kernelprof, captures
) -> None:
    full = str(captures / "validation" / "base-units.raw.csv.gz")
    full_verdicts = _verdicts(kernelprof.json(f"diagnose {full}"))
    printed = kernelprof("diagnose --format json --keep out -- ./validation")
    assert _verdicts(printed.json) == full_verdicts
    err = printed.err
    lines = [line for line in err.splitlines() if line.startswith("kernelprof: run")]
    assert [line.partition(" (")[0] for line in lines] == [
        "kernelprof: run 1: preset triage: Triage",
        "kernelprof: run 2: 3 kernels are undecided between memory-latency, dependency-latency, "
        "sfu-throughput; 3 kernels are limited by nearly tied bottlenecks",
    ]
    assert "kernelprof: 2 runs of the program, " in err
    folder = machine / "out"
    found = _manifest(folder)
    assert [run["raw"] for run in found["runs"]] == ["raw.csv.gz", "raw.1.csv.gz"]
    assert len(_names(folder)) == 5
    assert found["preset"] is None
    assert [kernel.partition("(")[0] for kernel in found["runs"][1]["kernels"]] == [
        "blocksum_strided",
        "stencil7",
        "scan_warps",
        "gemm_register_tile",
        "rounds_div_sqrt",
        "rounds_div_sqrt_fast",
    ]
    assert found["runs"][1]["launches"] == 7
    assert sum(run["passes"] for run in found["runs"]) > 0
    assert _verdicts(kernelprof.json(f"diagnose '{folder}'")) == full_verdicts


@pytest.mark.usefixtures("validation")
@pytest.mark.slow("several runs")
def test_several_rounds_are_kept_and_read_again(machine, kernelprof, monkeypatch) -> None:
    """From a start that decides little: a round for all kernels, and one for two near ties."""
    monkeypatch.setattr(drill, "preset", lambda _: preset("occupancy"))
    kernels = "--kernel 'scan_warps|stencil7|blocksum' -- ./validation"
    rounds = [
        "3 runs of the program, ",
        "run 3: 2 kernels are limited by nearly tied bottlenecks (",
    ]
    printed = kernelprof(
        f"diagnose --format json --keep out {kernels}",
        err=[f"kernelprof: {each}" for each in rounds],
    )
    verdicts = _verdicts(printed.json)
    folder = machine / "out"
    found = _manifest(folder)
    assert [run["raw"] for run in found["runs"]] == ["raw.csv.gz", "raw.1.csv.gz", "raw.2.csv.gz"]
    assert len(_names(folder)) == 7
    assert [len(run["kernels"] or ()) for run in found["runs"]] == [0, 0, 2]
    assert _verdicts(kernelprof.json(f"diagnose {folder}")) == verdicts
    kernelprof(f"profile -o full {kernels}")
    assert _verdicts(kernelprof.json("diagnose full")) == verdicts


def test_without_keep_nothing_stays(machine, kernelprof) -> None:
    before = _names(machine)
    assert kernelprof("diagnose --kernel copy --top 1 -- ./gemm_series").out.startswith(
        "./gemm_series\n1 kernel in 1 launch"
    )
    assert _names(machine) == before
    assert _names(machine.parent / "tmp") == []


@pytest.mark.slow("one more capture")
def test_a_preset_is_one_run_without_drill_down(kernelprof, machine) -> None:
    found = kernelprof.json("diagnose --preset occupancy --keep out -- ./gemm_series", code=3)
    assert len(_manifest(machine / "out")["runs"]) == 1
    assert _manifest(machine / "out")["preset"]["name"] == "occupancy"
    assert found["captures"][0]["preset"] == "occupancy"


PROFILE, DIAGNOSE = ["profile", "-o", "out"], ["diagnose", "--keep", "out"]


def _alive(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("command", "number", "code"),
    few(
        [
            (command, number, 128 + number)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            for command in (PROFILE, DIAGNOSE)
        ],
        (DIAGNOSE, signal.SIGINT, 130),
        why="another signal to the same two commands",
    ),
)
def test_an_interrupt_leaves_no_capture_and_no_process(
    machine, cli_environment, number, code, command
) -> None:
    before = _names(machine)
    with started(
        [sys.executable, "-m", "kernelprof", *command, "--", "./gemm_series", "sleep"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": cli_environment["PYTHONPATH"]},
    ) as process:
        wait_for_file(machine / "pid", process)
        profiled = int((machine / "pid").read_text(encoding="ascii"))
        session = (
            Path(f"/proc/{profiled}/stat").read_text(encoding="ascii").split(")")[1].split()[3]
        )
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert out == err == b""
    assert not _alive(profiled)
    left = [
        entry.name
        for entry in Path("/proc").glob("[0-9]*")
        if _alive(int(entry.name)) and _session(entry) == session
    ]
    assert left == []
    assert _names(machine) == sorted([*before, "pid"])
    assert _names(machine.parent / "tmp") == []


def _session(entry: Path) -> str:
    try:
        return (
            (entry / "stat")
            .read_text(encoding="ascii", errors="replace")
            .rpartition(")")[2]
            .split()[3]
        )
    except OSError:
        return ""


@pytest.mark.skipif(os.name != "posix", reason="needs a limit on the size of files")
def test_a_full_disk_leaves_nothing_half_written(machine, cli_environment) -> None:
    before = _names(machine)
    shell = shutil.which("sh")
    assert shell is not None
    line = 'ulimit -f 8; exec "$@"'
    # -B: Python would keep the part of a module's bytecode that the limit leaves room for.
    command = [sys.executable, "-B", "-m", "kernelprof", "profile", "-o", "out"]
    environment = {**os.environ, "PYTHONPATH": cli_environment["PYTHONPATH"]}
    done = subprocess.run(
        [shell, "-c", line, "sh", *command, "--", "./gemm_series"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=False,
    )
    assert done.returncode == 4, done.stderr
    assert "Traceback" not in done.stderr
    assert "free some space" in done.stderr
    assert _names(machine) == before


def test_a_disk_that_fills_up_at_the_end(machine, kernelprof, monkeypatch) -> None:
    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    before = _names(machine)
    monkeypatch.setattr(Path, "write_text", full)
    kernelprof(
        "profile -o out --preset dram -- ./gemm_series",
        code=4,
        err=["the capture cannot be stored: No space left on device", "free some space"],
    )
    assert _names(machine) == before


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_a_terminal_sees_what_is_run(machine, validation, cli_environment) -> None:
    import pty

    main_end, terminal = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": cli_environment["PYTHONPATH"], "COLUMNS": "160"}
    options = ["--kernel", "scan_warps|stencil7|blocksum", "--format", "json", "-o", "out.json"]
    command = ["diagnose", *options, "--", str(validation)]
    with started(
        [sys.executable, "-m", "kernelprof", *command],
        stderr=terminal,
        stdin=subprocess.DEVNULL,
        env={**environment, "TERM": "xterm-256color"},
    ) as process:
        os.close(terminal)
        shown = read_terminal(main_end)
    assert process.returncode == 0
    found = json.loads((machine / "out.json").read_text(encoding="utf-8"))
    assert len(found["kernels"]) == 7
    assert b"Preset triage: Triage: " in shown
    assert b"3 kernels are limited by nearly tied bottlenecks: " in shown


def test_progress_follows_the_lines_of_ncu(monkeypatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    said: list[str] = []
    with ProgressLine(shown=False) as progress:
        monkeypatch.setattr(progress, "_describe", said.append)
        progress.begin("why")
        progress.listen("==PROF== Connected to process 5 (/x)")
        progress.listen('==PROF== Profiling "scale(float *)" - 0: 0%....50%')
        progress.listen('==PROF== Profiling "scale(float *)" - 0: 0%....50%....100% - 9 passes')
        progress.listen('==PROF== Profiling "1:7:strided:30" - 1: ')
    assert said == [
        "the program starts",
        "launch 1, scale(float *), 50 %",
        "launch 1, scale(float *), 100 %",
        "launch 2, strided",
    ]
    assert stream.getvalue() == ""
