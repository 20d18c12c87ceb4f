"""Cells of Nsight Compute: numbers, units, and who was launched.

Missing is NaN, never zero: ``(!) n/a``, ``n/a``, ``no data``, ``nan``, an infinity (a ratio whose
denominator was zero) and the empty cell all mean that there is no value.

Units are scaled to one canonical unit a dimension. ``ncu`` scales by powers of 1000 (``Kbyte`` is
1000 bytes) and writes ``numerator/denominator``. Canonical are ``ns`` for durations, ``byte``,
``hz``, ``%`` and the singular of everything that is counted (``inst``, ``sector``, ``cycle``, ...);
a rate over time is per second (``byte/s``, ``sector/s``), any other keeps its denominator
(``byte/block``, ``inst/cycle``). A number without a unit has the unit ``""``. An unknown unit is
kept as it is.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.model.capture import Launch, Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]

MISSING: Final = frozenset({
    "", "(!) n/a", "(!) nan", "(!)", "n/a", "N/A", "na", "NA", "no data", "(!) no data", "nan",
    "NaN", "-nan", "-NaN", "nan(ind)", "-nan(ind)", "inf", "-inf", "Inf", "-Inf", "null", "NULL",
    "-", "#N/A",
})  # fmt: skip
"""Cells without a number."""

NO_TEXT: Final = frozenset({"", "(!) n/a", "(!)", "n/a", "N/A", "no data", "(!) no data"})
"""Cells without a text."""

_PLAIN = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_GROUPED = r"[+-]?\d{1,3}(?:[,'’\u00a0\u202f ]\d{3})+(?:\.\d*)?(?:[eE][+-]?\d+)?"
_INSTANCES = r"(?:\s*[({\[].*[)}\]])?"
"""What follows the aggregate of a metric with instances: ``12 (1; 2; 9)``, ``12 {0: 1, 1: 2}``."""

_NUMBER: Final = re.compile(rf"\s*({_GROUPED}|{_PLAIN})\s*%?{_INSTANCES}\s*", re.DOTALL)
_SEPARATORS: Final = re.compile(r"[,'’\u00a0\u202f ]")
_POINT_FOR_COMMA: Final = str.maketrans(",.", ".,")

_COMMA_CELL: Final = re.compile(rb"[\";\t]\d{1,12},(?:\d{1,2}|\d{4,})[\";\t\r\n]")
_POINT_CELL: Final = re.compile(rb"[\",;\t]\d{1,12}\.(?:\d{1,2}|\d{4,})[\",;\t\r\n]")


@dataclass(frozen=True, slots=True)
class Header:
    """The header of one table: its column names and how its cells are separated."""

    names: tuple[str, ...]
    delimiter: str
    quoted: bool = True
    """Whether its own cells are quoted, as ``ncu`` writes them."""

    @property
    def is_details(self) -> bool:
        """Whether rows are single metrics (details page) rather than launches (raw page)."""
        return "Metric Name" in self.names and "Metric Value" in self.names


@lru_cache(maxsize=4096)
def parse_number(text: str, *, decimal: str = ".") -> float | None:
    """Parse the number that a cell leads with; NaN where it says "no value", None for text.

    >>> parse_number("4,563,402,752"), parse_number("12 (1; 2; 9)"), parse_number("PolicySpread")
    (4563402752.0, 12.0, None)
    """
    word = text.strip()
    if word in MISSING or word.startswith("(!)"):
        return float("nan")
    match = _NUMBER.fullmatch(word.translate(_POINT_FOR_COMMA) if decimal == "," else word)
    if match is None:
        return float("nan") if word[:1] in "({[" and word[-1:] in ")}]" else None
    value = float(_SEPARATORS.sub("", match[1]))
    return value if np.isfinite(value) else float("nan")


def split_cells(row: bytes, delimiter: str) -> list[str] | None:
    """Split a row into its cells; None if it cannot be one."""
    text = row.decode("utf-8", "replace")
    try:
        parsed = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        return None
    return parsed[0] if len(parsed) == 1 else None


def decimal_mark(sample: bytes) -> str:
    """Return ``","`` if cells in ``sample`` use a decimal comma (``97,05``), else ``"."``.

    ``1,024`` fits both, so only cells with other than three digits after the mark are evidence.
    """
    commas = len(_COMMA_CELL.findall(sample))
    return "," if commas and not _POINT_CELL.search(sample) else "."


@dataclass(frozen=True, slots=True)
class UnitScale:
    """``canonical value = value * multiply / divide``; one of the two is 1, so nothing is lost."""

    unit: str
    multiply: float = 1.0
    divide: float = 1.0

    def apply(self, values: FloatArray) -> FloatArray:
        """Return canonical values; whole numbers stay whole in spite of rounding."""
        if self.multiply == 1.0 and self.divide == 1.0:
            return values
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = values * self.multiply / self.divide
            scaled[np.isinf(scaled)] = np.nan
            whole = np.rint(scaled)
            return np.where(np.abs(scaled - whole) <= 1e-12 * np.abs(whole), whole, scaled)


_PREFIXES: Final = {"k": 3, "m": 6, "g": 9, "t": 12, "p": 15, "e": 18}
"""Power of ten a prefix stands for; ``ncu`` writes ``Kbyte`` and ``Mhz``, spreadsheets what not."""

_SECONDS: Final = {
    "s": 0, "sec": 0, "second": 0, "seconds": 0,
    "ms": -3, "msec": -3, "msecond": -3, "mseconds": -3,
    "us": -6, "µs": -6, "μs": -6, "usec": -6, "usecond": -6, "useconds": -6,
    "ns": -9, "nsec": -9, "nsecond": -9, "nseconds": -9,
}  # fmt: skip
"""Power of ten of a second. Never combined with a prefix: ``ms`` is not a mega-second."""

_COUNTABLE: Final = {
    name: name
    for name in (
        "byte", "block", "branch", "cluster", "cycle", "flop", "inst", "pass", "register",
        "request", "sample", "sector", "thread", "warp", "wavefront",
    )
}  # fmt: skip
_COUNTABLE.update(
    {f"{name}s": name for name in _COUNTABLE if name not in {"branch", "flop", "inst", "pass"}}
)
_COUNTABLE.update(branches="branch", insts="inst", instruction="inst", instructions="inst")
_COUNTABLE.update({"b": "byte", "hz": "hz", "%": "%", "pct": "%", "percent": "%", "sm": "SM"})

_SCALABLE_NAME: Final = re.compile(
    r"time_duration|timestamp|bytes|shared_mem|memory_size|_size_|clock_rate|per_second|frequency"
    r"|buffer|interval|launch__thread_local|stack_size|persisting_size"
)


@lru_cache(maxsize=4096)
def scale_of(unit: str) -> UnitScale:
    """Return how values in ``unit`` become canonical."""
    text = unit.strip()
    if not text:
        return UnitScale("")
    numerator, slash, denominator = text.partition("/")
    top = _parse_unit(numerator)
    bottom = _parse_unit(denominator) if slash else ("", 0)
    if top is None or bottom is None:
        return UnitScale(text)
    (name, power), (below, below_power) = top, bottom
    if not slash:
        return _unit_scale("ns", power + 9) if name == "s" else _unit_scale(name, power)
    if below == "byte":
        # Seen for %/byte: ncu divides the number by 1000 and writes %/Kbyte, the wrong way round.
        below_power = -below_power
    joined = "hz" if (name, below) == ("cycle", "s") else f"{name}/{below}"
    return _unit_scale(joined, power - below_power)


def depends_on_unit(metric: str) -> bool:
    """Return whether ``ncu`` may scale this metric: a value without its unit is useless."""
    return bool(_SCALABLE_NAME.search(metric))


def _parse_unit(text: str) -> tuple[str, int] | None:
    """Parse one side of a unit: its base (seconds for times), and a power of ten."""
    word = text.strip()
    folded = word.lower()
    if folded in _SECONDS:
        return "s", _SECONDS[folded]
    if folded in _COUNTABLE:
        return _COUNTABLE[folded], 0
    if folded[:1] in _PREFIXES and folded[1:] in _COUNTABLE:
        return _COUNTABLE[folded[1:]], _PREFIXES[folded[0]]
    return None


def _unit_scale(unit: str, power: int) -> UnitScale:
    if power >= 0:
        return UnitScale(unit, multiply=10.0**power)
    return UnitScale(unit, divide=10.0**-power)


IDENTITY_COLUMNS: Final = (
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context",
    "Stream", "Block Size", "Grid Size", "Device", "CC",
)  # fmt: skip

_TEXTS: Final = ("Process ID", "Process Name", "Host Name", "Context", "Stream", "Device")
_TRIPLE: Final = re.compile(r"\(?\s*(\d{1,10})\s*[,;x]\s*(\d{1,10})\s*[,;x]\s*(\d{1,10})\s*\)?")
_CAPABILITY: Final = re.compile(r"(\d{1,3})(?:[.,](\d{1,3}))?")


_LAUNCH_PREFIXES: Final = ("launch__", "device__", "numa__", "c2clink__", "nvlink__")


def origin_of(metric: str) -> Origin:
    """Return where the values of a metric come from, by its name."""
    if metric.startswith(_LAUNCH_PREFIXES):
        return Origin.LAUNCH
    if metric.startswith("derived_"):
        return Origin.DERIVED
    return Origin.MEASURED


def is_nvtx(name: str) -> bool:
    """Return whether a column holds NVTX ranges (``thread Domain:Push/Pop_Range:...``)."""
    return "Domain:" in name and "Range" in name


def is_identity(name: str) -> bool:
    """Return whether a column identifies the launch, and is no measurement."""
    return name in IDENTITY_COLUMNS or is_nvtx(name)


def parse_launch(cells: Mapping[str, str]) -> Launch:
    """Parse the cells of identity columns into a launch, without its ID.

    A column that is absent leaves ``None``.
    """
    texts = [cells.get(name) or None for name in _TEXTS]
    process, program, host, context, stream, device = texts
    return Launch(
        "",
        cells.get("Kernel Name", ""),
        parse_dimensions(cells.get("Grid Size", "")),
        parse_dimensions(cells.get("Block Size", "")),
        process,
        program,
        host,
        context,
        stream,
        device,
        parse_capability(cells.get("CC", "")),
        tuple((name, cell) for name, cell in cells.items() if is_nvtx(name) and cell.strip()),
    )


def parse_dimensions(text: str) -> tuple[int, int, int] | None:
    """Parse ``"(16, 16, 1)"``; ``None`` for the ``(0, 0, 0)`` of a launch that failed."""
    match = _TRIPLE.fullmatch(text.strip())
    if match is None:
        return None
    x, y, z = int(match[1]), int(match[2]), int(match[3])
    return (x, y, z) if x and y and z else None


def parse_capability(text: str) -> tuple[int, int] | None:
    """Parse ``"9.0"`` as ``(9, 0)``; spreadsheets shorten it to ``9``."""
    match = _CAPABILITY.fullmatch(text.strip())
    return (int(match[1]), int(match[2] or 0)) if match else None
