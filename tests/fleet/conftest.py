"""Plans over captures and kernels that were recorded, and stores to put them in."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import pytest

from kernelprof.analysis.verdict import diagnose
from kernelprof.fleet.executor import Call, CallOutcome, recorded_devices
from kernelprof.fleet.jobs import MACHINE_CODE, Identity, Order, identify_jobs
from kernelprof.fleet.records import MeasurementFile, Provenance, record
from kernelprof.fleet.store import FleetStore
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import read_manifest

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "src" / "kernelprof" / "recorded" / "h200"

WritePlan = Callable[[str], Path]


class Measures:
    """An executor whose GPU gives a recorded capture for every job, a second later each time.

    ``code`` is the machine code of all jobs, ``takes`` what their times are multiplied by.
    """

    def __init__(self) -> None:
        self.devices = recorded_devices()
        self.workers = 1
        self.code = "a"
        self.takes = 1.0
        self.now = datetime(2026, 11, 22, tzinfo=UTC)
        self._calls: list[Call] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._calls.clear()

    @property
    def pending(self) -> int:
        return len(self._calls)

    def submit(self, call: Call) -> None:
        self._calls.append(call)

    def wait(self) -> CallOutcome:
        call = self._calls.pop(0)
        if call.function is identify_jobs:
            jobs = [f"{job.shown()} {job.preset}" for job in call.argument[0]]
            return CallOutcome(call, list(map(self._identity, jobs)))
        order: Order = call.argument
        return CallOutcome(call, [self._measured(job, who, order) for job, who in order.jobs])

    def _identity(self, job: str) -> Identity:
        digest = hashlib.sha256(f"{self.code} {job}".encode()).hexdigest()
        return Identity(self.code, MACHINE_CODE, digest)

    def _measured(self, job: Any, who: Identity, order: Order) -> MeasurementFile:
        folder = RECORDED / "01_naive"
        capture, manifest = read_capture(str(folder)), read_manifest(folder)
        assert manifest.timing is not None
        self.now += timedelta(seconds=1)
        times = tuple(each * self.takes for each in manifest.timing.times_ns)
        manifest = replace(
            manifest,
            created=self.now.isoformat(),
            timing=replace(manifest.timing, times_ns=times),
        )
        about = Provenance(
            key=who.key,
            plan=order.plan,
            name=job.name,
            kind=job.kind,
            round=job.round,
            code=who.code,
            code_of=who.code_of,
            recorded=order.recorded,
        )
        return record(capture, diagnose(capture), manifest, about)


@pytest.fixture
def write_plan(tmp_path: Path) -> WritePlan:
    """Writes a plan with these entries; its store is the folder ``store`` beside it."""

    def write(entries: str) -> Path:
        path = tmp_path / "plan.toml"
        head = 'schema_version = "1"\nname = "nightly"\nstore = "store"\n'
        path.write_text(head + entries, encoding="utf-8")
        return path

    return write


@pytest.fixture
def some_captures(tmp_path: Path) -> str:
    """An entry of a plan with six recorded captures."""
    folder = tmp_path / "captures"
    folder.mkdir()
    for each in sorted(RECORDED.iterdir())[:6]:
        copy = folder / each.name
        copy.mkdir()
        for file in each.iterdir():
            (copy / file.name).write_bytes(file.read_bytes())
    return '[[captures]]\nfolder = "captures"\n'


@pytest.fixture
def store(tmp_path: Path) -> FleetStore:
    """An empty store in a folder."""
    return FleetStore.at(str(tmp_path / "store"))
