"""``kernelprof doctor``: what is there, what each lack stops, how to get it."""

from __future__ import annotations

import re
from importlib.machinery import ModuleSpec

import pytest

from kernelprof.collect import doctor, environment

H200 = environment.LocalMachine(
    (
        environment.LocalGpu(0, "NVIDIA H200", (9, 0)),
        environment.LocalGpu(1, "NVIDIA H200", (9, 0)),
    ),
    "580.159.04",
    "13.0",
)


@pytest.fixture
def equipped(machine, monkeypatch) -> None:
    """A machine with two GPUs and everything else that is found by asking for it."""
    del machine
    monkeypatch.setattr(environment, "query_machine", lambda: H200)
    monkeypatch.setattr(environment, "counters_are_for_administrators", lambda: False)


@pytest.mark.usefixtures("bare")
def test_a_bare_machine_can_diagnose_captures(kernelprof) -> None:
    out = kernelprof("doctor").out
    assert out.startswith("This machine\n\n  ok       Diagnosing captures: kernelprof ")
    for title in (
        "GPU and driver",
        "Nsight Compute (ncu)",
        "Permission",
        "CUDA compiler",
        "PyCUDA",
        "Prediction without a GPU",
    ):
        assert f"missing  {title}" in out
    assert out.count("without it: ") == out.count("to get it: ") == 6
    assert "developer.nvidia.com/cuda-downloads" in out
    assert "pip install 'kernelprof[gpu]'" in out
    assert "pip install 'kernelprof[predict]'" in out


@pytest.mark.usefixtures("equipped")
def test_an_equipped_machine(kernelprof) -> None:
    kernelprof(
        "doctor --require profile",
        out=[
            "ok       GPU and driver: 2 x NVIDIA H200, driver 580.159.04, CUDA up to 13.0\n",
            "ok       Nsight Compute (ncu): 2025.3.1.0 at",
            "ok       Permission for counters: all users may read the counters\n",
        ],
    )


@pytest.mark.usefixtures("equipped")
def test_what_only_some_kernels_need_is_told_and_not_required(kernelprof, monkeypatch) -> None:
    installed = {"pycuda", "cuda.bindings", "ml_dtypes"}

    def find(name: str) -> ModuleSpec | None:
        if name == "cuda.bindings" and name not in installed:
            raise ModuleNotFoundError("No module named 'cuda'")
        return ModuleSpec(name, None, origin=f"/lib/{name}/x.py") if name in installed else None

    monkeypatch.setattr(doctor.importlib.util, "find_spec", find)
    kernelprof("doctor --require pycuda", out="PyCUDA: at /lib/pycuda\n")
    installed -= {"cuda.bindings", "ml_dtypes"}
    kernelprof(
        "doctor --require pycuda",
        says=(
            "PyCUDA: at /lib/pycuda, without cuda-bindings (for tensor maps) and ml-dtypes (for "
            "bfloat16 and float8)"
        ),
    )


def test_what_predicts_kernels_is_named_with_its_versions(kernelprof) -> None:
    """The extra ``dev`` brings it to where tests are run."""
    out = kernelprof("doctor --require predict").line
    assert re.search(r"ok Prediction without a GPU: NVRTC 13\.\d+\S*, nvdisasm 13\.\d+\S* at", out)


PERMISSION = [
    (True, False, 4, "this process lacks CAP_SYS_ADMIN"),
    (True, True, 0, "this process has administrator rights"),
    (None, True, 4, "no RmProfilingAdminOnly in /proc/driver/nvidia/params"),
]


@pytest.mark.usefixtures("equipped")
@pytest.mark.parametrize("case", PERMISSION)
def test_permission(kernelprof, monkeypatch, case) -> None:
    restricted, administrator, code, words = case
    monkeypatch.setattr(environment, "counters_are_for_administrators", lambda: restricted)
    monkeypatch.setattr(environment, "is_administrator", lambda: administrator)
    out = kernelprof("doctor --require counters", code=code, says=words).line
    if code:
        assert "NVreg_RestrictProfilingToAdminUsers=0" in out


@pytest.mark.usefixtures("bare")
def test_json(kernelprof) -> None:
    found = kernelprof.json("doctor")
    assert found["schema_version"] == "1"
    checks = {check["name"]: check for check in found["checks"]}
    assert " ".join(checks) == "captures gpu ncu counters nvcc pycuda predict sandbox"
    assert checks["captures"]["ok"] is True
    assert checks["gpu"]["ok"] is False
    assert all(check["stops"] and check["remedy"] and check["found"] for check in checks.values())
