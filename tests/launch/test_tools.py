"""Where ``ncu`` and ``nvcc`` are found, and the versions that they report."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.launch.conftest import stand_in

from kernelprof import tools
from kernelprof.errors import MissingToolError
from kernelprof.tools import find_nvcc, nvcc_version

STAND_IN = Path(__file__).parents[1] / "fake_ncu" / "ncu"


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without ``ncu``; where its installers would put one."""
    monkeypatch.delenv(tools.NCU_VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(tools, "_NCU_PLACES", (f"{tmp_path}/cuda/bin", f"{tmp_path}/nsight/*"))
    return tmp_path


def test_not_installed(nowhere: Path) -> None:
    with pytest.raises(MissingToolError, match="not installed here") as caught:
        tools.find_ncu()
    assert str(nowhere / "nsight") in (caught.value.where or "")
    assert "developer.nvidia.com/nsight-compute" in (caught.value.hint or "")


def test_the_order_of_places(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(nowhere / "nsight" / "2024.3.2" / "ncu")
    newest = stand_in(nowhere / "nsight" / "2025.10.1" / "ncu")
    stand_in(nowhere / "nsight" / "2025.3.1" / "ncu")
    assert tools.find_ncu() == str(newest)
    toolkit = stand_in(nowhere / "cuda" / "bin" / "ncu")
    assert tools.find_ncu() == str(toolkit)
    on_path = stand_in(nowhere / "bin" / "ncu")
    assert tools.find_ncu() == str(on_path)
    monkeypatch.setenv(tools.NCU_VARIABLE, str(STAND_IN))
    assert tools.find_ncu() == str(STAND_IN)


def test_a_variable_that_names_nothing(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tools.NCU_VARIABLE, str(nowhere / "ncu"))
    with pytest.raises(MissingToolError, match="KERNELPROF_NCU does not name"):
        tools.find_ncu()


def test_its_version(nowhere: Path, tmp_path: Path) -> None:
    assert tools.ncu_version(str(stand_in(nowhere / "ncu"))) is None
    assert tools.ncu_version(str(tmp_path / "nothing")) is None


def test_the_version_of_the_stand_in() -> None:
    assert tools.ncu_version(str(STAND_IN)) == "2025.3.1.0"


VERSION = """\
nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2025 NVIDIA Corporation
Built on Wed_Aug_20_01:58:59_PM_PDT_2025
Cuda compilation tools, release 13.0, V13.0.88
Build cuda_13.0.r13.0/compiler.36424714_0
"""


@pytest.fixture
def toolkit(tmp_path, no_nvcc):
    """Makes a folder with an ``nvcc`` in its ``bin``, on a machine that has none elsewhere."""
    del no_nvcc

    def make(name: str) -> str:
        (tmp_path / name / "bin").mkdir(parents=True)
        stand_in(tmp_path / name / "bin" / "nvcc", f"/bin/cat <<'END'\n{VERSION}END")
        return str(tmp_path / name)

    return make


@pytest.mark.usefixtures("no_nvcc")
def test_without_one_the_places_and_the_way_to_get_it_are_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("CUDA_HOME", f"{tmp_path}/home")
    with pytest.raises(MissingToolError) as caught:
        find_nvcc()
    assert caught.value.what == "nvcc, the CUDA compiler, is not installed here"
    assert caught.value.where == f"the search path, {tmp_path}/home/bin"
    assert "https://developer.nvidia.com/cuda-downloads" in (caught.value.hint or "")
    assert "$CUDA_HOME" in (caught.value.hint or "")
    assert caught.value.exit_code == 4
    assert nvcc_version() is None


def test_the_search_path_comes_first_then_the_variables_then_the_usual_place(
    toolkit, monkeypatch
) -> None:
    usual, path, home, other = (toolkit(name) for name in ("usual", "path", "home", "other"))
    monkeypatch.setattr("kernelprof.tools._NVCC_PLACES", (f"{usual}/bin",))
    assert find_nvcc() == f"{usual}/bin/nvcc"
    monkeypatch.setenv("CUDA_PATH", path)
    assert find_nvcc() == f"{path}/bin/nvcc"
    monkeypatch.setenv("CUDA_HOME", home)
    assert find_nvcc() == f"{home}/bin/nvcc"
    monkeypatch.setenv("PATH", f"{other}/bin")
    assert find_nvcc() == f"{other}/bin/nvcc"


def test_an_empty_variable_and_a_file_that_cannot_be_run_are_none(
    toolkit, tmp_path, monkeypatch
) -> None:
    toolkit(".")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUDA_HOME", "")
    with pytest.raises(MissingToolError):
        find_nvcc()
    monkeypatch.setenv("CUDA_HOME", toolkit("home"))
    (tmp_path / "home" / "bin" / "nvcc").chmod(0o644)
    with pytest.raises(MissingToolError):
        find_nvcc()


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (None, "13.0.88"),
        (b"#!/bin/sh\nexit 1\n", None),
        (b"#!/bin/sh\necho release\n", None),
        (b"#!/bin/sh\nprintf '\\377'\n", None),
        (b"\x7fELF", None),
    ],
)
def test_the_version_is_the_full_one_or_none(toolkit, tmp_path, monkeypatch, text, version) -> None:
    monkeypatch.setenv("CUDA_HOME", toolkit("home"))
    if text is not None:
        (tmp_path / "home" / "bin" / "nvcc").write_bytes(text)
    assert nvcc_version() == version
