"""What is found of NVIDIA's wheels, and what is said where one of them is missing."""

from __future__ import annotations

import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from kernelprof.errors import ExitCode, MissingToolError
from kernelprof.prediction import toolchain as module
from kernelprof.prediction.toolchain import Toolchain, find_toolchain


def test_it_is_found_with_its_versions(toolchain: Toolchain) -> None:
    major, minor = toolchain.release
    assert re.fullmatch(rf"{major}\.{minor}(\.\d+)*", toolchain.compiler_version)
    assert re.fullmatch(r"\d+\.\d+\.\d+", toolchain.disassembler_version)
    own, cuda, cccl = toolchain.headers
    assert (own / "nvcc_brings.h").is_file()
    assert (cuda / "cuda_fp16.h").is_file()
    assert (cuda / "crt" / "mma.h").is_file()
    assert (cccl / "cuda" / "barrier").is_file()


class _Pathfinder(SimpleNamespace):
    """Finds everything, and headers in an empty folder."""

    @staticmethod
    def find_nvidia_binary_utility(name: str) -> str:
        return f"/nowhere/{name}"

    @staticmethod
    def find_nvidia_header_directory(_name: str) -> str:
        return "/nowhere/include"


def _no_library() -> None:
    raise RuntimeError("Failure finding libnvrtc.so")


LACKS = {
    "cuda-bindings": {"cuda.bindings.nvrtc": None},
    "NVRTC,": {"cuda.bindings.nvrtc": SimpleNamespace(nvrtcVersion=_no_library)},
    "NVRTC 13.1 or newer": {
        "cuda.bindings.nvrtc": SimpleNamespace(nvrtcVersion=lambda: (0, 13, 0))
    },
    "nvdisasm": {
        "cuda.pathfinder": SimpleNamespace(find_nvidia_binary_utility=lambda _: None),
    },
    "cuda_fp16.h (nvidia-cuda-runtime)": {"cuda.pathfinder": _Pathfinder()},
}


@pytest.mark.parametrize(("what", "modules"), LACKS.items(), ids=LACKS)
def test_what_is_missing_is_named_with_the_command_that_brings_it(
    monkeypatch, what, modules
) -> None:
    for name, found in modules.items():
        monkeypatch.setitem(sys.modules, name, found)
    with pytest.raises(MissingToolError) as caught:
        find_toolchain()
    assert what in caught.value.what
    assert caught.value.hint == "pip install 'kernelprof[predict]'"
    assert caught.value.exit_code is ExitCode.ENVIRONMENT


def test_a_library_that_is_no_wheel_has_the_version_that_it_says(toolchain, monkeypatch) -> None:
    monkeypatch.setattr(module, "_wheel", lambda _: "1.2.3")
    assert toolchain.compiler_version == ".".join(map(str, toolchain.release))


def test_a_disassembler_that_does_not_answer_has_no_version(toolchain, tmp_path) -> None:
    other = Toolchain(toolchain.nvrtc, toolchain.release, tmp_path / "none", toolchain.headers)
    assert other.disassembler_version == "unknown version"


@pytest.mark.parametrize(
    "name",
    ["kernelprof.prediction.toolchain", "kernelprof.prediction.compiler", "sassim.disassembler"],
)
def test_importing_loads_none_of_it(cli_environment, name: str) -> None:
    """The library of 100 MB is loaded where a kernel is compiled."""
    code = f"import sys, {name}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=cli_environment,
    )
    heavy = {"cuda", "numpy", "pandas", "tree_sitter"}
    assert not heavy & {each.partition(".")[0] for each in done.stdout.split()}
