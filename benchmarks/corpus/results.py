"""The score as JSON, version 1; ``schema.json`` beside this file is its schema."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import msgspec
from benchmarks.corpus.pairs import Side
from benchmarks.corpus.peers import peer_is_right
from benchmarks.corpus.score import LEAST_EFFECT, MOST_FOR_A_DECOY, NEAR
from benchmarks.corpus.scorecard import Mode

import kernelprof

if TYPE_CHECKING:
    from benchmarks.corpus.halves import Halves
    from benchmarks.corpus.lines import LineScore
    from benchmarks.corpus.peers import Peer, PeerTotals
    from benchmarks.corpus.score import Scored, Totals
    from benchmarks.corpus.scorecard import Row, Scorecard

    Json = dict[str, Any]

SCHEMA_VERSION: Final = "1"


def to_json(card: Scorecard) -> str:
    """The score as one JSON document; a number that is not finite is ``null``."""
    return msgspec.json.format(msgspec.json.encode(results(card)), indent=2).decode() + "\n"


def results(card: Scorecard) -> Json:
    """The document as plain values."""
    known = card.surroundings
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "corpus",
        "tool": {"name": "kernelprof", "version": kernelprof.__version__},
        "measured_with": {
            "gpu": list(known.gpus),
            "driver": list(known.drivers),
            "cuda": list(known.cudas),
            "ncu": list(known.ncus),
            "clock_control": list(known.clock_controls),
            "days": list(known.days),
        },
        "limits": {
            "least_effect": LEAST_EFFECT,
            "most_for_a_decoy": MOST_FOR_A_DECOY,
            "near": NEAR,
        },
        "totals": {mode.value: _totals(card.totals(mode)) for mode in Mode},
        "peers": [
            {
                "name": peer.name,
                "title": peer.title,
                "version": peer.version,
                "totals": _counts(card.peer_totals(peer)),
            }
            for peer in card.peers
        ],
        "halves": None if card.halves is None else _halves(card.halves),
        "pairs": [_row(row, card) for row in card.rows],
        "lines": {
            "to_blame": len(card.lines),
            "right": sum(each.right for each in card.lines),
            "hottest_right": sum(each.hottest_right for each in card.lines),
            "chance": sum(each.chance for each in card.lines),
            "pairs": [_line(each) for each in card.lines],
        },
        "left_out": [{"name": each.name, "why": each.why} for each in card.left_out],
    }


def _counts(found: Totals | PeerTotals) -> Json:
    values = asdict(found)
    return {"planted": values.pop("pairs"), **values}


def _totals(found: Totals) -> Json:
    by_confidence = {
        level.value: {"right": right, "all": every}
        for level, (right, every) in found.by_confidence.items()
    }
    return _counts(found) | {"by_confidence": by_confidence}


def _halves(found: Halves) -> Json:
    names = ("first", "planted")
    both = {
        half: dict(zip(names, getattr(found, half), strict=True))
        for half in ("chosen_on", "scored_on")
    }
    return asdict(found) | both


def _row(row: Row, card: Scorecard) -> Json:
    pair = row.pair
    return {
        "name": pair.name,
        "kind": pair.kind.value,
        "form": pair.form.value,
        "field": pair.field,
        "bottleneck": pair.bottleneck,
        "change": pair.change,
        "second": pair.second,
        "second_change": pair.second_change,
        "not": list(pair.never),
        "before_ns": row.times.get(Side.BEFORE),
        "after_ns": row.times.get(Side.AFTER),
        "after_second_ns": row.times.get(Side.AFTER_SECOND),
        "gain": row.gain(Side.AFTER),
        "gain_second": row.gain(Side.AFTER_SECOND),
        "proven": list(row.scored[Mode.FULL].proven),
        "verdicts": {mode.value: _scored(row.scored[mode]) for mode in Mode},
        "peers": {peer.name: _answer(row, peer) for peer in card.peers},
    }


def _line(found: LineScore) -> Json:
    blamed = found.blamed
    return {
        "name": found.pair.name,
        "bottleneck": found.bottleneck,
        "line": None if blamed is None else blamed.line,
        "called_at": [] if blamed is None else list(blamed.called_at),
        "share": None if blamed is None else blamed.share,
        "of": None if blamed is None else blamed.of,
        "changed": list(found.changed),
        "right": found.right,
        "hottest": found.hottest,
        "hottest_right": found.hottest_right,
        "chance": found.chance,
    }


def _scored(scored: Scored) -> Json:
    verdict = scored.verdict
    values = ("right", "place", "predicted", "measured", "error", "gone")
    return {
        "status": verdict.status.value,
        "bottleneck": verdict.bottleneck,
        "confidence": verdict.confidence.value,
        "also": [each.bottleneck for each in verdict.also],
        **{name: getattr(scored, name) for name in values},
    }


def _answer(row: Row, peer: Peer) -> Json | None:
    answer = peer.answers.get(row.pair.name)
    if answer is None:
        return None
    found = asdict(answer) | {"meant": list(answer.meant)}
    if answer.anywhere is not None:
        found["anywhere"] = list(answer.anywhere)
    return found | {"right": peer_is_right(row.scored[Mode.FULL], answer)}
