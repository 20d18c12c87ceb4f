"""What Nsight Compute's own rules say on a details page, and which of them says the most."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.peers.translation import UnknownSayingError, of_sentence

from kernelprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

SENTENCE_LENGTH: Final = 160
HEADLINE: Final = "SOLBottleneck"
"""The rule that counts where none has an estimate."""

COLUMNS: Final = (
    "ID",
    "Rule Name",
    "Rule Description",
    "Estimated Speedup Type",
    "Estimated Speedup",
)


@dataclass(frozen=True, slots=True)
class Said:
    """One row of a rule; ``kind`` is ``global``, ``local`` or empty where there is no estimate."""

    rule: str
    sentence: str
    kind: str
    percent: float | None


@dataclass(frozen=True, slots=True)
class Finding:
    """What Nsight Compute names for a launch.

    ``rule`` are several, joined with ``+``, where their estimates are the same. ``anywhere`` are
    the bottlenecks that any of its sentences stands for.
    """

    rule: str
    sentence: str
    kind: str
    speedup_percent: float | None
    slugs: tuple[str, ...]
    anywhere: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """The same as the report has it."""
        return {
            "rule": self.rule,
            "sentence": self.sentence,
            "kind": self.kind,
            "speedup_percent": self.speedup_percent,
            "slugs": list(self.slugs),
            "anywhere": list(self.anywhere),
        }


def read_rules(page: str, where: str) -> tuple[Said, ...]:
    """The rows of rules on a details page (``--csv --page details``) of one launch."""
    reader = csv.DictReader(page.splitlines())
    lacking = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    if lacking:
        raise InputError(f"it is no details page: it has no column {lacking[0]!r}", where=where)
    rows = list(reader)
    if len({row["ID"] for row in rows}) > 1:
        raise InputError("it has several launches; a pair's capture has one", where=where)
    return tuple(_said(row, where) for row in rows if row["Rule Name"])


def _said(row: dict[str, str], where: str) -> Said:
    kind, estimate = row["Estimated Speedup Type"], row["Estimated Speedup"]
    try:
        percent = float(estimate.replace(",", "")) if estimate else None
    except ValueError as error:
        raise InputError(f"the estimate {estimate!r} is no number", where=where) from error
    if (percent is None) != (not kind) or kind not in {"", "global", "local"}:
        raise InputError(f"an estimate of {estimate!r} is of kind {kind!r}", where=where)
    return Said(row["Rule Name"], row["Rule Description"], kind, percent)


def find(said: Sequence[Said]) -> Finding:
    """The largest global estimate, else the largest local one, else the headline.

    Raises :class:`UnknownSayingError` with everything on the page that has no translation.
    """
    meant = _translate(said)
    estimates = [(each, each.percent) for each in said if each.percent is not None]
    kind = next((k for k in ("global", "local") if any(e.kind == k for e, _ in estimates)), "none")
    largest = max((percent for each, percent in estimates if each.kind == kind), default=None)
    if largest is None:
        best = [each for each in said if each.rule == HEADLINE]
    else:
        best = [each for each, percent in estimates if each.kind == kind and percent == largest]
    return Finding(
        rule=" + ".join(dict.fromkeys(each.rule for each in best)),
        sentence=best[0].sentence[:SENTENCE_LENGTH] if best else "",
        kind=kind,
        speedup_percent=largest,
        slugs=_union(best, meant),
        anywhere=_union(said, meant),
    )


def _translate(said: Sequence[Said]) -> dict[Said, tuple[str, ...]]:
    meant: dict[Said, tuple[str, ...]] = {}
    unknown: list[str] = []
    for each in said:
        try:
            meant[each] = of_sentence(each.rule, each.sentence)
        except UnknownSayingError as error:
            unknown.append(error.what)
    if unknown:
        raise UnknownSayingError("\n".join(dict.fromkeys(unknown)))
    return meant


def _union(said: Sequence[Said], meant: dict[Said, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sorted({slug for each in said for slug in meant[each]}))
