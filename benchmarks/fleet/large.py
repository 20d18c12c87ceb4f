"""A store of millions of launches, made from recorded ones, and what the usual questions take.

Kernels, counters and verdicts are as recorded; dates and times of launches are drawn: the recorded
time with a scatter of 0.3 %, and every tenth series takes a fifth longer from some night on.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernelprof.analysis.verdict import diagnose
from kernelprof.fleet.columns import schema
from kernelprof.fleet.records import (
    MeasurementFile,
    Provenance,
    record,
    to_parquet,
)
from kernelprof.fleet.store import FleetStore
from kernelprof.interface.fleet import questions
from kernelprof.model.merge import join
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import MANIFEST, read_manifest

_RECORDED: Final = Path("benchmarks/corpus/recorded/h200-pairs")
_GPUS: Final = ("NVIDIA H200", "NVIDIA H200 NVL")
_PROGRAMS: Final = 10
_KERNELS: Final = 25
_LAUNCHES: Final = 40
_FIRST: Final = datetime(2026, 1, 1, 2, tzinfo=UTC)
_SCATTER: Final = 0.003
_SLOWER: Final = 1.2


def make(place: Path, launches: int) -> int:
    """Fill an empty store with so many launches at least; how many there are then."""
    draw = np.random.default_rng(0)
    templates = _templates()
    a_night = len(_GPUS) * _PROGRAMS * _KERNELS * _LAUNCHES
    nights = -(-launches // a_night)
    changes = draw.integers(1, nights, (len(_GPUS), _PROGRAMS, _KERNELS))
    changes[draw.random(changes.shape) > 0.1] = nights
    store = FleetStore.at(str(place))
    for night in range(nights):
        when = _FIRST + timedelta(days=night)
        for gpu, name in enumerate(_GPUS):
            for program, table in enumerate(templates):
                slower = np.where(night >= changes[gpu, program], _SLOWER, 1.0)
                store.add(_night(table, f"program {program}", name, when, slower=slower, draw=draw))
    return nights * a_night


def _templates() -> list[Any]:
    """Tables of programs whose kernels were recorded, each launched several times."""
    folders = sorted(each.parent for each in _RECORDED.rglob(MANIFEST))
    tables = []
    for at in range(_PROGRAMS):
        some = folders[at * _KERNELS : (at + 1) * _KERNELS]
        whole = read_capture(str(some[0]))
        for each in some[1:]:
            whole = join(whole, read_capture(str(each)))
        whole = whole.rows([row for row in range(len(whole)) for _ in range(_LAUNCHES)])
        about = Provenance(key="", plan="large", name="", kind="program")
        made = record(whole, diagnose(whole), read_manifest(some[0]), about)
        tables.append(pq.read_table(io.BytesIO(made.data), schema=schema()))
    return tables


def _night(
    table: Any, name: str, gpu: str, when: datetime, *, slower: Any, draw: np.random.Generator
) -> MeasurementFile:
    """A program's file of one night."""
    rows = len(table)
    middle = np.array(table["time_ns"].to_pylist()) * np.resize(slower, rows)
    counts = np.array(table["launches"].to_pylist())
    times = np.repeat(middle, counts) * draw.normal(1, _SCATTER, int(counts.sum()))
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(ends), pa.array(times))
    medians = [float(np.median(times[a:b])) for a, b in pairwise(ends)]
    key = hashlib.sha256(f"{name} {gpu}".encode()).hexdigest()
    columns = {
        "key": pa.array([key] * rows),
        "name": pa.array([name] * rows),
        "gpu": pa.array([gpu] * rows),
        "created": pa.array([when.replace(tzinfo=None)] * rows, pa.timestamp("us")),
        "time_ns": pa.array(medians),
        "times_ns": lists,
        "durations_ns": lists,
    }
    for column, values in columns.items():
        table = table.set_column(table.schema.get_field_index(column), column, values)
    return MeasurementFile(key, gpu, when, to_parquet(table))


def ask(place: Path, rounds: int = 3) -> dict[str, Any]:
    """Seconds of each usual question as a command of its own, the best of some rounds."""
    since = (_FIRST + timedelta(days=150)).strftime("%Y-%m-%d")
    asked = {each: [each] for each in questions()}
    asked["regressions since a day"] = ["regressions", "--since", since]
    counted = "select kernel, count(*), median(duration_ns) from launches group by 1"
    asked["sql over all launches"] = ["--sql", counted]
    found: dict[str, Any] = {}
    for name, words in asked.items():
        seconds = []
        for _ in range(rounds):
            start = time.monotonic()
            command = [sys.executable, "-m", "kernelprof", "fleet", "query", str(place), *words]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            seconds.append(time.monotonic() - start)
        found[name] = [round(each, 2) for each in seconds]
    return found
