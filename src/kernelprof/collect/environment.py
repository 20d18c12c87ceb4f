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
class Gpu:
    """One GPU; clocks in MHz as they were when it was asked, and at most."""

    index: int
    name: str
    compute_capability: tuple[int, int] | None
    sm_mhz: float | None = None
    memory_mhz: float | None = None
    max_sm_mhz: float | None = None
    max_memory_mhz: float | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """GPUs, the driver's version, and the newest CUDA that it supports; ``None`` is unknown."""

    gpus: tuple[Gpu, ...] = ()
    driver: str | None = None
    cuda: str | None = None

    @property
    def compute_capability(self) -> tuple[int, int] | None:
        """What all GPUs share, ``None`` where they differ or are not known."""
        kinds = {gpu.compute_capability for gpu in self.gpus}
        return kinds.pop() if len(kinds) == 1 else None


def machine() -> Machine:
    """Ask ``nvidia-smi``; an empty answer where there is none or it fails.

    Of several GPUs only those count that ``$CUDA_VISIBLE_DEVICES`` names by their UUIDs, if it
    does: programs see no others, but ``nvidia-smi`` lists all.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    only = ("-i", visible) if visible.startswith("GPU-") else ()
    listed = _answer(*only, f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader,nounits")
    if listed is None:
        return Machine()
    rows = [
        [cell.strip() for cell in row]
        for row in csv.reader(listed.splitlines())
        if len(row) == len(_FIELDS)
    ]
    gpus = tuple(_gpu(row) for row in rows if row[0].isdigit())
    if not gpus:
        return Machine()
    shown = re.search(r"CUDA Version:\s*([\d.]+)", _answer() or "")
    return Machine(gpus, rows[0][2] or None, shown[1] if shown else None)


def counters_are_for_administrators() -> bool | None:
    """Whether the driver keeps counters from ordinary users; ``None`` where it does not say."""
    try:
        text = _PARAMETERS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    match = re.search(r"^RmProfilingAdminOnly:\s*(\d+)", text, re.MULTILINE)
    return None if match is None else match[1] != "0"


def is_administrator() -> bool:
    """Whether this process is one for the driver: root, or with a capability for profiling.

    A container's root without CAP_SYS_ADMIN is not.
    """
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


def _gpu(row: list[str]) -> Gpu:
    capability = re.fullmatch(r"(\d+)\.(\d+)", row[3])
    clocks = [float(cell) if re.fullmatch(r"\d+(\.\d*)?", cell) else None for cell in row[4:]]
    pair = (int(capability[1]), int(capability[2])) if capability else None
    return Gpu(int(row[0]), row[1], pair, *clocks)
