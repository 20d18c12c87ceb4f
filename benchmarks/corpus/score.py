"""How often the verdicts on the corpus are right, from captures and times alone.

A verdict on a planted bottleneck is right if it names what the fix removed and the fix made the
kernel faster. What a fix brought is the ratio of medians of times between CUDA events.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import sqrt
from statistics import median
from typing import TYPE_CHECKING, Final

from benchmarks.corpus.pairs import Kind, Side

from kernelprof.model.diagnosis import Confidence, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.corpus.pairs import Pair

    from kernelprof.model.diagnosis import Verdict

LEAST_EFFECT: Final = 1.05
"""A fix that brings less than this proves nothing; the rules name nothing smaller either
(``verdict.ranking.LEAST_GAIN``)."""

MOST_FOR_A_DECOY: Final = LEAST_EFFECT
"""Up to this a change brought nothing worth a name: medians of the same code lie up to 2.5 % apart
between processes (``reports/gate-h200.md``)."""

NEAR: Final = 1.5
"""A predicted gain within this factor of the measured one counts as right."""

_Z: Final = 1.96
"""Standard deviations that hold 95 % of a normal distribution."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What is known of one pair: times of its kernels in nanoseconds, and verdicts on them."""

    times: Mapping[Side, float]
    verdicts: Mapping[Side, Verdict]

    def gain(self, side: Side) -> float | None:
        """By which factor the run time fell with a fix."""
        if Side.BEFORE not in self.times or side not in self.times:
            return None
        return self.times[Side.BEFORE] / self.times[side]


@dataclass(frozen=True, slots=True)
class Scored:
    """What the verdict on one pair's ``before`` is worth.

    ``right`` is ``None`` where the pair proves nothing: its fix brought less than
    :data:`LEAST_EFFECT`. ``proven`` are the bottlenecks whose fix brought that. ``place`` is 1
    where what was removed is named first, 2 where it is the next that is named, ``None`` otherwise.
    ``measured`` is what the fix of the named bottleneck brought, of the planted one if another was
    named; ``predicted`` what the verdict promised, and at a unit's limit what it says that half of
    the unit's work would bring. ``gone`` says whether the fixed kernel is
    without the bottleneck, ``None`` where no verdict on it tells.
    """

    pair: Pair
    verdict: Verdict
    right: bool | None
    proven: tuple[str, ...] = ()
    place: int | None = None
    predicted: float | None = None
    measured: float | None = None
    gone: bool | None = None

    @property
    def named(self) -> str:
        """What the verdict names, with its status where that is not a bottleneck."""
        name = self.verdict.bottleneck or ""
        if self.verdict.status is Status.BOTTLENECK:
            return name
        return f"{name} ({self.verdict.status})" if name else self.verdict.status.value

    @property
    def wrong_and_sure(self) -> bool:
        """Whether it is wrong with high confidence: the worst that can happen."""
        return self.right is False and self.verdict.confidence is Confidence.HIGH

    @property
    def error(self) -> float | None:
        """The factor between predicted and measured gain, 1 or more.

        ``None`` where they are gains of different bottlenecks: the verdict is not right.
        """
        if not self.right or self.predicted is None or self.measured is None:
            return None
        return max(self.predicted / self.measured, self.measured / self.predicted)

    @property
    def within(self) -> bool | None:
        """Whether the measured gain lies in the interval of the estimate, where there is one."""
        expected = self.verdict.gain_interval
        if not self.right or expected is None or self.measured is None:
            return None
        return expected[0] <= self.measured <= expected[1]

    @property
    def anywhere(self) -> bool:
        """Whether what was planted is named at all, if only among the candidates."""
        verdict = self.verdict
        named = {verdict.bottleneck, *(each.bottleneck for each in verdict.also)}
        return not named.isdisjoint(self.proven)


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts over pairs. ``pairs`` are those with a planted bottleneck that prove something.

    ``at_limit`` are those named first whose unit is said to be full of needed work: the place is
    right, and that there is a way out is missed. ``anywhere`` are those in which it is named at
    all, if only as one of many candidates.
    ``predicted`` are the right ones that promise a gain, ``near`` those within :data:`NEAR`,
    ``within`` those in the interval that the verdict gives. A unit
    at its limit promises none: ``near_halved`` are those of ``at_limit`` where half of its work was
    said to bring what the fix brought, within the same factor. ``median_error`` is of both.
    ``fixed`` are the right ones with a verdict on the fixed kernel, ``gone`` those of them in which
    that no longer has the bottleneck. ``known`` are the verdicts of every kind that count at all.
    """

    known: int
    pairs: int
    first: int
    at_limit: int
    first_two: int
    anywhere: int
    predicted: int
    near: int
    within: int
    near_halved: int
    median_error: float | None
    fixed: int
    gone: int
    healthy: int
    healthy_right: int
    decoys: int
    decoys_right: int
    decoys_inconclusive: int
    inconclusive: int
    wrong_and_sure: int
    by_confidence: Mapping[Confidence, tuple[int, int]]
    """Right ones and all, of every kind."""


def score(pair: Pair, known: Measured) -> Scored:
    """What the verdict on the pair's ``before`` is worth."""
    verdict = known.verdicts[Side.BEFORE]
    judge = {Kind.HEALTHY: _healthy, Kind.DECOY: _decoy}.get(pair.kind, _planted)
    return judge(pair, known, verdict)


def totals(scored: Iterable[Scored]) -> Totals:
    """Counts over scored pairs; those that prove nothing count nowhere."""
    known = [each for each in scored if each.right is not None]
    planted = [each for each in known if each.pair.kind in {Kind.PAIR, Kind.TWO}]
    healthy = [each for each in known if each.pair.kind is Kind.HEALTHY]
    decoys = [each for each in known if each.pair.kind is Kind.DECOY]
    promised = _errors(each for each in planted if each.verdict.status is not Status.AT_LIMIT)
    halved = _errors(each for each in planted if each.verdict.status is Status.AT_LIMIT)
    errors = [*promised, *halved]
    fixed = [each for each in planted if each.right and each.gone is not None]
    every, right = Counter[Confidence](), Counter[Confidence]()
    for each in known:
        if each.verdict.status is Status.INCONCLUSIVE:
            continue
        every[each.verdict.confidence] += 1
        right[each.verdict.confidence] += bool(each.right)
    return Totals(
        known=len(known),
        pairs=len(planted),
        first=sum(each.place == 1 for each in planted),
        at_limit=sum(
            each.place == 1 and each.verdict.status is Status.AT_LIMIT for each in planted
        ),
        first_two=sum(each.place is not None for each in planted),
        anywhere=sum(each.anywhere for each in planted),
        predicted=len(promised),
        near=sum(error <= NEAR for error in promised),
        within=sum(bool(each.within) for each in planted),
        near_halved=sum(error <= NEAR for error in halved),
        median_error=median(errors) if errors else None,
        fixed=len(fixed),
        gone=sum(bool(each.gone) for each in fixed),
        healthy=len(healthy),
        healthy_right=_right(healthy),
        decoys=len(decoys),
        decoys_right=_right(decoys),
        decoys_inconclusive=_inconclusive(decoys),
        inconclusive=_inconclusive(known),
        wrong_and_sure=sum(each.wrong_and_sure for each in known),
        by_confidence={level: (right[level], every[level]) for level in Confidence},
    )


def interval(right: int, of: int) -> tuple[float, float]:
    """The 95 % confidence interval of a share (Wilson's score interval)."""
    share, z2 = right / of, _Z**2
    middle = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = _Z / (1 + z2 / of) * sqrt(share * (1 - share) / of + z2 / (4 * of**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def _errors(scored: Iterable[Scored]) -> list[float]:
    return [each.error for each in scored if each.error is not None]


def _right(scored: Sequence[Scored]) -> int:
    return sum(bool(each.right) for each in scored)


def _inconclusive(scored: Sequence[Scored]) -> int:
    return sum(each.verdict.status is Status.INCONCLUSIVE for each in scored)


def _planted(pair: Pair, known: Measured, verdict: Verdict) -> Scored:
    """One planted bottleneck, or two of which either may be named first."""
    fixes = {pair.bottleneck: Side.AFTER}
    if pair.second is not None:
        fixes[pair.second] = Side.AFTER_SECOND
    gains = {slug: known.gain(side) for slug, side in fixes.items()}
    proven = tuple(
        slug
        for slug, gain in gains.items()
        if slug is not None and gain is not None and gain >= LEAST_EFFECT
    )
    names = [verdict.bottleneck, *(each.bottleneck for each in verdict.also)][:2]
    if verdict.status is Status.INCONCLUSIVE:
        names = []
    place = next((at for at, name in enumerate(names, 1) if name in proven), None)
    about = names[place - 1] if place is not None else pair.bottleneck
    after = known.verdicts.get(fixes[about])
    return Scored(
        pair=pair,
        verdict=verdict,
        right=place == 1 if proven else None,
        proven=proven,
        place=place,
        predicted=verdict.gain if verdict.gain is not None else verdict.gain_if_halved,
        measured=gains[about],
        gone=_is_gone(about, after),
    )


def _is_gone(slug: str | None, after: Verdict | None) -> bool | None:
    """Whether the fixed kernel has another answer than the bottleneck that was fixed.

    A unit at its limit is full of work that is needed: what was removed is gone there too.
    """
    if after is None or after.status is Status.INCONCLUSIVE:
        return None
    return after.bottleneck != slug or after.status is Status.AT_LIMIT


def _healthy(pair: Pair, known: Measured, verdict: Verdict) -> Scored:
    del known
    right = verdict.status is Status.AT_LIMIT and verdict.bottleneck == pair.bottleneck
    return Scored(pair, verdict, right)


def _decoy(pair: Pair, known: Measured, verdict: Verdict) -> Scored:
    """A decoy proves something unless its change made the kernel faster after all."""
    gain = known.gain(Side.AFTER)
    named = {verdict.bottleneck} if verdict.status is not Status.INCONCLUSIVE else set()
    right = not named & set(pair.never)
    if pair.bottleneck is not None and named:
        right = right and verdict.bottleneck == pair.bottleneck
    proves = gain is None or gain <= MOST_FOR_A_DECOY
    return Scored(pair, verdict, right if proves else None, measured=gain)
