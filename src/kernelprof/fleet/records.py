"""What was measured in one job, as one Parquet file: a row a kernel with its launch configuration.

:data:`kernelprof.fleet.columns.COLUMNS` are its columns; what is missing is null, never zero.
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
from kernelprof.fleet.columns import COLUMNS, SCHEMA_VERSION, schema
from kernelprof.model.capture import OWN_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis, KernelDiagnosis
    from kernelprof.model.manifest import Manifest

METADATA: Final = b"kernelprof"
"""The key of the file's metadata that says what it is: JSON with ``schema_version``, and with the
``sha256`` of the ``bytes`` before the footer."""

UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True)
class Provenance:
    """The columns of a job, beside those of its capture, by their names in :data:`COLUMNS`."""

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


@dataclass(frozen=True, slots=True)
class MeasurementFile:
    """A Parquet file that is to be stored, and what its name is made of."""

    key: str
    gpu: str
    created: datetime
    data: bytes


def record(
    capture: Capture,
    diagnosis: Diagnosis,
    manifest: Manifest | None,
    job: Provenance,
    created: datetime | None = None,
) -> MeasurementFile:
    """Return a capture with its diagnosis as a file; ``created`` is for one without a manifest."""
    import pyarrow as pa

    when = created or datetime.now(UTC)
    if manifest is not None:
        when = datetime.fromisoformat(manifest.created).astimezone(UTC)
    units = {
        name: [column.unit, column.source.value]
        for name, column in capture.columns.items()
        if not name.startswith(OWN_COLUMNS)
    }
    shared = {
        "schema_version": SCHEMA_VERSION,
        "created": when.replace(tzinfo=None),
        "units": json.dumps(units, ensure_ascii=False),
        "manifest_json": None
        if manifest is None
        else json.dumps(asdict(manifest), ensure_ascii=False),
        "job": job,
        "manifest": manifest,
    }
    rows = []
    for kernel in diagnosis.kernels:
        computed = _computed_values(capture, kernel, manifest, len(diagnosis.kernels))
        sources = {**shared, **computed, "kernel": kernel}
        rows.append({each.name: _resolve(sources, each.source) for each in COLUMNS})
    gpus = [row["gpu"] for row in rows]
    data = to_parquet(pa.Table.from_pylist(rows, schema()))
    return MeasurementFile(job.key, gpus[0] if gpus else UNKNOWN, when, data)


def _resolve(sources: dict[str, Any], path: str) -> Any:
    first, *attributes = path.split(".")
    value = sources[first]
    for each in attributes:
        value = None if value is None else getattr(value, each)
    return value


def to_parquet(table: Any) -> bytes:
    """Return a table as a file of a store."""
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    # The schema of Arrow beside that of Parquet would double what a query reads of each file.
    with pq.ParquetWriter(sink, table.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(table)
        data = sink.getvalue()
        footer = {
            "schema_version": SCHEMA_VERSION,
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        writer.add_key_value_metadata({METADATA: json.dumps(footer)})
    return sink.getvalue()


def _computed_values(
    capture: Capture, kernel: KernelDiagnosis, manifest: Manifest | None, kernels: int
) -> dict[str, Any]:
    gpu = None if manifest is None else manifest.gpu
    capability = None if gpu is None else gpu.compute_capability
    if kernel.compute_capability is not None:
        capability = ".".join(map(str, kernel.compute_capability))
    durations = _values(capture, "gpu__time_duration.sum", kernel.rows)
    times: list[float] = []
    # Times by CUDA events are of one kernel of the capture.
    if manifest is not None and manifest.describes_kernel(kernel.name, kernels) and manifest.timing:
        times = list(manifest.timing.times_ns)
    samples = times or [each for each in durations if each is not None]
    low, high = kernel.verdict.gain_interval or (None, None)
    time_ns = median(samples) if samples else kernel.duration_ns and kernel.duration_ns.median
    return {
        "gpu": (gpu.name if gpu is not None else None) or kernel.device or UNKNOWN,
        "compute_capability": capability,
        "grid": _format_extent(kernel.grid),
        "block": _format_extent(kernel.block),
        "ids": list(kernel.ids),
        "time_ns": time_ns,
        "timed_by": None if time_ns is None else "CUDA events" if times else "the profiler",
        "times_ns": samples,
        "durations_ns": durations,
        "gain_low": low,
        "gain_high": high,
        "metrics": list(_metrics(capture, kernel.rows)),
    }


def _metrics(capture: Capture, rows: Sequence[int]) -> Iterator[tuple[str, list[float | None]]]:
    for name in capture.columns:
        if not name.startswith(OWN_COLUMNS):
            values = _values(capture, name, rows)
            if any(each is not None for each in values):
                yield name, values


def _values(capture: Capture, name: str, rows: Sequence[int]) -> list[float | None]:
    column = capture.columns.get(name)
    if column is None:
        return []
    values = (float(column.values[row]) for row in rows)
    return [None if each != each else each for each in values]  # noqa: PLR0124 (NaN)


def _format_extent(value: tuple[int, int, int] | None) -> str | None:
    return None if value is None else "x".join(map(str, value))


def open_measurement(data: bytes, where: str) -> Any:
    """Open a file's bytes after a check of their hash; :class:`InputError` for any other file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        footer = json.loads((file.metadata.metadata or {}).get(METADATA, b"null"))
        _check_version(footer, where)
        if "sha256" not in footer:  # nobody wrote down what it was
            file.read(use_threads=False)
        elif hashlib.sha256(data[: footer.get("bytes")]).hexdigest() != footer["sha256"]:
            raise InputError("its data is damaged", where=where)
    except (OSError, ValueError, TypeError, pa.ArrowException) as error:
        raise InputError(
            f"it cannot be read as a Parquet file ({first_line(error)})", where=where
        ) from error
    return file


def _check_version(footer: Any, where: str) -> None:
    version = footer.get("schema_version") if isinstance(footer, dict) else None
    if version is None:
        raise InputError("it is not a Parquet file written by kernelprof", where=where)
    if version != SCHEMA_VERSION:
        raise InputError(
            f"it has schema version {version!r}, but this kernelprof reads {SCHEMA_VERSION!r}",
            where=where,
        )


def first_line(error: Exception) -> str:
    """Return the first line of a message, or the kind of an error without one."""
    return (str(error).splitlines() or [type(error).__name__])[0]
