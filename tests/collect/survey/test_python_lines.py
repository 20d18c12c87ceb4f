"""Lines of Python, as the library names them around what a stand-in for PyTorch records."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kernelprof.collect.survey import reader as frames
from kernelprof.collect.survey.reader import pair_ranges
from kernelprof.collect.survey.run import survey_environment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kernelprof.collect.survey import run as library

SHIM = """
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
int push(const char *text) { return nvtxRangePushA(text); }
int pop(void) { return nvtxRangePop(); }
void fill(void) {  /* what a thread holds back is written by the thousand */
    for (int number = 0; number < 600; number++) {
        push("often");
        pop();
    }
}
static void *thread(void *text) { push(text); pop(); fill(); return text; }
void elsewhere(char *text) {
    pthread_t made;
    pthread_create(&made, 0, thread, text);
    pthread_join(made, 0);
}
"""

STAND_IN = """
import ctypes, os
# Gives up the interpreter's lock, as PyTorch does.
nvtx = ctypes.CDLL(os.path.join(os.path.dirname(__file__), "shim.so"))
survey = ctypes.PyDLL(os.environ["NVTX_INJECTION64_PATH"])
survey.kernelprof_name_lines.argtypes = [ctypes.c_char_p, ctypes.c_ulonglong, ctypes.py_object]

class recorded:
    def __init__(self, name):
        self.name = name.encode() + b", seq = 3, op_id = 9"
    def __enter__(self):
        nvtx.push(self.name)
    def __exit__(self, *error):
        nvtx.pop()

def operator(name):
    with recorded(name):
        with recorded("aten::inner"):
            pass
"""

BEGIN = """
import sys
sys.path.insert(0, sys.argv[1])
import stand_in, threading
from stand_in import nvtx, operator, recorded, survey
files = b"/nowhere/else\\n" + sys.argv[1].encode() + b"/\\n"
"""

OPERATORS = (
    BEGIN
    + """
operator("aten::before")
assert survey.kernelprof_name_lines(files, 0, print)
operator("aten::mm")
with recorded("mine"):
    operator("mylib::attend")
    assert survey.kernelprof_within_operator() == 1
assert survey.kernelprof_within_operator() == 0
with recorded("autograd::engine::evaluate_function: MmBackward0"):
    operator("aten::t")
nvtx.push(b"std::looks_like_one")
nvtx.pop()
exec(compile("operator('aten::generated')", "<eval_with_key>.3", "exec"))
def called():
    operator("aten::in_a_thread")
    nvtx.fill()
one = threading.Thread(target=called); one.start(); one.join()
nvtx.elsewhere(b"aten::unknown_thread, op_id = 4")
nvtx.fill()
"""
)

ENOUGH = (
    BEGIN
    + """
import json
called = []
def when_enough():
    called.append((len(made), survey.kernelprof_within_operator(), threading.current_thread().name))
    if len(called) == 2:
        raise KeyboardInterrupt
    return len(called) == 3
assert survey.kernelprof_name_lines(files, 20, when_enough)
made, raised = [], 0
def steps():
    while len(made) < 30:
        made.append(operator("aten::mm"))
try:
    steps()
except KeyboardInterrupt:
    raised += 1
survey.kernelprof_name_lines(files, 20, when_enough)
steps()
print(json.dumps([called, raised]))
nvtx.fill()
"""
)


GARBAGE = (
    BEGIN
    + """
import gc
class Cycle:
    def __init__(self):
        self.me = self
    def __del__(self):
        operator("aten::zero_")
assert survey.kernelprof_name_lines(files, 0, print)
gc.set_threshold(5)
for _ in range(300):
    Cycle()
    operator("aten::mm")
print(survey.kernelprof_within_operator(), gc.isenabled())
gc.disable()
operator("aten::mm")
print(gc.isenabled())
nvtx.fill()
"""
)

NEVER_ENDS = (
    BEGIN
    + """
called = []
def when_enough():
    called.append(survey.kernelprof_pushed())
    return True
assert survey.kernelprof_name_lines(files, 20, when_enough)
nvtx.push(b"ended by another thread, op_id = 1")
for _ in range(40):
    operator("aten::mm")
print(called)
nvtx.fill()
"""
)

Ranges = list[tuple[str, ...]]
"""Each with the names of all around it before its own."""


@pytest.fixture
def surveyed(
    built: tuple[Path, library.Cupti], with_nvtx: list[str], tmp_path: Path
) -> Callable[[str], tuple[str, Ranges]]:
    """Runs a script with the library; what it printed, and its ranges."""
    made, cupti = built
    packages, shim, out = tmp_path / "packages", tmp_path / "shim.c", tmp_path / "survey"
    packages.mkdir()
    out.mkdir()
    (packages / "stand_in.py").write_text(STAND_IN, encoding="utf-8")
    shim.write_text(SHIM, encoding="utf-8")
    words = [*with_nvtx, str(shim), "-o", str(packages / "shim.so"), "-ldl", "-lpthread"]
    subprocess.run(["cc", "-shared", "-fPIC", *words], check=True)

    def run(script: str) -> tuple[str, Ranges]:
        program = tmp_path / "script.py"
        program.write_text(script, encoding="utf-8")
        words = [sys.executable, program, packages]
        environ = survey_environment(os.environ, made, cupti, out)
        done = subprocess.run(words, env=environ, check=True, capture_output=True, text=True)
        assert done.stderr == ""
        return done.stdout, [each for path in out.glob("*.survey") for each in _nested(path)]

    return run


def _nested(path: Path) -> Ranges:
    """Every range but those that only fill the file, with the names of all around it."""
    found = frames.read_frames(path)
    rows = pair_ranges(found.select(frames.RANGE))
    nested, open_ = [], dict[int, list[str]]()
    for name, thread, depth in rows[["name", "thread", "depth"]].tolist():
        around = open_.setdefault(thread, [])
        around[depth:] = [found.texts[name]]
        if around[-1] != "often":
            nested.append(tuple(around))
    return nested


def _line(script: str, text: str, into: Path) -> str:
    (number,) = [at for at, line in enumerate(script.splitlines(), 1) if text in line]
    return f"kernelprof.line\x1f{into / 'script.py'}:{number}"


def test_outermost_operators_have_the_line_that_called_them(surveyed, tmp_path) -> None:
    _, ranges = surveyed(OPERATORS)
    where = {each[-1]: each[:-1] for each in ranges if each[-1] != "aten::inner"}
    assert where["aten::before"] == ()
    for name in ("aten::mm", "aten::generated", "aten::in_a_thread"):
        assert where[name] == (_line(OPERATORS, name, tmp_path),)
    # A record of the program's own is around the line, and no operator.
    assert where["mylib::attend"] == ("mine", _line(OPERATORS, "mylib::attend", tmp_path))
    # Backward, of a range that PyTorch did not record, and of a thread without Python: none.
    assert where["aten::t"] == ("autograd::engine::evaluate_function: MmBackward0",)
    assert where["std::looks_like_one"] == where["aten::unknown_thread"] == ()
    inner = [each[-3:-1] for each in ranges if each[-1] == "aten::inner"]
    assert inner[1] == (_line(OPERATORS, "aten::mm", tmp_path), "aten::mm")
    assert len(inner) == 6


def test_what_ends_the_naming_is_called_between_operators_until_it_has(surveyed) -> None:
    """It is Python code, called by Python itself: Ctrl-C in it reaches the program."""
    printed, _ = surveyed(ENOUGH)
    called, raised = json.loads(printed)
    assert raised == 1
    assert len(called) == 3
    assert [each[1:] for each in called] == [[0, "MainThread"]] * 3
    assert 9 <= called[0][0] <= 10  # of two ranges each, of 20


def test_garbage_is_not_collected_where_an_operator_begins(surveyed) -> None:
    """A finalizer that calls operators would run there, and upset what is open."""
    printed, ranges = surveyed(GARBAGE)
    assert printed.split() == ["0", "True", "False"]
    lines = {each[0] for each in ranges if each[-1] == "aten::mm"}
    assert len(lines) == 2
    assert all("script.py:" in each for each in lines)


def test_what_never_ends_is_not_waited_for(surveyed: Callable[[str], tuple[str, Ranges]]) -> None:
    printed, _ = surveyed(NEVER_ENDS)
    (pushed,) = json.loads(printed)
    assert 40 <= pushed <= 42
