"""The corpus' score as JSON, version 1: other people's scripts rely on its fields.

``kernelprof schema corpus`` prints the schema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kernelprof.corpus.pairs import Side
from kernelprof.corpus.peers import peer_is_right
from kernelprof.corpus.score import LEAST_EFFECT, MOST_FOR_A_DECOY, NEAR
from kernelprof.corpus.scorecard import Mode
from kernelprof.report.writers.json import finite, tool, written

if TYPE_CHECKING:
    from kernelprof.corpus.halves import Halves
    from kernelprof.corpus.peers import Peer, PeerTotals
    from kernelprof.corpus.score import Scored, Totals
    from kernelprof.corpus.scorecard import Row, Scorecard, Surroundings

SCHEMA_VERSION: Final = "1"

_Json = dict[str, Any]


def render_corpus_json(card: Scorecard) -> str:
    """The score as one JSON document."""
    return written(corpus_document(card))


def corpus_document(card: Scorecard) -> _Json:
    """The document as plain values."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "corpus",
        "tool": tool(),
        "measured_with": _surroundings(card.surroundings),
        "limits": {
            "least_effect": LEAST_EFFECT,
            "most_for_a_decoy": MOST_FOR_A_DECOY,
            "near": NEAR,
        },
        "totals": {mode.value: _totals(card.totals(mode)) for mode in Mode},
        "peers": [_peer(peer, card.peer_totals(peer)) for peer in card.peers],
        "halves": None if card.halves is None else _halves(card.halves),
        "pairs": [_row(row, card) for row in card.rows],
        "left_out": [{"name": each.name, "why": each.why} for each in card.left_out],
    }


def _surroundings(found: Surroundings) -> _Json:
    return {
        "gpu": list(found.gpus),
        "driver": list(found.drivers),
        "cuda": list(found.cudas),
        "ncu": list(found.ncus),
        "clock_control": list(found.clock_controls),
        "days": list(found.days),
    }


def _totals(found: Totals) -> _Json:
    return {
        "known": found.known,
        "planted": found.pairs,
        "first": found.first,
        "at_limit": found.at_limit,
        "first_two": found.first_two,
        "anywhere": found.anywhere,
        "healthy": found.healthy,
        "healthy_right": found.healthy_right,
        "decoys": found.decoys,
        "decoys_right": found.decoys_right,
        "decoys_inconclusive": found.decoys_inconclusive,
        "inconclusive": found.inconclusive,
        "wrong_and_sure": found.wrong_and_sure,
        "by_confidence": {
            level.value: {"right": right, "all": every}
            for level, (right, every) in found.by_confidence.items()
        },
        "predicted": found.predicted,
        "near": found.near,
        "near_halved": found.near_halved,
        "median_error": finite(found.median_error),
        "fixed": found.fixed,
        "gone": found.gone,
    }


def _peer(peer: Peer, found: PeerTotals) -> _Json:
    return {
        "name": peer.name,
        "title": peer.title,
        "version": peer.version,
        "totals": {
            "planted": found.pairs,
            "first": found.first,
            "anywhere": found.anywhere,
            "healthy": found.healthy,
            "healthy_right": found.healthy_right,
            "decoys": found.decoys,
            "decoys_right": found.decoys_right,
            "sure": found.sure,
            "wrong_and_sure": found.wrong_and_sure,
        },
    }


def _halves(found: Halves) -> _Json:
    names = ("first", "planted")
    return {
        "draws": found.draws,
        "chosen_on": dict(zip(names, found.chosen_on, strict=True)),
        "scored_on": dict(zip(names, found.scored_on, strict=True)),
        "least": found.least,
        "most": found.most,
    }


def _row(row: Row, card: Scorecard) -> _Json:
    pair = row.pair
    return {
        "name": pair.name,
        "kind": pair.kind.value,
        "field": pair.field,
        "bottleneck": pair.bottleneck,
        "change": pair.change,
        "second": pair.second,
        "second_change": pair.second_change,
        "not": list(pair.never),
        "before_ns": finite(row.times.get(Side.BEFORE)),
        "after_ns": finite(row.times.get(Side.AFTER)),
        "after_second_ns": finite(row.times.get(Side.AFTER_SECOND)),
        "gain": finite(row.gain(Side.AFTER)),
        "gain_second": finite(row.gain(Side.AFTER_SECOND)),
        "proven": list(row.scored[Mode.FULL].proven),
        "verdicts": {mode.value: _scored(row.scored[mode]) for mode in Mode},
        "peers": {peer.name: _answer(row, peer) for peer in card.peers},
    }


def _scored(scored: Scored) -> _Json:
    verdict = scored.verdict
    return {
        "status": verdict.status.value,
        "bottleneck": verdict.bottleneck,
        "confidence": verdict.confidence.value,
        "also": [each.bottleneck for each in verdict.also],
        "right": scored.right,
        "place": scored.place,
        "predicted": finite(scored.predicted),
        "measured": finite(scored.measured),
        "error": finite(scored.error),
        "gone": scored.gone,
    }


def _answer(row: Row, peer: Peer) -> _Json | None:
    answer = peer.answers.get(row.pair.name)
    if answer is None:
        return None
    return {
        "said": answer.said,
        "detail": answer.detail,
        "meant": list(answer.meant),
        "anywhere": None if answer.anywhere is None else list(answer.anywhere),
        "speedup_percent": finite(answer.speedup_percent),
        "confidence": answer.confidence,
        "right": peer_is_right(row.scored[Mode.FULL], answer),
    }
