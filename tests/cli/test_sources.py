"""``kernelprof profile`` and ``diagnose`` of a ``.cu`` file, up to where a GPU would be needed."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest
from tests.support.wheels import without_wheels

from kernelprof.cli.main import main
from kernelprof.collect.environment import LocalMachine
from kernelprof.errors import MissingToolError
from kernelprof.launch.run.prepare import PreparedKernel
from kernelprof.launch.specification.overrides import LaunchOverrides, parse_overrides
from kernelprof.model.manifest import (
    CompilerWarning,
    CorrectnessFacts,
    SourceFacts,
    TimingFacts,
    schema,
)
from kernelprof.prediction import machine_code
from kernelprof.report.measurement import facts
from kernelprof.report.progress import ProgressLine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kernelprof.launch.processes import Interrupts

LADDER = Path(__file__).parents[2] / "cuda" / "ladder"
KERNEL = "__global__ void k(float *a) { a[0] = 1; }\n"


def _names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["x.csv", "--size", "M=4"], "--size is for a kernel that is built from source"),
        (["x.csv", "--define", "TILE"], "--define is for a kernel that is built from source"),
        (["--sanitize", "memcheck", "--", "./app"], "--sanitize is for a kernel that is built"),
        (["k.cu", "--size", "M=abc"], "--size 'M=abc'"),
        (["k.cu", "--size", "M=0"], "--size 'M=0'"),
        (["k.cu", "--size", "M=-4"], "--size 'M=-4'"),
        (["k.cu", "--size", "M=1.5"], "--size 'M=1.5'"),
        (["k.cu", "--size", "M"], "--size 'M'"),
        (["k.cu", "--size", "=4"], "--size '=4'"),
        (["k.cu", "--size", "M=4", "--size", "M=8"], "--size 'M=8' is a second value for M"),
        (["k.cu", "--define", "2X=1"], "--define '2X=1'"),
        (["k.cu", "--sanitize", "foo"], "--sanitize 'foo' is no tool of compute-sanitizer"),
    ],
)
def test_options_for_sources(capsys, arguments, expected) -> None:
    assert main(["diagnose", *arguments]) == 2
    assert expected in capsys.readouterr().err
    before_program = arguments.index("--") if "--" in arguments else len(arguments)
    options = [word for word in arguments[:before_program] if word != "x.csv"]
    program = arguments[before_program:] or ["--", "./app"] * (arguments[0] == "x.csv")
    assert main(["profile", "-o", "out", *options, *program]) == 2
    assert expected in capsys.readouterr().err


def test_options_for_sources_become_wishes() -> None:
    defines = ["A", "B=2", "C=1.5", "D=float4", "E=", "F=-1"]
    found = parse_overrides(["M=64", "N=1"], defines, ["initcheck", "initcheck"], has_source=True)
    values = {"A": 1, "B": 2, "C": 1.5, "D": "float4", "E": "", "F": -1}
    assert found == LaunchOverrides({"M": 64, "N": 1}, values, ("initcheck",))
    assert [type(value) for value in found.defines.values()] == [int, int, float, str, str, int]
    assert parse_overrides(None, [], None, has_source=False) == LaunchOverrides()


@pytest.fixture
def no_gpu(monkeypatch) -> None:
    """A machine without a GPU, and without records."""
    monkeypatch.setattr("kernelprof.collect.environment.query_machine", LocalMachine)
    monkeypatch.setattr("kernelprof.collect.recorded.FOLDERS", ())


@pytest.fixture
def rung(machine) -> Path:
    """A kernel with a launch specification in the folder to work in."""
    return shutil.copy(LADDER / "01_naive.cu", machine / "gemm.cu")


class Preparing:
    """Stands in for building and launching, which need a GPU; ``heard`` is what came of it."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.heard: list[object] = []

    @contextmanager
    def __call__(
        self,
        source: Path,
        overrides: LaunchOverrides,
        interrupts: Interrupts,
        tell: Callable[[str], None],
        **program: object,
    ) -> Iterator[PreparedKernel]:
        assert not any(program.values())
        self.heard.append(("begin", str(source), overrides))
        interrupts.check()
        tell("compiling")
        try:
            if self.error is not None:
                raise self.error
            yield PreparedKernel(
                target=str(source),
                command=("./gemm_series",),
                kernel="^gemm_bad",
                launch_skip=1,
                source=SourceFacts(str(source), "a" * 64, {"kernel": "gemm_bad"}),
                timing=TimingFacts(
                    20, 5, 2.1e6, 2.09e6, 2.13e6, 2.1e6, 2.11e6, flops=137438953472.0
                ),
                correctness=CorrectnessFacts(
                    True, "gemm", 3.1e-7, 1e-5, {"M": 250, "N": 390, "K": 130}
                ),
            )
        finally:
            self.heard.append(("end", Path("out").exists()))


@pytest.fixture
def preparing(monkeypatch) -> Preparing:
    stand_in = Preparing()
    monkeypatch.setattr("kernelprof.launch.run.prepare.prepare", stand_in)
    return stand_in


CHECKED = (
    "kernelprof: checked against gemm in float64 at M=250, N=390, K=130: "
    "error 3.1e-07 (allowed 1e-05)\n"
)
TIMED = (
    "kernelprof: timed: median 2.1 ms (20 launches, 2.09 ms to 2.13 ms; "
    "95 % confidence 2.1 ms to 2.11 ms), 65.45 TFLOP/s\n"
)


@pytest.mark.usefixtures("gpu", "rung")
def test_a_source_is_prepared_and_profiled(machine, capsys, preparing) -> None:
    options = ["--size", "M=64", "--size", "K=32", "--define", "BLOCK=16"]
    options += ["--sanitize", "memcheck", "--sanitize", "racecheck"]
    assert main(["profile", "gemm.cu", "-o", "out", *options]) == 0
    expected = LaunchOverrides({"M": 64, "K": 32}, {"BLOCK": 16}, ("memcheck", "racecheck"))
    assert preparing.heard == [("begin", "gemm.cu", expected), ("end", True)]
    found = json.loads((machine / "out" / "manifest.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(json.loads(schema())).validate(found)
    assert found["target"] == ["gemm.cu"]
    assert found["source"]["specification"] == {"kernel": "gemm_bad"}
    assert found["correctness"]["passed"] is True
    assert found["runs"][0]["launches"] == 1
    assert capsys.readouterr().err.endswith(CHECKED + TIMED)


@pytest.mark.usefixtures("gpu")
def test_a_source_without_a_specification_is_prepared_as_it_is_inferred(
    machine, capsys, preparing
) -> None:
    text = "__global__ void k(float *a, int n) { int i = blockIdx.x * 64 + threadIdx.x; "
    (machine / "gemm.cu").write_text(f"{text}if (i < n) a[i] = 1; }}\n")
    assert main(["profile", "gemm.cu", "-o", "out"]) == 0
    (_, name, overrides), _ = preparing.heard
    assert name == "gemm.cu"
    assert overrides.inferred.spec(machine / "gemm.cu").kernel == "k"
    capsys.readouterr()
    file = machine / "out" / "manifest.json"
    found = json.loads(file.read_text("utf-8"))
    assert found["source"].get("inferred") is None  # of the stand-in
    found["source"]["inferred"] = ["nothing was tried"]
    file.write_text(json.dumps(found), "utf-8")
    assert main(["diagnose", "out", "--format", "json"]) in {0, 3}
    (capture,) = json.loads(capsys.readouterr().out)["captures"]
    assert capture["warnings"][-2].startswith("its launch was inferred from the source: kernel ")
    assert capture["warnings"][-1] == "of the inferred launch: nothing was tried"
    assert capture["inferred"]["remarks"] == ["nothing was tried"]


@pytest.mark.usefixtures("gpu", "rung")
@pytest.mark.slow("several runs")
def test_a_source_is_prepared_anew_for_each_capture(machine, capsys, preparing) -> None:
    assert main(["profile", "gemm.cu", "-o", "out", "--repeat", "2", "--size", "M=64"]) == 0
    wanted = LaunchOverrides({"M": 64}, {}, ())
    assert preparing.heard == [("begin", "gemm.cu", wanted), ("end", False)] * 2
    assert _names(machine / "out") == ["1", "2"]
    err = capsys.readouterr().err
    for number in "12":
        found = json.loads((machine / "out" / number / "manifest.json").read_text("utf-8"))
        assert found["target"] == ["gemm.cu"]
        assert found["timing"]["launches"] == 20
        assert CHECKED.replace("checked", f"out/{number}: checked") in err


@pytest.mark.usefixtures("gpu", "rung", "preparing")
@pytest.mark.parametrize("options", [[], ["--preset", "full"]])
@pytest.mark.slow("several runs")
def test_a_source_is_prepared_and_diagnosed(machine, capsys, options) -> None:
    assert main(["diagnose", "gemm.cu", "--format", "json", *options]) == 0
    out, err = capsys.readouterr()
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
    machine, capsys, preparing, command
) -> None:
    preparing.error = MissingToolError("PyCUDA cannot be imported", hint="pip install pycuda")
    assert main([*command, "gemm.cu"]) == 4
    assert "PyCUDA cannot be imported" in capsys.readouterr().err
    assert [what for what, *_ in preparing.heard] == ["begin", "end"]
    assert _names(machine) == ["gemm.cu", "gemm_series", "quiet"]
    assert _names(machine.parent / "tmp") == []


@pytest.mark.usefixtures("gpu", "rung")
@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["--preset", "ful"], 2, "no preset is called 'ful'"),
        (["--size", "Q=4"], 2, "--size Q: the launch specification has no such name"),
        (["--define", "BLOCK=64"], 2, "4096 threads"),
        (["--keep", "run%i"], 2, "with a % in it"),
        (["--keep", "quiet"], 2, "something of that name"),
    ],
    ids=str,
)
def test_what_can_be_refused_is_refused_before_anything_is_built(
    capsys, preparing, arguments, code, expected
) -> None:
    assert main(["diagnose", "gemm.cu", *arguments]) == code
    assert expected in capsys.readouterr().err
    assert preparing.heard == []


@pytest.mark.usefixtures("gpu", "rung", "no_ncu")
@pytest.mark.parametrize("command", [["profile", "-o", "out"], ["diagnose"]])
def test_ncu_is_looked_for_before_anything_is_built(
    machine, capsys, preparing, command, monkeypatch
) -> None:
    monkeypatch.setenv("PATH", str(machine))
    monkeypatch.setattr("kernelprof.collect.recorded.FOLDERS", ())
    monkeypatch.setattr(machine_code, "find_toolchain", without_wheels)
    assert main([*command, "gemm.cu"]) == 4
    err = capsys.readouterr().err
    assert "this machine has no ncu (Nsight Compute)" in err
    assert "https://developer.nvidia.com/nsight-compute" in err
    assert preparing.heard == []


@pytest.mark.usefixtures("no_gpu", "rung")
def test_a_source_without_a_gpu_gets_the_commands_for_another_machine(capsys, preparing) -> None:
    options = ["--size", "M=64", "--sanitize", "memcheck", "--kernel", "^s", "--preset", "dram"]
    assert main(["profile", "gemm.cu", "-o", "my out", *options]) == 4
    err = capsys.readouterr().err
    assert "this machine has no NVIDIA GPU" in err
    shown = "--size M=64 --sanitize memcheck --preset dram --kernel '^s'"
    assert err.splitlines()[-2:] == [
        f"kernelprof profile gemm.cu {shown} -o 'my out'",
        "kernelprof diagnose 'my out'",
    ]
    assert main(["diagnose", "gemm.cu", *options]) == 4
    err = capsys.readouterr().err
    assert "there is no recorded capture of it" in err
    assert f"\nkernelprof diagnose gemm.cu {shown}\n" in err
    assert f"\nkernelprof profile gemm.cu {shown} -o gemm\nkernelprof diagnose gemm\n" in err
    assert main(["profile", "gemm.cu", "-o", "out", "--repeat", "5"]) == 4
    err = capsys.readouterr().err
    assert "\nkernelprof profile gemm.cu --repeat 5 -o out\nkernelprof diagnose out\n" in err
    assert preparing.heard == []


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("command", [["profile", "-o", "out"], ["diagnose"]])
def test_a_source_that_is_a_program_gets_the_commands_to_build_and_profile_it(
    machine, capsys, command
) -> None:
    (machine / "gemm.cu").write_text(f"{KERNEL}int main() {{ k<<<1, 1>>>(0); }}\n", "utf-8")
    assert main([*command, "gemm.cu"]) == 4
    err = capsys.readouterr().err
    assert "this machine has no NVIDIA GPU" in err
    assert "nvcc -O3 -lineinfo -o gemm gemm.cu" in err
    assert err.endswith(" ./gemm\n")
    given = ["--flags", "-I 'my include' -lcublas", "--", "4096", "a b"]
    assert main([*command[:1], "gemm.cu", *command[1:], *given]) == 4
    err = capsys.readouterr().err
    assert "(nvcc -O3 -lineinfo -I 'my include' -lcublas -o gemm gemm.cu)" in err
    assert err.endswith(" ./gemm 4096 'a b'\n")
    assert main([*command, "gemm.cu", "--size", "M=2"]) == 2
    assert "need a launch specification" in capsys.readouterr().err


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("command", [["profile", "-o", "out"], ["diagnose"]])
def test_a_source_is_read_strictly_without_a_gpu_too(machine, capsys, command) -> None:
    path = machine / "gemm.cu"
    path.write_text(KERNEL.replace("float", "Node"), "utf-8")
    assert main([*command, "gemm.cu"]) == 2
    assert "`kernelprof init gemm.cu` writes what is known" in capsys.readouterr().err
    text = (LADDER / "01_naive.cu").read_text("utf-8")
    path.write_text(text.replace("// flops =", "// flop ="), "utf-8")
    assert main([*command, "gemm.cu"]) == 2
    assert "flop" in capsys.readouterr().err
    path.write_text(text.replace("int N, int K)", "int N)"), "utf-8")
    assert main([*command, "gemm.cu"]) == 2
    assert "has 5 parameters, and the specification 6 arguments" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("timing", "line"),
    [
        (TimingFacts(1, 0, 900.0, 900.0, 900.0), "median 900 ns (1 launch, 900 ns to 900 ns)"),
        (
            TimingFacts(20, 5, 1e6, 9e5, 2e6, flops=2e9, min_bytes=3e9),
            "median 1 ms (20 launches, 900 µs to 2 ms), 2 TFLOP/s, 3 TB/s of necessary traffic",
        ),
        (TimingFacts(20, 5, 1e9, 1e9, 1e9, flops=5e5), "median 1 s (20 launches, 1 s to 1 s), 0.5"),
        (TimingFacts(2, 0, 0.0, 0.0, 0.0, flops=1.0), "median 0 ns (2 launches, 0 ns to 0 ns)"),
    ],
)
def test_times_are_told_from_what_is_known_of_them(timing, line) -> None:
    (told,) = facts(timing, None)
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
    assert facts(None, correctness) == [line]
    assert facts(None, None) == []


def test_what_the_compiler_warns_of_is_told_first() -> None:
    warnings = (CompilerWarning("C7508", "'setmaxnreg' ignored"), CompilerWarning("C7510", "slow"))
    source = SourceFacts("k.cu", "0" * 64, compiler_warnings=warnings)
    assert facts(None, CorrectnessFacts(True), source) == [
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


@pytest.mark.usefixtures("gpu", "rung")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-o", "no/out.txt"], "there is no such folder"),
        (["-o", "."], "it is a folder"),
        (["-o", "-"], "- is not a file"),
        (["--html", "no/out.html"], "there is no such folder"),
        (["--html", "page.html", "-o", "page.html"], "name one file"),
    ],
)
def test_places_are_checked_before_anything_is_measured(capsys, preparing, options, said) -> None:
    assert main(["diagnose", "gemm.cu", *options]) == 2
    assert said in capsys.readouterr().err
    assert preparing.heard == []


@pytest.mark.parametrize("command", [["diagnose"], ["profile", "-o", "out"]])
def test_a_header_is_a_source_too(machine, capsys, command) -> None:
    (machine / "k.cuh").write_text(KERNEL.replace("float", "Node"))
    assert main([*command, "k.cuh"]) == 2
    assert "no launch specification" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["diagnose"], ["profile", "-o", "out"]])
def test_a_folder_and_a_pipe_are_named(machine, capsys, command) -> None:
    (machine / "x.cu").mkdir()
    os.mkfifo(machine / "y.cu")
    for name, said in (
        ("x.cu", "this is a folder"),
        ("y.cu", "this is a pipe"),
        ("z.cu", "no such"),
    ):
        assert main([*command, name]) == 2
        err = capsys.readouterr().err
        assert said in err
        assert "  next: " in err


MISTAKEN = """// /// kernelprof
// kernel = "{kernel}"
// block = [1]
// grid = [1]
// reference = "none"
// arguments = [{{ name = "a", type = "float32", shape = [4], fill = "{fill}" }}]
// ///
{source}
"""


@pytest.mark.parametrize(
    ("kernel", "fill", "source", "said"),
    [
        ("k<3>", "zeros", KERNEL, "k is not a template"),
        ("k", "zeros", "template <int N> " + KERNEL, "its arguments are missing"),
        ("k", "no.npy", KERNEL, "filled from no.npy"),
        ("k<double>", "zeros", "template <class T> " + KERNEL.replace("float", "T"), "of float64"),
    ],
)
@pytest.mark.usefixtures("no_gpu", "machine")
def test_mistakes_are_found_without_a_gpu(capsys, kernel, fill, source, said) -> None:
    Path("k.cu").write_text(MISTAKEN.format(kernel=kernel, fill=fill, source=source))
    assert main(["diagnose", "k.cu"]) == 2
    assert said in capsys.readouterr().err
