"""What other analyzers said about the same captures, and how often that was right.

Their answers come from a file, with the bottlenecks that each of them may mean in kernelprof's
words: an answer that fits several counts for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.corpus.pairs import Kind

from kernelprof.analysis.rules import load_rules
from kernelprof.errors import InputError
from kernelprof.model.diagnosis import Confidence
from kernelprof.model.records import RecordError, build, read_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from benchmarks.corpus.score import Scored

TITLES: Final = {"ncu": "Nsight Compute's rules", "fournex": "Fournex"}
"""The analyzers that the file may name, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an analyzer said about one kernel.

    ``said`` is its first answer in its own words, ``meant`` the bottlenecks that this may mean;
    ``detail`` is its sentence, and ``speedup_percent`` what it estimates. ``anywhere`` is all that
    any of its answers may mean, ``None`` where the file does not say.
    """

    said: str
    meant: tuple[str, ...]
    detail: str = ""
    speedup_percent: float | None = None
    confidence: str | None = None
    anywhere: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Peer:
    """Another analyzer and its answers by pair."""

    name: str
    version: str
    answers: Mapping[str, Answer]

    @property
    def title(self) -> str:
        """What it is called in a report."""
        return TITLES[self.name]


@dataclass(frozen=True, slots=True)
class PeerTotals:
    """Counts over the pairs that an analyzer was asked about and that prove something.

    ``anywhere`` are those in which any of its answers may mean the planted one, ``None`` where the
    file does not say. ``sure`` are its answers with high confidence, ``None`` where it gives none.
    """

    pairs: int
    first: int
    anywhere: int | None
    healthy: int
    healthy_right: int
    decoys: int
    decoys_right: int
    sure: int | None
    wrong_and_sure: int | None


@dataclass(frozen=True, slots=True)
class _Rule:
    """An answer of Nsight Compute's rules as the file has it."""

    rule: str | None
    slugs: tuple[str, ...]
    sentence: str | None = None
    kind: str | None = None
    speedup_percent: float | None = None
    anywhere: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Label:
    """An answer of Fournex as the file has it."""

    label: str | None
    slugs: tuple[str, ...]
    confidence: str | None = None
    anywhere: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Rules:
    version: str
    pairs: dict[str, _Rule]


@dataclass(frozen=True, slots=True)
class _Labels:
    version: str
    pairs: dict[str, _Label]


@dataclass(frozen=True, slots=True)
class _File:
    ncu: _Rules | None = None
    fournex: _Labels | None = None


def read_peers(path: Path) -> tuple[Peer, ...]:
    """The analyzers of a file; :class:`InputError` names the key of a mistake."""
    try:
        found = build(_File, read_object(path.read_text(encoding="utf-8"), finite=True))
    except RecordError as error:
        raise _refused(str(error), path) from error
    except (OSError, ValueError) as error:
        raise _refused(str(getattr(error, "strerror", None) or error), path) from error
    peers = []
    if found.ncu is not None:
        rules = {name: _of_rule(each) for name, each in found.ncu.pairs.items()}
        peers.append(Peer("ncu", found.ncu.version, rules))
    if found.fournex is not None:
        labels = {name: _of_label(each) for name, each in found.fournex.pairs.items()}
        peers.append(Peer("fournex", found.fournex.version, labels))
    if not peers:
        raise _refused(f"it has none of {', '.join(TITLES)}", path)
    for peer in peers:
        for name, answer in peer.answers.items():
            for key, slugs in (("slugs", answer.meant), ("anywhere", answer.anywhere or ())):
                unknown = set(slugs) - set(load_rules())
                if unknown:
                    place = f"{peer.name}.pairs.{name}.{key}"
                    raise _refused(f"{place!r}: no bottleneck is called {min(unknown)!r}", path)
    return tuple(peers)


def peer_is_right(scored: Scored, answer: Answer) -> bool | None:
    """Whether an answer is right about a pair; ``None`` where the pair proves nothing.

    No other analyzer can say that a unit is full of needed work: about a healthy kernel it is right
    with the unit.
    """
    pair, meant = scored.pair, set(answer.meant)
    if scored.right is None:
        return None
    if pair.kind is Kind.HEALTHY:
        return pair.bottleneck in meant
    if pair.kind is Kind.DECOY:
        return not meant & set(pair.never)
    return bool(meant & set(scored.proven))


def peer_totals(peer: Peer, scored: Iterable[Scored]) -> PeerTotals:
    """Counts over the pairs that the analyzer was asked about."""
    rights: dict[Kind, list[bool]] = {kind: [] for kind in Kind}
    sure: list[bool] = []
    anywhere: list[bool | None] = []
    says_how_sure = any(answer.confidence is not None for answer in peer.answers.values())
    for each in scored:
        answer = peer.answers.get(each.pair.name)
        right = None if answer is None else peer_is_right(each, answer)
        if answer is None or right is None:
            continue
        rights[each.pair.kind].append(right)
        if each.pair.kind in {Kind.PAIR, Kind.TWO}:
            named = answer.anywhere
            anywhere.append(None if named is None else not set(named).isdisjoint(each.proven))
        if answer.confidence == Confidence.HIGH:
            sure.append(right)
    planted = [*rights[Kind.PAIR], *rights[Kind.TWO]]
    return PeerTotals(
        pairs=len(planted),
        first=sum(planted),
        anywhere=None if None in anywhere else sum(map(bool, anywhere)),
        healthy=len(rights[Kind.HEALTHY]),
        healthy_right=sum(rights[Kind.HEALTHY]),
        decoys=len(rights[Kind.DECOY]),
        decoys_right=sum(rights[Kind.DECOY]),
        sure=len(sure) if says_how_sure else None,
        wrong_and_sure=sure.count(False) if says_how_sure else None,
    )


def _of_rule(found: _Rule) -> Answer:
    return Answer(
        found.rule or "",
        found.slugs,
        found.sentence or "",
        speedup_percent=found.speedup_percent,
        anywhere=found.anywhere,
    )


def _of_label(found: _Label) -> Answer:
    return Answer(
        found.label or "", found.slugs, confidence=found.confidence, anywhere=found.anywhere
    )


def _refused(what: str, path: Path) -> InputError:
    return InputError(
        f"the other analyzers' answers cannot be read: {what}",
        where=str(path),
        hint="docs/corpus.md says what the file holds",
    )
