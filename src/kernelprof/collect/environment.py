"""What the machine says about its GPUs, driver and clocks, and who may read counters."""

from __future__ import annotations

import csv
import os
import re
from dataclasses import dataclass
from pathlib import Path

from kernelprof.tools import ask, which

_FIELDS = (
    "index", "name", "driver_version", "compute_cap",
    "clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem",
)  # fmt: skip
_PARAMETERS = Path("/proc/driver/nvidia/params")
_STATUS = Path("/proc/self/status")
_CAP_SYS_ADMIN = 21
_CAP_PERFMON = 38


@dataclass(frozen=True, slots=True)
class LocalGpu:
    """One GPU; clocks in MHz as they were when it was asked, and at most."""

    index: int
    name: str
    compute_capability: tuple[int, int] | None
    sm_mhz: float | None = None
    memory_mhz: float | None = None
    max_sm_mhz: float | None = None
    max_memory_mhz: float | None = None


@dataclass(frozen=True, slots=True)
class LocalMachine:
    """GPUs, the driver's version, and the newest CUDA that it supports; ``None`` is unknown."""

    gpus: tuple[LocalGpu, ...] = ()
    driver: str | None = None
    cuda: str | None = None

    @property
    def compute_capability(self) -> tuple[int, int] | None:
        """What all GPUs share, ``None`` where they differ or are not known."""
        kinds = {gpu.compute_capability for gpu in self.gpus}
        return kinds.pop() if len(kinds) == 1 else None


def query_machine() -> LocalMachine:
    """Ask ``nvidia-smi`` for the GPUs that ``$CUDA_VISIBLE_DEVICES`` lets programs see."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    only = ("-i", visible) if visible.startswith("GPU-") else ()
    listed = _answer(*only, f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader,nounits")
    if listed is None:
        return LocalMachine()
    rows = [
        [cell.strip() for cell in row]
        for row in csv.reader(listed.splitlines())
        if len(row) == len(_FIELDS)
    ]
    gpus = tuple(_gpu(row) for row in rows if row[0].isdigit())
    if not gpus:
        return LocalMachine()
    shown = re.search(r"CUDA Version:\s*([\d.]+)", _answer() or "")
    return LocalMachine(gpus, rows[0][2] or None, shown[1] if shown else None)


def counters_are_for_administrators() -> bool | None:
    """Whether the driver keeps counters from ordinary users; ``None`` where it does not say."""
    try:
        text = _PARAMETERS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    match = re.search(r"^RmProfilingAdminOnly:\s*(\d+)", text, re.MULTILINE)
    return None if match is None else match[1] != "0"


def is_administrator() -> bool:
    """Return whether this process may read counters: root or CAP_SYS_ADMIN, not in a container."""
    try:
        text = _STATUS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return hasattr(os, "geteuid") and os.geteuid() == 0
    match = re.search(r"^CapEff:\s*([0-9a-fA-F]+)", text, re.MULTILINE)
    held = int(match[1], 16) if match else 0
    return bool(held & (1 << _CAP_SYS_ADMIN | 1 << _CAP_PERFMON))


def _answer(*options: str) -> str | None:
    tool = which("nvidia-smi")
    if tool is None:
        return None
    done = ask(tool, *options)
    return done.stdout if done and done.returncode == 0 else None


def _gpu(row: list[str]) -> LocalGpu:
    capability = re.fullmatch(r"(\d+)\.(\d+)", row[3])
    clocks = [float(cell) if re.fullmatch(r"\d+(\.\d*)?", cell) else None for cell in row[4:]]
    pair = (int(capability[1]), int(capability[2])) if capability else None
    return LocalGpu(int(row[0]), row[1], pair, *clocks)
