"""What a report shows, as plain values: the contract between the captures and the templates.

Texts are plain (the templates escape them), shares run from 0 to 1, and what is not known is
``None`` or left out: a report never shows a number that nobody measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Fact:
    """A label and its text, as in a list of properties."""

    label: str
    text: str
    tip: str = ""


@dataclass(frozen=True, slots=True)
class EvidenceBar:
    """One fact of a verdict as a bar: ``fill`` of its scale, with the threshold at ``mark``.

    A value without a natural scale has neither. ``tip`` says what the metric means and where the
    threshold comes from.
    """

    metric: str
    label: str
    value: str
    comparison: str
    tip: str
    fill: float | None = None
    mark: float | None = None


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """A kernel at one level of the memory hierarchy: FLOP per byte there, and FLOP a second.

    ``name`` stands beside the point, ``short`` where there is little room; without them it is the
    level. Points of one ``path`` are joined in their order.
    """

    label: str
    level: str
    """``DRAM``, ``L2``, ``L1``, ``ideal`` for the FLOPs and bytes that the problem needs, or
    ``branch`` for a kernel at DRAM that is beside the path."""
    flop_per_byte: float
    flop_per_second: float
    name: str = ""
    short: str = ""
    path: str = ""
    hollow: bool = False
    """Whether it is where a path begins, which is shown as a mark that is not filled."""


@dataclass(frozen=True, slots=True)
class RooflineCeiling:
    """A horizontal (FLOP/s) or sloping (bytes/s) limit, and where it comes from."""

    label: str
    kind: str
    """``compute`` in FLOP/s or ``bandwidth`` in bytes/s."""
    value: float
    origin: str
    """``measured``, ``computed`` from the chip's units and its clock, or ``datasheet``."""


@dataclass(frozen=True, slots=True)
class Roofline:
    """The chart's content, and the sentence below it."""

    points: tuple[RooflinePoint, ...]
    ceilings: tuple[RooflineCeiling, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """Bytes that passed one place on their way to the threads, beside the fewest possible."""

    name: str
    bytes: float
    text: str
    multiple: float | None = None
    hit_rate: float | None = None
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """The way from threads to device memory; ``excess`` is the needless share of the sectors."""

    levels: tuple[MemoryLevel, ...]
    minimum: str = ""
    excess: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole: a reason for waiting, a pipe, a kind of instruction."""

    name: str
    share: float
    text: str
    tip: str = ""


@dataclass(frozen=True, slots=True)
class WarpStates:
    """Where a warp's time goes, the largest first; ``explained`` says what the first one means."""

    states: tuple[Share, ...]
    explained: str = ""


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Warp slots that the kernel can use and uses, and the blocks an SM that each resource allows.

    ``limits`` are blocks by resource; ``limiters`` the resources with the fewest.
    """

    theoretical: float | None
    achieved: float | None
    limits: tuple[tuple[str, int], ...] = ()
    limiters: tuple[str, ...] = ()
    note: str = ""


class Metric(NamedTuple):
    """What a row of the table of all metrics is about."""

    name: str
    unit: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class MetricRows:
    """The table of all metrics of a launch: what each row is about, and the value in it."""

    about: tuple[Metric, ...] = ()
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MissingRow:
    """A metric that an inconclusive verdict lacks, and why it matters."""

    metric: str
    why: str


@dataclass(frozen=True, slots=True)
class HotLine:
    """A line of the source with its share of the samples, and what stands there."""

    line: int
    share: float
    text: str


@dataclass(frozen=True, slots=True)
class SourceText:
    """The kernel's source as it was measured.

    ``hot`` are the lines to mark, by number, with their share of the samples of warps; ``hottest``
    are those to tell about.
    """

    path: str
    text: str | None
    facts: tuple[Fact, ...] = ()
    hot: tuple[tuple[int, float], ...] = ()
    hottest: tuple[HotLine, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class KernelView:
    """One kernel's card."""

    anchor: str
    name: str
    full_name: str
    launch: str
    """``grid 128x128, block 16x16, 1 launch (ID 0)``."""
    time_ns: float | None
    time: str
    time_share: float | None
    status: str
    """``bottleneck``, ``at-limit`` or ``inconclusive``."""
    bottleneck: str | None
    confidence: str
    headline: str
    """The verdict in one plain sentence."""
    gain: str
    """What removing the bottleneck can bring, as a sentence; empty where nothing is said."""
    why: str
    launches: int = 1
    gain_factor: float | None = None
    gain_cell: str = "-"
    """The gain in a table, and as a number to sort by."""
    advice: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    others: tuple[Fact, ...] = ()
    """Runners-up, or the candidates of an inconclusive verdict."""
    facts: tuple[Fact, ...] = ()
    """GPU, time with spread, share of peak and the like, for the top of the card."""
    evidence: tuple[EvidenceBar, ...] = ()
    missing: tuple[MissingRow, ...] = ()
    command: str | None = None
    roofline: Roofline | None = None
    memory: Memory | None = None
    warp_states: WarpStates | None = None
    occupancy: Occupancy | None = None
    pipes: tuple[Share, ...] = ()
    instructions: tuple[Share, ...] = ()
    metrics: MetricRows = MetricRows()
    source: SourceText | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A report: one kernel or many."""

    title: str
    origin: str
    made: str
    """By which kernelprof the page was made; not when, so that equal input gives equal bytes."""
    gpu: str
    kernels: tuple[KernelView, ...]
    headline: str = ""
    """What holds most of the time back, in one sentence; of several kernels only."""
    provenance: tuple[Fact, ...] = ()
    commands: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    json: str = ""
    """The diagnosis as JSON, embedded and downloadable."""
    all_metrics: bool = True
    """Whether the tables hold every column, or only those that kernelprof knows."""
