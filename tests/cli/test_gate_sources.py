"""A baseline of several kernels, and one source of them at a time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.cli.test_predict import changed

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any


SCALE = """\
// /// kernelprof
// kernel = "scale"
// block = [128]
// grid = ["ceil_div(n, 128)"]
// reference = "none"
//
// [sizes]
// n = 4096
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["n"]
// fill = "random"
// output = true
//
// [[arguments]]
// name = "n"
// type = "int32"
// value = "n"
// ///
__global__ void scale(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2.0f;
}
"""


@pytest.fixture
def both(work: Path, kernelprof) -> Path:
    """A folder with two sources and a baseline of both."""
    (work / "scale.cu").write_text(SCALE, "utf-8")
    save = "baseline save matvec.cu scale.cu --predict -o b.json"
    kernelprof(save)
    return work


@pytest.mark.slow("several predictions")
def test_a_source_is_judged_by_its_own_entry_alone(kernelprof, both: Path) -> None:
    found = kernelprof.json("gate b.json scale.cu")
    assert [each["name"] for each in found["kernels"]] == ["scale"]
    assert [(each["code"], each["text"]) for each in found["findings"]] == [
        ("ignored", "kernels not judged, because their sources were not named: matvec")
    ]
    (both / "elsewhere").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(both / "elsewhere")
        kernelprof("gate ../b.json ../scale.cu")

    (both / "matvec.cu").unlink()
    found = kernelprof.json("gate b.json scale.cu", code=3)
    assert _codes(found) == {"matvec": ["vanished"], "scale": ["same-code"]}


@pytest.mark.slow("several predictions")
def test_an_update_by_one_source_keeps_the_others(kernelprof, both: Path) -> None:
    held = _kernels(both)
    slower = SCALE.replace("x[i] *= 2.0f", "x[i] = x[i] * 2.0f + 0.0f * x[n - 1 - i]")
    (both / "scale.cu").write_text(slower, "utf-8")
    kernelprof("baseline update b.json scale.cu", code=1)
    accept = "baseline accept b.json scale.cu --reason 'a test'"
    kernelprof(accept)
    accepted = _kernels(both)
    assert accepted.keys() == held.keys() == {"matvec", "scale"}
    assert accepted["matvec"] == held["matvec"]
    assert accepted["scale"] != held["scale"]
    (both / "scale.cu").write_text(SCALE, "utf-8")
    kernelprof("baseline update b.json scale.cu")
    assert _without_outputs(_kernels(both)) == _without_outputs(held)


def test_an_architecture_that_the_baseline_lacks_is_refused(kernelprof, both: Path) -> None:
    name = changed(both)
    kernelprof(
        f"gate b.json {name} --arch sm_80,sm_90",
        code=2,
        err="the baseline contains predictions for sm_90, but none for sm_80",
    )


def _codes(found: dict[str, Any]) -> dict[str, list[str]]:
    return {each["name"]: [one["code"] for one in each["findings"]] for each in found["kernels"]}


def _without_outputs(kernels: dict[str, Any]) -> dict[str, Any]:
    """Without the values of outputs: a gate keeps what blocks of both versions write."""
    return {
        name: {**each, "predicted": {**each["predicted"], "outputs": []}}
        for name, each in kernels.items()
    }


def _kernels(folder: Path) -> dict[str, Any]:
    held = json.loads((folder / "b.json").read_text("utf-8"))
    return {each["name"]: each for each in held["kernels"]}
