"""Reports (.ncu-rep): through ``ncu --import``, else through NVIDIA's own package ncu-report."""

from __future__ import annotations

import csv
import importlib
import io
import math
import os
import subprocess
import tempfile
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kernelprof.errors import MissingToolError
from kernelprof.installation import install_command
from kernelprof.model.sampled import STALLS, Counts, SampledCode, sum_launches
from kernelprof.model.waiting import SourceLocation
from kernelprof.sources import read_bytes
from kernelprof.sources.source import CONVERT, NoCaptureError, is_repz
from kernelprof.sources.source_page import (
    COUNTERS,
    STALL_METRIC,
    ReadLaunch,
    read_instructions,
)
from kernelprof.tools import NCU_VARIABLE, find_ncu

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from kernelprof.model.capture import Capture
    from kernelprof.sources.source import Input

_TIMEOUT_S: Final = 600.0
_CODE_TIMEOUT_S: Final = 60.0
LARGEST_PAGE: Final = 256 << 20
"""Bytes of a source page: 145 kernels of the corpus have 70 MB together."""
_NO_LINES: Final = "No lineinfo available"
_NVTX: Final = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
_IDENTITY: Final = (
    "ID", _NVTX, "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC",
)  # fmt: skip
_SIDES: Final = "launch__{0}_dim_x launch__{0}_dim_y launch__{0}_dim_z"
_VERSION: Final = "device__attribute_compute_capability"


def read(target: Input, _only: Container[str] | None) -> Capture:
    """Read the capture in a report. Runs ``ncu`` (or what $KERNELPROF_NCU names) if installed.

    With its instructions and their samples, where it has any.

    Raises InputError if the report cannot be opened or holds no launch, MissingToolError if neither
    ``ncu`` nor the package ncu-report is installed.
    """
    path = target.path
    if path is None or (target.packed and not is_repz(target)):
        return _read_unpacked(target)
    return _read_file(path, target.origin)


def _read_unpacked(target: Input) -> Capture:
    with tempfile.TemporaryDirectory(prefix="kernelprof-") as folder:
        path = Path(folder) / "report.ncu-rep"
        with path.open("wb") as file:
            file.writelines(target.chunks())
        return _read_file(path, target.origin)


def _read_file(path: Path, origin: str) -> Capture:
    tool = _find_tool()
    if tool is not None:
        capture = _through_ncu(tool, path, origin)
        return replace(capture, code=_code_by_ncu(tool, path))
    try:
        package = importlib.import_module("ncu_report")
    except ImportError as error:
        raise MissingToolError(
            "a .ncu-rep report needs Nsight Compute or NVIDIA's reader for it",
            where=origin,
            hint=(
                f"Install the reader with `{install_command('rep')}`, or convert the report "
                f"where ncu is installed: `{CONVERT}`."
            ),
        ) from error
    return _through_package(package, path, origin)


def _find_tool() -> str | None:
    """Find the ``ncu`` that profiling uses, too; ``None`` where there is none and none is named."""
    try:
        return find_ncu()
    except MissingToolError:
        if os.environ.get(NCU_VARIABLE):
            raise
        return None


def _through_ncu(tool: str, path: Path, origin: str) -> Capture:
    try:
        done = _export_page(tool, path, ["raw", "--print-units", "base"], _TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingToolError(
            f"cannot run {tool}: {error}",
            where=origin,
            hint=f"${NCU_VARIABLE} or the search path names the ncu to use.",
        ) from error
    if done.returncode != 0:
        printed = (done.stdout + done.stderr).decode("utf-8", "replace").strip().splitlines()
        what = f"{tool} could not open the report"
        raise NoCaptureError(f"{what}: {printed[0]}" if printed else what)
    return read_bytes(done.stdout, origin)


def _export_page(
    tool: str, path: Path, page: list[str], limit_s: float
) -> subprocess.CompletedProcess[bytes]:
    command = [tool, "--import", str(path.absolute()), "--csv", "--page", *page]
    # Not in the user's folder, whose settings of ncu (config.ncu-cfg) are untrusted.
    with tempfile.TemporaryDirectory(prefix="kernelprof-") as empty:
        return subprocess.run(command, capture_output=True, check=False, timeout=limit_s, cwd=empty)


def _code_by_ncu(tool: str, path: Path) -> tuple[SampledCode, ...]:
    """Read the instructions of a report; empty where it has none, or it takes too long.

    A kernel without line information is on the page of instructions alone.
    """
    codes: tuple[SampledCode, ...] = ()
    try:
        for printed in ("cuda,sass", "sass"):
            done = _export_page(tool, path, ["source", "--print-source", printed], _CODE_TIMEOUT_S)
            if done.returncode != 0 or len(done.stdout) > LARGEST_PAGE:
                break
            text = done.stdout.decode("utf-8", "replace")
            functions = {each.function for each in codes}
            more = read_instructions(text.split("\n"))
            codes = (*codes, *(each for each in more if each.function not in functions))
            if _NO_LINES not in text:
                break
    except (OSError, subprocess.TimeoutExpired):
        pass  # the counters are worth having without them
    return codes


def _through_package(package: Any, path: Path, origin: str) -> Capture:
    try:
        context = package.load_report(str(path))
        number = context.num_ranges() if context is not None else 0
        ranges = (context.range_by_idx(at) for at in range(number))
        actions = [each.action_by_idx(at) for each in ranges for at in range(each.num_actions())]
        text = _as_csv(package, actions) if actions else b""
        code = code_of(package, actions)
    except Exception as error:  # SWIG raises what it likes for a damaged file, and late
        what = f"the report cannot be opened: {error}"
        raise NoCaptureError(what) from error
    if not actions:
        raise NoCaptureError("the report holds no launch, or is damaged")
    return replace(read_bytes(text, origin), code=code)


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
