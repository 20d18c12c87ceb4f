"""Ctrl-C at any time ends with 130, without a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from tests.support.few import few, one_in
from tests.support.processes import started

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

SCRIPT = """
import sys, time
from kernelprof.__main__ import run
import kernelprof.interrupts as interrupts

def signal_at(name):
    class Finder:
        def find_spec(self, found, path=None, target=None):
            if found == name:
                import os, signal
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(1)
    sys.meta_path.insert(0, Finder())

sys.argv = ["kernelprof", *sys.argv[2:]]
{before}
sys.exit(run())
"""


def _run(environment, before: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    with started(
        [sys.executable, "-c", SCRIPT.format(before=before), "-", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as child:
        out, err = child.communicate(timeout=60)
    return subprocess.CompletedProcess(arguments, child.returncode, out, err)


@pytest.mark.parametrize(
    "module",
    few(
        [
            "typer",
            "kernelprof.cli.main",
            "kernelprof.cli.commands.diagnose",
            "dataclasses",
            "numpy",
            "numpy.linalg",
            "kernelprof.sources.ncu.tables",
            "kernelprof.analysis.rules",
        ],
        *("typer", "kernelprof.cli.main", "dataclasses", "numpy", "kernelprof.analysis.rules"),
        why="imported between two others",
    ),
)
def test_ctrl_c_while_something_is_imported(cli_environment, captures, module: str) -> None:
    capture = str(captures / "pycuda_two_kernels.seven-metrics.raw.csv")
    done = _run(cli_environment, f"signal_at({module!r})", "diagnose", capture)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_the_imports_of_the_test_above_are_really_made(cli_environment, captures) -> None:
    """Else it would not be interrupted at all, and would end with the verdicts."""
    capture = str(captures / "pycuda_two_kernels.seven-metrics.raw.csv")
    done = _run(cli_environment, "signal_at('no.such.module')", "diagnose", capture)
    assert done.returncode == 3
    assert "Traceback" not in done.stderr


AT_THE_END = """
import atexit, os, signal
@atexit.register
def last():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1)
"""
IN_A_FINALIZER = """
import kernelprof.cli.main as cli, os, signal
class Last:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
def main():
    made = Last()
    del made
    return 0
cli.main = main
"""
SWALLOWED = """
import kernelprof.cli.main as cli, os, signal
def _run(arguments):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    except KeyboardInterrupt:
        raise ImportError("numpy.core.multiarray failed to import")
cli._run = _run
"""
IN_EXEC = """
import kernelprof.cli.main as cli
def _run(arguments):
    exec("import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(1)")
cli._run = _run
"""
TWICE = """
import kernelprof.cli.main as cli, os, signal
def _run(arguments):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    finally:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
cli._run = _run
"""


@pytest.mark.parametrize(
    "before",
    [AT_THE_END, IN_A_FINALIZER, SWALLOWED, IN_EXEC, TWICE],
    ids=["at the end", "in a finalizer", "swallowed", "in exec", "twice"],
)
def test_ctrl_c_where_python_shows_it_or_hides_it(cli_environment, before: str) -> None:
    done = _run(cli_environment, before, "presets")
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.parametrize(
    "delay", one_in(2, [0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3], why="a moment between two others")
)
def test_ctrl_c_after_some_time(cli_environment, captures, delay: float) -> None:
    """Python itself starts in about 15 ms, in which nobody can take over Ctrl-C."""
    capture = str(captures / "gemm_series.full.raw.csv")
    for _ in range(5):
        with started(
            [sys.executable, "-m", "kernelprof", "diagnose", capture],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=cli_environment,
        ) as child:
            time.sleep(delay)
            child.send_signal(signal.SIGINT)
            _, said = child.communicate(timeout=60)
        # The callback at the end of an import has no frame of runpy above it.
        starting = ("runpy", "<frozen site>", "Fatal Python error: init_", "_get_module_lock")
        if any(each in said for each in starting) or child.returncode == -signal.SIGINT:
            continue  # the machine is so busy that Python has not started yet
        assert child.returncode in {130, 0}
        assert said == ""
        return
    pytest.skip("Python takes longer than this to start here")


def test_the_command_takes_over_ctrl_c_before_it_imports_anything(cli_environment) -> None:
    """What is imported until then is as little as can be: it is not covered."""
    ours = {"kernelprof", "kernelprof.version", "kernelprof.interrupts", "kernelprof.prediction"}
    before = {"__future__", "_signal", *ours}
    code = (
        "import sys; known = set(sys.modules); import kernelprof.__main__;"
        "print(*sorted(set(sys.modules) - known))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=cli_environment,
        check=True,
    )
    assert set(done.stdout.split()) <= before | {"kernelprof.__main__"}


def test_the_installed_command_is_that_one() -> None:
    found = [each for each in entry_points(group="console_scripts") if each.name == "kernelprof"]
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert 'kernelprof = "kernelprof.__main__:run"' in text
    assert found


def test_importing_the_package_leaves_ctrl_c_alone(cli_environment) -> None:
    code = (
        "import signal; before = signal.getsignal(signal.SIGINT);"
        "import kernelprof.__main__, kernelprof.cli.main;"
        "assert signal.getsignal(signal.SIGINT) is before"
    )
    subprocess.run([sys.executable, "-c", code], env=cli_environment, check=True)
