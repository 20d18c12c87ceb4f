"""Would thresholds chosen on half of the pairs be right on the other half?

The rules were calibrated on the corpus, so its score is that of kernels already seen. Here the
thresholds that the calibration touched are chosen anew on a random half, from a few values each and
with ties drawn by lot, and the verdicts with them are scored on the half that was not looked at.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

import numpy as np
from benchmarks.corpus.pairs import Kind, Side
from benchmarks.corpus.score import score
from benchmarks.corpus.stored import by_full, measured

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import ModuleType

    from benchmarks.corpus.pairs import Pair
    from benchmarks.corpus.stored import Kernel

    Settings = Mapping[str, float]

DRAWS: Final = 20


@dataclass(frozen=True, slots=True)
class Halves:
    """Thresholds chosen on one random half of the pairs and scored on the other, many times over.

    Counts of planted bottlenecks that are named first, and of all, over all draws; ``least`` and
    ``most`` are the shares of the draws with the worst and the best other half.
    """

    draws: int
    chosen_on: tuple[int, int]
    scored_on: tuple[int, int]
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Knob:
    """A threshold: the constants in ``kernelprof.analysis`` that hold it, and values to try."""

    name: str
    places: tuple[str, ...]
    values: tuple[float, ...]


KNOBS: Final = (
    Knob(
        "near limit",
        ("metrics.units.NEAR_LIMIT", "verdict.ranking.NEAR_LIMIT"),
        (0.6, 0.65, 0.7, 0.75, 0.8),
    ),
    Knob(
        "at limit",
        ("verdict.ranking.AT_LIMIT",),
        (0.7, 0.75, 0.8, 0.85, 0.9),
    ),
    Knob(
        "long queue",
        ("metrics.units.LONG_QUEUE",),
        (0.2, 0.25, 0.3, 0.35, 0.4),
    ),
    Knob(
        "evenly busy",
        ("metrics.gains.BALANCED_SMS",),
        (0.8, 0.85, 0.9, 0.95),
    ),
    Knob(
        "low occupancy",
        ("metrics.gains.LOW_OCCUPANCY",),
        (0.4, 0.5, 0.6, 0.75),
    ),
    Knob(
        "own results",
        ("metrics.gains.NEARLY_ALL",),
        (0.6, 0.7, 0.8, 0.85, 0.9),
    ),
    Knob("unexplained", ("metrics.units.UNEXPLAINED_FROM",), (0.5, 0.6, 0.7)),
    Knob("notable waste", ("metrics.waste.NOTABLE_WASTE",), (0.15, 0.25, 0.35)),
)


def halves(
    pairs: Sequence[Pair], loaded: Mapping[str, Mapping[Side, Kernel]], draws: int = DRAWS
) -> Halves:
    """Choose on one half and score on the other, ``draws`` times, with a fixed seed.

    Each threshold is chosen by itself, the others as they are: they hardly act on the same pairs.
    """
    planted = [p for p in pairs if p.name in loaded and p.kind in {Kind.PAIR, Kind.TWO}]
    now = _right(planted, loaded, {})
    proven = [p for p in planted if now[p.name] is not None]
    tried = {
        (knob.name, value): _right(proven, loaded, {knob.name: value})
        for knob in KNOBS
        for value in knob.values
    }
    generator = np.random.default_rng(0)
    chosen_on, scored_on, shares = [0, 0], [0, 0], []
    for _ in range(draws):
        order = generator.permutation(len(proven))
        seen = [proven[at] for at in order[: len(proven) // 2]]
        unseen = [proven[at] for at in order[len(proven) // 2 :]]
        settings = {knob.name: _best(knob, seen, tried, generator) for knob in KNOBS}
        found = _right(proven, loaded, settings)
        for counts, half in ((chosen_on, seen), (scored_on, unseen)):
            counts[0] += sum(bool(found[p.name]) for p in half)
            counts[1] += len(half)
        shares.append(sum(bool(found[p.name]) for p in unseen) / len(unseen))
    return Halves(
        draws=draws,
        chosen_on=(chosen_on[0], chosen_on[1]),
        scored_on=(scored_on[0], scored_on[1]),
        least=min(shares),
        most=max(shares),
    )


def _best(
    knob: Knob,
    seen: Sequence[Pair],
    tried: Mapping[tuple[str, float], Mapping[str, bool | None]],
    generator: np.random.Generator,
) -> float:
    """The value with which most of the pairs seen are right; of equals one by lot."""
    counts = [sum(bool(tried[knob.name, value][p.name]) for p in seen) for value in knob.values]
    best = [v for v, count in zip(knob.values, counts, strict=True) if count == max(counts)]
    return float(generator.choice(best))


def _right(
    pairs: Sequence[Pair], loaded: Mapping[str, Mapping[Side, Kernel]], settings: Settings
) -> dict[str, bool | None]:
    """Which pairs are right with some thresholds at other values; ``None`` proves nothing."""
    with _set(settings):
        known = measured({p.name: loaded[p.name] for p in pairs}, by_full, (Side.BEFORE,))
    return {p.name: score(p, known[p.name]).right for p in pairs}


@contextmanager
def _set(settings: Settings) -> Iterator[None]:
    """Give thresholds other values for a while."""
    before: list[tuple[ModuleType, str, float]] = []
    try:
        for knob in KNOBS:
            if knob.name not in settings:
                continue
            for place in knob.places:
                module_name, _, constant = place.rpartition(".")
                module = import_module(f"kernelprof.analysis.{module_name}")
                before.append((module, constant, getattr(module, constant)))
                setattr(module, constant, settings[knob.name])
        yield
    finally:
        for module, constant, value in reversed(before):
            setattr(module, constant, value)
