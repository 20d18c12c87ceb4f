"""The launching process, as far as it needs no GPU."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from kernelprof.launch.child import main
from kernelprof.launch.processes import RESPONSE_KEY
from kernelprof.launch.run.trial import LaunchError
from kernelprof.launch.specification.reader import load_spec

if TYPE_CHECKING:
    from kernelprof.launch.specification.spec import ResolvedLaunch


@pytest.mark.skipif(importlib.util.find_spec("pycuda") is not None, reason="PyCUDA is here")
def test_under_ncu_an_error_is_one_line(cli_environment) -> None:
    source = Path(__file__).parents[1] / "gpu" / "launch" / "right.cu"
    done = subprocess.run(
        [sys.executable, "-P", "-m", "kernelprof.launch.child", str(source)],
        capture_output=True,
        text=True,
        env=cli_environment,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == "kernelprof: PyCUDA cannot be imported: No module named 'pycuda'\n"


class _Bound:
    """Stands in for a kernel in device memory: as many nanoseconds as it has rows."""

    made: ClassVar[list[dict[str, int]]] = []

    def __init__(self, kernel: object, launch: ResolvedLaunch, folder: Path) -> None:
        del kernel, folder
        self.rows = launch.sizes["M"]
        self.before = dict.fromkeys("AB")
        self.made.append(launch.sizes)

    def times_ns(self, count: int, limit_s: float) -> tuple[float, ...]:
        assert limit_s > 0
        assert not self.before, "copies on the host that nobody needs"
        if self.rows > 1024:
            raise LaunchError("it did not end", where="sgemm.cu", hint="wait")
        return (float(self.rows),) * count


@pytest.fixture
def answers(sgemm_cu, monkeypatch, capsys):
    """What the child process answers to questions, on a machine whose GPU is a stand-in."""
    gpu = SimpleNamespace(name="Some GPU", arch="sm_90", close=lambda: None)
    monkeypatch.setattr("kernelprof.launch.child.CudaDevice", lambda: gpu)
    monkeypatch.setattr("kernelprof.launch.child._Task._kernel", lambda _: object())
    monkeypatch.setattr("kernelprof.launch.child.BoundKernel", _Bound)
    monkeypatch.setattr("kernelprof.launch.child.os._exit", sys.exit)
    _Bound.made.clear()

    def ask(*questions: dict[str, Any]) -> list[dict[str, Any]]:
        monkeypatch.setattr("sys.stdin", [json.dumps(each) for each in questions])
        with contextlib.suppress(SystemExit):
            main([str(sgemm_cu), "--answer"])
        lines = filter(None, capsys.readouterr().out.splitlines())
        return [json.loads(line)[RESPONSE_KEY] for line in lines]

    return ask


def test_it_answers_with_times_at_the_sizes_of_each_question(answers, sgemm_cu) -> None:
    small, large = {"M": 256}, {"M": 512, "K": 64}
    asked = [(small, 2), (small, 1), (large, 3), (small, 1)]
    found = answers(*({"sizes": sizes, "count": count} for sizes, count in asked))
    rows = [each["times_ns"] for each in found]
    assert rows == [[256.0] * 2, [256.0], [512.0] * 3, [256.0]]
    own = load_spec(sgemm_cu).sizes
    assert _Bound.made == [{**own, **small}, {**own, **large}, {**own, **small}]


def test_an_error_is_its_last_answer(answers) -> None:
    fails, more = {"sizes": {"M": 2048}, "count": 1}, {"sizes": {"M": 256}, "count": 1}
    (found,) = answers(fails, more)
    assert found["error"] == {
        "what": "it did not end",
        "where": "sgemm.cu",
        "hint": "wait",
        "exit_code": 2,
    }
