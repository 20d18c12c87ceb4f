"""Who was launched: the identity columns that both pages share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar

from kernelprof.model.capture import Launch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_T = TypeVar("_T")

COLUMNS: Final = (
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context",
    "Stream", "Block Size", "Grid Size", "Device", "CC",
)  # fmt: skip

_TRIPLE: Final = re.compile(r"\(?\s*(\d{1,10})\s*[,;x]\s*(\d{1,10})\s*[,;x]\s*(\d{1,10})\s*\)?")
_CAPABILITY: Final = re.compile(r"(\d{1,3})(?:[.,](\d{1,3}))?")


def is_nvtx(name: str) -> bool:
    """Whether a column holds NVTX ranges (``thread Domain:Push/Pop_Range:...``)."""
    return "Domain:" in name and "Range" in name


def is_identity(name: str) -> bool:
    """Whether a column says which launch it is, not what was measured."""
    return name in COLUMNS or is_nvtx(name)


def launches(columns: Mapping[str, Sequence[str]], count: int) -> list[Launch]:
    """``count`` launches from columns of strings; a column that is not there says nothing."""
    absent = [""] * count

    def texts(name: str) -> list[str | None]:
        return [cell or None for cell in columns.get(name, absent)]

    nvtx = [(name, columns[name]) for name in columns if is_nvtx(name)]
    ranges: Iterable[tuple[tuple[str, str], ...]]
    if nvtx:
        ranges = (
            tuple((name, cells[row]) for name, cells in nvtx if cells[row].strip())
            for row in range(count)
        )
    else:
        ranges = [()] * count
    return [
        Launch(*fields)
        for fields in zip(
            columns.get("ID", absent),
            columns.get("Kernel Name", absent),
            _each(columns.get("Grid Size", absent), triple),
            _each(columns.get("Block Size", absent), triple),
            texts("Process ID"),
            texts("Process Name"),
            texts("Host Name"),
            texts("Context"),
            texts("Stream"),
            texts("Device"),
            _each(columns.get("CC", absent), capability),
            ranges,
            strict=True,
        )
    ]


def triple(text: str) -> tuple[int, int, int] | None:
    """``"(16, 16, 1)"`` as numbers; a launch that failed has ``(0, 0, 0)``, which says nothing."""
    match = _TRIPLE.fullmatch(text.strip())
    if match is None:
        return None
    x, y, z = int(match[1]), int(match[2]), int(match[3])
    return (x, y, z) if x and y and z else None


def capability(text: str) -> tuple[int, int] | None:
    """``"9.0"`` as ``(9, 0)``; spreadsheets shorten it to ``9``."""
    match = _CAPABILITY.fullmatch(text.strip())
    return (int(match[1]), int(match[2] or 0)) if match else None


def _each(cells: Sequence[str], parse: Callable[[str], _T]) -> list[_T]:
    known = {cell: parse(cell) for cell in set(cells)}
    return [known[cell] for cell in cells]
