"""The columns of a stored measurement: one row a column, from which everything else derives.

The Arrow schema, the index in the user's cache folder, the views, series and headings of queries,
the table in ``docs/fleet.md`` and the rows of :mod:`kernelprof.fleet.records` come from
:data:`COLUMNS`. Stored files have these names and types in this order: append, change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

SCHEMA_VERSION: Final = "1"


@dataclass(frozen=True, slots=True)
class StoreColumn:
    """A column: its Arrow type, and what of a measured kernel fills it.

    ``source`` is a path of attributes, such as ``manifest.source.sha256``, or the name of a value
    that :mod:`kernelprof.fleet.records` computes. ``is_light`` columns hold one value and are in
    the index; ``in_series`` columns are equal in all measurements of a series.
    """

    name: str
    type: str
    source: str
    meaning: str
    unit: str = ""
    is_light: bool = True
    in_series: bool = False


_C = StoreColumn
COLUMNS: Final = (
    _C("schema_version", "string", "schema_version", "version of these columns", is_light=False),
    _C("key", "string", "job.key", "hash of code, launch, metrics, GPU and round"),
    _C("plan", "string", "job.plan", "name of the plan"),
    _C("name", "string", "job.name", "source, program or capture", in_series=True),
    _C("kind", "string", "job.kind", "`source`, `program` or `capture`"),
    _C("sizes", "string", "job.sizes", "JSON, keys sorted", "json", in_series=True),
    _C("defines", "string", "job.defines", "JSON, keys sorted", "json", in_series=True),
    _C("round", "int32", "job.round", "round of a repeated job, from 1"),
    _C("pair", "string", "job.pair", "shared by two kernels that are compared"),
    _C("side", "string", "job.side", "`before` or `after` of such a pair", in_series=True),
    _C("code", "string", "job.code", "hash of the code"),
    _C("code_of", "string", "job.code_of", "what `code` is the hash of, such as `machine code`"),
    _C("host", "string", "job.host", "host that measured"),
    _C("device", "string", "job.device", "UUID of the GPU"),
    _C("commit", "string", "job.commit", "commit of the plan's folder, `+` with changes", "commit"),
    _C("recorded", "bool", "job.recorded", "a recorded capture stood in", in_series=True),
    _C("origin", "string", "job.origin", "capture that was read"),
    _C("created", "timestamp[us]", "created", "time of the measurement, UTC", "date"),
    _C("gpu", "string", "gpu", "name of the GPU", in_series=True),
    _C("compute_capability", "string", "compute_capability", "such as `9.0`"),
    _C("driver", "string", "manifest.driver", "version of the driver"),
    _C("ncu", "string", "manifest.ncu", "version of Nsight Compute"),
    _C("clock_control", "string", "manifest.clock_control", "`--clock-control` of `ncu`"),
    _C("kernelprof", "string", "manifest.kernelprof", "version of kernelprof"),
    _C("source_sha256", "string", "manifest.source.sha256", "hash of the source file"),
    _C("passed", "bool", "manifest.correctness.passed", "whether results were correct"),
    _C("kernel", "string", "kernel.name", "name of the kernel", in_series=True),
    _C("grid", "string", "grid", "blocks, such as `64x1x1`"),
    _C("block", "string", "block", "threads of a block"),
    _C("launches", "int32", "kernel.launches", "number of launches"),
    _C("ids", "list<string>", "ids", "IDs of launches in the capture", is_light=False),
    _C("time_ns", "double", "time_ns", "median time of a launch", "ns"),
    _C("timed_by", "string", "timed_by", "`CUDA events` or `the profiler`"),
    _C("times_ns", "list<double>", "times_ns", "times behind `time_ns`", "ns", is_light=False),
    _C("durations_ns", "list<double>", "durations_ns", "times under `ncu`", "ns", is_light=False),
    _C("share", "double", "kernel.share", "share of the capture's time"),
    _C("status", "string", "kernel.verdict.status.value", "status of the verdict"),
    _C("bottleneck", "string", "kernel.verdict.bottleneck", "bottleneck of the verdict"),
    _C("confidence", "string", "kernel.verdict.confidence.value", "confidence of the verdict"),
    _C("gain", "double", "kernel.verdict.gain", "estimated gain, of run time", "factor"),
    _C("gain_low", "double", "gain_low", "lower end of its interval", "factor"),
    _C("gain_high", "double", "gain_high", "upper end of its interval", "factor"),
    _C(
        "metrics",
        "map<string, list<double>>",
        "metrics",
        "metrics of `ncu`, one value a launch",
        is_light=False,
    ),
    _C("units", "string", "units", "JSON: unit and origin of each metric", is_light=False),
    _C("manifest", "string", "manifest_json", "JSON: the capture's manifest", is_light=False),
)
LIGHT: Final = tuple(each.name for each in COLUMNS if each.is_light)
"""Columns with one value a kernel: what the usual questions read."""
HEAVY: Final = tuple(
    each.name for each in COLUMNS if not each.is_light and each.name != "schema_version"
)
SERIES: Final = tuple(each.name for each in COLUMNS if each.in_series)
UNITS: Final = {each.name: each.unit for each in COLUMNS}


def schema() -> Any:
    """Return the Arrow schema of a stored file.

    Times are UTC without a zone: DuckDB needs another package to show a time with one.
    """
    import pyarrow as pa

    types = {
        "list<string>": pa.list_(pa.string()),
        "list<double>": pa.list_(pa.float64()),
        "map<string, list<double>>": pa.map_(pa.string(), pa.list_(pa.float64())),
    }
    return pa.schema(
        [(each.name, types.get(each.type) or pa.type_for_alias(each.type)) for each in COLUMNS]
    )


def markdown_rows() -> str:
    """Return the table of columns as ``docs/fleet.md`` has it."""
    rows = (f"| `{each.name}` | {each.type} | {each.unit} | {each.meaning} |" for each in COLUMNS)
    return "\n".join(["| column | type | unit | what |", "| --- | --- | --- | --- |", *rows])
