"""GPUs that jobs are measured on."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelprof.errors import MissingToolError, UsageError
from kernelprof.tools import ask, which

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU; ``uuid`` is what the driver calls it, and empty for one that was recorded."""

    name: str
    compute_capability: tuple[int, int]
    uuid: str = ""

    @property
    def arch(self) -> str:
        """What code for it is compiled for, such as ``sm_90``."""
        return "sm_{}{}".format(*self.compute_capability)


def local_devices() -> tuple[Device, ...]:
    """The GPUs of this machine, as ``nvidia-smi`` lists them."""
    tool = which("nvidia-smi")
    done = tool and ask(tool, "--query-gpu=name,compute_cap,uuid", "--format=csv,noheader,nounits")
    if not done or done.returncode != 0:
        return ()
    found = []
    for row in csv.reader(done.stdout.splitlines()):
        name, capability, uuid = (cell.strip() for cell in row)
        major, _, minor = capability.partition(".")
        if major.isdigit() and minor.isdigit():
            found.append(Device(name, (int(major), int(minor)), uuid))
    return tuple(found)


def recorded_devices() -> tuple[Device, ...]:
    """The GPUs that recorded captures are of, which stand in where nothing is measured."""
    from kernelprof.collect.recorded import FOLDER
    from kernelprof.sources.capture_directory import MANIFEST, read_manifest

    found = {}
    for folder in sorted(each for each in FOLDER.iterdir() if each.is_dir()):
        first = next(iter(sorted(folder.rglob(MANIFEST))), None)
        gpu = None if first is None else read_manifest(first.parent).gpu
        if gpu is not None and gpu.name and gpu.compute_capability:
            major, _, minor = gpu.compute_capability.partition(".")
            found[gpu.name] = Device(gpu.name, (int(major), int(minor)))
    return tuple(found.values())


def chosen(devices: Sequence[Device], wanted: Sequence[str]) -> tuple[Device, ...]:
    """The devices whose name has one of these parts, all without any.

    Raises :class:`MissingToolError` where there is none at all, :class:`UsageError` for a part
    that no name has.
    """
    if not devices:
        raise MissingToolError(
            "there is no NVIDIA GPU to measure on (none answers nvidia-smi)",
            hint="run the plan on a machine with one, on a Ray cluster with --ray ADDRESS, or take "
            "recorded captures in place of measurements with --recorded",
        )
    for part in wanted:
        if not any(part.lower() in each.name.lower() for each in devices):
            raise UsageError(
                f"the plan wants a GPU {part!r}, and there is none",
                where=", ".join(dict.fromkeys(each.name for each in devices)),
                hint="correct gpus in the plan, or run it where there is one",
            )
    return tuple(
        each
        for each in devices
        if not wanted or any(part.lower() in each.name.lower() for part in wanted)
    )
