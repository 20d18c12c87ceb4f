"""What workers do, each call in a process of its own: identify a job, measure it, diagnose."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import socket
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kernelprof.errors import KernelprofError, MissingToolError
from kernelprof.fleet.code import Identity, identify, overrides_of
from kernelprof.fleet.executor import Failure
from kernelprof.fleet.records import Provenance, Record, record

if TYPE_CHECKING:
    from kernelprof.fleet.devices import Device
    from kernelprof.fleet.plan import Job
    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis
    from kernelprof.model.manifest import Manifest


_VISIBLE: Final = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True, slots=True)
class Order:
    """Jobs for one device, measured in their order. With ``recorded`` nothing is measured."""

    jobs: tuple[tuple[Job, Identity], ...]
    plan: str
    device: Device
    commit: str | None = None
    recorded: bool = False


def identified(order: tuple[tuple[Job, ...], Device]) -> tuple[Identity | Failure, ...]:
    """Who jobs are on a GPU, or why that cannot be told: one that does not compile."""
    jobs, device = order
    made: list[Identity | Failure] = []
    for job in jobs:
        try:
            made.append(identify(job, device))
        except KernelprofError as error:
            made.append(Failure.of(error))
    return tuple(made)


def measured(order: Order) -> tuple[Record | Failure, ...]:
    """The record of each job, or why there is none.

    Of a comparison nothing more is measured after a failure. Where nothing can be measured here,
    that is one.
    """
    pair = order.jobs[0][1].key if order.jobs[0][0].against is not None else None
    made: list[Record | Failure] = []
    for job, identity in order.jobs:
        try:
            made.append(_record(job, identity, order, pair))
        except KernelprofError as error:
            made.append(Failure.of(error))
            if pair is not None:
                break
    return tuple(made)


def _record(job: Job, identity: Identity, order: Order, pair: str | None) -> Record:
    if job.kind == "capture":
        capture, diagnosis, manifest, created = _read(job)
        recorded = False
    else:
        capture, diagnosis, manifest, recorded = _measure(job)
        created = None
        if recorded and not order.recorded:
            raise MissingToolError(
                f"{job.name} cannot be measured here: no NVIDIA GPU, or no ncu",
                where=socket.gethostname(),
                hint="'kernelprof doctor' says what is missing",
            )
    about = Provenance(
        key=identity.key,
        plan=order.plan,
        name=_name(job, manifest),
        kind=job.kind,
        sizes=_sizes(job, manifest),
        defines=json.dumps(dict(job.defines), sort_keys=True),
        round=job.round,
        pair=pair,
        side=job.side,
        code=identity.code,
        code_of=identity.code_of,
        host=None if recorded or job.kind == "capture" else socket.gethostname(),
        device=None if recorded else os.environ.get(_VISIBLE),
        commit=order.commit,
        recorded=recorded,
        origin=job.path if job.kind == "capture" else None,
    )
    return record(capture, diagnosis, manifest, about, created)


def _name(job: Job, manifest: Manifest | None) -> str:
    """What measurements of the same thing are found by: of a capture, what was measured in it."""
    if job.kind != "capture" or manifest is None:
        return job.name
    return shlex.join(manifest.target) if manifest.source is None else manifest.source.path


def _sizes(job: Job, manifest: Manifest | None) -> str:
    """All sizes of the launch, also those that the plan leaves as the source has them."""
    source = None if manifest is None else manifest.source
    known = ((source and source.specification) or {}).get("sizes")
    values: dict[str, Any] = {**(known if isinstance(known, dict) else {}), **dict(job.sizes)}
    return json.dumps(values, sort_keys=True)


def _measure(job: Job) -> tuple[Capture, Diagnosis, Manifest, bool]:
    from kernelprof.analysis.verdict import diagnose
    from kernelprof.collect.commands import Filters
    from kernelprof.collect.request import ProfileRequest
    from kernelprof.collect.session import measure

    source = job.kind == "source"
    request = ProfileRequest(
        application=job.command,
        source=Path(job.path) if source else None,
        overrides=overrides_of(job),
        filters=Filters(job.kernel, job.launch_skip, job.launch_count),
        time_limit=job.time_limit,
    )
    # A program may name files relative to the plan.
    with contextlib.chdir(job.folder) if job.folder else contextlib.nullcontext():
        found = measure(request, job.preset)
    judged = diagnose(found.capture, preset=job.preset)
    return found.capture, judged, found.manifest, found.recorded


def _read(job: Job) -> tuple[Capture, Diagnosis, Manifest | None, datetime]:
    from kernelprof.analysis.verdict import diagnose
    from kernelprof.sources import read_capture
    from kernelprof.sources.capture_directory import contents

    capture = read_capture(job.path)
    made = datetime.fromtimestamp(Path(job.path).stat().st_mtime, UTC)
    return capture, diagnose(capture), contents(job.path).manifest, made


def use_device(uuid: str) -> None:
    """Let this process, and all that it starts, see one GPU."""
    os.environ[_VISIBLE] = uuid
