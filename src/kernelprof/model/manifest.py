"""The manifest of a capture directory: what was run on what, with which outcome.

Plain values and their JSON. ``schema/manifest.v1.schema.json`` describes the JSON; a manifest of
another schema version is refused, one with more keys than are known here is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kernelprof.errors import InputError
from kernelprof.model.kernel_name import function_name
from kernelprof.model.records import RecordError, build, read_object

SCHEMA_VERSION: Final = "1"


@dataclass(frozen=True, slots=True)
class GpuFacts:
    """The GPU that was measured, and its clocks in MHz just before."""

    name: str | None = None
    compute_capability: str | None = None
    sm_mhz: float | None = None
    memory_mhz: float | None = None
    max_sm_mhz: float | None = None
    max_memory_mhz: float | None = None


@dataclass(frozen=True, slots=True)
class PresetFacts:
    """The preset that was collected, and the hash of everything that it asks for."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """The kernel's source, its launch specification and how it was compiled.

    ``includes`` are the files that it includes in quotes, by name, with their hashes. ``resources``
    is what the compiler gave the kernel.
    """

    path: str
    sha256: str
    specification: dict[str, Any] | None = None
    specification_sha256: str | None = None
    compiler: str | None = None
    compile_flags: tuple[str, ...] = ()
    compile_sha256: str | None = None
    includes: dict[str, Any] | None = None
    resources: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class TimingFacts:
    """Launches timed by CUDA events, outside the profiler; nanoseconds of one launch.

    ``low_ns`` and ``high_ns`` are the shortest and the longest; the confidence interval is that of
    the median, at 95 %. ``times_ns`` are all of them in their order.
    """

    launches: int
    warm_up: int
    median_ns: float
    low_ns: float
    high_ns: float
    confidence_low_ns: float | None = None
    confidence_high_ns: float | None = None
    times_ns: tuple[float, ...] = ()
    flops: float | None = None
    min_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class CorrectnessFacts:
    """The check of the kernel's result against a reference, at sizes of its own."""

    passed: bool
    reference: str | None = None
    largest_error: float | None = None
    tolerance: float | None = None
    sizes: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run of the program under ``ncu``: the command, what it gave, and what it cost.

    ``passes`` is how often kernels were replayed, over all launches. ``kernels`` are those to which
    the run was limited, ``None`` for all that the filters let through. ``program_exit_code`` is not
    0 for a program that failed after its kernels were profiled. ``lines`` is the file of samples by
    source line, of a run that asked for them and got some.
    """

    command: tuple[str, ...]
    raw: str
    raw_sha256: str
    report: str | None
    why: str
    metrics: tuple[str, ...]
    launches: int
    passes: int | None
    seconds: float
    kernels: tuple[str, ...] | None = None
    application: str | None = None
    program_exit_code: int = 0
    unavailable: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    lines: str | None = None
    lines_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that a capture directory says about itself; times are UTC in ISO 8601."""

    created: str
    kernelprof: str
    target: tuple[str, ...]
    ncu: str | None
    driver: str | None
    cuda: str | None
    gpu: GpuFacts
    clock_control: str
    runs: tuple[RunFacts, ...]
    preset: PresetFacts | None = None
    unavailable: tuple[str, ...] = ()
    source: SourceFacts | None = None
    timing: TimingFacts | None = None
    correctness: CorrectnessFacts | None = None
    schema_version: str = SCHEMA_VERSION

    def is_of(self, kernel: str, kernels: int) -> bool:
        """Whether the source, the times and the check are those of a kernel of the capture.

        They are of the kernel that the specification names; one beside it, of a library or for
        initialisation, has none of them. ``kernels`` is how many the capture has.
        """
        named = ((self.source and self.source.specification) or {}).get("kernel")
        if not isinstance(named, str):
            return kernels == 1
        return function_name(kernel) == function_name(named)

    def describe(self) -> str:
        """Where and when it was made, in a line."""
        gpu = self.gpu.name or "an unknown GPU"
        ncu = f"Nsight Compute {self.ncu}" if self.ncu else "an unknown Nsight Compute"
        return f"measured on {gpu} at {self.created} with {ncu}"


def from_json(text: str, where: str) -> Manifest:
    """A manifest; :class:`InputError` names the key of a mistake."""
    try:
        values = read_object(text)
        version = values.get("schema_version")
        if version != SCHEMA_VERSION:
            raise InputError(
                f"the capture has a manifest of schema version {version!r}, and this kernelprof "
                f"reads version {SCHEMA_VERSION!r}",
                where=where,
                hint="install a newer kernelprof, or make the capture again",
            )
        return build(Manifest, values)
    except RecordError as error:
        raise InputError(
            f"the capture's manifest cannot be read: {error}",
            where=where,
            hint="make the capture again with 'kernelprof profile'",
        ) from error


def schema() -> str:
    """The JSON Schema of the manifest."""
    path = Path(__file__).with_name("schema") / "manifest.v1.schema.json"
    return path.read_text(encoding="utf-8")
