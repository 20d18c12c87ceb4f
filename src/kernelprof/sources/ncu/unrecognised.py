"""Errors for input that is not a capture: what it is instead, and how to export one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelprof.sources.ncu.cells import split_cells
from kernelprof.sources.source import NoCaptureError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.sources.ncu.tables import Scan

_MAGIC: Final = (
    (b"SQLite format 3\0", "an SQLite database (an export of Nsight Systems?)"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"\xfd7zXZ\0", "an xz file"),
    (b"BZh", "a bzip2 file"),
    (b"\x7fELF", "a program or library"),
    (b"%PDF", "a PDF"),
    (b"\x89PNG", "a PNG picture"),
    (b"PAR1", "a Parquet file"),
)
_NSYS: Final = ("total time (ns)", "time (%)", "time(%)", "total time", "avg (ns)", "instances")
_UNAVAILABLE: Final = re.compile(r"^(\S+)\s.*\(!\) n/a$")
_NO_PERMISSION: Final = (
    "Counters are restricted to administrators on the machine that ran ncu; "
    "https://developer.nvidia.com/ERR_NVGPUCTRPERM explains how to allow access."
)
_TEXT_PAGE: Final = re.compile(r"Section: |\[\d+\] \S+@|Metric Name\s+Metric Unit")
_NO_REASON: Final = ("Note: Running with", "Unable to access", "No kernels were profiled")
"""Complaints that do not explain why there is no launch."""
_MARKUP: Final = (
    (("<!doctype html", "<html", "<head"), "an HTML page"),
    ("<", "XML or HTML"),
    (("{", "["), "JSON"),
)
_HEAD: Final = 4096


def why_no_launch(scan: Scan, data: bytes) -> NoCaptureError:
    """Return the error for ``data`` without a launch; ``scan`` has what is there instead."""
    head = data[:_HEAD].lstrip()
    if not data.strip():
        return NoCaptureError("the input is empty")
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return NoCaptureError(f"this is {name}")
    if scan.header_seen:
        below = ("complete row", "The file seems to be cut off.") if scan.broken else _NONE_BELOW
        what = f"the input has a header from Nsight Compute, but no {below[0]} under it"
        return NoCaptureError(what, below[1])
    reason = _nothing_measured(scan)
    if reason is not None:
        return reason
    if b"\0" in data[:_HEAD]:
        return NoCaptureError("this is binary data")
    return NoCaptureError(_describe_text(head.decode("utf-8", "replace"), scan.other_lines))


_NO_KERNEL: Final = (
    "Either the program launched no kernel while it was profiled, or a filter "
    "(--kernel-name, --launch-skip, --launch-count) matched no kernel."
)
_NONE_BELOW: Final = ("launch", _NO_KERNEL)


def _nothing_measured(scan: Scan) -> NoCaptureError | None:
    """Return the error for output of ncu without measurements, with the reason that it gives."""
    lines, others = scan.ncu_lines, scan.other_lines
    complaint = _first_complaint(lines)
    connected = any("Connected to process" in line for line in lines)
    reports = [line.split("Report: ", 1)[1] for line in lines if "Report: " in line]
    if any("ERR_NVGPUCTRPERM" in line for line in lines):
        what, hint = "nothing was profiled", _NO_PERMISSION
    elif any(_TEXT_PAGE.match(line) for line in others):
        absent = [name for line in others for name in _UNAVAILABLE.findall(line)]
        missing = f"; these metrics came back as (!) n/a: {', '.join(dict.fromkeys(absent))}"
        what = f"no metric on this text page has a value{missing if absent else ''}"
        hint = ""
    elif any("No kernels were profiled" in line for line in lines):
        kernels = _available_kernels(others)
        launched = f"; the program launched {', '.join(kernels)}" if kernels else ""
        what, hint = f"no kernel was profiled{launched}", _NO_KERNEL
    elif reports:
        what = f"Nsight Compute wrote the launches to {reports[0]}, not to this file"
        hint = "Use that report instead."
    elif connected:
        what, hint = "Nsight Compute ran but profiled no kernel", _NO_KERNEL
    elif lines:
        what, hint = "Nsight Compute printed no launches", ""
    else:
        return None
    quoted = f' (Nsight Compute reported: "{complaint}")' if complaint else ""
    return NoCaptureError(f"{what}{quoted}", hint)


def _first_complaint(lines: Sequence[str]) -> str | None:
    for kind in ("==ERROR==", "==WARNING=="):
        for line in lines:
            text = line.removeprefix(kind).strip()
            if line.startswith(kind) and not text.startswith(_NO_REASON):
                return text
    return None


def _available_kernels(lines: Sequence[str]) -> list[str]:
    if "Available Kernels:" not in lines:
        return []
    listed = lines[lines.index("Available Kernels:") + 1 :]
    return [line.partition(". ")[2] for line in listed[:5] if re.match(r"\d+\. ", line)]


def _describe_text(text: str, lines: Sequence[str]) -> str:
    start = text[:200].lower()
    for begins, what in _MARKUP:
        if start.startswith(begins):
            return f"this is {what}"
    for delimiter in (",", ";", "\t"):
        rows = [split_cells(line.encode(), delimiter) or [] for line in lines[:2]]
        if rows and len(rows[0]) > 1 and len(rows[0]) == len(rows[-1]):
            return _describe_csv([cell.strip() for cell in rows[0]])
    begins = f'; it begins with "{lines[0][:60]}"' if lines else ""
    return f"this is text without a table{begins}"


def _describe_csv(cells: Sequence[str]) -> str:
    first = ", ".join(f'"{cell[:40]}"' for cell in cells[:4])
    folded = [cell.lower() for cell in cells]
    if "kernel name" in folded and "invocations" in folded:
        return "this is a summary over launches (--print-summary), without values for each launch"
    if "#" in folded[:1] and ("address" in folded or "source" in folded):
        return "this source page has an old format that kernelprof cannot read"
    if any(cell in _NSYS for cell in folded):
        return f"this is a table of Nsight Systems or nvprof (it begins with {first})"
    return f"this table is not from Nsight Compute (it begins with {first})"
