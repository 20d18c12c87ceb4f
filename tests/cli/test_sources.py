"""``kernelprof profile`` and ``diagnose`` of a ``.cu`` file, up to where a GPU would be needed."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from tests.support.schemas import manifest_schema
from tests.support.wheels import without_wheels

from kernelprof.errors import MissingToolError
from kernelprof.launch.specification.overrides import LaunchOverrides, parse_overrides
from kernelprof.model.manifest import (
    CompilerWarning,
    CorrectnessFacts,
    SourceFacts,
    TimingFacts,
)
from kernelprof.prediction import machine_code
from kernelprof.report.measurement import measurement_facts
from kernelprof.report.progress import ProgressLine

LADDER = Path(__file__).parents[2] / "cuda" / "ladder"
KERNEL = "__global__ void k(float *a) { a[0] = 1; }\n"


def _names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_options_for_sources_become_wishes() -> None:
    defines = ["A", "B=2", "C=1.5", "D=float4", "E=", "F=-1"]
    found = parse_overrides(["M=64", "N=1"], defines, ["initcheck", "initcheck"], has_source=True)
    values = {"A": 1, "B": 2, "C": 1.5, "D": "float4", "E": "", "F": -1}
    assert found == LaunchOverrides({"M": 64, "N": 1}, values, ("initcheck",))
    assert [type(value) for value in found.defines.values()] == [int, int, float, str, str, int]
    assert parse_overrides(None, [], None, has_source=False) == LaunchOverrides()


CHECKED = (
    "kernelprof: checked against gemm in float64 at M=250, N=390, K=130: "
    "error 3.1e-07 (allowed 1e-05)\n"
)
TIMED = (
    "kernelprof: timed: median 2.1 ms (20 launches, 2.09 ms to 2.13 ms; "
    "95 % CI 2.1 ms to 2.11 ms), 65.45 TFLOP/s\n"
)


@pytest.mark.usefixtures("gpu", "rung")
def test_a_source_is_prepared_and_profiled(kernelprof, machine, preparing) -> None:
    options = ["--size", "M=64", "--size", "K=32", "--define", "BLOCK=16"]
    options += ["--sanitize", "memcheck", "--sanitize", "racecheck"]
    err = kernelprof("profile gemm.cu -o out", *options).err
    expected = LaunchOverrides({"M": 64, "K": 32}, {"BLOCK": 16}, ("memcheck", "racecheck"))
    assert preparing.heard == [("begin", "gemm.cu", expected), ("end", True)]
    found = json.loads((machine / "out" / "manifest.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(json.loads(manifest_schema())).validate(found)
    assert found["target"] == ["gemm.cu"]
    assert found["source"]["specification"] == {"kernel": "gemm_bad"}
    assert found["correctness"]["passed"] is True
    assert found["runs"][0]["launches"] == 1
    assert err.endswith(CHECKED + TIMED)


@pytest.mark.usefixtures("gpu")
def test_a_source_without_a_specification_is_prepared_as_it_is_inferred(
    kernelprof, machine, preparing
) -> None:
    text = "__global__ void k(float *a, int n) { int i = blockIdx.x * 64 + threadIdx.x; "
    (machine / "gemm.cu").write_text(f"{text}if (i < n) a[i] = 1; }}\n")
    kernelprof("profile gemm.cu -o out")
    (_, name, overrides), _ = preparing.heard
    assert name == "gemm.cu"
    assert overrides.inferred.spec(machine / "gemm.cu").kernel == "k"
    file = machine / "out" / "manifest.json"
    found = json.loads(file.read_text("utf-8"))
    assert found["source"].get("inferred") is None  # of the stand-in
    found["source"]["inferred"] = ["nothing was tried"]
    file.write_text(json.dumps(found), "utf-8")
    (capture,) = kernelprof.json("diagnose out", code={0, 3})["captures"]
    assert capture["warnings"][-2].startswith("the launch was inferred from the source: kernel ")
    assert capture["warnings"][-1] == "about the inferred launch: nothing was tried"
    assert capture["inferred"]["remarks"] == ["nothing was tried"]


@pytest.mark.usefixtures("gpu", "rung")
@pytest.mark.slow("several runs")
def test_a_source_is_prepared_anew_for_each_capture(kernelprof, machine, preparing) -> None:
    err = kernelprof("profile gemm.cu -o out --repeat 2 --size M=64").err
    wanted = LaunchOverrides({"M": 64}, {}, ())
    assert preparing.heard == [("begin", "gemm.cu", wanted), ("end", False)] * 2
    assert _names(machine / "out") == ["1", "2"]
    for number in "12":
        found = json.loads((machine / "out" / number / "manifest.json").read_text("utf-8"))
        assert found["target"] == ["gemm.cu"]
        assert found["timing"]["launches"] == 20
        assert CHECKED.replace("checked", f"out/{number}: checked") in err


@pytest.mark.usefixtures("gpu", "rung", "preparing")
@pytest.mark.parametrize("options", [[], ["--preset", "full"]])
@pytest.mark.slow("several runs")
def test_a_source_is_prepared_and_diagnosed(machine, kernelprof, options) -> None:
    printed = kernelprof("diagnose gemm.cu --format json", *options)
    out, err = printed.out, printed.err
    found = json.loads(out)
    assert [kernel["verdict"]["bottleneck"] for kernel in found["kernels"]] == [
        "uncoalesced-global-access"
    ]
    assert found["captures"][0]["origin"] == "gemm.cu"
    assert err.startswith(CHECKED + TIMED)
    assert ("kernelprof: run 1: preset triage" in err) is (options == [])
    assert _names(machine) == ["gemm.cu", "gemm_series", "quiet"]


@pytest.mark.usefixtures("gpu", "rung")
@pytest.mark.parametrize("command", [["profile", "-o", "out"], ["diagnose", "--keep", "out"]])
def test_a_source_that_cannot_be_prepared_leaves_nothing(
    machine, kernelprof, preparing, command
) -> None:
    preparing.error = MissingToolError("PyCUDA cannot be imported", hint="pip install pycuda")
    kernelprof(*command, "gemm.cu", code=4, err="PyCUDA cannot be imported")
    assert [what for what, *_ in preparing.heard] == ["begin", "end"]
    assert _names(machine) == ["gemm.cu", "gemm_series", "quiet"]
    assert _names(machine.parent / "tmp") == []


@pytest.mark.usefixtures("gpu", "rung", "no_ncu")
@pytest.mark.parametrize("command", [["profile", "-o", "out"], ["diagnose"]])
def test_ncu_is_looked_for_before_anything_is_built(
    machine, kernelprof, preparing, command, monkeypatch
) -> None:
    monkeypatch.setenv("PATH", str(machine))
    monkeypatch.setattr("kernelprof.collect.recorded.FOLDERS", ())
    monkeypatch.setattr(machine_code, "find_toolchain", without_wheels)
    kernelprof(
        *command,
        "gemm.cu",
        code=4,
        err=[
            "this machine has no ncu (Nsight Compute)",
            "https://developer.nvidia.com/nsight-compute",
        ],
    )
    assert preparing.heard == []


@pytest.mark.parametrize(
    ("timing", "line"),
    [
        (TimingFacts(1, 0, 900.0, 900.0, 900.0), "median 900 ns (1 launch, 900 ns to 900 ns)"),
        (
            TimingFacts(20, 5, 1e6, 9e5, 2e6, flops=2e9, min_bytes=3e9),
            "median 1 ms (20 launches, 900 µs to 2 ms), 2 TFLOP/s, effective bandwidth 3 TB/s",
        ),
        (TimingFacts(20, 5, 1e9, 1e9, 1e9, flops=5e5), "median 1 s (20 launches, 1 s to 1 s), 0.5"),
        (TimingFacts(2, 0, 0.0, 0.0, 0.0, flops=1.0), "median 0 ns (2 launches, 0 ns to 0 ns)"),
    ],
)
def test_times_are_told_from_what_is_known_of_them(timing, line) -> None:
    (told,) = measurement_facts(timing, None)
    assert told.startswith(f"timed: {line}")


@pytest.mark.parametrize(
    ("correctness", "line"),
    [
        (CorrectnessFacts(True), "checked against a reference"),
        (
            CorrectnessFacts(True, "mine:f", 0.0, 0.5),
            "checked against mine:f: error 0 (allowed 0.5)",
        ),
        (CorrectnessFacts(False, "sum", 2.5), "differs from sum in float64: error 2.5"),
    ],
)
def test_a_check_is_told_from_what_is_known_of_it(correctness, line) -> None:
    assert measurement_facts(None, correctness) == [line]
    assert measurement_facts(None, None) == []


def test_what_the_compiler_warns_of_is_told_first() -> None:
    warnings = (CompilerWarning("C7508", "'setmaxnreg' ignored"), CompilerWarning("C7510", "slow"))
    source = SourceFacts("k.cu", "0" * 64, compiler_warnings=warnings)
    assert measurement_facts(None, CorrectnessFacts(True), source) == [
        "the compiler warns (C7508): 'setmaxnreg' ignored",
        "the compiler warns (C7510): slow",
        "checked against a reference",
    ]


def test_progress_says_what_is_done_before_the_first_run() -> None:
    with ProgressLine(shown=True) as progress:
        progress.say("gemm.cu:\x1b compiling")
        (task,) = progress._display.tasks
        assert task.description == "gemm.cu:\\x1b compiling"
        progress.begin("Preset triage")
        assert task.description == "Preset triage: the program starts"
    with ProgressLine(shown=False) as progress:
        progress.say("compiling")
