"""What was measured in one job, as one Parquet file: a row a kernel with its launch configuration.

A row has who was measured where, its times, its verdict and all metrics by the names that ``ncu``
gives them, one value a launch; what is missing is null, never zero. ``units`` is JSON with the unit
and the origin of each metric, ``manifest`` that of the capture directory.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from kernelprof.errors import InputError
from kernelprof.model.capture import OWN_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis, KernelDiagnosis
    from kernelprof.model.manifest import Manifest

SCHEMA_VERSION: Final = "1"
METADATA: Final = b"kernelprof"
"""The key of the file's metadata that says what it is: JSON with ``schema_version``, and with the
``sha256`` of the ``bytes`` before the footer."""

UNKNOWN: Final = "unknown"

LIGHT: Final = (
    *(
        "key",
        "plan",
        "name",
        "kind",
        "sizes",
        "defines",
        "round",
        "pair",
        "side",
        "code",
        "code_of",
    ),
    *("host", "device", "commit", "recorded", "origin", "created", "gpu"),
    *(
        "compute_capability",
        "driver",
        "ncu",
        "clock_control",
        "kernelprof",
        "source_sha256",
        "passed",
        "kernel",
    ),
    *(
        "grid",
        "block",
        "launches",
        "time_ns",
        "timed_by",
        "share",
        "status",
        "bottleneck",
        "confidence",
    ),
    *("gain", "gain_low", "gain_high"),
)
"""The columns that hold one value: what the usual questions look at."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a job says of itself beside the capture.

    ``key`` is what decides whether it is measured again, ``code`` the digest of the machine code or
    of what stands for it, ``sizes`` and ``defines`` JSON with sorted keys. ``pair`` is the same for
    the measurements of two kernels that are compared. ``device`` is the GPU's UUID, ``origin`` the
    capture that was read.
    """

    key: str
    plan: str
    name: str
    kind: str
    sizes: str = "{}"
    defines: str = "{}"
    round: int = 1
    pair: str | None = None
    side: str | None = None
    code: str | None = None
    code_of: str | None = None
    host: str | None = None
    device: str | None = None
    commit: str | None = None
    recorded: bool = False
    origin: str | None = None


def schema() -> Any:
    """The columns, in their order, with their types.

    Times are UTC without saying so: DuckDB needs another package to show a time with a zone.
    """
    import pyarrow as pa

    text, number, whole = pa.string(), pa.float64(), pa.int32()
    numbers = pa.list_(number)
    return pa.schema(
        [
            ("schema_version", text),
            *((name, text) for name in ("key", "plan", "name", "kind", "sizes", "defines")),
            ("round", whole),
            *((name, text) for name in ("pair", "side", "code", "code_of", "host", "device")),
            ("commit", text),
            ("recorded", pa.bool_()),
            ("origin", text),
            ("created", pa.timestamp("us")),
            *((name, text) for name in ("gpu", "compute_capability", "driver", "ncu")),
            *((name, text) for name in ("clock_control", "kernelprof", "source_sha256")),
            ("passed", pa.bool_()),
            *((name, text) for name in ("kernel", "grid", "block")),
            ("launches", whole),
            ("ids", pa.list_(text)),
            ("time_ns", number),
            ("timed_by", text),
            ("times_ns", numbers),
            ("durations_ns", numbers),
            ("share", number),
            *((name, text) for name in ("status", "bottleneck", "confidence")),
            *((name, number) for name in ("gain", "gain_low", "gain_high")),
            ("metrics", pa.map_(text, numbers)),
            ("units", text),
            ("manifest", text),
        ]
    )


@dataclass(frozen=True, slots=True)
class Record:
    """A Parquet file that is to be stored, and what its name is made of."""

    key: str
    gpu: str
    created: datetime
    data: bytes


def record(
    capture: Capture,
    diagnosis: Diagnosis,
    manifest: Manifest | None,
    about: Provenance,
    created: datetime | None = None,
) -> Record:
    """A capture with its diagnosis as a file; ``created`` is for one without a manifest."""
    import pyarrow as pa

    when = _moment(manifest.created) if manifest is not None else created or datetime.now(UTC)
    units = {
        name: [column.unit, column.source.value]
        for name, column in capture.columns.items()
        if not name.startswith(OWN_COLUMNS)
    }
    shared = {
        "schema_version": SCHEMA_VERSION,
        **asdict(about),
        **_measured_on(manifest, when),
        "units": json.dumps(units, ensure_ascii=False),
        "manifest": None if manifest is None else json.dumps(asdict(manifest), ensure_ascii=False),
    }
    rows = [
        {**shared, **_kernel(capture, each, manifest, len(diagnosis.kernels))}
        for each in diagnosis.kernels
    ]
    gpus = [row["gpu"] for row in rows]
    data = written(pa.Table.from_pylist(rows, schema()))
    return Record(about.key, gpus[0] if gpus else UNKNOWN, when, data)


def written(table: Any) -> bytes:
    """A table as a file of a store."""
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    # The schema of Arrow beside that of Parquet would double what a query reads of each file.
    with pq.ParquetWriter(sink, table.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(table)
        data = sink.getvalue()
        said = {
            "schema_version": SCHEMA_VERSION,
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        writer.add_key_value_metadata({METADATA: json.dumps(said)})
    return sink.getvalue()


def _measured_on(manifest: Manifest | None, when: datetime) -> dict[str, Any]:
    if manifest is None:
        return {"created": when.replace(tzinfo=None)}
    check = manifest.correctness
    return {
        "created": when.replace(tzinfo=None),
        "driver": manifest.driver,
        "ncu": manifest.ncu,
        "clock_control": manifest.clock_control,
        "kernelprof": manifest.kernelprof,
        "source_sha256": None if manifest.source is None else manifest.source.sha256,
        "passed": None if check is None else check.passed,
    }


def _kernel(
    capture: Capture, kernel: KernelDiagnosis, manifest: Manifest | None, kernels: int
) -> dict[str, Any]:
    """What a row says of its kernel; times by CUDA events are of one kernel of the capture."""
    gpu = None if manifest is None else manifest.gpu
    capability = None if gpu is None else gpu.compute_capability
    if kernel.compute_capability is not None:
        capability = ".".join(map(str, kernel.compute_capability))
    durations = _values(capture, "gpu__time_duration.sum", kernel.rows)
    timing = None if manifest is None else manifest.timing
    events = manifest is not None and manifest.is_of(kernel.name, kernels) and timing is not None
    times = list(timing.times_ns) if events and timing is not None else []
    known = times or [each for each in durations if each is not None]
    verdict = kernel.verdict
    low, high = verdict.gain_interval or (None, None)
    spread = kernel.duration_ns
    middle = median(known) if known else None if spread is None else spread.median
    return {
        "gpu": (gpu.name if gpu is not None else None) or kernel.device or UNKNOWN,
        "compute_capability": capability,
        "kernel": kernel.name,
        "grid": _extent(kernel.grid),
        "block": _extent(kernel.block),
        "launches": kernel.launches,
        "ids": list(kernel.ids),
        "time_ns": middle,
        "timed_by": None if middle is None else "CUDA events" if times else "the profiler",
        "times_ns": known,
        "durations_ns": durations,
        "share": kernel.share,
        "status": verdict.status.value,
        "bottleneck": verdict.bottleneck,
        "confidence": verdict.confidence.value,
        "gain": verdict.gain,
        "gain_low": low,
        "gain_high": high,
        "metrics": list(_metrics(capture, kernel.rows)),
    }


def _metrics(capture: Capture, rows: Sequence[int]) -> Iterator[tuple[str, list[float | None]]]:
    """The metrics that some of these launches have."""
    for name in capture.columns:
        if not name.startswith(OWN_COLUMNS):
            values = _values(capture, name, rows)
            if any(each is not None for each in values):
                yield name, values


def _values(capture: Capture, name: str, rows: Sequence[int]) -> list[float | None]:
    """A metric's value for each of these launches; none where the capture lacks the metric."""
    column = capture.columns.get(name)
    if column is None:
        return []
    found = (float(column.values[row]) for row in rows)
    return [None if each != each else each for each in found]  # noqa: PLR0124 (NaN)


def _extent(value: tuple[int, int, int] | None) -> str | None:
    return None if value is None else "x".join(map(str, value))


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def opened(data: bytes, where: str) -> Any:
    """A file's bytes as what :mod:`pyarrow` reads; a whole footer says nothing of what is before.

    Raises :class:`InputError` for a file that is damaged or that is none of ours.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        said = json.loads((file.metadata.metadata or {}).get(METADATA, b"null"))
        _check_version(said, where)
        if "sha256" not in said:  # nobody wrote down what it was
            file.read(use_threads=False)
        elif hashlib.sha256(data[: said.get("bytes")]).hexdigest() != said["sha256"]:
            raise InputError("its data is not what was written", where=where)
    except (OSError, ValueError, TypeError, pa.ArrowException) as error:
        raise InputError(
            f"it is no whole Parquet file ({_first_line(error)})", where=where
        ) from error
    return file


def _check_version(said: Any, where: str) -> None:
    version = said.get("schema_version") if isinstance(said, dict) else None
    if version is None:
        raise InputError("it is a Parquet file of something else", where=where)
    if version != SCHEMA_VERSION:
        raise InputError(
            f"it has schema version {version!r}, and this kernelprof reads {SCHEMA_VERSION!r}",
            where=where,
        )


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
