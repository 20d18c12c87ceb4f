"""Pairs that a script launches: reading, knowing again, checking, timing and profiling them."""

from __future__ import annotations

import ast
import gzip
import json
import shutil
import sys
from typing import TYPE_CHECKING

import pytest
from benchmarks.corpus.measure import Plan, is_measured, measure, of_launch, place
from benchmarks.corpus.pairs import FILE, Form, Kind, Side, all_pairs, choose, read_pair, scripts
from benchmarks.corpus.scripts import Stopwatch, facts, is_same
from benchmarks.frameworks import FOLDER, SIDES
from benchmarks.peers.fournex import read_launch
from benchmarks.peers.ncu_rules import read_rules
from tests.conftest import CAPTURES
from tests.ladder.machine import H200, STAND_IN

from benchmarks.corpus import scripts as scripts_module
from kernelprof.collect.environment import LocalMachine
from kernelprof.errors import InputError, MissingToolError
from kernelprof.launch.processes import Interrupts
from kernelprof.sources.capture_directory import read_manifest, read_stored

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.corpus.pairs import Pair

PAIR = """
kind = "pair"
field = "statistics"
bottleneck = "atomic-contention"
change = "A sum for each program."
"""
FAST, SLOW = "torch-product-bfloat16", "torch-scatter-add-few-targets"

PYTHON = """#!{python}
# Stands in for a Python with PyTorch: what becomes of a pair is in the file beside it.
import json, os, sys, time
from pathlib import Path

words = sys.argv[1:]
with Path(__file__).with_name("calls").open("a") as calls:
    calls.write(json.dumps(words) + "\\n")
assert words[:2] == ["-m", "benchmarks.frameworks"]
if words[2] == "time":
    fates = json.loads(Path(__file__).with_name("fates").read_text())
    at = words.index("--into")
    with open(words[at + 1], "w") as lines:
        for name in words[3:at]:
            fate = fates.get(name, "right")
            if fate == "crash":
                print("Segmentation fault", flush=True)
                os._exit(139)
            if fate == "hang":
                lines.write('{{"pair": "' + name)
                lines.flush()
                time.sleep(300)
            if fate == "no torch":
                sys.exit("ModuleNotFoundError: No module named 'torch'")
            if fate == "wrong":
                lines.write(json.dumps({{"pair": name, "failed": "before is off"}}) + "\\n")
            else:
                for number, side in enumerate(("before", "after"), 1):
                    times = [1e6 / number + each for each in range(20)]
                    found = {{"times_ns": times, "warm_up": 3, "largest_error": 0.001}}
                    found |= {{"tolerance": 0.01, "made_with": "torch 2.11.0, triton 3.6.0"}}
                    lines.write(json.dumps({{"pair": name, "side": side, **found}}) + "\\n")
            lines.flush()
"""


def written(folder: Path, script: str, text: str = PAIR) -> Path:
    folder.mkdir()
    (folder / FILE).write_text(text, encoding="utf-8")
    (folder / "pair.py").write_text(script, encoding="utf-8")
    return folder


def functions(*names: str) -> str:
    return "".join(f"def {name}(x):\n    return x\n\n\n" for name in names)


def test_a_pair(tmp_path: Path) -> None:
    found = read_pair(written(tmp_path / "one", functions("before", "after")), Form.SCRIPT)
    assert (found.name, found.kind, found.form) == ("one", Kind.PAIR, Form.SCRIPT)
    assert found.sides == (Side.BEFORE, Side.AFTER)
    assert found.source(Side.AFTER) == tmp_path / "one" / "pair.py"
    assert found.target(Side.AFTER) == "benchmarks/frameworks/one/pair.py"


@pytest.mark.parametrize(
    ("script", "what"),
    [
        (functions("before"), "of kind pair needs a function after"),
        (functions("after"), "of kind pair needs a function before"),
        ("def before(:\n", "of kind pair needs a function before"),
        (functions(*SIDES), "of kind pair has no function after_second"),
    ],
)
def test_a_function_that_is_missing_is_named(tmp_path: Path, script: str, what: str) -> None:
    folder = written(tmp_path / "one", script)
    with pytest.raises(InputError) as caught:
        read_pair(folder, Form.SCRIPT)
    assert what in caught.value.what
    assert caught.value.where == f"{folder / FILE}: kind"


def test_a_script_is_no_side_of_a_kernel(tmp_path: Path) -> None:
    folder = written(tmp_path / "one", functions("before", "after"))
    with pytest.raises(InputError, match=r"needs a before\.cu"):
        read_pair(folder)


def test_what_launches_them_knows_the_same_sides() -> None:
    assert tuple(Side) == SIDES


def test_no_two_pairs_of_either_form_have_one_name() -> None:
    names = [each.name for each in all_pairs()]
    assert len(set(names)) == len(names)
    assert names == sorted(names)


def test_each_folder_of_the_package_with_a_script_is_a_pair() -> None:
    found = {path.parent.name for path in FOLDER.glob("*/*.py") if path.parent.name[0] != "_"}
    assert found == {each.name for each in scripts()}


@pytest.mark.parametrize("pair", scripts(), ids=lambda each: each.name)
def test_each_script_has_what_the_launcher_asks_for(pair: Pair) -> None:
    """The functions of all sides take what ``inputs`` gives, and there is a tolerance."""
    tree = ast.parse(pair.source(Side.BEFORE).read_bytes())
    assert ast.get_docstring(tree)
    found = {each.name: each.args for each in tree.body if isinstance(each, ast.FunctionDef)}
    values = {
        name.id: each.value
        for each in tree.body
        if isinstance(each, ast.Assign)
        for name in each.targets
        if isinstance(name, ast.Name)
    }
    assert isinstance(values["TOLERANCE"], ast.Constant)
    assert isinstance(values["TOLERANCE"].value, float)
    assert found["inputs"].args == []
    taken = [[each.arg for each in found[side].args] for side in pair.sides]
    assert taken == [taken[0]] * len(pair.sides)
    if "expected" in found:
        assert [each.arg for each in found["expected"].args] == taken[0]
    else:
        assert isinstance(values["expected"], ast.Name)


def test_a_change_of_the_script_or_of_what_it_imports_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(FOLDER / "product.py", tmp_path)
    monkeypatch.setattr(scripts_module, "FOLDER", tmp_path)
    script = tmp_path / "pair.py"
    script.write_text("from benchmarks.frameworks.product import product\n", encoding="utf-8")
    known = facts(script, "pair.py", "torch 2.11.0")
    assert list(known.includes or {}) == ["product.py"]
    assert is_same(known, script)
    shared = tmp_path / "product.py"
    shared.write_text(shared.read_text("utf-8") + "# changed\n", encoding="utf-8")
    assert not is_same(known, script)
    shutil.copy(FOLDER / "product.py", tmp_path)
    assert is_same(known, script)
    script.write_text(script.read_text("utf-8") + "# changed\n", encoding="utf-8")
    assert not is_same(known, script)


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in whose name has the other stand-in, for ``ncu``, replay three launches."""
    path = tmp_path / "fixture"
    path.write_text(PYTHON.format(python=sys.executable), encoding="utf-8")
    path.chmod(0o755)
    fated(path)
    monkeypatch.chdir(tmp_path)
    return path


def fated(python: Path, **fates: str) -> None:
    text = json.dumps({name.replace("_", "-"): fate for name, fate in fates.items()})
    python.with_name("fates").write_text(text, encoding="utf-8")


def calls(python: Path) -> list[list[str]]:
    text = python.with_name("calls").read_text("utf-8")
    return [json.loads(line)[2:] for line in text.splitlines()]


def lines_of(python: Path, names: Sequence[str]) -> dict[str, str]:
    """What comes of each pair: its median in milliseconds, or why there is none."""
    found = {}
    with Interrupts() as interrupts:
        stopwatch = Stopwatch(str(python), interrupts, names)
        for pair in choose(scripts(), names):
            try:
                times = stopwatch.line(pair, Side.AFTER).times_ns
                found[pair.name] = f"{times[0] / 1e6:.1f}"
            except InputError as error:
                found[pair.name] = error.what
    return found


THREE = (FAST, SLOW, "triton-product-unsplit")


def test_all_pairs_are_timed_by_one_process(python: Path) -> None:
    assert set(lines_of(python, THREE).values()) == {"0.5"}
    (words,) = calls(python)
    assert words[: words.index("--into")] == ["time", *THREE]


@pytest.mark.parametrize(
    ("fate", "told", "processes"),
    [
        ("wrong", "before is off", 1),
        ("crash", "Segmentation fault", 3),
        ("hang", "the program was still running after 1.3 s and was killed", 3),
    ],
)
@pytest.mark.slow("processes that hang")
def test_one_that_fails_leaves_the_others(
    python: Path, monkeypatch: pytest.MonkeyPatch, fate: str, told: str, processes: int
) -> None:
    monkeypatch.setattr(scripts_module, "START_S", 0.7)
    monkeypatch.setattr(scripts_module, "EACH_S", 0.3)
    fated(python, torch_scatter_add_few_targets=fate)
    found = lines_of(python, THREE)
    assert found.pop(SLOW) == f"it was not timed: {told}"
    assert set(found.values()) == {"0.5"}
    assert len(calls(python)) == processes


def test_a_python_without_torch_is_told_at_once(python: Path) -> None:
    fated(python, **{FAST.replace("-", "_"): "no torch"})
    with pytest.raises(MissingToolError, match="No module named 'torch'") as caught:
        lines_of(python, THREE)
    assert "--python" in str(caught.value.hint)
    assert len(calls(python)) == 1


NCU = """#!{python}
# The stand-in knows no ranges: they are kept beside, and every launch is in them.
import os, sys
from pathlib import Path

words = sys.argv[1:]
if "--nvtx-include" in words:
    at = words.index("--nvtx-include")
    Path(__file__).with_name("ranges").write_text(words[at + 1])
    assert words[at - 1] == "--nvtx"
    del words[at - 1 : at + 2]
os.execv(sys.executable, [sys.executable, {stand_in!r}, *words])
"""


@pytest.mark.slow("a process that is profiled")
def test_a_side_is_profiled_in_its_range(
    tmp_path: Path, python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ncu = tmp_path / "ncu"
    ncu.write_text(NCU.format(python=sys.executable, stand_in=str(STAND_IN)), encoding="utf-8")
    ncu.chmod(0o755)
    monkeypatch.setenv("KERNELPROF_NCU", str(ncu))
    here = LocalMachine((H200,), "580.159.04", "13.0")
    monkeypatch.setattr("kernelprof.collect.environment.query_machine", lambda: here)
    fated(python, torch_product_bfloat16="crash")
    pairs, captures = choose(scripts(), [FAST, SLOW]), tmp_path / "captures"
    plan, said = Plan(pairs, captures, python=str(python)), list[str]()
    (failure,) = measure(plan, said.append)
    assert failure.target == f"benchmarks/frameworks/{FAST}/pair.py"
    assert failure.error.what == "it was not timed: Segmentation fault"
    assert [line.partition(" (")[0].partition(", ")[0] for line in said] == [
        f"1 of 3: {FAST}/before: failed: it was not timed: Segmentation fault",
        f"2 of 3: {SLOW}/before: 1 ms",
        f"3 of 3: {SLOW}/after: 500.0 µs",
    ]
    assert (tmp_path / "ranges").read_text("utf-8") == "measured/"
    assert calls(python)[-2:] == [["once", SLOW, "before"], ["once", SLOW, "after"]]

    (pair,) = choose(pairs, [SLOW])
    folder = place(captures, pair, Side.AFTER)
    manifest = read_manifest(folder)
    assert manifest.target == (f"benchmarks/frameworks/{SLOW}/pair.py",)
    assert manifest.source is not None
    assert manifest.source.compiler == "torch 2.11.0, triton 3.6.0"
    assert manifest.timing is not None
    assert manifest.timing.median_ns == pytest.approx(5e5, rel=1e-3)
    assert manifest.correctness is not None
    assert manifest.correctness.largest_error == 0.001
    assert str(tmp_path) not in (folder / "manifest.json").read_text("utf-8")
    assert len(read_stored(folder)) == 3
    assert all(is_measured(captures, pair, side) for side in pair.sides)
    assert not is_measured(captures, pairs[0], Side.BEFORE)
    said.clear()
    assert measure(plan, said.append)[0].target == failure.target
    assert [line.partition(": ")[2].partition(" (")[0] for line in said[1:]] == [
        f"{SLOW}/before: unchanged",
        f"{SLOW}/after: unchanged",
    ]


@pytest.mark.parametrize("launch", ["8", "24"])
def test_of_several_launches_one_is_kept_for_the_other_analyzers(launch: str) -> None:
    """They are asked about one launch; in these pages there are many, of PyTorch and Triton."""
    raw, details = (
        gzip.decompress((CAPTURES / "validation" / f"frameworks.{name}.csv.gz").read_bytes())
        for name in ("base-units.raw", "details")
    )
    assert raw.count(b"\n") > 10
    found = read_launch(of_launch(raw, launch).decode(), "raw")
    assert found["ID"] == launch
    rules = read_rules(of_launch(details, launch).decode(), "details")
    assert {each.rule for each in rules} > {"SOLBottleneck"}
