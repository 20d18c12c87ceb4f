"""Results at the real sizes, of some blocks of both versions."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.comparison.predicted import CHANGED, COUNTS, TEXT, kernel, predicted, side

from kernelprof.comparison.compare import compare_snapshots
from kernelprof.comparison.gate.judge import judge_comparison
from kernelprof.comparison.gate.policy import load_policy
from kernelprof.model.gate import Code
from kernelprof.model.prediction import OutputSample, PathCoverage

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.model.snapshot import KernelSnapshot

OLD = OutputSample("y", "a", 1e-3, (7, 1, 4), (3.0, -4.0, 0.0))


def version(text: str, code: str, *outputs: OutputSample) -> KernelSnapshot:
    counts = replace(predicted(text, code=code), coverage=PathCoverage(), outputs=outputs)
    result: KernelSnapshot = kernel(counts, **COUNTS)
    return result


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({}, ""),
        ({"values": (3.001, -4.0, 0.0)}, ""),
        ({"values": (3.0, -4.02, 0.0)}, "y[1] is -4.02, previously -4"),
        ({"values": (3.1, -4.2, 0.0)}, "y[1] is -4.2, previously -4"),
        ({"values": (3.0, -4.0, 0.001)}, ""),  # beside values of 3 and 4 that is nothing
        ({"values": (3.0, -4.0, 0.01)}, "y[4] is 0.01, previously 0"),
        ({"values": (None, -4.0, 0.0)}, "y[7] is no finite number, previously 3"),
        ({"places": (8, 2, 5)}, ""),
        ({"places": (8, 1, 5), "values": (9.0, 9.0, 9.0)}, "y[1] is 9, previously -4"),
        ({"values": (9.0, 9.0, 9.0), "inputs": "b"}, ""),
        ({"values": (9.0, 9.0, 9.0), "name": "z"}, ""),
        ({"values": (3.0, -4.02, 0.0), "tolerance": 0.01}, ""),
    ],
)
def test_values_differ_by_more_than_the_tolerances(change: dict[str, Any], differs: str) -> None:
    new = replace(OLD, **change)
    sides = side(version(TEXT, "a", OLD)), side(version(CHANGED, "b", new))
    result = judge_comparison(compare_snapshots(*sides), load_policy({}))
    findings = [each.text for each in result.kernels[0].findings if each.code is Code.NOT_COVERED]
    expected = f"the result differs at the real sizes: {differs}; changed: k.cu:2"
    assert findings == [expected] * bool(differs)


SOURCE = """\
// /// kernelprof
// kernel = "twice"
// grid = ["ceil_div(n, 256)"]
// block = [256]
// reference = "none"
//
// [sizes]
// n = 1048576
//
// [check]
// sizes = { n = 5000 }
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["n"]
// fill = "random"
//
// [[arguments]]
// name = "y"
// type = "float32"
// shape = ["n"]
// output = true
//
// [[arguments]]
// name = "n"
// type = "int32"
// value = "n"
// ///
__global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i] + (i >> 30);
}
"""
WRONG = SOURCE.replace("i >> 30", "i >> 17")
ADDED = SOURCE.replace("y[i] = 2.0f * x[i] + (i >> 30)", "atomicAdd(y + i, x[i])").replace(
    "output = true", 'output = true\n// fill = "zeros"'
)


def test_a_baseline_keeps_values_that_a_wrong_candidate_differs_from(
    kernelprof, tmp_path: Path
) -> None:
    before, saved = tmp_path / "a.cu", tmp_path / "saved.json"
    before.write_text(SOURCE, "utf-8")
    kernelprof(f"baseline save {before} --predict -o {saved}")
    outputs = json.loads(saved.read_text("utf-8"))["kernels"][0]["predicted"]["outputs"]
    assert [each["extreme"] for each in outputs] == [False, True]
    for output in outputs:
        assert (output["name"], len(output["places"]), output["tolerance"]) == ("y", 1024, 1e-5)
    before.write_text(WRONG, "utf-8")
    text = "the result differs at the real sizes: y["
    kernelprof(f"gate {saved} {before} --predict", code=3, says=text)


@pytest.mark.parametrize(("source", "digests"), [(SOURCE, 1), (ADDED, 2)])
def test_what_blocks_add_up_together_is_kept_with_a_digest_of_what_they_read(
    kernelprof, tmp_path: Path, source: str, digests: int
) -> None:
    path, saved = tmp_path / "a.cu", tmp_path / "saved.json"
    path.write_text(source, "utf-8")
    kernelprof(f"baseline save {path} --predict -o {saved}")
    counts = json.loads(saved.read_text("utf-8"))["kernels"][0]["predicted"]
    assert [len(each["inputs"].split()) for each in counts["outputs"]] == [digests] * 2


SAME = "a comparison, clamp or mask in this code had only one outcome for all input values tried"


LARGER = "the result differs for much larger input values"


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("x[i]", "fminf(x[i], 1.0f)", SAME),
        ("x[i]", "(x[i] == 0.3f ? 0.0f : x[i])", SAME),
        ("x[i]", "x[i & (__float_as_int(x[i]) | 0xfffff)]", SAME),
        ("(0.5f * x[i] + 0.5f)", "__saturatef(0.5f * x[i] + 0.5f)", LARGER),
        ("(x[i] > 0.25f)", "(x[i] >= 0.25f)", LARGER),
    ],
)
def test_what_only_other_values_show_is_not_covered(
    kernelprof, tmp_path: Path, before: str, after: str, says: str
) -> None:
    versions = tmp_path / "a.cu", tmp_path / "b.cu"
    for path, value in zip(versions, (before, after), strict=True):
        path.write_text(SOURCE.replace("2.0f * x[i] + (i >> 30)", value), "utf-8")
    kernelprof(f"gate {versions[0]} {versions[1]} --predict", code={1, 3}, says=says)


def test_a_clamp_at_the_bound_of_its_values_changes_nothing(kernelprof, tmp_path: Path) -> None:
    versions = tmp_path / "a.cu", tmp_path / "b.cu"
    for path, value in zip(versions, ("n", "max(n, 0)"), strict=True):
        count = "const int n = __popc(__float_as_int(x[i]) & 7);"
        text = SOURCE.replace("if (i < n) y[i] =", f"if (i >= n) return; {{ {count} y[i] =")
        path.write_text(text.replace("(i >> 30);", f"{value}; }}"), "utf-8")
    kernelprof(f"gate {versions[0]} {versions[1]} --predict")
