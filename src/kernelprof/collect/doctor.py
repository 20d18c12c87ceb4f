"""Checks what this machine has of what kernelprof can use, and says what each lack stops."""

from __future__ import annotations

import importlib.util
import shutil
from dataclasses import dataclass
from pathlib import Path

from kernelprof import tools
from kernelprof.collect import environment, failures
from kernelprof.errors import KernelprofError, MissingToolError
from kernelprof.resources import VERSION

NEEDED_FOR_PROFILING = ("gpu", "ncu", "counters")
NEEDED_FOR_SOURCES = (*NEEDED_FOR_PROFILING, "nvcc", "pycuda")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked for.

    ``ok`` is ``None`` where it cannot be told. ``found`` says what is there, ``stops`` what cannot
    be done without it, ``remedy`` how to get it.
    """

    name: str
    title: str
    ok: bool | None
    found: str
    stops: str
    remedy: str


def checkup() -> tuple[Check, ...]:
    """Look for everything; nothing is changed, and no kernel is run."""
    seen = environment.machine()
    return (_captures(), _gpu(seen), _ncu(), _counters(seen), _nvcc(), _pycuda())


def needs(requirement: str) -> tuple[str, ...]:
    """The checks that must be fine for ``profile`` or ``sources``, or the one of that name."""
    sets = {"profile": NEEDED_FOR_PROFILING, "sources": NEEDED_FOR_SOURCES}
    return sets.get(requirement, (requirement,))


def _captures() -> Check:
    """Whether stored captures can be diagnosed: the presets are there."""
    from kernelprof.analysis.metrics.catalogue import presets

    try:
        found, fine = f"kernelprof {VERSION}, {len(presets())} presets", True
    except KernelprofError as error:
        found, fine = error.what, False
    return Check(
        name="captures",
        title="Diagnosing captures",
        ok=fine,
        found=found,
        stops="nothing works",
        remedy="install kernelprof again",
    )


def _gpu(seen: environment.Machine) -> Check:
    names = ", ".join(dict.fromkeys(gpu.name for gpu in seen.gpus))
    count = len(seen.gpus)
    found = "none answers nvidia-smi"
    if count:
        many = f"{count} x " if count > 1 else ""
        found = f"{many}{names}, driver {seen.driver}, CUDA up to {seen.cuda or 'unknown'}"
    elif shutil.which("nvidia-smi") is None:
        found = "nvidia-smi is not on the search path"
    return Check(
        name="gpu",
        title="GPU and driver",
        ok=bool(count),
        found=found,
        stops="no program can be profiled; stored captures are diagnosed all the same",
        remedy="use a machine with an NVIDIA GPU of compute capability 7.0 or newer and its "
        "driver (https://www.nvidia.com/drivers); in a container: start it with --gpus all",
    )


def _ncu() -> Check:
    path: str | None = None
    try:
        path = tools.find_ncu()
    except MissingToolError as error:
        found = error.what
    else:
        version = tools.ncu_version(path)
        found = f"{version or 'no version (it does not answer --version)'} at {path}"
    return Check(
        name="ncu",
        title="Nsight Compute (ncu)",
        ok=path is not None and not found.startswith("no version"),
        found=found,
        stops="no program can be profiled, and reports (.ncu-rep) need the package ncu-report",
        remedy=tools.HOW_TO_GET_NCU,
    )


def _counters(seen: environment.Machine) -> Check:
    restricted = environment.counters_are_for_administrators()
    administrator = environment.is_administrator()
    if restricted is None:
        found = "the driver does not say (no /proc/driver/nvidia/params)"
    elif not restricted:
        found = "the driver lets every user read them"
    elif administrator:
        found = "for administrators, and this process is one"
    else:
        found = "for administrators, and this process has no CAP_SYS_ADMIN"
    fine = None if restricted is None else (not restricted or administrator)
    return Check(
        name="counters",
        title="Permission for counters",
        ok=False if fine is None and not seen.gpus else fine,
        found=found,
        stops="ncu ends with ERR_NVGPUCTRPERM, and no program can be profiled",
        remedy=failures.PERMISSION if seen.gpus else "it comes with the GPU's driver",
    )


def _nvcc() -> Check:
    from kernelprof.tools import HOW_TO_GET_NVCC, find_nvcc, nvcc_version

    path: str | None = None
    try:
        path = find_nvcc()
        found = f"{nvcc_version() or 'unknown version'} at {path}"
    except MissingToolError as error:
        found = f"not in {error.where}"
    return Check(
        name="nvcc",
        title="CUDA compiler (nvcc)",
        ok=path is not None,
        found=found,
        stops="no .cu file can be built; programs that are built already are profiled all the same",
        remedy=HOW_TO_GET_NVCC,
    )


def _pycuda() -> Check:
    spec = importlib.util.find_spec("pycuda")
    place = str(Path(spec.origin).parent) if spec is not None and spec.origin else None
    return Check(
        name="pycuda",
        title="PyCUDA",
        ok=spec is not None,
        found=f"at {place}" if place else "not installed",
        stops="a kernel in a .cu file without main() cannot be launched",
        remedy="pip install 'kernelprof[gpu]' (it is compiled there and needs the CUDA toolkit)",
    )
