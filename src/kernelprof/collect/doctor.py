"""Checks what this machine has of what kernelprof can use, and says what each lack stops."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelprof import sandbox, tools
from kernelprof.collect import environment, failures
from kernelprof.errors import KernelprofError, MissingToolError
from kernelprof.installation import install_command
from kernelprof.prediction import toolchain
from kernelprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

NEEDED_FOR_PROFILING = ("gpu", "ncu", "counters")
NEEDED_FOR_SOURCES = (*NEEDED_FOR_PROFILING, "nvcc", "pycuda")

_OPTIONAL = (
    ("cuda-bindings", "cuda.bindings", "for tensor maps"),
    ("ml-dtypes", "ml_dtypes", "for bfloat16 and float8"),
)
"""What the extra ``gpu`` installs beside PyCUDA, for some kernels only."""


@dataclass(frozen=True, slots=True)
class MachineCheck:
    """One thing that was looked for; ``stops`` is what cannot be done without it."""

    name: str
    title: str
    ok: bool | None
    found: str
    stops: str
    remedy: str


def check_machine() -> tuple[MachineCheck, ...]:
    """Look for everything; nothing is changed, and no kernel is run."""
    seen = environment.query_machine()
    return (
        MachineCheck(
            "captures",
            "Diagnosing captures",
            *_captures(),
            stops="nothing works",
            remedy="install kernelprof again",
        ),
        MachineCheck(
            "gpu",
            "GPU and driver",
            *_gpu(seen),
            stops="no program can be profiled; captures can be diagnosed",
            remedy="use a machine with an NVIDIA GPU of compute capability 7.0 or higher and a "
            "driver (https://www.nvidia.com/drivers); start a container with --gpus all",
        ),
        MachineCheck(
            "ncu",
            "Nsight Compute (ncu)",
            *_ncu(),
            stops=f"no program can be profiled; {_report_reader()}",
            remedy=tools.HOW_TO_GET_NCU,
        ),
        MachineCheck(
            "counters",
            "Permission for counters",
            *_counters(seen),
            stops="ncu ends with ERR_NVGPUCTRPERM, and no program can be profiled",
            remedy=failures.PERMISSION if seen.gpus else "install the GPU's driver",
        ),
        MachineCheck(
            "nvcc",
            "CUDA compiler (nvcc)",
            *_nvcc(),
            stops="no .cu file can be built; existing programs can be profiled",
            remedy=tools.HOW_TO_GET_NVCC,
        ),
        MachineCheck(
            "pycuda",
            "PyCUDA",
            *_pycuda(),
            stops="a kernel in a .cu file without main() cannot be launched",
            remedy=f"{install_command('gpu')} (pip builds PyCUDA, which requires the CUDA toolkit)",
        ),
        MachineCheck(
            "predict",
            "Prediction without a GPU",
            *_prediction(),
            stops="kernels can be diagnosed only on a GPU or from captures",
            remedy=install_command("predict"),
        ),
        MachineCheck(
            "sandbox",
            "Sandbox",
            *_sandbox(),
            stops="NVRTC and the report reader can read any file and use the network",
            remedy="use Linux 5.13 or newer with Landlock (docs/security.md)",
        ),
    )


def required_checks(requirement: str) -> tuple[str, ...]:
    """The checks that must be fine for ``profile`` or ``sources``, or the one of that name."""
    sets = {"profile": NEEDED_FOR_PROFILING, "sources": NEEDED_FOR_SOURCES}
    return sets.get(requirement, (requirement,))


def first_command(checks: Sequence[MachineCheck]) -> str:
    """Return the command to start with on this machine."""
    usable = {check.name for check in checks if check.ok is not False}
    for names, command in (
        (NEEDED_FOR_SOURCES, "kernelprof diagnose kernel.cu"),
        (NEEDED_FOR_PROFILING, "kernelprof diagnose -- ./app"),
        (("predict",), "kernelprof diagnose kernel.cu --predict"),
    ):
        if usable.issuperset(names):
            return command
    return "kernelprof diagnose capture.csv"


def _captures() -> tuple[bool, str]:
    from kernelprof.analysis.metrics.catalogue import presets

    try:
        return True, f"kernelprof {__version__}, {len(presets())} presets"
    except KernelprofError as error:
        return False, error.what


def _gpu(seen: environment.LocalMachine) -> tuple[bool, str]:
    count = len(seen.gpus)
    if not count:
        there = tools.which("nvidia-smi") is not None
        return False, "nvidia-smi reports no GPU" if there else "nvidia-smi is not in PATH"
    names = ", ".join(dict.fromkeys(gpu.name for gpu in seen.gpus))
    many = f"{count} x " if count > 1 else ""
    return True, f"{many}{names}, driver {seen.driver}, CUDA up to {seen.cuda or 'unknown'}"


def _ncu() -> tuple[bool, str]:
    try:
        path = tools.find_ncu()
    except MissingToolError as error:
        return False, error.what
    version = tools.ncu_version(path)
    shown = version or "unknown version (it does not respond to --version)"
    return version is not None, f"{shown} at {path}"


def _report_reader() -> str:
    if _is_installed("ncu_report"):
        return "reports (.ncu-rep) can be read with the installed package ncu-report"
    return f"reports (.ncu-rep) need the package ncu-report: {install_command('rep')}"


def _counters(seen: environment.LocalMachine) -> tuple[bool | None, str]:
    restricted = environment.counters_are_for_administrators()
    if restricted is None:
        unknown = None if seen.gpus else False
        return unknown, "unknown (no RmProfilingAdminOnly in /proc/driver/nvidia/params)"
    if not restricted:
        return True, "all users may read the counters"
    if environment.is_administrator():
        return True, "restricted to administrators, and this process has administrator rights"
    return False, "restricted to administrators, and this process lacks CAP_SYS_ADMIN"


def _nvcc() -> tuple[bool, str]:
    try:
        path = tools.find_nvcc()
    except MissingToolError as error:
        return False, f"not in {error.where}"
    return True, f"{tools.nvcc_version() or 'unknown version'} at {path}"


def _sandbox() -> tuple[bool, str]:
    version = sandbox.version()
    if not version:
        return False, "this system has no Landlock"
    what = (
        "file and network access"
        if version >= sandbox.FIRST_WITH_TCP
        else "file access (and seccomp network access)"
    )
    return True, f"Landlock {version} restricts {what} of NVRTC and the report reader"


def _pycuda() -> tuple[bool, str]:
    spec = importlib.util.find_spec("pycuda")
    if spec is None or not spec.origin:
        return spec is not None, "not installed"
    lacking = [f"{name} ({what})" for name, module, what in _OPTIONAL if not _is_installed(module)]
    without = f", without {' and '.join(lacking)}" if lacking else ""
    return True, f"at {Path(spec.origin).parent}{without}"


def _prediction() -> tuple[bool, str]:
    try:
        toolkit = toolchain.find_toolchain()
    except MissingToolError as error:
        return False, error.what
    tools_of_it = f"NVRTC {toolkit.compiler_version}, nvdisasm {toolkit.disassembler_version}"
    return True, f"{tools_of_it} at {toolkit.nvdisasm}"


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package that it is in
        return False
