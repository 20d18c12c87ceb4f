"""``kernelprof optimize`` with commands that propose what is right, wrong, slower and hostile."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

import kernelprof as kp
from kernelprof.report.writers.json import schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.commands import Command

ROOT = Path(__file__).parents[2]
NAIVE = ROOT / "cuda" / "ladder" / "01_naive.cu"
COALESCED = ROOT / "cuda" / "ladder" / "02_coalesced.cu"
MATVEC = ROOT / "examples" / "matvec.cu"
LINE = "sum += A[row * N + k] * x[k];"
HOSTILE = """
import os, sys, time
from pathlib import Path

brief = sys.stdin.read()
place = Path(os.environ["KERNELPROF_SOURCE"])
assert place.parent == Path.cwd() and place.name in brief
text = place.read_text("utf-8")
number = os.environ["KERNELPROF_ROUND"]


def put(old, new):
    assert text.count(old) == 1, old
    place.write_text(text.replace(old, new), "utf-8")


"""


class Loop:
    """A folder with a kernel, and a script that proposes."""

    def __init__(self, folder: Path, kernelprof: Command) -> None:
        self.folder = folder
        self.kernelprof = kernelprof
        self.kernel = folder / "k.cu"
        self.text = MATVEC.read_text("utf-8").replace("M = 65536", "M = 2048")
        self.kernel.write_text(self.text, encoding="utf-8")
        self.err = ""

    def run(self, script: str, *options: str, code: int = 0) -> Any:
        """The result of a run whose command is this Python."""
        file = self.folder / "propose.py"
        file.write_text(HOSTILE + script, encoding="utf-8")
        command = f"optimize k.cu --with '{sys.executable} {file}' --format json"
        printed = self.kernelprof(command, *options, code=code)
        self.err, found = printed.err, printed.json
        jsonschema.validate(found, json.loads(schema("optimization")))
        return found

    def decided(self, script: str, *options: str, code: int = 0) -> tuple[str, str]:
        """What became of the one proposal of a command, and why."""
        found = self.run(script, "--predict", "--rounds", "1", *options, code=code)
        (attempt,) = found["attempts"]
        if attempt["decision"] != "kept":
            assert found["text"] == self.text
            assert found["diff"] == ""
        return attempt["decision"], attempt["reason"]


@pytest.fixture
def loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernelprof: Command) -> Loop:
    """On a machine without a GPU; nothing is left of the scratch folders."""
    monkeypatch.setenv("KERNELPROF_NCU", "/no/such/ncu")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return Loop(work, kernelprof)


@pytest.mark.slow("predicts six versions of a GEMM")
def test_right_wrong_and_slower_proposals_by_prediction(loop: Loop) -> None:
    """Two are wrong, one changes nothing, one is coalesced, and one scatters that again."""
    scattered = (
        NAIVE.read_text("utf-8")
        .replace("= 4096", "= 512")
        .replace("M = 250, N = 390, K = 130", "M = 64, N = 64, K = 32")
    )
    loop.text = scattered
    loop.kernel.write_text(scattered, encoding="utf-8")
    found = loop.run(
        """
if number == "1":
    assert "Limited by uncoalesced-global-access" in brief
    put("float sum = 0.0f;", "float sum = 1.0f;")
elif number == "2":
    assert "- 1: wrong: " in brief
    put("float sum", "flat sum")
elif number == "3":
    put("float sum", "float  sum")
elif number == "4":
    for one, other in (("blockIdx.x", "blockIdx.y"), ("threadIdx.x", "threadIdx.y"),
                       ("(M, BLOCK)", "(N, BLOCK)")):
        text = text.replace(one, "@").replace(other, one).replace("@", other)
    place.write_text(text, "utf-8")
elif number == "5":
    assert "Limited by uncoalesced-global-access" not in brief.split("Task:")[0]
    place.write_text(text.replace("row * K + k", "row * K + (k * 7 + threadIdx.x * 5) % K")
        .replace("k * N + col", "((k * 7 + threadIdx.x * 5) % K) * N + col"), "utf-8")
""",
        *("--predict", "--rounds", "5", "--apply"),
    )
    decisions = [each["decision"] for each in found["attempts"]]
    assert decisions[:4] == ["wrong", "wrong", "not better", "kept"], found["attempts"]
    assert decisions[4] in {"not better", "wrong"}
    reasons = [each["reason"] for each in found["attempts"]]
    assert "differs from gemm" in reasons[0]
    assert "flat" in reasons[1]
    assert reasons[2] == "neither the predicted time nor a counter improved"
    assert found["basis"] == "predicted"
    assert found["ratio"] is None
    assert "no time was measured" in found["notes"][0]
    assert found["first"]["bottleneck"] == "uncoalesced-global-access"
    assert found["last"]["bottleneck"] != "uncoalesced-global-access"
    assert found["applied"]
    assert loop.kernel.read_text("utf-8") == found["text"] != scattered
    assert "round 4: kept: " in loop.err


def test_recorded_captures_stand_in_for_a_gpu(loop: Loop) -> None:
    loop.text = NAIVE.read_text("utf-8")
    loop.kernel.write_text(loop.text, encoding="utf-8")
    found = loop.run(
        f"""
if number == "1":
    place.write_text(Path({str(COALESCED)!r}).read_text("utf-8"), "utf-8")
elif number == "2":
    put("float sum = 0.0f", "float sum = 0.0f + 0.0f")
""",
        *("--best", "best.cu"),
    )
    assert [each["decision"] for each in found["attempts"]] == ["kept", "undecided", "nothing"]
    assert found["ended"] == "nothing proposed"
    assert found["basis"] == "recorded"
    assert 12 < 1 / found["ratio"] < 12.2
    assert found["last"]["bottleneck"] == "l1-throughput"
    assert (loop.folder / "best.cu").read_bytes() == COALESCED.read_bytes()
    assert loop.kernel.read_text("utf-8") == loop.text
    assert "/tmp" not in found["attempts"][1]["reason"]


def test_the_loop_in_python(loop: Loop) -> None:
    loop.kernel.write_text(NAIVE.read_text("utf-8"), encoding="utf-8")
    (loop.folder / "next.cu").write_bytes(COALESCED.read_bytes())
    said: list[str] = []
    command = f"cp {loop.folder}/next.cu k.cu"
    found = kp.optimize(loop.kernel, command, rounds=1, remark=said.append)
    assert [each.decision.value for each in found.attempts] == ["kept"]
    assert found.text == COALESCED.read_text("utf-8")
    assert "round 1: kept: " in said[0]
    assert "12.1x faster" in found.to_text("markdown")
    assert loop.kernel.read_text("utf-8") == NAIVE.read_text("utf-8")


@pytest.mark.usefixtures("loop")
def test_without_a_gpu_or_a_record_prediction_is_what_to_do(kernelprof) -> None:
    what = "next: judge proposals by prediction, without a GPU: --predict"
    kernelprof("optimize k.cu --with true", code=4, err=what)


JUDGED_BY = (
    ('put("tolerance = 1e-5", "tolerance = 1e5")', "check.tolerance"),
    ("put('reference = \"gemv\"', 'reference = \"none\"')", "reference"),
    ('put("sizes = { M = 300, N = 200 }", "sizes = { M = 1, N = 1 }")', "check.sizes.M"),
    ('put("// M = 2048", "// M = 64")', "sizes.M"),
    ('put("2 * M * N", "1")', "flops"),
)
LEFT = (
    ("sys.exit(7)", "failed", "the command ended with exit code 7"),
    ("place.unlink()", "failed", "the source is no longer a regular file"),
    ("place.unlink(); place.symlink_to('/etc/passwd')", "failed", "no longer a regular file"),
    ("place.unlink(); os.mkfifo(place)", "failed", "no longer a regular file"),
    ("place.write_bytes(bytes(range(256)))", "failed", "not UTF-8 text"),
    ("place.write_bytes(b'x' * (17 << 20))", "failed", "16 MiB"),
    ("place.write_text('')", "wrong", "no launch specification"),
    ("place.write_text('garbage ' * 99)", "wrong", "no launch specification"),
    ("print('garbage' * 10**6); sys.exit(1)", "failed", "exit code 1"),
    (f"put('{LINE}', 'while (true) {{}}')", "wrong", "k.cu"),
    (f"put('{LINE}', 'sum += A[row * N + k + N] * x[k];')", "wrong", "k.cu"),
    (
        "put('if (row >= M', 'if (M > 1000 || row >= M')",
        "wrong",
        "at the measured sizes, the kernel writes at most 0 B of 8.19 kB of output",
    ),
    (
        "Path('k.toml').write_text('x'); put('float sum', 'float  sum')",
        "not better",
        "neither the predicted time",
    ),
    ("put('float sum', 'float  sum')", "not better", "tried already in round 13"),
    ("pass", "nothing", "the source is unchanged"),
)
"""What a command does, and what becomes of it."""


def _in_turn(scripts: Sequence[str]) -> str:
    return f"exec({list(scripts)!r}[int(number) - 1])\n"


def test_changes_of_what_it_is_judged_by_are_refused(loop: Loop) -> None:
    found = loop.run(
        _in_turn([script for script, _ in JUDGED_BY]), "--predict", f"--rounds={len(JUDGED_BY)}"
    )
    assert found["ended"] == "rounds"
    assert found["text"] == loop.text
    for (script, key), attempt in zip(JUDGED_BY, found["attempts"], strict=True):
        assert attempt["decision"] == "refused", script
        assert key in attempt["reason"]
        assert attempt["gate"] is None


@pytest.mark.parametrize(
    "left",
    [
        (*LEFT[:8], LEFT[-1]),
        pytest.param(LEFT, marks=pytest.mark.exhaustive("compiles and runs them")),
    ],
    ids=["files", "all"],
)
def test_what_a_command_leaves_is_held_to_a_plain_source(
    loop: Loop, left: Sequence[tuple[str, str, str]]
) -> None:
    found = loop.run(_in_turn([script for script, *_ in left]), "--predict", "--rounds=50")
    assert found["ended"] == "nothing proposed"
    assert found["text"] == loop.text
    for (script, decision, reason), attempt in zip(left, found["attempts"], strict=True):
        assert attempt["decision"] == decision, (script, attempt)
        assert reason in attempt["reason"], (script, attempt)
        assert len(attempt["printed"]) <= 2_000


@pytest.mark.slow("waits for processes")
def test_a_command_that_never_ends_is_ended_with_all_that_it_started(loop: Loop) -> None:
    mark = loop.folder / "alive"
    script = f"""
import subprocess
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(4); open({str(mark)!r}, 'w')"])
time.sleep(300)
"""
    decision, reason = loop.decided(script, "--time-limit", "2")
    assert decision == "failed"
    assert "still running after 2 s" in reason
    # One that leaves something behind is no better.
    left = script.replace("time.sleep(300)\n", "put('float sum', 'float  sum')\n")
    assert loop.decided(left)[0] == "not better"
    time.sleep(4)
    assert not mark.exists()


def test_files_outside_of_the_scratch_folder_end_it_and_nothing_is_applied(
    loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (loop.folder / "ours.py").write_text("def f(A, x): return A @ x\n", encoding="utf-8")
    loop.text = loop.text.replace('"gemv"', '"ours:f"')
    loop.kernel.write_text(loop.text, encoding="utf-8")
    decision, reason = loop.decided(
        f"Path({str(loop.folder)!r}, 'ours.py').write_text('def f(A, x): return 0 * (A @ x)\\n')\n"
        f"put('{LINE}', '')\n",
        "--apply",
        code=2,
    )
    assert decision == "refused"
    assert reason == "files outside the command's folder changed: ours.py"
    (saved,) = tmp_path.glob("kernelprof-original-*/files/ours.py")
    assert saved.read_text("utf-8") == "def f(A, x): return A @ x\n"
    assert loop.kernel.read_text("utf-8") == loop.text


@pytest.mark.slow("files of a reference are guarded in another folder as well")
def test_a_reference_in_its_own_folder_changes_nothing(loop: Loop) -> None:
    """It is judged by the files of the original, of which the command has a copy."""
    (loop.folder / "ours.py").write_text("def f(A, x): return A @ x\n", encoding="utf-8")
    loop.text = loop.text.replace('"gemv"', '"ours:f"')
    loop.kernel.write_text(loop.text, encoding="utf-8")
    decision, reason = loop.decided(
        "Path('ours.py').write_text('def f(A, x): return 0 * (A @ x)\\n')\n"
        f"put('{LINE}', '')\n"
        "for each in Path('..', '..').resolve().rglob('ours.py'):\n"
        "    each.write_text('def f(A, x): return 0 * (A @ x)\\n')\n"
    )
    assert decision == "wrong"
    assert "ours:f" in reason


@pytest.mark.slow("several kernels are optimized")
def test_it_ends_at_the_limit_after_a_budget_and_at_bad_commands(kernelprof, loop: Loop) -> None:
    found = loop.run("assert False", "--predict", "--budget", "0.1")
    assert found["ended"] == "budget"  # which the first prediction takes
    assert found["attempts"] == []
    for command, code, told in (
        ("/no/such/program", 4, "cannot be started"),
        ("'", 2, "cannot be split"),
        ("", 2, "there is no command"),
    ):
        kernelprof("optimize k.cu --predict --with", command, code=code, err=told)
    limit = ROOT / "cuda" / "ladder" / "13_double_buffered.cu"
    loop.kernel.write_bytes(limit.read_bytes())
    found = loop.run("assert False")
    assert found["first"]["status"] == "at-limit"
    assert found["ended"] == "at its limit"
    assert found["attempts"] == []


def test_the_report_in_text_markdown_and_brief(kernelprof, loop: Loop) -> None:
    loop.kernel.write_bytes(NAIVE.read_bytes())
    command = f"optimize k.cu --with 'cp {COALESCED} k.cu' --format"
    first = "1 of 2 proposals kept: 12.1x faster, according to captures that ship with kernelprof."
    told = {
        name: kernelprof(command, name, out="12.1x faster", says=first).out
        for name in ("text", "markdown", "brief")
    }
    assert "| 1 | kept | 12.1x faster | `l1-throughput` |" in told["markdown"]
    assert "+    const int row = blockIdx.y * BLOCK + threadIdx.y;" in told["text"]
    assert len(told["brief"].encode()) <= 3_200
    assert max(len(line) for line in told["text"].split("---")[0].splitlines()) <= 80
