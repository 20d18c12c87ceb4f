"""What the page of a comparison shows, as plain values: templates lay it out and escape it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernelprof.report.html.view import Fact, Roofline


@dataclass(frozen=True, slots=True)
class Sign:
    """How something is marked: by a style, a symbol and words, never by one of them alone."""

    style: str
    symbol: str
    words: str


@dataclass(frozen=True, slots=True)
class Side:
    """A kernel on one side; ``times_ns`` are its launches in their order."""

    name: str
    """``Before`` or ``After``."""
    kernel: str
    time: str
    verdict: str
    status: str
    confidence: str
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Launches:
    """Times of one side in seconds: launches in their order, the median and its 95 % interval."""

    side: str
    seconds: tuple[float, ...]
    median: float
    low: float | None
    high: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Times:
    """Launches of both sides; ``floor`` is the relative difference that counts as noise."""

    before: Launches
    after: Launches
    floor: float | None

    @property
    def near(self) -> bool:
        """Whether the sides are so near each other that an axis from zero would hide it."""
        low, high = sorted((self.before.median, self.after.median))
        return high < low * 1.25


@dataclass(frozen=True, slots=True)
class CounterRow:
    """An exact counter that changed."""

    label: str
    metric: str
    before: str
    after: str
    change: str
    sign: Sign
    before_all: str = ""
    after_all: str = ""
    """The whole count, where the others are of one request."""


@dataclass(frozen=True, slots=True)
class MetricRow:
    """Another metric that changed; fills are bars from 0 to 1 on a scale that both share."""

    metric: str
    meaning: str
    before: str
    after: str
    change: str
    explains: str
    before_fill: float
    after_fill: float


@dataclass(frozen=True, slots=True)
class StatePair:
    """A warp state by its share of a warp's time on both sides."""

    name: str
    before: float
    after: float
    tip: str


@dataclass(frozen=True, slots=True)
class InputRow:
    """Something in the inputs that changed, by its kind."""

    kind: str
    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of the diff: ``kept``, ``removed``, ``added`` or ``gap`` between two hunks."""

    kind: str
    before: int | None
    after: int | None
    text: str


@dataclass(frozen=True, slots=True)
class ChangedKernel:
    """A kernel that is on both sides."""

    anchor: str
    name: str
    full_name: str
    """As it is called after the change."""
    sign: Sign
    headline: str
    short: str
    """What happened to its time in two words, for tables: ``12.1x faster``."""
    ratio: float | None
    low: float | None
    high: float | None
    before_ns: float | None
    after_ns: float | None
    before: Side
    after: Side
    verdict_changed: bool
    verdict_words: str
    worse: int
    better: int
    """Exact counters that cost more, and that cost less."""
    facts: tuple[Fact, ...] = ()
    why_no_times: str = ""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    times: Times | None = None
    time_note: str = ""
    """Why the times are called what they are called."""
    counters: tuple[CounterRow, ...] = ()
    counters_note: str = ""
    metrics: tuple[MetricRow, ...] = ()
    most: tuple[MetricRow, ...] = ()
    """Those of ``metrics`` that are shown as bars."""
    roofline: Roofline | None = None
    roofline_note: str = ""
    states: tuple[StatePair, ...] = ()
    states_note: str = ""
    inputs: tuple[InputRow, ...] = ()
    inputs_note: str = ""
    diff: tuple[DiffLine, ...] = ()
    diff_title: str = ""


@dataclass(frozen=True, slots=True)
class LoneKernel:
    """A kernel that is on one side only."""

    name: str
    launch: str
    time: str
    verdict: str


@dataclass(frozen=True, slots=True)
class ComparisonPage:
    """The page: kernels that are on both sides, and those that are on one."""

    title: str
    headline: str
    before: str
    after: str
    kernels: tuple[ChangedKernel, ...]
    vanished: tuple[LoneKernel, ...]
    appeared: tuple[LoneKernel, ...]
    warnings: tuple[str, ...]
    sides: tuple[InputRow, ...]
    """Where both sides come from; ``kind`` is ``differs`` where they are not alike."""
    commands: tuple[str, ...]
    made: str
    json: str
