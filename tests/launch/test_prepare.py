"""From a source to a command for ``ncu``: all that the launching process is needed for but its GPU.

Where a GPU would be needed, a stand-in for that process says what it said on an H200.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.launch.conftest import stand_in

from kernelprof.errors import ExitCode, InputError, MissingToolError, UsageError
from kernelprof.installation import find_installation
from kernelprof.launch.build.compilation import CompileError
from kernelprof.launch.processes import Interrupts
from kernelprof.launch.run import prepare as prepare_module
from kernelprof.launch.run.prepare import PreparedKernel, last_lines, make_timer, prepare_kernel
from kernelprof.launch.run.trial import LaunchError
from kernelprof.launch.source import launch_hashes
from kernelprof.launch.specification.expressions import SpecError
from kernelprof.launch.specification.overrides import InferredSpecification, LaunchOverrides
from kernelprof.launch.specification.reader import load_spec
from kernelprof.model.manifest import CompilerWarning, CorrectnessFacts, SourceFacts

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES = Path(__file__).parents[1] / "gpu" / "launch"
TIMES = [17000.0 + 32.0 * rank for rank in range(20)]
TRIAL = {
    "gpu": "NVIDIA H200",
    "arch": "sm_90",
    "compiler": "13.0.88",
    "options": ["-arch=sm_90", "-lineinfo"],
    "resources": {
        "registers": 10,
        "shared_bytes": 0,
        "local_bytes": 0,
        "constant_bytes": 0,
        "most_threads": 1024,
        "spill_store_bytes": 4,
        "spill_load_bytes": 8,
    },
    "compiler_warnings": [{"code": "C7508", "text": "'setmaxnreg' ignored", "function": None}],
    "checked": [{"output": "y", "error": 2.8214781328473095e-08, "tolerance": 1e-05}],
    "times_ns": TIMES,
    "error": None,
}
CHILD = """\
import json, sys
from pathlib import Path

here = Path(__file__).parent
with (here / "asked").open("a") as asked:
    asked.write(json.dumps(sys.argv[1:]) + "\\n")
trial = json.loads((here / "says.json").read_text())
if "--trial" in sys.argv and trial is not None:
    Path(sys.argv[sys.argv.index("--trial") + 1]).write_text(json.dumps(trial))
exec((here / "does.py").read_text())
"""


class Child:
    """A stand-in for the launching process: what it says and does, and what it was asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.script = folder / "child.py"
        self.script.write_text(CHILD)
        self.says(TRIAL)
        self.does("")

    def says(self, trial: dict[str, object] | None, **other: object) -> None:
        (self.folder / "says.json").write_text(json.dumps(trial and {**trial, **other}))

    def does(self, code: str) -> None:
        (self.folder / "does.py").write_text(code)

    def asked(self) -> list[list[str]]:
        return [json.loads(line) for line in (self.folder / "asked").read_text().splitlines()]


@pytest.fixture
def child(tmp_path, monkeypatch) -> Child:
    folder = tmp_path / "child"
    folder.mkdir()
    found = Child(folder)
    monkeypatch.setattr(prepare_module, "CHILD", (str(found.script),))
    return found


@pytest.fixture
def right(tmp_path) -> Path:
    return Path(shutil.copy(SOURCES / "right.cu", tmp_path))


def _prepared(source, overrides=None, tell=lambda _: None):
    return prepare_kernel(source, overrides or LaunchOverrides(), Interrupts(), tell)


def _failure(kind, source, overrides=None):
    with pytest.raises(kind) as caught, _prepared(source, overrides):
        pass
    return caught.value


def _cubin(found) -> Path:
    return Path(found.command[found.command.index("--cubin") + 1])


def test_a_specification_beside_it_that_changes_meanwhile_is_refused(right, child) -> None:
    head, _, body = right.read_text().partition("// ///\n")
    lines = [line.removeprefix("//").removeprefix(" ") for line in head.splitlines()[1:]]
    right.with_suffix(".toml").write_text("\n".join(lines) + "\n")
    right.write_text(body)
    child.does(
        "p = Path(sys.argv[1]).with_suffix('.toml'); "
        "p.write_text(p.read_text().replace('4194304', '1048576'))"
    )
    said = _failure(InputError, right)
    assert said.what == "the source was changed while it was measured"


@pytest.mark.usefixtures("child")
def test_everything_that_is_known_of_a_right_kernel(right) -> None:
    told: list[str] = []
    with _prepared(right, tell=told.append) as found:
        folder = _cubin(found).parent
        assert folder.is_dir()
    assert not folder.exists()
    assert told == ["right.cu: compiling, checking and timing"]
    spec = load_spec(right)
    hashes = launch_hashes(right, spec)
    assert found.target == str(right)
    assert (found.kernel, found.launch_skip) == (None, None)
    assert found.source == SourceFacts(
        path=str(right),
        sha256=hashes.source,
        specification=spec.document(),
        specification_sha256=hashes.specification,
        compiler="nvcc 13.0.88",
        compile_flags=("-arch=sm_90", "-lineinfo"),
        compile_sha256=hashes.compile,
        includes={},
        resources=TRIAL["resources"],
        compiler_warnings=(CompilerWarning("C7508", "'setmaxnreg' ignored"),),
    )
    assert found.correctness == CorrectnessFacts(
        passed=True,
        reference="saxpy",
        largest_error=2.8214781328473095e-08,
        tolerance=1e-5,
        sizes={"n": 1000},
    )
    timing = found.timing
    assert (timing.launches, timing.warm_up, timing.times_ns) == (20, 5, tuple(TIMES))
    assert (timing.low_ns, timing.median_ns, timing.high_ns) == (17000.0, 17304.0, 17608.0)
    assert (timing.confidence_low_ns, timing.confidence_high_ns) == (17160.0, 17448.0)
    assert (timing.flops, timing.min_bytes) == (2 * 4194304, 12 * 4194304)


def test_the_command_launches_what_was_tried(right, child) -> None:
    overrides = LaunchOverrides(sizes={"n": 65536})
    with _prepared(right, overrides) as found:
        digest = launch_hashes(right, load_spec(right).changed(sizes={"n": 65536})).digest()
    kept = ["--cubin", str(_cubin(found)), "--expect", digest]
    words = [str(right), "--size", "n=65536", *kept]
    assert found.command == (sys.executable, str(child.script), *words)
    (asked,) = child.asked()
    assert asked == [*words, "--trial", str(_cubin(found).with_name("trial.json"))]
    changed_spec = load_spec(right).changed(sizes={"n": 65536})
    hashes = launch_hashes(right, changed_spec)
    assert found.source.specification == changed_spec.document()
    assert found.source.specification_sha256 == hashes.specification
    assert found.timing.flops == 2 * 65536


def test_an_inferred_launch_is_given_to_the_process(right, child) -> None:
    head, _, body = right.read_text().partition("// ///\n")
    toml = "\n".join(line.removeprefix("//").removeprefix(" ") for line in head.splitlines()[1:])
    document = load_spec(right).document()
    right.write_text(f"{body}int main() {{ return 0; }}\n")
    inferred = InferredSpecification(toml, ("nothing was tried",), "saxpy")
    with _prepared(right, LaunchOverrides(inferred=inferred)) as found:
        file = Path(found.command[-1])
        assert file.read_text() == toml
        assert file.parent == _cubin(found).parent
    assert found.command[-2] == "--specification"
    assert child.asked()[0][-4:-2] == ["--specification", str(file)]
    assert found.source.specification == document
    assert found.source.inferred == ("nothing was tried",)


@pytest.mark.usefixtures("child")
def test_files_that_are_included_are_part_of_it(right) -> None:
    (right.parent / "inc.cuh").write_text("// nothing\n")
    right.write_text(right.read_text() + '#include "inc.cuh"\n')
    with _prepared(right) as found:
        assert found.source.includes == dict(launch_hashes(right, load_spec(right)).includes)
        assert list(found.source.includes) == ["inc.cuh"]


def test_without_a_reference_nothing_was_checked(right, child) -> None:
    child.says(TRIAL, checked=[], compiler=None, resources=None)
    text = right.read_text()
    right.write_text(text.replace('reference = "saxpy"', 'reference = "none"'))
    with _prepared(right) as found:
        assert found.correctness is None
        assert (found.source.compiler, found.source.resources) == (None, None)


def test_the_largest_error_of_several_outputs_counts(right, child) -> None:
    outputs = [("x", 3e-8), ("y", 4e-7), ("z", 0.0)]
    checked = [{"output": name, "error": error, "tolerance": 1e-5} for name, error in outputs]
    child.says(TRIAL, checked=checked)
    with _prepared(right) as found:
        assert found.correctness.largest_error == 4e-7


@pytest.mark.parametrize("code", [2, 4])
def test_an_error_of_the_child_is_passed_on(right, child, code) -> None:
    error = {"what": "no memory", "where": "k.cu, kernel k", "hint": "less", "exit_code": code}
    child.says({**TRIAL, "times_ns": [], "error": error})
    child.does("print('one'); print(); print('two', file=sys.stderr); sys.exit(9)")
    said = _failure(LaunchError, right)
    assert (said.what, said.where) == ("no memory", "k.cu, kernel k")
    assert said.hint == "less\n  one\n  two"
    assert said.exit_code is ExitCode(code)


def test_an_error_without_a_hint_stays_without(right, child) -> None:
    child.says(TRIAL, error={"what": "no", "where": None, "hint": None, "exit_code": 2})
    assert _failure(LaunchError, right).hint is None


@pytest.mark.parametrize(("does", "code"), [("sys.exit(7)", 7), ("os.abort()", -6)])
def test_a_child_that_dies_is_told_with_its_last_lines(right, child, does, code) -> None:
    child.says(None)
    child.does(f"import os\nfor n in range(20): print('line', n, flush=True)\n{does}")
    said = _failure(LaunchError, right)
    assert said.what == f"the process that launches the kernel ended with exit code {code}"
    assert said.where == str(right)
    first, *lines = (said.hint or "").splitlines()
    assert first.startswith(
        f"reproduce the error with: {sys.executable} {child.script} {right} --cubin "
    )
    assert lines == [f"  line {number}" for number in range(8, 20)]


def test_a_child_that_leaves_half_a_file_is_told(right, child) -> None:
    child.does("Path(sys.argv[-1]).write_text('{\"gpu\": ')")
    said = _failure(LaunchError, right)
    assert said.what == "the process that launches the kernel ended with exit code 0"
    assert "\n" not in (said.hint or "")


@pytest.mark.parametrize("what", ["right.cu", "inc.cuh"])
def test_a_source_that_changes_meanwhile_is_refused(right, child, what) -> None:
    (right.parent / "inc.cuh").write_text("// nothing\n")
    right.write_text(right.read_text() + '#include "inc.cuh"\n')
    child.does(f"open(Path(sys.argv[1]).with_name({what!r}), 'a').write('// more\\n')")
    said = _failure(InputError, right)
    assert said.what == "the source was changed while it was measured"
    assert said.where == str(right)


def test_sanitizers_see_the_kernel_at_its_check_sizes(right, child, tmp_path, monkeypatch) -> None:
    (tmp_path / "bin").mkdir()
    stand_in(tmp_path / "bin" / "compute-sanitizer", 'shift 4; exec "$@"')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    told: list[str] = []
    overrides = LaunchOverrides(sizes={"n": 65536}, sanitizers=("memcheck", "racecheck"))
    with _prepared(right, overrides, told.append) as found:
        memcheck, racecheck, _ = child.asked()
    assert memcheck == racecheck == [*found.command[2:], "--only-check"]
    assert told[:2] == ["right.cu: checking with memcheck", "right.cu: checking with racecheck"]
    child.does("sys.exit(86 if '--only-check' in sys.argv else 0)")
    said = _failure(LaunchError, right, overrides)
    assert said.what.startswith("compute-sanitizer (memcheck) reported an error in the kernel")
    assert said.where == str(right)


@pytest.mark.skipif(importlib.util.find_spec("pycuda") is not None, reason="PyCUDA is here")
def test_the_real_child_without_pycuda_names_it(cli_environment, monkeypatch) -> None:
    monkeypatch.setenv("PYTHONPATH", cli_environment["PYTHONPATH"])
    said = _failure(LaunchError, SOURCES / "right.cu")
    assert said.what == "PyCUDA cannot be imported: No module named 'pycuda'"
    assert said.exit_code is ExitCode.ENVIRONMENT
    assert said.hint == f"on a machine with a GPU, run: {find_installation().add_extra('gpu')}"


@pytest.mark.parametrize(
    ("overrides", "unknown", "known"),
    [
        (
            LaunchOverrides(sizes={"N": 64, "n": 64}),
            "--size n",
            "did you mean N? available: M, N, K",
        ),
        (
            LaunchOverrides(defines={"TILES": 8}),
            "--define TILES",
            "did you mean TILE? available: TILE, MODE",
        ),
    ],
)
def test_an_unknown_name_is_refused_with_the_known_ones(
    sgemm_cu, overrides, unknown, known
) -> None:
    with pytest.raises(UsageError) as caught:
        overrides.applied_to(load_spec(sgemm_cu), sgemm_cu)
    said = caught.value
    assert said.what == f"{unknown}: the launch specification has no such name"
    assert (said.where, said.hint) == (str(sgemm_cu), known)


def test_a_specification_without_defines_says_so(right) -> None:
    said = _failure(UsageError, right, LaunchOverrides(defines={"TILE": 8}))
    assert said.hint == "available: none"


def test_known_names_are_changed(sgemm_cu) -> None:
    spec = load_spec(sgemm_cu)
    found = LaunchOverrides(sizes={"N": 64}, defines={"TILE": 8}).applied_to(spec, sgemm_cu)
    assert found == spec.changed(sizes={"N": 64}, defines={"TILE": 8})
    assert found.resolve().grid == (8, 256, 1)
    assert LaunchOverrides().applied_to(spec, sgemm_cu) == spec


def test_a_value_that_cannot_be_launched_is_refused_before(sgemm_cu) -> None:
    with pytest.raises(SpecError, match="2048 threads"):
        LaunchOverrides(defines={"TILE": 128}).applied_to(load_spec(sgemm_cu), sgemm_cu)
    with pytest.raises(SpecError, match="blocks of the grid in y"):
        LaunchOverrides(sizes={"M": 16 * 65536}).applied_to(load_spec(sgemm_cu), sgemm_cu)


def test_a_source_with_neither_specification_nor_main(tmp_path) -> None:
    source = tmp_path / "k.cu"
    source.write_text("__global__ void k(float* a) { a[0] = 1; }\n")
    said = _failure(InputError, source)
    assert "kernelprof init" in (said.hint or "")
    assert said.where == str(source)


@pytest.fixture
def program(tmp_path) -> Path:
    return Path(shutil.copy(SOURCES / "program.cu", tmp_path))


@pytest.mark.usefixtures("no_nvcc")
def test_a_program_needs_nvcc(program) -> None:
    said = _failure(MissingToolError, program)
    assert said.what == "nvcc, the CUDA compiler, is not installed here"
    assert said.exit_code is ExitCode.ENVIRONMENT


@pytest.mark.parametrize(
    "overrides",
    [
        LaunchOverrides(sizes={"n": 1}),
        LaunchOverrides(defines={"n": 1}),
        LaunchOverrides(sanitizers=("memcheck",)),
    ],
    ids=["sizes", "defines", "sanitizers"],
)
def test_a_program_takes_no_wishes(program, overrides) -> None:
    said = _failure(UsageError, program, overrides)
    assert "need a launch specification; this file has its own main() instead" in said.what
    assert said.where == str(program)
    assert "kernelprof diagnose -- ./app" in (said.hint or "")


NVCC = (
    'if [ "$1" = --version ]; then echo "release 13.0, V13.0.88"; exit; fi',
    'echo "$@" > "$0.asked"',
    'while [ "$1" != -o ]; do shift; done; echo built > "$2"',
)


def test_a_program_is_compiled(program, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(stand_in(tmp_path / "nvcc", *NVCC).parent))
    told: list[str] = []
    with _prepared(program, tell=told.append) as found:
        (built,) = found.command
        assert Path(built).read_text() == "built\n"
    assert not Path(built).parent.exists()
    assert told == ["program.cu: compiling"]
    asked = shlex.split((tmp_path / "nvcc.asked").read_text())
    given = ["-arch=native", "-O3", "-lineinfo"]
    assert asked == [*given, "-Xcompiler=@kernelprof.options", "-o", built, "kernel.cu"]
    assert found.target == str(program)
    assert (found.timing, found.correctness) == (None, None)
    source = found.source
    assert source.compiler == "nvcc 13.0.88"
    assert source.compile_flags == ("-arch=native", "-O3", "-lineinfo")
    assert (source.path, source.includes) == (str(program), {})
    assert source.specification is None


def test_a_compiler_without_a_version_is_none(program, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(stand_in(tmp_path / "nvcc", NVCC[2]).parent))
    with _prepared(program) as found:
        assert found.source.compiler is None


def test_a_program_that_does_not_compile(program, tmp_path, monkeypatch) -> None:
    message = f'{program}(17): error: identifier "n" is undefined'
    stand_in(tmp_path / "nvcc", f"echo '{message}'", "exit 2")
    monkeypatch.setenv("PATH", str(tmp_path))
    said = _failure(CompileError, program)
    assert said.what == f"the program does not compile:\n{message}"
    assert said.where == f"{program}:17"
    assert "kernelprof diagnose -- ./app" in (said.hint or "")


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        (b"", ""),
        (b"\n \n", ""),
        (b"one\n\n  two\n", "\n  one\n    two"),
        (b"a\xffb\n", "\n  a\ufffdb"),
        (b"".join(b"%d\n" % n for n in range(14)), "".join(f"\n  {n}" for n in range(2, 14))),
    ],
)
def test_the_last_lines(printed, shown) -> None:
    assert last_lines(printed) == shown


ANSWERS = """
import sys
from kernelprof.launch.processes import serve_requests
assert sys.argv[-1] == "--answer"
serve_requests(lambda question: {"times_ns": [question["sizes"]["N"]] * question["count"]})
"""
FAILS = """
from kernelprof.launch.processes import serve_requests
error = {"what": "too little memory", "where": "k.cu", "hint": "smaller sizes", "exit_code": 4}
serve_requests(lambda question: {"error": error})
"""


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    with Interrupts() as found:
        yield found


def _prepared_for_timer(code: str) -> PreparedKernel:
    return PreparedKernel("k.cu", (sys.executable, "-P", "-c", code))


def test_times_at_the_sizes_and_as_many_as_asked_for(interrupts: Interrupts) -> None:
    with make_timer(_prepared_for_timer(ANSWERS), interrupts) as times:
        assert times({"N": 64}, 3) == [64.0, 64.0, 64.0]
        assert times({"N": 128}, 1) == [128.0]


@pytest.mark.parametrize(
    ("code", "limit_s", "what", "hint", "exit_code"),
    [
        (FAILS, 60, "too little memory", "smaller sizes", ExitCode.ENVIRONMENT),
        (
            "print('it faulted')",
            60,
            "timing the kernel failed: the process ended without a response",
            "reproduce the error with: .*\n  it faulted",
            ExitCode.BAD_INPUT,
        ),
        (
            "import time; time.sleep(600)",
            0.2,
            "timing the kernel failed: the process did not answer within 0.2 s",
            "use smaller sizes.*",
            ExitCode.BAD_INPUT,
        ),
    ],
    ids=["error", "end", "silence"],
)
def test_what_goes_wrong_while_it_is_timed_is_an_error_of_the_kernel(  # noqa: PLR0917
    interrupts: Interrupts, monkeypatch: pytest.MonkeyPatch, code, limit_s, what, hint, exit_code
) -> None:
    monkeypatch.setattr("kernelprof.launch.run.prepare.LIMIT_S", limit_s)
    with (
        pytest.raises(LaunchError) as caught,
        make_timer(_prepared_for_timer(code), interrupts) as times,
    ):
        times({"N": 64}, 3)
    said = caught.value
    assert (said.what, said.where, said.exit_code) == (what, "k.cu", exit_code)
    assert re.fullmatch(hint, said.hint, re.DOTALL)
