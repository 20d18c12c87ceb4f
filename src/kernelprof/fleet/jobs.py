"""What workers do with a job: identify it, measure it on a GPU, diagnose."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
import socket
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kernelprof import files
from kernelprof.errors import ErrorFacts, InputError, KernelprofError, MissingToolError
from kernelprof.fleet.executor import VISIBLE_DEVICES
from kernelprof.fleet.records import MeasurementFile, Provenance, record
from kernelprof.tools import which

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.fleet.executor import GpuDevice
    from kernelprof.fleet.plan import Job
    from kernelprof.launch.specification.spec import LaunchSpec
    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis
    from kernelprof.model.manifest import Manifest


MACHINE_CODE: Final = "machine code"
SOURCE: Final = "source"
PROGRAM: Final = "program"
CAPTURE: Final = "capture"


@dataclass(frozen=True, slots=True)
class Identity:
    """The hash of a job's code, of what it is, and the key: code, launch, metrics, GPU, round."""

    code: str
    code_of: str
    key: str


def identify_job(job: Job, device: GpuDevice) -> Identity:
    """Return who a job is on a GPU; its source is compiled for that, without needing the GPU.

    Without a compiler the source with its includes and options stands for the code.
    """
    if job.kind == "capture":
        return _identify_capture(job)
    is_program = job.kind == "program"
    code, code_of, launch = _code_of_program(job) if is_program else _code_of_source(job, device)
    # The code of the kernel that it is compared with: both are measured, or neither is
    others = []
    if job.against is not None:
        others = [_code_of_source(replace(job, path=job.against), device)[0]]
    request = [job.preset, job.kernel, job.launch_skip, job.launch_count, job.round]
    return Identity(code, code_of, _digest([code, launch, others, request, device.name]))


def _identify_capture(job: Job) -> Identity:
    # A capture is diagnosed again by another kernelprof, which may judge otherwise
    from kernelprof.content_cache import code_version
    from kernelprof.sources.capture_directory import MANIFEST

    path = Path(job.path)
    try:
        code = files.sha256(path / MANIFEST if path.is_dir() else path)
    except OSError as error:
        raise InputError(
            f"the capture cannot be read: {error.strerror or error}", where=job.path
        ) from error
    return Identity(code, CAPTURE, _digest([code, code_version()]))


def _code_of_program(job: Job) -> tuple[str, str, Any]:
    # A program is its executable and the files among its arguments; what it loads is not known
    home = Path(job.folder)
    first = job.command[0]
    executable = home / first if "/" in first else Path(which(first) or first)
    if not executable.is_file():
        raise InputError(
            "there is no such program", where=str(executable), hint="fix `command` in the plan"
        )
    arguments = [home / word for word in job.command[1:] if (home / word).is_file()]
    return (
        _digest([files.sha256(each) for each in (executable, *arguments)]),
        PROGRAM,
        list(job.command),
    )


def _code_of_source(job: Job, device: GpuDevice) -> tuple[str, str, Any]:
    from kernelprof.launch.run.prepare import is_program
    from kernelprof.launch.source import data_hashes, file_hash, include_hashes, launch_hashes
    from kernelprof.launch.specification.reader import load_spec

    source, changes = Path(job.path), launch_overrides(job)
    if is_program(source, changes):
        return _digest([file_hash(source), include_hashes(source)]), SOURCE, None
    spec = changes.applied_to(load_spec(source), source)
    document = {name: value for name, value in spec.document().items() if name != "compile"}
    launch = [document, list(data_hashes(source, spec))]
    code = _machine_code(source, spec, device.arch)
    if code is None:
        return launch_hashes(source, spec).digest(), SOURCE, launch
    return code, MACHINE_CODE, launch


def launch_overrides(job: Job) -> Any:
    """The sizes and defines of a job as a launch takes them."""
    from kernelprof.launch.specification.overrides import LaunchOverrides

    return LaunchOverrides(dict(job.sizes), dict(job.defines))


def _machine_code(source: Path, spec: LaunchSpec, arch: str) -> str | None:
    # By `nvcc`, else by NVRTC; nothing where neither is installed
    from kernelprof.launch.build.compilation import (
        CompileError,
        build_kernel,
        code_digest,
        compile_failure,
    )
    from kernelprof.launch.build.nvcc import Workshop, scratch
    from kernelprof.prediction.compiler import DeviceCompiler
    from kernelprof.prediction.toolchain import find_toolchain
    from kernelprof.tools import find_nvcc

    with contextlib.ExitStack() as stack:
        try:
            find_nvcc()
        except MissingToolError:
            try:
                compiler = DeviceCompiler(find_toolchain(), spec.kernel)
            except MissingToolError:
                return None
            compile_with, name = compiler.cubin, compiler.printable_path(source)
        else:
            workshop = Workshop(stack.enter_context(scratch()))
            compile_with, name = workshop.cubin, workshop.printable_path(source)
        try:
            built = build_kernel(spec, source, arch, compile_with, name)
        except CompileError as error:
            raise compile_failure(source, error.what, kernel=spec.kernel) from error
    return code_digest(built.cubin)


def _digest(values: Iterable[Any]) -> str:
    text = json.dumps(list(values), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Order:
    """Jobs for one device, measured in their order. With ``recorded`` nothing is measured."""

    jobs: tuple[tuple[Job, Identity], ...]
    plan: str
    device: GpuDevice
    commit: str | None = None
    recorded: bool = False


def identify_jobs(order: tuple[tuple[Job, ...], GpuDevice]) -> tuple[Identity | ErrorFacts, ...]:
    """Who jobs are on a GPU, or why that cannot be told: one that does not compile."""
    jobs, device = order
    made: list[Identity | ErrorFacts] = []
    for job in jobs:
        try:
            made.append(identify_job(job, device))
        except KernelprofError as error:
            made.append(ErrorFacts.from_exception(error))
    return tuple(made)


def measure_jobs(order: Order) -> tuple[MeasurementFile | ErrorFacts, ...]:
    """Return the file of each job, or why there is none; a comparison ends with a failure."""
    pair = order.jobs[0][1].key if order.jobs[0][0].against is not None else None
    made: list[MeasurementFile | ErrorFacts] = []
    for job, identity in order.jobs:
        try:
            made.append(_record_job(job, identity, order, pair))
        except KernelprofError as error:
            made.append(ErrorFacts.from_exception(error))
            if pair is not None:
                break
    return tuple(made)


def _record_job(job: Job, identity: Identity, order: Order, pair: str | None) -> MeasurementFile:
    if job.kind == "capture":
        capture, diagnosis, manifest, created = _read_job_capture(job)
        recorded = False
    else:
        capture, diagnosis, manifest, recorded = _measure_job(job)
        created = None
        if recorded and not order.recorded:
            raise MissingToolError(
                f"{job.name} cannot be measured here: no NVIDIA GPU, or no ncu",
                where=socket.gethostname(),
                hint="'kernelprof doctor' lists what is missing",
            )
    about = Provenance(
        key=identity.key,
        plan=order.plan,
        name=_name_measurement(job, manifest),
        kind=job.kind,
        sizes=_all_sizes(job, manifest),
        defines=json.dumps(dict(job.defines), sort_keys=True),
        round=job.round,
        pair=pair,
        side=job.side,
        code=identity.code,
        code_of=identity.code_of,
        host=None if recorded or job.kind == "capture" else socket.gethostname(),
        device=None if recorded else os.environ.get(VISIBLE_DEVICES),
        commit=order.commit,
        recorded=recorded,
        origin=job.path if job.kind == "capture" else None,
    )
    return record(capture, diagnosis, manifest, about, created)


def _name_measurement(job: Job, manifest: Manifest | None) -> str:
    # What measurements of the same thing are found by: of a capture, what was measured in it
    if job.kind != "capture" or manifest is None:
        return job.name
    return shlex.join(manifest.target) if manifest.source is None else manifest.source.path


def _all_sizes(job: Job, manifest: Manifest | None) -> str:
    # All sizes of the launch, also those that the plan leaves as the source has them
    source = None if manifest is None else manifest.source
    sizes = ((source and source.specification) or {}).get("sizes")
    values: dict[str, Any] = {**(sizes if isinstance(sizes, dict) else {}), **dict(job.sizes)}
    return json.dumps(values, sort_keys=True)


def _measure_job(job: Job) -> tuple[Capture, Diagnosis, Manifest, bool]:
    from kernelprof.analysis.verdict import diagnose
    from kernelprof.collect.commands import LaunchFilters
    from kernelprof.collect.request import ProfileRequest
    from kernelprof.collect.session import measure_for_diagnosis

    source = job.kind == "source"
    request = ProfileRequest(
        application=job.command,
        source=Path(job.path) if source else None,
        overrides=launch_overrides(job),
        filters=LaunchFilters(job.kernel, job.launch_skip, job.launch_count),
        time_limit=job.time_limit,
    )
    # A program may name files relative to the plan.
    with contextlib.chdir(job.folder) if job.folder else contextlib.nullcontext():
        measurement = measure_for_diagnosis(request, job.preset)
    judged = diagnose(measurement.capture, preset=job.preset)
    return measurement.capture, judged, measurement.manifest, measurement.recorded


def _read_job_capture(job: Job) -> tuple[Capture, Diagnosis, Manifest | None, datetime]:
    from kernelprof.analysis.verdict import diagnose
    from kernelprof.sources import read_capture
    from kernelprof.sources.capture_directory import read_contents

    capture = read_capture(job.path)
    made = datetime.fromtimestamp(Path(job.path).stat().st_mtime, UTC)
    return capture, diagnose(capture), read_contents(job.path).manifest, made
