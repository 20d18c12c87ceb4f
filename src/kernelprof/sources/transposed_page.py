"""The raw page as the Nsight Compute GUI copies it: a row a metric, a column a launch.

A row is ``name [unit],"1,234.5 {449}"``, where the braces count the instances of the metric.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Final

from kernelprof import files
from kernelprof.sources.source import LARGEST_TEXT, MOST_COLUMNS, NoCaptureError, Source

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from kernelprof.model.capture import Capture
    from kernelprof.sources.source import Input

_BEGINS: Final = re.compile(
    rb'(?:\xef\xbb\xbf)?"?ID"?,"?\d[^\n]*\n(?:[^\n]*\n){1,40}?"?Function Name'
)
_NAME: Final = re.compile(r"(.*?)(?: \[([^\[\]]*)\])?")
_METRIC: Final = re.compile(r"[a-z][A-Za-z0-9]*__\w+(?:\.\w+)*")
"""Names of metrics; time series have the name of their sampled unit before it."""
_INSTANCES: Final = re.compile(r"\s*\{\d+\}$")
_PROCESS: Final = re.compile(r"\[(\d+)\] (.*)")
_KERNEL_NAMES: Final = ("Original Demangled Name", "Demangled Name", "Function Name")
_CAPABILITY: Final = "device__attribute_compute_capability_"


def recognises(target: Input) -> bool:
    """Return whether a text begins with such a page."""
    return _BEGINS.match(target.head) is not None


def read(target: Input, _only: Container[str] | None) -> Capture:
    """Read the launches of a page, by way of the raw page that ``ncu --csv`` would print."""
    # The tables need numpy, which commands that read no capture do without.
    from kernelprof.sources import read_bytes

    text, size = [], 0
    for block in target.blocks():
        size += len(block)
        if size > LARGEST_TEXT:
            raise NoCaptureError(
                f"the raw page copied from the GUI exceeds {files.size_in_words(LARGEST_TEXT)}"
            )
        text.append(block)
    page = transpose(b"".join(text).decode("utf-8", "replace"))
    return read_bytes(page.encode(), target.origin)


def transpose(text: str) -> str:
    """Return the raw page of ``ncu --csv`` with the launches of a copied page; a pure function."""
    rows: dict[str, tuple[str, list[str]]] = {}
    for name, *cells in csv.reader(io.StringIO(text.removeprefix("\ufeff")), strict=False):
        match = _NAME.fullmatch(name.strip())
        if match is not None and cells:
            values = [_INSTANCES.sub("", cell).strip() for cell in cells]
            rows.setdefault(match[1], (match[2] or "", values))
    count = len(rows["ID"][1]) if "ID" in rows else 0
    if not 0 < count <= MOST_COLUMNS:
        raise NoCaptureError("the raw page copied from the GUI contains no launch")
    metrics = [name for name, (_, values) in rows.items() if _METRIC.fullmatch(name)]
    table: list[list[str]] = [[*_launch(rows, 0), *metrics]]
    table.append([*[""] * len(_launch(rows, 0)), *(rows[name][0] for name in metrics)])
    for at in range(count):
        cells = [_cell(rows, name, at) for name in metrics]
        table.append([*_launch(rows, at).values(), *cells])
    page = io.StringIO()
    csv.writer(page, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(table)
    return page.getvalue()


def _cell(rows: Mapping[str, tuple[str, list[str]]], name: str, at: int) -> str:
    values = rows.get(name, ("", []))[1]
    return values[at] if at < len(values) else ""


def _launch(rows: Mapping[str, tuple[str, list[str]]], at: int) -> dict[str, str]:
    """The columns of the raw page that say what was launched."""
    process = _PROCESS.fullmatch(_cell(rows, "Process", at))
    names = [_cell(rows, name, at) for name in _KERNEL_NAMES]
    dimensions = [
        f"({', '.join(part.strip() for part in _cell(rows, f'{what} Size', at).split(','))})"
        for what in ("Block", "Grid")
    ]
    capability = [_cell(rows, f"{_CAPABILITY}{part}", at) for part in ("major", "minor")]
    return {
        "ID": _cell(rows, "ID", at),
        "Process ID": process[1] if process else "",
        "Process Name": process[2] if process else "",
        "Kernel Name": next((name for name in names if name), ""),
        "Block Size": dimensions[0],
        "Grid Size": dimensions[1],
        "CC": ".".join(capability) if all(capability) else "",
    }


SOURCE: Final = Source("transposed page", "the raw page copied from the GUI", 6, recognises, read)
