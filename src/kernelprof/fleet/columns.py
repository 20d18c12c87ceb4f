"""The columns of a stored measurement: one row a column, from which everything else derives.

The Arrow schema, the index in the user's cache folder, the views, series and headings of queries,
the list in ``docs/fleet.md`` and the rows of :mod:`kernelprof.fleet.records` come from
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
    _C("schema_version", "string", "schema_version", "schema version", is_light=False),
    _C("key", "string", "job.key", "hash of code, launch, metrics, GPU, round"),
    _C("plan", "string", "job.plan", ""),
    _C("name", "string", "job.name", "source, program or capture", in_series=True),
    _C("kind", "string", "job.kind", "`source`, `program` or `capture`"),
    _C("sizes", "string", "job.sizes", "JSON, keys sorted", "json", in_series=True),
    _C("defines", "string", "job.defines", "JSON, keys sorted", "json", in_series=True),
    _C("round", "int32", "job.round", "repetition, from 1"),
    _C("pair", "string", "job.pair", "ID shared by compared kernels"),
    _C("side", "string", "job.side", "`before` or `after`", in_series=True),
    _C("code", "string", "job.code", "hash of the code"),
    _C("code_of", "string", "job.code_of", "what was hashed, such as `machine code`"),
    _C("host", "string", "job.host", ""),
    _C("device", "string", "job.device", "GPU UUID"),
    _C("commit", "string", "job.commit", "commit of the plan's folder, `+` if modified", "commit"),
    _C(
        "recorded",
        "bool",
        "job.recorded",
        "values come from a recorded capture",
        in_series=True,
    ),
    _C("origin", "string", "job.origin", "path of the capture"),
    _C("created", "timestamp[us]", "created", "measurement time, UTC", "date"),
    _C("gpu", "string", "gpu", "", in_series=True),
    _C("compute_capability", "string", "compute_capability", "such as `9.0`"),
    _C("driver", "string", "manifest.driver", "driver version"),
    _C("ncu", "string", "manifest.ncu", "Nsight Compute version"),
    _C("clock_control", "string", "manifest.clock_control", "`--clock-control` of `ncu`"),
    _C("kernelprof", "string", "manifest.kernelprof", "kernelprof version"),
    _C("source_sha256", "string", "manifest.source.sha256", "source file hash"),
    _C("passed", "bool", "manifest.correctness.passed", "results are correct"),
    _C("kernel", "string", "kernel.name", "", in_series=True),
    _C("grid", "string", "grid", "blocks, such as `64x1x1`"),
    _C("block", "string", "block", "threads per block"),
    _C("launches", "int32", "kernel.launches", ""),
    _C("ids", "list<string>", "ids", "launch IDs in the capture", is_light=False),
    _C("time_ns", "double", "time_ns", "median launch time", "ns"),
    _C("timed_by", "string", "timed_by", "`CUDA events` or `the profiler`"),
    _C(
        "times_ns",
        "list<double>",
        "times_ns",
        "times whose median is `time_ns`",
        "ns",
        is_light=False,
    ),
    _C("durations_ns", "list<double>", "durations_ns", "times under `ncu`", "ns", is_light=False),
    _C("share", "double", "kernel.share", "share of total kernel time"),
    _C("status", "string", "kernel.verdict.status.value", "verdict status"),
    _C("bottleneck", "string", "kernel.verdict.bottleneck", ""),
    _C("confidence", "string", "kernel.verdict.confidence.value", ""),
    _C("gain", "double", "kernel.verdict.gain", "estimated speedup", "factor"),
    _C("gain_low", "double", "gain_low", "lower bound", "factor"),
    _C("gain_high", "double", "gain_high", "upper bound", "factor"),
    _C(
        "metrics",
        "map<string, list<double>>",
        "metrics",
        "`ncu` metrics, one value per launch",
        is_light=False,
    ),
    _C(
        "units",
        "string",
        "units",
        "JSON: each metric's unit and origin, such as `measured` or `predicted`",
        is_light=False,
    ),
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
