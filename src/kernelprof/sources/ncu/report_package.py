"""A report (.ncu-rep) by NVIDIA's own package ncu-report, in a process of its own.

The package aborts, or ends by a signal, for some damaged reports.
"""

from __future__ import annotations

import csv
import importlib
import io
import math
import os
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kernelprof.model.launch_series import series_to_text
from kernelprof.model.sampled import (
    STALL_METRIC,
    STALLS,
    Counts,
    SampledCode,
    sum_launches,
    to_bytes,
)
from kernelprof.model.waiting import SourceLocation
from kernelprof.sources.ncu.timelines import series_of_launch
from kernelprof.sources.source_page import COUNTERS, ReadLaunch
from kernelprof.worker import CallLimits, Worker, WorkerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_NVTX: Final = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
_IDENTITY: Final = (
    "ID", _NVTX, "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC",
)  # fmt: skip
_SIDES: Final = "launch__{0}_dim_x launch__{0}_dim_y launch__{0}_dim_z"
_VERSION: Final = "device__attribute_compute_capability"
_SECONDS: Final = 60.0
_SECONDS_A_MIB: Final = 2.0
_MEMORY: Final = 768 << 20
_SMALL: Final = (8 << 20) - 1
_TIMES_OF_THE_FILE: Final = 8
"""A report unpacks to a few times its size: 145 kernels in 19 MB take 90 MB."""

_ONLY_SERIES: Final = b"\0"
"""Before the path of a report whose series alone are asked for."""

_WORKER: Final = Worker(__name__)


class PackagedReport(msgspec.Struct, array_like=True, frozen=True):
    """What the package read: the raw page as CSV, and the instructions as a capture stores them.

    ``series`` are those of the first launches, each as text; ``None`` where a launch has none.
    """

    page: bytes = b""
    code: bytes = b""
    series: tuple[str | None, ...] = ()
    problem: str = ""


def read_by_package(path: Path, *, only_series: bool = False) -> PackagedReport:
    """Read a report, or its series alone; ``problem`` says why it cannot be read."""
    # By powers of two: reports of a folder then share a process, in which the library is warm.
    size = 1 << max(path.stat().st_size, _SMALL).bit_length()
    seconds = _SECONDS + _SECONDS_A_MIB * (size >> 20)
    limits = CallLimits(seconds, _MEMORY + _TIMES_OF_THE_FILE * size)
    path = path.resolve()
    try:
        request = (_ONLY_SERIES if only_series else b"") + os.fsencode(path)
        answer = _WORKER.call(request, limits, [path.parent])
    except WorkerError as error:
        return PackagedReport(problem=f"NVIDIA's reader did not finish reading the report: {error}")
    return msgspec.msgpack.decode(answer, type=PackagedReport)


def prepare() -> None:
    """Load the package."""
    importlib.import_module("ncu_report")


def answer(given: bytes) -> bytes:
    """Read the report of a path, in the worker."""
    package: Any = importlib.import_module("ncu_report")
    try:
        context = package.load_report(os.fsdecode(given.removeprefix(_ONLY_SERIES)))
        number = context.num_ranges() if context is not None else 0
        ranges = (context.range_by_idx(at) for at in range(number))
        actions = [each.action_by_idx(at) for each in ranges for at in range(each.num_actions())]
        series = tuple(map(_series_of, actions[:_MOST_LAUNCHES]))
        if given.startswith(_ONLY_SERIES):
            report = PackagedReport(series=series)
        else:
            page = _as_csv(package, actions) if actions else b""
            report = PackagedReport(page, to_bytes(code_of(package, actions)), series)
    except MemoryError:
        raise
    except Exception as error:  # SWIG raises what it likes for a damaged file, and late
        report = PackagedReport(problem=f"the report cannot be opened: {error}")
    else:
        if not actions:
            report = PackagedReport(problem="the report contains no launch, or is damaged")
    return msgspec.msgpack.encode(report)


def _series_of(action: Any) -> str | None:
    """Write the series of a launch as text; what is odd about them must not fail a report."""
    try:
        series = series_of_launch(action)
    except MemoryError:
        raise
    except Exception:  # of the package, and of values that no counter has
        return None
    return None if series is None else series_to_text(series)


def _as_csv(package: Any, actions: list[Any]) -> bytes:
    """Write the raw page as ``ncu --print-units base`` does, so that one reader reads both."""
    units: dict[str, str] = {}
    rows: list[dict[str, str]] = []
    for number, action in enumerate(actions):
        row = _identity_cells(package, number, action)
        for name in action.metric_names():
            metric = action.metric_by_name(name)
            # "group:..." and "breakdown:..." are lists of metrics, which no page shows.
            if metric is not None and ":" not in name:
                units.setdefault(name, metric.unit() or "")
                row[name] = _format_cell(package, metric)
        rows.append(row)
    names = [*_IDENTITY, *sorted(units)]
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(names)
    writer.writerow([units.get(name, "") for name in names])
    writer.writerows([[row.get(name, "") for name in names] for row in rows])
    return text.getvalue().encode("utf-8", "replace")


def _identity_cells(package: Any, number: int, action: Any) -> dict[str, str]:
    def whole(name: str) -> str:
        metric = action.metric_by_name(name)
        return str(int(metric.as_double())) if metric is not None else ""

    def all_of(names: str, form: str) -> str:
        """Format several numbers; empty where one of them is missing."""
        numbers = [whole(name) for name in names.split()]
        return form.format(*numbers) if all(numbers) else ""

    state = action.nvtx_state()
    domains = [state.domain_by_id(key) for key in state.domains()] if state is not None else []
    return {
        "ID": str(number),
        "Kernel Name": str(action.name(package.IAction.NameBase_DEMANGLED)),
        "Context": whole("launch__context_id"),
        "Stream": whole("launch__stream_id"),
        "Block Size": all_of(_SIDES.format("block"), "({}, {}, {})"),
        "Grid Size": all_of(_SIDES.format("grid"), "({}, {}, {})"),
        "Device": whole("launch__device_id"),
        "CC": all_of(f"{_VERSION}_major {_VERSION}_minor", "{}.{}"),
        _NVTX: "  ".join(
            f'"{each.name()}:{n}"' for each in domains for n in each.push_pop_ranges()
        ),
    }


def _format_cell(package: Any, metric: Any) -> str:
    if not metric.has_value():
        return ""
    if metric.kind() == package.IMetric.ValueKind_STRING:
        return str(metric.as_string())
    value = float(metric.as_double())
    return repr(value) if math.isfinite(value) else ""


_INSTRUCTION_BYTES: Final = 16
"""Since compute capability 7.0 every instruction takes 128 bits."""
_MOST_LAUNCHES: Final = 200
_MOST_INSTRUCTIONS: Final = 1_000_000
"""Instructions of a kernel."""


def code_of(package: Any, actions: Iterable[Any]) -> tuple[SampledCode, ...]:
    """Read the kernels of a report with their instructions; empty where none has a counter.

    Of many launches the first are read: an instruction has thirty values in each. The package names
    one line of an instruction: that of the code itself, not where it was inlined.
    """
    some = islice(actions, _MOST_LAUNCHES)
    return sum_launches(code for each in some if (code := _read_code(package, each)) is not None)


def _read_code(package: Any, action: Any) -> SampledCode | None:
    states = {state: _counts_by_address(action, f"{STALL_METRIC}{state}") for state in STALLS}
    counters = {name: _counts_by_address(action, metric) for name, (_, metric) in COUNTERS.items()}
    sampled = [each for each in (*states.values(), *counters.values()) if each]
    if not sampled:
        return None
    first, last = min(map(min, sampled)), max(map(max, sampled))
    launch = ReadLaunch(str(action.name(package.IAction.NameBase_DEMANGLED)))
    for address in _instruction_addresses(action, first, last):
        text = str(action.sass_by_pc(address)).strip()
        stalls = {
            n: samples
            for n, by_address in states.items()
            if by_address and (samples := by_address.get(address))
        }
        counts = {
            n: None if by_address is None else by_address.get(address, 0)
            for n, by_address in counters.items()
        }
        launch.rows[address] = (text, Counts(sum(stalls.values()), stalls, **counts))
        line = action.source_info(address)
        if line is not None and line.line() > 0:
            launch.places[address] = [SourceLocation(str(line.file_name()), int(line.line()))]
    return launch.code()


def _instruction_addresses(action: Any, first: int, last: int) -> Iterator[int]:
    start = first
    while (
        start - _INSTRUCTION_BYTES >= 0
        and first - start < _INSTRUCTION_BYTES * _MOST_INSTRUCTIONS
        and action.sass_by_pc(start - _INSTRUCTION_BYTES)
    ):
        start -= _INSTRUCTION_BYTES
    for address in range(
        start, start + _INSTRUCTION_BYTES * _MOST_INSTRUCTIONS, _INSTRUCTION_BYTES
    ):
        if not action.sass_by_pc(address):
            if address > last:
                return
            continue
        yield address


def _counts_by_address(action: Any, name: str) -> dict[int, int] | None:
    metric = action.metric_by_name(name)
    if metric is None or not metric.num_instances() or not metric.has_correlation_ids():
        return None
    addresses = metric.correlation_ids()
    return {
        int(addresses.as_uint64(n)): int(metric.as_double(n)) for n in range(metric.num_instances())
    }
