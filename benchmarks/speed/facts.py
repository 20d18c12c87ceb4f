"""What is to be known about a machine beside figures that were measured on it."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Final

import kernelprof

if TYPE_CHECKING:
    from benchmarks.speed.contestants import Libraries

_CPU_INFO: Final = Path("/proc/cpuinfo")


def facts(libraries: Libraries) -> dict[str, str]:
    """Name and value of each fact, in the order in which they are shown."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    read = (f"{name} {version or '-'}" for name, version in libraries.versions.items())
    return {
        "processor": _processor(),
        "cores": str(_cores()),
        "memory": f"{memory / 1e9:.0f} GB",
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "kernelprof": kernelprof.__version__,
        "readers": ", ".join(read),
    }


def _processor() -> str:
    try:
        lines = _CPU_INFO.read_text("utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _cores() -> int:
    """Those that this process may use, where the system can say so."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
