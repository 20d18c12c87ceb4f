"""The launching process, as far as it needs no GPU: what it says of a wrong result."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import math
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

from kernelprof.launch.arrays import compare, encode, poisoned
from kernelprof.launch.asked import ANSWER
from kernelprof.launch.child import main, refuse_circular, sizes_text, wrong_result
from kernelprof.launch.read_spec import load_spec
from kernelprof.launch.references import Case
from kernelprof.launch.trial import LaunchError

if TYPE_CHECKING:
    from kernelprof.launch.spec import ResolvedLaunch

SIZES = "M=256, N=96, K=1024"


@pytest.fixture
def said(sgemm_cu):
    """What is said of a 4 x 2 result that should hold 1 to 8."""
    spec = load_spec(sgemm_cu)
    launch = spec.resolve(spec.check_sizes)
    expected = np.arange(1.0, 9.0).reshape(4, 2)

    def say(stored, type_name="float32", tolerance=1e-4):
        found = compare("C", type_name, stored, expected, tolerance)
        assert not found.passed
        return wrong_result(found, launch, "sgemm.cu, kernel sgemm", "gemm")

    return say


def _right(type_name="float32"):
    return encode(np.arange(1.0, 9.0).reshape(4, 2), type_name)


def test_the_element_that_is_furthest_off_is_shown(said) -> None:
    stored = _right()
    stored[1, 0] = 3.25
    stored[3, 1] = -2.5
    error = said(stored)
    off = math.hypot(0.25, 10.5) / math.sqrt(sum(n * n for n in range(1, 9)))
    assert error.what == (
        f"the kernel's result is wrong: C differs from gemm by {off:.3g} (relative; 0.0001 is "
        f"allowed) at {SIZES}; C[3, 1] is -2.5 and should be 8"
    )
    assert (error.where, error.exit_code) == ("sgemm.cu, kernel sgemm", 2)
    assert "[check] tolerance" in (error.hint or "")


def test_elements_that_were_never_written_are_counted(said) -> None:
    stored = _right()
    stored[2:] = poisoned("float32", (2, 2))
    assert said(stored).what == (
        f"the kernel's result is wrong: C holds NaN where gemm has none, at {SIZES}; 4 of its "
        "elements were never written; C[2, 0] is nan and should be 5"
    )


def test_integers_have_a_poison_of_their_own(said) -> None:
    stored = _right("int32")
    stored[3, 1] = poisoned("int32", ())
    poison = int.from_bytes(b"\xcd" * 4, "little", signed=True)
    what = said(stored, "int32").what
    assert "; 1 of its elements were never written; " in what
    assert what.endswith(f"C[3, 1] is {poison:.6g} and should be 8")


def test_an_infinite_result_is_no_number_to_compare(said) -> None:
    stored = _right()
    stored[0, 1] = np.inf
    assert said(stored).what == (
        "the kernel's result is wrong: C differs from gemm by inf (relative; 0.0001 is allowed) "
        f"at {SIZES}; C[0, 1] is inf and should be 2"
    )


def test_sizes_for_a_message() -> None:
    assert sizes_text({"n": 1000}) == "n=1000"
    assert sizes_text({"M": 1, "N": 2, "K": 3}) == "M=1, N=2, K=3"
    assert sizes_text({}) == "its fixed sizes"


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


def _case(**inputs):
    return Case(inputs={k: np.asarray(v, float) for k, v in inputs.items()}, outputs={})


def test_a_reference_that_reads_an_output_without_values_is_refused() -> None:
    """Its NaN would be equal to the poison of an output that nobody wrote."""
    wanted = {"y": np.array([np.nan, np.nan])}
    with pytest.raises(LaunchError, match="gives NaN for y, and no input holds one") as caught:
        refuse_circular(_case(x=[1, 2]), wanted, "k.cu, kernel saxpy", "saxpy")
    assert 'fill = "random"' in (caught.value.hint or "")
    refuse_circular(_case(x=[1, np.nan]), wanted, "k.cu, kernel k", "copy")
    refuse_circular(_case(x=[1, 2]), {"y": np.ones(2)}, "k.cu, kernel k", "copy")


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
    monkeypatch.setattr("kernelprof.launch.child.Device", lambda: gpu)
    monkeypatch.setattr("kernelprof.launch.child._Task._kernel", lambda _: object())
    monkeypatch.setattr("kernelprof.launch.child.BoundKernel", _Bound)
    monkeypatch.setattr("kernelprof.launch.child.os._exit", sys.exit)
    _Bound.made.clear()

    def ask(*questions: dict[str, Any]) -> list[dict[str, Any]]:
        monkeypatch.setattr("sys.stdin", [json.dumps(each) for each in questions])
        with contextlib.suppress(SystemExit):
            main([str(sgemm_cu), "--answer"])
        lines = filter(None, capsys.readouterr().out.splitlines())
        return [json.loads(line)[ANSWER] for line in lines]

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
