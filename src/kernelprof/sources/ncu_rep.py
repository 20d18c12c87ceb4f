"""Reports (.ncu-rep): through ``ncu --import``, else through NVIDIA's own package ncu-report."""

from __future__ import annotations

import csv
import importlib
import io
import math
import os
import subprocess
from typing import TYPE_CHECKING, Any, Final

from kernelprof.errors import MissingToolError
from kernelprof.sources import complaints
from kernelprof.tools import NCU_VARIABLE, find_ncu

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kernelprof.model.capture import Capture

_TIMEOUT_S: Final = 600.0
_NVTX: Final = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
_IDENTITY: Final = (
    "ID", _NVTX, "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC",
)  # fmt: skip


def read_report(path: Path) -> Capture:
    """The capture in a report. Runs ``ncu`` (or what $KERNELPROF_NCU names) if it is there.

    Raises InputError if the report cannot be opened or holds no launch, MissingToolError if neither
    ``ncu`` nor the package ncu-report is installed.
    """
    tool = _tool()
    if tool is not None:
        return _through_ncu(tool, path)
    try:
        package = importlib.import_module("ncu_report")
    except ImportError as error:
        raise MissingToolError(
            "a .ncu-rep report needs Nsight Compute or NVIDIA's reader for it",
            where=str(path),
            hint=(
                f"Install the reader with `pip install 'kernelprof[rep]'`, or convert the report "
                f"where ncu is installed: `{complaints.CONVERT}`."
            ),
        ) from error
    return _through_package(package, path)


def _tool() -> str | None:
    """The ``ncu`` that profiling uses, too; ``None`` where there is none and none is named."""
    try:
        return find_ncu()
    except MissingToolError:
        if os.environ.get(NCU_VARIABLE):
            raise
        return None


def _through_ncu(tool: str, path: Path) -> Capture:
    from kernelprof.sources.reader import read_bytes

    command = [tool, "--import", str(path), "--csv", "--page", "raw", "--print-units", "base"]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingToolError(
            f"cannot run {tool}: {error}",
            where=str(path),
            hint=f"${NCU_VARIABLE} or the search path names the ncu to use.",
        ) from error
    if done.returncode != 0:
        said = (done.stdout + done.stderr).decode("utf-8", "replace").strip().splitlines()
        what = f"{tool} could not open the report"
        raise complaints.not_a_capture(f"{what}: {said[0]}" if said else what, str(path))
    return read_bytes(done.stdout, str(path))


def _through_package(package: Any, path: Path) -> Capture:
    from kernelprof.sources.reader import read_bytes

    try:
        context = package.load_report(str(path))
    except Exception as error:  # SWIG raises what it likes for a damaged file
        what = f"the report cannot be opened: {error}"
        raise complaints.not_a_capture(what, str(path)) from error
    actions = list(_actions(context)) if context is not None else []
    if not actions:
        raise complaints.not_a_capture("the report holds no launch, or is damaged", str(path))
    return read_bytes(_as_csv(package, actions), str(path))


def _actions(context: Any) -> Iterator[Any]:
    for number in range(context.num_ranges()):
        results = context.range_by_idx(number)
        for index in range(results.num_actions()):
            yield results.action_by_idx(index)


def _as_csv(package: Any, actions: list[Any]) -> bytes:
    """The raw page as ``ncu --print-units base`` would write it, so that one reader sees both."""
    units: dict[str, str] = {}
    rows: list[dict[str, str]] = []
    for number, action in enumerate(actions):
        row = _identity(package, number, action)
        for name in action.metric_names():
            metric = action.metric_by_name(name)
            # "group:..." and "breakdown:..." are lists of metrics, which no page shows.
            if metric is not None and ":" not in name:
                units.setdefault(name, metric.unit() or "")
                row[name] = _cell(package, metric)
        rows.append(row)
    names = [*_IDENTITY, *sorted(units)]
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(names)
    writer.writerow([units.get(name, "") for name in names])
    writer.writerows([[row.get(name, "") for name in names] for row in rows])
    return text.getvalue().encode("utf-8", "replace")


def _identity(package: Any, number: int, action: Any) -> dict[str, str]:
    def whole(name: str) -> str:
        metric = action.metric_by_name(name)
        return str(int(metric.as_double())) if metric is not None else ""

    def three(kind: str) -> str:
        sides = [whole(f"launch__{kind}_dim_{axis}") for axis in "xyz"]
        return f"({', '.join(sides)})" if all(sides) else ""

    capability = [whole(f"device__attribute_compute_capability_{p}") for p in ("major", "minor")]
    return {
        "ID": str(number),
        "Kernel Name": str(action.name(package.IAction.NameBase_DEMANGLED)),
        "Context": whole("launch__context_id"),
        "Stream": whole("launch__stream_id"),
        "Block Size": three("block"),
        "Grid Size": three("grid"),
        "Device": whole("launch__device_id"),
        "CC": ".".join(capability) if all(capability) else "",
        _NVTX: _ranges(action),
    }


def _ranges(action: Any) -> str:
    state = action.nvtx_state()
    if state is None:
        return ""
    names = []
    for key in state.domains():
        domain = state.domain_by_id(key)
        names += [f'"{domain.name()}:{name}"' for name in domain.push_pop_ranges()]
    return "  ".join(names)


def _cell(package: Any, metric: Any) -> str:
    if not metric.has_value():
        return ""
    if metric.kind() == package.IMetric.ValueKind_STRING:
        return str(metric.as_string())
    value = float(metric.as_double())
    return repr(value) if math.isfinite(value) else ""
