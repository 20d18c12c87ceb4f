"""Kernels of other people: their specifications, and the table of what came of them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.predict.others import times
from benchmarks.predict.others.__main__ import document, outcome, row
from benchmarks.predict.others.kernels import all_kernels, choose
from benchmarks.predict.others.measure import named_causes
from benchmarks.predict.others.times import MEASURED, is_in_view

from kernelprof.errors import InputError
from kernelprof.launch.specification.reader import load_spec

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.predict.others.kernels import Kernel

KERNELS = {each.name: each for each in all_kernels()}
RIGHT = {
    "stage": "done", "outputs": 1, "blocks": 64, "blocks_run": 8, "seconds": 1.26, "megabytes": 99.9
}  # fmt: skip
WRONG = {"stage": "checking", "error": "LaunchError", "what": "wrong:\n/tmp/a/b.cu:3 | x"}
STOPPED = {"stage": "compiling", "error": "CompileError", "what": "no <x.h>"}
VERDICT = {"bottleneck": "atomic-contention", "confidence": "high", "causes": []}
CLOSE = {
    "bottleneck": "small-grid",
    "confidence": "low",
    "causes": [{"bottleneck": "small-grid", "gain": 2.0}],
}
DOUBLE = """\
extern "C" __global__ void twice(const float* x, float* y, int n) {
    y[threadIdx.x] = 2 * x[threadIdx.x];
}
"""
SPECIFICATION = """\
kernel = "twice"
block = [32]
grid = [1]
reference = "reference:expected"
[sizes]
n = 32
[[arguments]]
name = "x"
type = "float32"
shape = ["n"]
[[arguments]]
name = "y"
type = "float32"
shape = ["n"]
output = true
[[arguments]]
name = "n"
type = "int32"
value = "n"
"""


def checkout(kernel: Kernel, folder: Path) -> Path:
    """A checkout with nothing but an empty source."""
    _, _, name = kernel.repository.name.partition("/")
    source = folder / name / kernel.folder / kernel.source
    source.parent.mkdir(parents=True)
    source.write_text("", encoding="utf-8")
    for each in kernel.beside:
        (folder / name / each).mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.parametrize("name", KERNELS)
def test_each_has_a_specification_and_a_place_to_stand(name: str, tmp_path: Path) -> None:
    kernel = KERNELS[name]
    source = kernel.lay_out(checkout(kernel, tmp_path / "from"), tmp_path / "to")
    spec = load_spec(source)
    module, _, _ = spec.reference.partition(":")
    assert not spec.reference.partition(":")[1] or (source.parent / f"{module}.py").is_file()
    assert spec.resolve(spec.check_sizes).block


def test_there_are_some_of_many_projects_and_their_commits_are_known() -> None:
    assert len(KERNELS) >= 100
    repositories = {each.repository for each in KERNELS.values()}
    assert len(repositories) >= 25
    assert all(re.fullmatch("[0-9a-f]{40}", each.commit) for each in repositories)


def test_inputs_of_another_kernel_are_laid_beside_the_source(tmp_path: Path) -> None:
    kernel = KERNELS["bfscuda-queue"]
    folder = tmp_path / "bfs-cuda" / kernel.folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / kernel.source).touch()
    laid = kernel.lay_out(tmp_path, tmp_path / "to").parent
    shared = KERNELS[kernel.inputs].home / "reference.py"
    assert (laid / "reference.py").read_bytes() == shared.read_bytes()


def test_measured_kernels_are_in_two_halves_by_repository() -> None:
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    assert measured.keys() <= KERNELS.keys()
    halves = [is_in_view(KERNELS[name].repository) for name in measured]
    assert (halves.count(True), halves.count(False)) == (22, 77)
    (one,) = choose(["coffee-histogram"])
    text = times.document(
        [
            times.Row(one, 100.0, VERDICT, 140.0, VERDICT),
            times.Row(one, 100.0, VERDICT, 50.0, VERDICT | {"bottleneck": None}),
            times.Row(one, 100.0, VERDICT, 50.0, CLOSE, named={"small-grid": 1.4}),
            times.Row(one, 100.0, VERDICT, 50.0, CLOSE, named={"small-grid": 1.3}),
            times.Row(one, 100.0, VERDICT, 50.0, CLOSE, named={"small-grid": None}),
            times.Row(one, 100.0, VERDICT, error="it crashed"),
        ]
    )
    assert "| in view | 6 | 5 | 0 | 1 | 48 % | 1 | 4 | 1 | 1 of 2 |" in text
    assert "| held out | 0 | 0 | 0 | 0 | 0 % | 0 | 0 | 0 | 0 of 0 |" in text


def test_causes_of_measured_values_are_those_of_their_diagnosis() -> None:
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    for name, named in (
        ("samples-matrix-mul", {"shared-memory-throughput", "small-grid"}),
        ("llmc-gelu-forward", {"memory-latency"}),
    ):
        assert named_causes(measured[name]["values"]).keys() == named


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        KERNELS["llmc-adamw"].lay_out(tmp_path, tmp_path / "to")
    with pytest.raises(InputError, match="no kernel 'nobody'"):
        choose(["nobody"])


def test_the_table_counts_those_that_are_right_and_tells_mistakes_of_kernels() -> None:
    names = ("llmc-adamw", "samples-tensor-bf16", "llmc-trimat")
    found: list[tuple[Kernel, dict[str, Any]]] = list(
        zip(map(KERNELS.__getitem__, names), (RIGHT, WRONG, STOPPED), strict=True)
    )
    text = document(found, "sm_90")
    assert "Of 3 kernels 1 run for `sm_90` and give what their reference does. In 1 more" in text
    assert "- **samples-tensor-bf16**: " in text
    assert row(*found[0]).endswith(" | yes | yes | 1.3 | 100 | 8 of 64 |  |")
    assert row(*found[1]).endswith(r" | yes | no |  |  |  | wrong: b.cu:3 \| x |")
    assert row(*found[2]).endswith(" | no |  |  |  |  | no <x.h> |")


@pytest.mark.parametrize(
    ("factor", "right"),
    [(2, True), pytest.param(3, False, marks=pytest.mark.slow("one more process"))],
)
def test_a_kernel_is_predicted_in_a_process_of_its_own(
    factor: int, right: bool, tmp_path: Path
) -> None:
    source = tmp_path / "twice.cu"
    source.write_text(DOUBLE, encoding="utf-8")
    source.with_suffix(".toml").write_text(SPECIFICATION, encoding="utf-8")
    (tmp_path / "reference.py").write_text(f"def expected(x):\n    return {factor} * x\n")
    found = outcome(source, "sm_90", 60)
    assert found["stage"] == ("done" if right else "checking")
    assert ("wrong" in found.get("what", "")) != right
    kernel = KERNELS["llmc-adamw"]
    assert f" | yes | {'yes' if right else 'no'} | " in row(kernel, found)


@pytest.mark.slow("a process that hangs")
def test_a_kernel_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    source = tmp_path / "twice.cu"
    source.write_text(DOUBLE, encoding="utf-8")
    source.with_suffix(".toml").write_text(SPECIFICATION, encoding="utf-8")
    (tmp_path / "reference.py").write_text("while True:\n    pass\n")
    assert outcome(source, "sm_90", 3)["what"] == "not done after 3 s of CPU time"
