"""The sentences and cells of the corpus' report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.corpus.pairs import Form, Kind, Side
from benchmarks.corpus.peers import peer_is_right
from benchmarks.corpus.score import LEAST_EFFECT, NEAR, interval, totals
from benchmarks.corpus.scorecard import Mode

from kernelprof.model.diagnosis import Confidence, Status
from kernelprof.model.numbers import count, factor, share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.corpus.halves import Halves
    from benchmarks.corpus.pairs import Pair
    from benchmarks.corpus.peers import Peer, PeerTotals
    from benchmarks.corpus.score import Scored, Totals
    from benchmarks.corpus.scorecard import Row, Scorecard, Surroundings

DASH: Final = "-"

MODES: Final = {
    Mode.FULL: "all metrics",
    Mode.TRIAGE: "triage alone",
    Mode.DRILL_DOWN: "drill-down",
}

LINES: Final = {
    "first": "planted bottleneck named first",
    "at_limit": "of those, said to be at its limit",
    "first_two": "planted bottleneck named first or second",
    "anywhere": "planted bottleneck named at all, among however many",
    "healthy": "healthy kernel said to be at its limit",
    "decoys": "decoy that is not named",
    "inconclusive": "inconclusive",
    "wrong_and_sure": "wrong with high confidence",
    "high": "right where the confidence is high",
    "medium": "right where the confidence is medium",
    "low": "right where the confidence is low",
    "near": f"predicted gain within {NEAR:g}x of the measured one",
    "near_promised": "of those where a gain is promised",
    "within": "of those, measured gain within the interval of the estimate",
    "near_halved": "at a limit, with half of the unit's work",
    "error": "median factor between predicted and measured gain",
    "gone": "gone after its fix",
}
"""What the totals are of."""


@dataclass(frozen=True, slots=True)
class Column:
    """One analyzer, or one mode of ours: a cell for each line of :data:`LINES` that it has."""

    title: str
    brief: str
    cells: Mapping[str, str]


def columns(card: Scorecard) -> list[Column]:
    """Three modes, and the other analyzers beside them."""
    ours = [Column(title, mode.value, _cells(card.totals(mode))) for mode, title in MODES.items()]
    peers = [
        Column(
            f"{peer.title} {peer.version}".strip(),
            peer.name,
            _peer_cells(card.peer_totals(peer)),
        )
        for peer in card.peers
    ]
    return [*ours, *peers]


def counted(right: int, of: int) -> str:
    """``40 of 43 (93 %)``."""
    if not of:
        return DASH
    return f"{right} of {of} ({share(right / of) if right else '0 %'})"


def overview(card: Scorecard) -> str:
    """What was scored, in a line."""
    kinds = [row.pair.kind for row in card.rows]
    planted = sum(kind in {Kind.PAIR, Kind.TWO} for kind in kinds)
    parts = [count(planted, "planted bottleneck")]
    for kind, noun in ((Kind.HEALTHY, "healthy kernel"), (Kind.DECOY, "decoy")):
        if kind in kinds:
            parts.append(count(kinds.count(kind), noun))
    launched = sum(row.pair.form is Form.SCRIPT for row in card.rows)
    return ", ".join(parts) + (f"; {launched} of PyTorch and Triton" if launched else "")


def machine(known: Surroundings) -> str:
    """On what it was measured, and when."""
    named = [
        ("", known.gpus),
        ("driver", known.drivers),
        ("CUDA", known.cudas),
        ("Nsight Compute", known.ncus),
    ]
    parts = [f"{name} {' and '.join(values)}".strip() for name, values in named if values]
    if known.days:
        parts.append(" to ".join(dict.fromkeys((known.days[0], known.days[-1]))))
    return ", ".join(parts) or "an unknown GPU"


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


def scripts(card: Scorecard) -> str:
    """How many of the pairs of PyTorch and Triton are right, in a sentence."""
    found = totals(row.scored[Mode.FULL] for row in card.rows if row.pair.form is Form.SCRIPT)
    parts = [f"named first: {counted(found.first, found.pairs)}"] if found.pairs else []
    if found.healthy:
        parts.append(f"healthy: {counted(found.healthy_right, found.healthy)}")
    if found.decoys:
        parts.append(f"decoys: {counted(found.decoys_right, found.decoys)}")
    parts.append(f"wrong with high confidence: {found.wrong_and_sure}")
    return f"{'; '.join(parts).capitalize()}."


def about(pair: Pair) -> str:
    """What a pair is about, in a table."""
    if pair.kind is Kind.HEALTHY:
        return f"{pair.bottleneck} ({Status.AT_LIMIT})"
    if pair.kind is Kind.DECOY:
        return f"{'not' if len(pair.never) == 1 else 'none of'} {', '.join(pair.never)}"
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


def factor_cell(value: float | None) -> str:
    """A factor of run time, or a dash."""
    return DASH if value is None else factor(value)


def brought(row: Row) -> str:
    """What the fix brought, or both of them."""
    second = row.gain(Side.AFTER_SECOND)
    gains = [row.gain(Side.AFTER), *([second] if second is not None else [])]
    return ", ".join(factor_cell(gain) for gain in gains)


def gone(scored: Scored) -> str:
    """Whether the fixed kernel is without what was named and fixed."""
    return {True: "gone", False: "stays", None: DASH}[scored.gone if scored.right else None]


def peer_cell(scored: Scored, peer: Peer) -> str:
    """What another analyzer said, with whether that is right."""
    answer = peer.answers.get(scored.pair.name)
    if answer is None:
        return "not asked"
    right = {True: "yes", False: "no", None: "void"}[peer_is_right(scored, answer)]
    return f"{right}: {answer.said or 'nothing'}"


def wrong(card: Scorecard) -> list[Row]:
    """Pairs whose verdict is not right, those with most confidence first."""
    order = list(Confidence)
    found = [row for row in card.rows if row.scored[Mode.FULL].right is False]
    return sorted(found, key=lambda row: order.index(row.scored[Mode.FULL].verdict.confidence))


def wrong_sentence(row: Row) -> str:
    """What was to be named and what was, in a sentence."""
    scored, pair = row.scored[Mode.FULL], row.pair
    verdict = f"the verdict is {scored.named}, {scored.verdict.confidence.value} confidence."
    if pair.kind is Kind.HEALTHY:
        return f"{pair.bottleneck} is at its limit; {verdict}"
    if pair.kind is Kind.DECOY:
        other = f" but {pair.bottleneck}" if pair.bottleneck else ""
        return f"it is {about(pair)}{other}; {verdict}"
    fix = factor_cell(row.gain(Side.AFTER))
    planted = f"{pair.bottleneck} was planted, its fix brings {fix}"
    if pair.second is not None:
        planted = (
            f"{pair.bottleneck} (its fix brings {fix}) and {pair.second} "
            f"({factor_cell(row.gain(Side.AFTER_SECOND))}) were planted"
        )
    named = [each.bottleneck for each in scored.verdict.also[:1]]
    second = f" {named[0]} is named second." if scored.place == 2 else ""
    return f"{planted}; {verdict}{second}"


def void_sentence(row: Row) -> str:
    """Why a pair proves nothing."""
    gain = factor_cell(row.gain(Side.AFTER))
    if row.pair.kind is Kind.DECOY:
        return f"its change brings {gain}: it was no decoy."
    if row.pair.second is not None:
        gain = f"{gain} and {factor_cell(row.gain(Side.AFTER_SECOND))}"
    return f"its fix brings {gain}, less than {factor(LEAST_EFFECT)}."


def halves_sentence(halves: Halves) -> str:
    """What is left of the first figure on pairs that the thresholds were not chosen on."""
    return (
        f"Thresholds chosen on one random half of the pairs and scored on the other, "
        f"{halves.draws} times: {counted(*halves.scored_on)} named first, between "
        f"{share(halves.least)} and {share(halves.most)} in single halves; on the halves that they "
        f"were chosen on {counted(*halves.chosen_on)}."
    )


def _cells(found: Totals) -> dict[str, str]:
    _, sure = found.by_confidence[Confidence.HIGH]
    counts = {
        "first": (found.first, found.pairs),
        "at_limit": (found.at_limit, found.first),
        "first_two": (found.first_two, found.pairs),
        "anywhere": (found.anywhere, found.pairs),
        "healthy": (found.healthy_right, found.healthy),
        "decoys": (found.decoys_right, found.decoys),
        "inconclusive": (found.inconclusive, found.known),
        "wrong_and_sure": (found.wrong_and_sure, sure),
        "near": (found.near + found.near_halved, found.pairs),
        "near_promised": (found.near, found.predicted),
        "within": (found.within, found.predicted),
        "near_halved": (found.near_halved, found.at_limit),
        "gone": (found.gone, found.fixed),
        **{level.value: known for level, known in found.by_confidence.items()},
    }
    cells = {key: counted(*each) for key, each in counts.items()}
    return cells | {"error": factor_cell(found.median_error)}


def _peer_cells(found: PeerTotals) -> dict[str, str]:
    counts = {
        "first": (found.first, found.pairs),
        "healthy": (found.healthy_right, found.healthy),
        "decoys": (found.decoys_right, found.decoys),
    }
    if found.anywhere is not None:
        counts["anywhere"] = (found.anywhere, found.pairs)
    if found.sure is not None and found.wrong_and_sure is not None:
        counts["wrong_and_sure"] = (found.wrong_and_sure, found.sure)
        counts["high"] = (found.sure - found.wrong_and_sure, found.sure)
    return {key: counted(*each) for key, each in counts.items()}
