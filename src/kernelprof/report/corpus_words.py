"""Words of the corpus' score, as every output shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.corpus.pairs import Kind, Side
from kernelprof.corpus.peers import peer_is_right
from kernelprof.corpus.score import LEAST_EFFECT, NEAR, interval
from kernelprof.corpus.scorecard import Mode
from kernelprof.model.diagnosis import Confidence, Status
from kernelprof.report.names import printable
from kernelprof.report.numbers import count, factor, share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.corpus.halves import Halves
    from kernelprof.corpus.pairs import Pair
    from kernelprof.corpus.peers import Peer, PeerTotals
    from kernelprof.corpus.score import Scored, Totals
    from kernelprof.corpus.scorecard import Row, Scorecard, Surroundings

DASH: Final = "-"

MODES: Final = {
    Mode.FULL: ("full", "all metrics"),
    Mode.TRIAGE: ("triage", "`triage` alone"),
    Mode.DRILL_DOWN: ("drill", "drill-down"),
}
"""A short and a long heading for each mode."""

LINES: Final = {
    "first": ("planted, named first", "planted bottleneck named first"),
    "at_limit": ("  said to be at a limit", "of those, said to be at its limit"),
    "first_two": ("first or second", "planted bottleneck named first or second"),
    "anywhere": ("named at all", "planted bottleneck named at all, among however many"),
    "healthy": ("healthy, at its limit", "healthy kernel said to be at its limit"),
    "decoys": ("decoys not named", "decoy that is not named"),
    "inconclusive": ("inconclusive", "inconclusive"),
    "wrong_and_sure": ("wrong, high confidence", "wrong with high confidence"),
    "high": ("right at high confidence", "right where the confidence is high"),
    "medium": ("right at medium", "right where the confidence is medium"),
    "low": ("right at low", "right where the confidence is low"),
    "near": (f"gain within {NEAR:g}x", f"predicted gain within {NEAR:g}x of the measured one"),
    "near_promised": ("  where one is promised", "of those where a gain is promised"),
    "near_halved": ("  at a limit, if halved", "at a limit, with half of the unit's work"),
    "error": ("gain off by (median)", "median factor between predicted and measured gain"),
    "gone": ("gone after its fix", "gone after its fix"),
}
"""What the totals are of: a short and a long name for each line."""

_CONFIDENCE: Final = {Confidence.HIGH: "high", Confidence.MEDIUM: "med", Confidence.LOW: "low"}


@dataclass(frozen=True, slots=True)
class Counted:
    """How many of how many."""

    right: int
    of: int

    def short(self) -> str:
        """``40/43``."""
        return f"{self.right}/{self.of}" if self.of else DASH

    def long(self) -> str:
        """``40 of 43 (93 %)``."""
        if not self.of:
            return DASH
        part = share(self.right / self.of) if self.right else "0 %"
        return f"{self.right} of {self.of} ({part})"


@dataclass(frozen=True, slots=True)
class Off:
    """A factor by which predictions are off."""

    factor: float

    def short(self) -> str:
        """``1.35x``."""
        return factor(self.factor)

    long = short


Cell = Counted | Off


@dataclass(frozen=True, slots=True)
class Column:
    """One analyzer, or one mode of ours: a cell for each line of :data:`LINES` that it has."""

    short: str
    long: str
    cells: Mapping[str, Cell]


def columns(card: Scorecard) -> list[Column]:
    """Three modes, and the other analyzers beside them."""
    ours = [Column(*names, _cells(card.totals(mode))) for mode, names in MODES.items()]
    peers = [
        Column(peer.name, _title(peer), _peer_cells(card.peer_totals(peer))) for peer in card.peers
    ]
    return [*ours, *peers]


def overview(card: Scorecard) -> str:
    """What was scored, in a line."""
    kinds = [row.pair.kind for row in card.rows]
    planted = sum(kind in {Kind.PAIR, Kind.TWO} for kind in kinds)
    parts = [count(planted, "planted bottleneck")]
    for kind, noun in ((Kind.HEALTHY, "healthy kernel"), (Kind.DECOY, "decoy")):
        if kind in kinds:
            parts.append(count(kinds.count(kind), noun))
    return ", ".join(parts)


def machine(surroundings: Surroundings) -> str:
    """On what it was measured, and when."""
    known = surroundings
    named = [
        ("", known.gpus),
        ("driver", known.drivers),
        ("CUDA", known.cudas),
        ("Nsight Compute", known.ncus),
    ]
    parts = [f"{name} {' and '.join(values)}".strip() for name, values in named if values]
    if known.days:
        first, last = known.days[0], known.days[-1]
        parts.append(first if first == last else f"{first} to {last}")
    return printable(", ".join(parts)) or "an unknown GPU"


def headline(card: Scorecard) -> str:
    """The first figure in a sentence, with the 95 % interval of its share."""
    found = card.totals()
    if not found.pairs:
        return "No planted bottleneck was scored."
    low, high = interval(found.first, found.pairs)
    return (
        f"The planted bottleneck is named first in {found.first} of {found.pairs} kernels "
        f"({share(found.first / found.pairs)}; 95 % interval {share(low)} to {share(high)})."
    )


def about(pair: Pair) -> str:
    """What a pair is about, in a table."""
    if pair.kind is Kind.HEALTHY:
        return f"{pair.bottleneck} ({Status.AT_LIMIT})"
    if pair.kind is Kind.DECOY:
        return (
            f"not {pair.never[0]}" if len(pair.never) == 1 else f"none of {', '.join(pair.never)}"
        )
    return str(pair.bottleneck) if pair.second is None else f"{pair.bottleneck}, {pair.second}"


def place(scored: Scored) -> str:
    """Whether it is right: which place the planted one has, or yes and no."""
    if scored.right is None:
        return "void"
    if scored.verdict.status is Status.INCONCLUSIVE:
        return "open"
    if scored.pair.kind in {Kind.HEALTHY, Kind.DECOY}:
        return "yes" if scored.right else "no"
    return {1: "1st", 2: "2nd"}.get(scored.place or 0, "no")


def confidence(scored: Scored) -> str:
    """The confidence in a narrow column."""
    return _CONFIDENCE[scored.verdict.confidence]


def factor_cell(value: float | None) -> str:
    """A factor of run time, or a dash."""
    return DASH if value is None else factor(value)


def gone(scored: Scored) -> str:
    """Whether the fixed kernel is without what was named and fixed."""
    return {True: "gone", False: "stays", None: DASH}[scored.gone if scored.right else None]


def peer_cell(scored: Scored, peer: Peer) -> str:
    """What another analyzer said, with whether that is right."""
    answer = peer.answers.get(scored.pair.name)
    if answer is None:
        return "not asked"
    right = {True: "yes", False: "no", None: "void"}[peer_is_right(scored, answer)]
    return f"{right}: {printable(answer.said) or 'nothing'}"


def wrong(card: Scorecard) -> list[Row]:
    """Pairs whose verdict is not right, those with most confidence first."""
    order = list(Confidence)
    found = [row for row in card.rows if row.scored[Mode.FULL].right is False]
    return sorted(found, key=lambda row: order.index(row.scored[Mode.FULL].verdict.confidence))


def wrong_sentence(row: Row) -> str:
    """What was to be named and what was, in a sentence."""
    scored = row.scored[Mode.FULL]
    sure = f"{scored.verdict.confidence.value} confidence"
    pair = row.pair
    if pair.kind is Kind.HEALTHY:
        return f"{pair.bottleneck} is at its limit; the verdict is {scored.named}, {sure}."
    if pair.kind is Kind.DECOY:
        other = f" but {pair.bottleneck}" if pair.bottleneck else ""
        return f"it is {about(pair)}{other}; the verdict is {scored.named}, {sure}."
    planted = f"{pair.bottleneck} was planted, its fix brings {factor_cell(row.gain(Side.AFTER))}"
    if pair.second is not None:
        planted = (
            f"{pair.bottleneck} (its fix brings {factor_cell(row.gain(Side.AFTER))}) and "
            f"{pair.second} ({factor_cell(row.gain(Side.AFTER_SECOND))}) were planted"
        )
    named = [each.bottleneck for each in scored.verdict.also[:1]]
    second = f" {named[0]} is named second." if scored.place == 2 else ""
    return f"{planted}; the verdict is {scored.named}, {sure}.{second}"


def void_sentence(row: Row) -> str:
    """Why a pair proves nothing."""
    brought = factor_cell(row.gain(Side.AFTER))
    if row.pair.kind is Kind.DECOY:
        return f"its change brings {brought}: it was no decoy."
    if row.pair.second is not None:
        brought = f"{brought} and {factor_cell(row.gain(Side.AFTER_SECOND))}"
    return f"its fix brings {brought}, less than {factor(LEAST_EFFECT)}."


def halves_sentence(halves: Halves) -> str:
    """What is left of the first figure on pairs that the thresholds were not chosen on."""
    chosen, scored = Counted(*halves.chosen_on), Counted(*halves.scored_on)
    return (
        f"Thresholds chosen on one random half of the pairs and scored on the other, "
        f"{halves.draws} times: {scored.long()} named first, between {share(halves.least)} and "
        f"{share(halves.most)} in single halves; on the halves that they were chosen on "
        f"{chosen.long()}."
    )


def _cells(found: Totals) -> dict[str, Cell]:
    cells: dict[str, Cell] = {
        "first": Counted(found.first, found.pairs),
        "at_limit": Counted(found.at_limit, found.first),
        "first_two": Counted(found.first_two, found.pairs),
        "anywhere": Counted(found.anywhere, found.pairs),
        "healthy": Counted(found.healthy_right, found.healthy),
        "decoys": Counted(found.decoys_right, found.decoys),
        "inconclusive": Counted(found.inconclusive, found.known),
        "near": Counted(found.near + found.near_halved, found.pairs),
        "near_promised": Counted(found.near, found.predicted),
        "near_halved": Counted(found.near_halved, found.at_limit),
        "gone": Counted(found.gone, found.fixed),
    }
    for level, (right, of) in found.by_confidence.items():
        cells[level.value] = Counted(right, of)
    _, sure = found.by_confidence[Confidence.HIGH]
    cells["wrong_and_sure"] = Counted(found.wrong_and_sure, sure)
    if found.median_error is not None:
        cells["error"] = Off(found.median_error)
    return cells


def _peer_cells(found: PeerTotals) -> dict[str, Cell]:
    cells: dict[str, Cell] = {
        "first": Counted(found.first, found.pairs),
        "healthy": Counted(found.healthy_right, found.healthy),
        "decoys": Counted(found.decoys_right, found.decoys),
    }
    if found.anywhere is not None:
        cells["anywhere"] = Counted(found.anywhere, found.pairs)
    if found.sure is not None and found.wrong_and_sure is not None:
        cells["wrong_and_sure"] = Counted(found.wrong_and_sure, found.sure)
        cells["high"] = Counted(found.sure - found.wrong_and_sure, found.sure)
    return cells


def _title(peer: Peer) -> str:
    return printable(f"{peer.title} {peer.version}".strip())
