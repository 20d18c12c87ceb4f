"""The manifest of a capture directory: what was run on what, with which outcome.

Plain values and their JSON. A manifest of another schema version is refused, one with
more keys than are known here is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

from kernelprof.errors import InputError
from kernelprof.model.json_types import about
from kernelprof.model.kernel_name import function_name
from kernelprof.model.records import RecordError, build, read_object
from kernelprof.model.specification import check_shape

SCHEMA_VERSION: Final = "1"


# For the schema alone: who reads a file of a capture checks its name and hash.
Sha256 = Annotated[str, about("SHA-256 in hexadecimal", pattern="^[0-9a-f]{64}$")]
FileName = Annotated[str, about("a file of this directory", pattern="^[^/]+$")]
Time = Annotated[str, about("UTC in ISO 8601", pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]


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
    sha256: Sha256
    """Of all metrics with their names and sections, and of the samples by source line."""


@dataclass(frozen=True, slots=True)
class CompilerWarning:
    """What the assembler says of code that it compiled all the same."""

    code: Annotated[str, about("ptxas warning code, such as C7510")]
    text: str
    function: Annotated[
        str | None,
        about(
            "mangled name of the kernel, or of a function that the kernel may call; null if the "
            "warning names none"
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """The kernel's source, its launch specification and how it was compiled."""

    path: str
    sha256: Sha256
    specification: dict[str, Any] | None = None
    specification_sha256: Sha256 | None = None
    compiler: str | None = None
    compile_flags: tuple[str, ...] = ()
    compile_sha256: Annotated[
        Sha256 | None, about("hash of the compiler options in the specification")
    ] = None
    includes: Annotated[
        dict[str, str] | None,
        about(
            "hashes of the included files (except the toolkit's) and of the files that the "
            "specification names; a hash is empty if the name in #include is a macro"
        ),
    ] = None
    resources: Annotated[
        dict[str, Any] | None,
        about(
            "resources that the compiler assigned to the kernel: registers, shared and local memory"
        ),
    ] = None
    compiler_warnings: Annotated[
        tuple[CompilerWarning, ...], about("ptxas warnings for the kernel")
    ] = ()
    inferred: Annotated[
        tuple[str, ...] | None,
        about("notes on an inferred specification; null if none was inferred"),
    ] = None
    options: Annotated[
        tuple[str, ...],
        about(
            "command-line options that set sizes, defines, the reference, the kernel or compiler "
            "flags"
        ),
    ] = ()


@dataclass(frozen=True, slots=True)
class TimingFacts:
    """Launches timed by CUDA events, outside the profiler; nanoseconds of one launch.

    ``low_ns`` and ``high_ns`` are the shortest and the longest; the confidence interval is that of
    the median, at 95 %.
    """

    launches: int
    warm_up: int
    median_ns: float
    low_ns: float
    high_ns: float
    confidence_low_ns: float | None = None
    confidence_high_ns: float | None = None
    times_ns: Annotated[tuple[float, ...], about("all launches, in launch order")] = ()
    flops: Annotated[float | None, about("floating-point operations that the problem needs")] = None
    min_bytes: Annotated[
        float | None, about("the least number of bytes that must move to and from device memory")
    ] = None


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
    """One run of the program under ``ncu``: the command, what it gave, and what it cost."""

    command: Annotated[
        tuple[str, ...], about("the exact command; file names are those in this directory")
    ]
    raw: Annotated[FileName, about("gzip-compressed file of ncu's raw page")]
    raw_sha256: Sha256
    report: Annotated[FileName | None, about("file of the report")]
    why: Annotated[str, about("purpose of the run")]
    metrics: Annotated[tuple[str, ...], about("requested metrics, by ncu's names")]
    launches: int
    passes: Annotated[int | None, about("total replay passes of all launches; null if unknown")]
    seconds: Annotated[float, about("wall-clock time of the run")]
    kernels: Annotated[
        tuple[str, ...] | None,
        about("kernels to which the run was limited; null for all that pass the filters"),
    ] = None
    application: Annotated[str | None, about("the executable that launched the first kernel")] = (
        None
    )
    program_exit_code: Annotated[
        int, about("nonzero if the program failed after its kernels were profiled")
    ] = 0
    unavailable: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    lines: Annotated[
        FileName | None,
        about(
            "gzip-compressed CSV file of the samples by source line (columns: file, function, "
            "line, samples); null if not requested, or without line information"
        ),
    ] = None
    lines_sha256: Sha256 | None = None
    code: Annotated[
        FileName | None,
        about(
            "gzip-compressed JSON file of the machine instructions with their samples, counters "
            "and lines; null if not requested or not available"
        ),
    ] = None
    code_sha256: Sha256 | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that a capture directory says about itself; times are UTC in ISO 8601."""

    created: Time
    kernelprof: Annotated[str, about("version of kernelprof")]
    target: Annotated[tuple[str, ...], about("the program or the source file, with its arguments")]
    ncu: Annotated[str | None, about("version of Nsight Compute")]
    driver: Annotated[str | None, about("version of the GPU's driver")]
    cuda: Annotated[str | None, about("newest CUDA version that the driver supports")]
    gpu: GpuFacts
    clock_control: Annotated[str, about("value of ncu's option --clock-control")]
    runs: Annotated[
        tuple[RunFacts, ...],
        about("runs of ncu, oldest first; later runs add metrics that the first lacks", minItems=1),
    ]
    preset: PresetFacts | None = None
    unavailable: Annotated[
        tuple[str, ...],
        about("requested metrics that a run could not collect completely, by ncu's names"),
    ] = ()
    source: SourceFacts | None = None
    timing: TimingFacts | None = None
    correctness: CorrectnessFacts | None = None
    survey: Annotated[
        FileName | None,
        about("gzip-compressed JSON file of the whole program's survey; null if there was none"),
    ] = None
    survey_sha256: Sha256 | None = None
    schema_version: str = SCHEMA_VERSION

    def describes_kernel(self, kernel: str, kernels: int) -> bool:
        """Return whether source, times and check are those of a kernel of the capture.

        They are of the kernel that the specification names; one beside it, of a library or for
        initialisation, has none of them. ``kernels`` is how many the capture has.
        """
        name = ((self.source and self.source.specification) or {}).get("kernel")
        if not isinstance(name, str):
            return kernels == 1
        return function_name(kernel) == function_name(name)

    def describe(self) -> str:
        """Describe in a line where and when it was made."""
        gpu = self.gpu.name or "an unknown GPU"
        ncu = f"Nsight Compute {self.ncu}" if self.ncu else "an unknown version of Nsight Compute"
        return f"measured on {gpu} at {self.created} with {ncu}"


def from_json(text: str, where: str) -> Manifest:
    """Parse a manifest; :class:`InputError` names the key of a mistake."""
    try:
        values = read_object(text)
        version = values.get("schema_version")
        if version != SCHEMA_VERSION:
            raise InputError(
                f"the capture has a manifest of schema version {version!r}, but this kernelprof "
                f"reads version {SCHEMA_VERSION!r}",
                where=where,
                hint="install a newer kernelprof, or capture again",
            )
        manifest = build(Manifest, values)
        check_shape(manifest.source.specification if manifest.source else None)
    except RecordError as error:
        raise InputError(
            f"the capture's manifest cannot be read: {error}",
            where=where,
            hint="capture again with 'kernelprof profile'",
        ) from error
    return manifest
