"""The library that records: where CUPTI is looked for, how it is compiled, what it hears."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelprof.collect.survey import reader as frames
from kernelprof.collect.survey import run as library
from kernelprof.collect.survey.reader import PLACES, read_survey
from kernelprof.collect.survey.run import survey_environment
from kernelprof.errors import MissingToolError


def _toolkit(folder: Path) -> Path:
    """A toolkit with files of the right names, as they lie in CUDA 13."""
    target = folder / "targets" / "x86_64-linux"
    for name in ("include/cupti.h", "lib/libcupti.so.13", "lib/libcupti_static.a"):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).touch()
    return target


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No toolkit and no package of this machine's own."""
    monkeypatch.setattr(library, "_TOOLKITS", ("/nowhere",))
    monkeypatch.setattr(library, "which", lambda _: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    for name in library._VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("alone")
def test_cupti_of_the_toolkit_that_is_named(tmp_path, monkeypatch) -> None:
    target = _toolkit(tmp_path).resolve()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    found = library.find_cupti()
    assert found.includes[0] == (target / "include",)
    assert found.libraries == (target / "lib" / "libcupti.so.13",)


@pytest.mark.usefixtures("alone")
def test_without_cupti_it_is_said_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(MissingToolError, match="CUPTI's headers cannot be found") as caught:
        library.find_cupti()
    assert "nvidia-cuda-cupti" in str(caught.value.hint)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow("runs a compiler")
def test_headers_that_do_not_compile_are_an_error_that_says_so(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cupti.h").write_text("#error no such thing\n", encoding="utf-8")
    with pytest.raises(MissingToolError, match="does not compile"):
        library.build(library.Cupti(((tmp_path,),), (tmp_path,)))


def test_the_environment_of_the_program(built: tuple[Path, library.Cupti]) -> None:
    made, cupti = built
    given = {"PYTHONPATH": "/mine", "NVTX_INJECTION64_PATH": "/another.so", "HOME": "/root"}
    found = survey_environment(given, made, cupti, Path("/there"))
    assert found["CUDA_INJECTION64_PATH"] == str(made)
    assert found["NVTX_INJECTION64_PATH"] == "/another.so"
    assert found["PYTHONPATH"] == f"{library.PYTHON_HOOKS}{os.pathsep}/mine"
    assert found["KERNELPROF_SURVEY_DIR"] == "/there"
    assert found["HOME"] == "/root"


PROGRAM = r"""
#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    int depth = nvtxRangePushA("outer, seq = 5, op_id = 3");
    nvtxDomainHandle_t domain = nvtxDomainCreateA("own");
    nvtxEventAttributes_t event = {0};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
    for (int number = 0; number < 2000; number++) {
        nvtxRangePushA("often");
        nvtxRangePop();
    }
    if (fork() == 0) {
        for (int number = 0; number < 600; number++) {
            nvtxRangePushA("child");
            nvtxRangePop();
        }
        return 0;
    }
    int status;
    wait(&status);
    return depth || status;
}
"""


def test_ranges_of_nvtx_are_heard_also_after_a_fork(built, with_nvtx, tmp_path) -> None:
    made, cupti = built
    source, program = tmp_path / "ranges.c", tmp_path / "ranges"
    source.write_text(PROGRAM, encoding="utf-8")
    subprocess.run(["cc", *with_nvtx, str(source), "-o", str(program), "-ldl"], check=True)
    place = tmp_path / "survey"
    place.mkdir()
    subprocess.run([program], env=survey_environment(os.environ, made, cupti, place), check=True)
    files = [frames.read_frames(each) for each in place.glob("*.survey")]
    assert len(files) == 2
    names = [set(each.texts.values()) for each in files]
    parent = next(each for each in files if "often" in each.texts.values())
    assert {"outer", "own", "registered", "often"} in names
    assert {"child"} in names
    first = parent.select(frames.RANGE)[0]
    assert parent.texts[int(first["name"])] == "outer"
    assert first["id"] == 6  # PyTorch's number, from 1 on
    # Neither has used a GPU.
    assert read_survey(place).processes == ()


SCRIPT = """
import sitecustomize, triton.runtime.jit as jit
jit.JITFunction(lambda x: x)
print(sitecustomize.MINE)
"""


def test_python_runs_as_it_would_and_functions_are_noted(tmp_path: Path) -> None:
    """With a stand-in for the module of Triton, and a ``sitecustomize`` of the program's own."""
    package = tmp_path / "triton" / "runtime"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package / "jit.py").write_text(
        "class JITFunction:\n    def __init__(self, fn):\n        self.fn = fn\n", encoding="utf-8"
    )
    (tmp_path / "sitecustomize.py").write_text("MINE = 'mine'\n", encoding="utf-8")
    script, place = tmp_path / "script.py", tmp_path / "survey"
    script.write_text(SCRIPT, encoding="utf-8")
    place.mkdir()
    path = os.pathsep.join([str(library.PYTHON_HOOKS), str(tmp_path)])
    environ = {**os.environ, "PYTHONPATH": path, "KERNELPROF_SURVEY_DIR": str(place)}
    done = subprocess.run(
        [sys.executable, script], env=environ, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("mine\n", "")
    (noted,) = place.glob(f"*{PLACES}")
    assert noted.read_text(encoding="utf-8").split("\x1f") == ["<lambda>", str(script), "3\n"]


def test_sources_travel_with_the_package() -> None:
    names = {each.name for each in library.SOURCES.iterdir()}
    assert {"records.h", "survey.c", "ranges.c", "activity.c", "python"} <= names
    assert (library.PYTHON_HOOKS / "sitecustomize.py").is_file()


def test_a_library_that_others_can_change_is_not_loaded(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = library._cache()
    compiled = folder / "survey.so"
    compiled.touch(mode=0o644)
    library._refuse_strangers(compiled)
    for path, mode in ((compiled, 0o666), (folder, 0o777), (folder, 0o720)):
        before = path.stat().st_mode
        path.chmod(mode)
        with pytest.raises(MissingToolError, match="other users can write to"):
            library._refuse_strangers(path)
        path.chmod(before)
    monkeypatch.setattr("os.getuid", lambda: 4_000_000)
    with pytest.raises(MissingToolError, match="other users can write to"):
        library._cache()


def test_a_library_of_other_bytes_than_were_compiled_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(library, "which", lambda name: f"/bin/{name}")

    def compile_library(*words: str) -> subprocess.CompletedProcess[str]:
        Path(words[words.index("-o") + 1]).write_bytes(b"compiled")
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr(library, "ask", compile_library)
    cupti = library.Cupti(((tmp_path,),), (tmp_path,))
    made = library.build(cupti)
    made.write_bytes(b"another")
    assert library.build(cupti) == made
    assert made.read_bytes() == b"compiled"
    monkeypatch.setattr(library, "ask", None)
    assert library.build(cupti) == made
