"""Units of Nsight Compute, scaled to one canonical unit a dimension.

``ncu`` scales by powers of 1000 (``Kbyte`` is 1000 bytes) and writes ``numerator/denominator``.
Canonical are ``ns`` for durations, ``byte``, ``hz``, ``%`` and the singular of everything that is
counted (``inst``, ``sector``, ``cycle``, ...); a rate over time is per second (``byte/s``,
``sector/s``), any other keeps its denominator (``byte/block``, ``inst/cycle``). A number without a
unit has the unit ``""``. An unknown unit is kept as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scale:
    """``canonical value = value * multiply / divide``; one of the two is 1, so nothing is lost."""

    unit: str
    multiply: float = 1.0
    divide: float = 1.0

    def apply(self, values: FloatArray) -> FloatArray:
        """Canonical values; what is whole but for the rounding of this very step is made whole."""
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

_COUNTED: Final = {
    name: name
    for name in (
        "byte", "block", "branch", "cluster", "cycle", "flop", "inst", "pass", "register",
        "request", "sample", "sector", "thread", "warp", "wavefront",
    )
}  # fmt: skip
_COUNTED.update(
    {f"{name}s": name for name in _COUNTED if name not in {"branch", "flop", "inst", "pass"}}
)
_COUNTED.update(branches="branch", insts="inst", instruction="inst", instructions="inst")
_COUNTED.update({"b": "byte", "hz": "hz", "%": "%", "pct": "%", "percent": "%", "sm": "SM"})

_SCALABLE_NAME: Final = re.compile(
    r"time_duration|timestamp|bytes|shared_mem|memory_size|_size_|clock_rate|per_second|frequency"
    r"|buffer|interval|launch__thread_local|stack_size|persisting_size"
)


@lru_cache(maxsize=4096)
def scale_of(unit: str) -> Scale:
    """How values in ``unit`` become canonical."""
    text = unit.strip()
    if not text:
        return Scale("")
    numerator, slash, denominator = text.partition("/")
    top = _part(numerator)
    if top is None:
        return Scale(text)
    name, power = top
    if not slash:
        if name == "s":
            return _scale("ns", power + 9)
        return _scale(name, power)
    bottom = _part(denominator)
    if bottom is None:
        return Scale(text)
    below, below_power = bottom
    if below == "byte":
        # Seen for %/byte: ncu divides the number by 1000 and writes %/Kbyte, the wrong way round.
        below_power = -below_power
    joined = "hz" if (name, below) == ("cycle", "s") else f"{name}/{below}"
    return _scale(joined, power - below_power)


def depends_on_unit(metric: str) -> bool:
    """Whether ``ncu`` may scale this metric, so that a value without its unit says nothing."""
    return bool(_SCALABLE_NAME.search(metric))


def _part(text: str) -> tuple[str, int] | None:
    """One side of a unit: its base (seconds for times) and the power of ten it stands for."""
    word = text.strip()
    folded = word.lower()
    if folded in _SECONDS:
        return "s", _SECONDS[folded]
    if folded in _COUNTED:
        return _COUNTED[folded], 0
    if folded[:1] in _PREFIXES and folded[1:] in _COUNTED:
        return _COUNTED[folded[1:]], _PREFIXES[folded[0]]
    return None


def _scale(unit: str, power: int) -> Scale:
    if power >= 0:
        return Scale(unit, multiply=10.0**power)
    return Scale(unit, divide=10.0**-power)
