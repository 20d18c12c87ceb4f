"""Rates of GPUs that people have, from ``data/gpus.csv``: what NVIDIA's documents say of each."""

from __future__ import annotations

import csv
from functools import cache
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from kernelprof.analysis.metrics.architectures import Capability

GIGA: Final = 1e9
MOST_OF_PEAK: Final = 105.0
"""Percent of a specified rate; above it the memory is not the specified one."""

_FILE: Final = Path(__file__).parents[2] / "data" / "gpus.csv"


class Gpu(NamedTuple):
    """A GPU by the name that its driver gives it; ``None`` is not known or differs by model.

    ``boost_mhz`` is the specified boost clock, ``dram_gb`` the size of device memory in 10^9 bytes
    and ``dram_gb_per_s`` its rate.
    """

    name: str
    compute_capability: str
    sms: int | None
    boost_mhz: float | None
    dram_gb: float | None
    dram_gb_per_s: float
    l2_mib: float | None
    source: str


@cache
def load_gpus() -> tuple[Gpu, ...]:
    """Return all GPUs of the table."""
    with _FILE.open(encoding="utf-8", newline="") as file:
        return tuple(map(_gpu, csv.DictReader(file)))


@cache
def find_gpu(name: str | None, capability: Capability | None, sms: float | None) -> Gpu | None:
    """Return the GPU of this name; without one, the only one of so many SMs, if it is."""
    if name is not None:
        # Older drivers leave the maker out.
        alike = [each for each in load_gpus() if each.name.removeprefix("NVIDIA ") == _short(name)]
    elif sms is None:
        return None  # as the table has it where NVIDIA does not publish the number
    else:
        text = None if capability is None else "{}.{}".format(*capability)
        alike = [e for e in load_gpus() if e.compute_capability == text and e.sms == sms]
    return alike[0] if len(alike) == 1 else None


def fewest_sms(capability: Capability | None) -> float:
    """Return the fewest SMs of the GPUs of a compute capability; NaN where the table has none."""
    text = None if capability is None else "{}.{}".format(*capability)
    return min((e.sms for e in load_gpus() if e.compute_capability == text and e.sms), default=nan)


def _gpu(row: dict[str, str]) -> Gpu:
    def number(key: str) -> float | None:
        return float(row[key]) if row[key] else None

    return Gpu(
        name=row["name"],
        compute_capability=row["compute_capability"],
        sms=int(row["sms"]) if row["sms"] else None,
        boost_mhz=number("boost_mhz"),
        dram_gb=number("dram_gb"),
        dram_gb_per_s=float(row["dram_gb_per_s"]),
        l2_mib=number("l2_mib"),
        source=row["source"],
    )


def _short(name: str) -> str:
    return name.strip().removeprefix("NVIDIA ")
