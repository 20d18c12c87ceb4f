"""What decides whether something is measured again: its machine code and how it is launched."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kernelprof import files
from kernelprof.errors import InputError, MissingToolError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.fleet.devices import Device
    from kernelprof.fleet.plan import Job
    from kernelprof.launch.spec import LaunchSpec

MACHINE_CODE: Final = "machine code"
SOURCE: Final = "source"
PROGRAM: Final = "program"
CAPTURE: Final = "capture"


@dataclass(frozen=True, slots=True)
class Identity:
    """The digest of a job's code, of what it is (:data:`MACHINE_CODE` and so on), and its key.

    The key is of the code, the launch, the metrics that are asked for, the GPU and the round.
    """

    code: str
    code_of: str
    key: str


def identify(job: Job, device: Device) -> Identity:
    """Who a job is on a GPU, without a GPU; its source is compiled for that.

    Where no compiler is installed, the source with its includes and options stands for the code.
    Raises what a build raises for a kernel that does not compile.
    """
    if job.kind == "capture":
        return _of_capture(job)
    code, code_of, launch = _program(job) if job.kind == "program" else _source(job, device)
    others = [] if job.against is None else [_other(job, device)]
    asked = [job.preset, job.kernel, job.launch_skip, job.launch_count, job.round]
    return Identity(code, code_of, _digest([code, launch, others, asked, device.name]))


def _of_capture(job: Job) -> Identity:
    """A capture is diagnosed again by another kernelprof, which may judge otherwise."""
    from kernelprof.comparison.history.store import maker
    from kernelprof.sources.capture_directory import MANIFEST

    path = Path(job.path)
    try:
        code = files.sha256(path / MANIFEST if path.is_dir() else path)
    except OSError as error:
        raise InputError(
            f"the capture cannot be read: {error.strerror or error}", where=job.path
        ) from error
    return Identity(code, CAPTURE, _digest([code, maker()]))


def _program(job: Job) -> tuple[str, str, Any]:
    """A program is its executable and the files among its arguments; what it loads is not known."""
    home = Path(job.folder)
    first = job.command[0]
    found = home / first if "/" in first else Path(shutil.which(first) or first)
    if not found.is_file():
        raise InputError(
            "there is no such program", where=str(found), hint="correct command in the plan"
        )
    named = [home / word for word in job.command[1:] if (home / word).is_file()]
    return _digest([files.sha256(each) for each in (found, *named)]), PROGRAM, list(job.command)


def _source(job: Job, device: Device) -> tuple[str, str, Any]:
    from kernelprof.launch.prepare import is_program
    from kernelprof.launch.read_spec import load_spec
    from kernelprof.launch.source import data_hashes, file_hash, include_hashes, launch_hashes

    source, changes = Path(job.path), overrides_of(job)
    if is_program(source, changes):
        return _digest([file_hash(source), include_hashes(source)]), SOURCE, None
    spec = changes.applied_to(load_spec(source), source)
    document = {name: value for name, value in spec.document().items() if name != "compile"}
    launch = [document, list(data_hashes(source, spec))]
    code = _machine_code(source, spec, device.arch)
    if code is None:
        return launch_hashes(source, spec).digest(), SOURCE, launch
    return code, MACHINE_CODE, launch


def _other(job: Job, device: Device) -> str:
    """The code of the kernel that a job is compared with: both are measured, or neither is."""
    assert job.against is not None
    return _source(replace(job, path=job.against), device)[0]


def overrides_of(job: Job) -> Any:
    """The sizes and defines of a job as a launch takes them."""
    from kernelprof.launch.overrides import LaunchOverrides

    return LaunchOverrides(dict(job.sizes), dict(job.defines))


def _machine_code(source: Path, spec: LaunchSpec, arch: str) -> str | None:
    """The digest of what a source is compiled to; ``None`` where no compiler is installed."""
    from kernelprof.launch.build import build, compile_failure
    from kernelprof.launch.cubin import CompileError, code_digest
    from kernelprof.launch.nvcc import Workshop, scratch
    from kernelprof.tools import find_nvcc

    try:
        find_nvcc()
    except MissingToolError:
        return _without_toolkit(source, spec, arch)
    with scratch() as folder:
        workshop = Workshop(folder)
        try:
            built = build(spec, source, arch, workshop.cubin, workshop.named(source))
        except CompileError as error:
            raise compile_failure(source, error.what, kernel=spec.kernel) from error
    return code_digest(built.cubin)


def _without_toolkit(source: Path, spec: LaunchSpec, arch: str) -> str | None:
    """The same by NVIDIA's wheels for Python, if they are here."""
    from kernelprof.launch.build import build, compile_failure
    from kernelprof.launch.cubin import CompileError, code_digest
    from kernelprof.predict.compile import DeviceCompiler
    from kernelprof.predict.toolchain import find_toolchain

    try:
        compiler = DeviceCompiler(find_toolchain(), spec.kernel)
    except MissingToolError:
        return None
    try:
        built = build(spec, source, arch, compiler.cubin, compiler.named(source))
    except CompileError as error:
        raise compile_failure(source, error.what, kernel=spec.kernel) from error
    return code_digest(built.cubin)


def _digest(values: Iterable[Any]) -> str:
    text = json.dumps(list(values), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
