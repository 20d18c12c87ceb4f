"""Which missing metrics would decide, found by trying.

A rule names all that it may look at, but in a given launch most of it does not matter: near a
unit's limit nobody asks where warps wait. So the launch is completed with made-up values for all
that is missing, several times over, and the metrics are taken away again, alone and together. What
can go without making the gain of any rule in the running less certain is not asked for.

The made-up values never reach a verdict; they only tell what depends on what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelprof.analysis.metrics.catalogue import load_metrics, names_read
from kernelprof.analysis.metrics.facts import Facts
from kernelprof.analysis.metrics.groups import FAMILIES
from kernelprof.analysis.rules import RuleContext, load_rules
from kernelprof.model.capture import OWN_COLUMNS, Capture, Launches, MetricColumn, Origin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.analysis.metrics.interval import FloatArray


TRIALS = 96
"""Completions tried. Each puts the launch into another regime; a dependence that shows in none of
them costs one more round of measuring, no wrong verdict."""

WIDE = 1e6
"""Width that stands for an open interval, so that sums of widths can be compared."""

_RANGES = {
    "%": (5.0, 95.0),
    "thread": (8.0, 32.0),
    "byte/sector": (4.0, 32.0),
    "warp": (1.0, 16.0),
    "inst/cycle": (0.0, 2_000.0),
    "cycle/inst": (0.0, 5.0),
    "inst": (1e5, 1e9),
    "sector": (1e6, 1e8),
    "request": (1e5, 1e8),
    "wavefront": (1e5, 1e8),
    "byte": (1e7, 1e10),
}


class Sensitivity:
    """Finds the metrics that would decide; launches in the same situation share the search."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._cache: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[str, ...]] = {}

    def deciding(self, row: int, slugs: Sequence[str], missing: Sequence[str]) -> tuple[str, ...]:
        """Return those of the ``missing`` canonical metrics on which a gain of ``slugs`` depends.

        Launches that lack the same metrics and have the same rules in the running are taken to
        need the same.
        """
        key = (tuple(slugs), tuple(missing))
        if key not in self._cache:
            self._cache[key] = self._search(row, slugs, missing) if missing else ()
        return self._cache[key]

    def _search(self, row: int, slugs: Sequence[str], missing: Sequence[str]) -> tuple[str, ...]:
        trials = _Trials(self._facts.capture, row, slugs, missing)
        everything = set(missing)
        less = [everything - {name} for name in missing]
        certain, *without_one = trials.uncertainty([everything, *less])
        spare = [
            name
            for name, uncertainty in zip(missing, without_one, strict=True)
            if (uncertainty <= certain).all()
        ]
        needed_metrics = _without(trials, certain, everything, spare)
        for family in FAMILIES:
            if needed_metrics.intersection(family):
                needed_metrics = needed_metrics.union(family)
        return tuple(name for name in missing if name in needed_metrics)


def _without(
    trials: _Trials, certain: FloatArray, remaining: set[str], spare: Sequence[str]
) -> set[str]:
    """``remaining`` less as many of ``spare`` as can go together; halves where not all can.

    The last ones go first: a rule names what it requires before what it merely uses.
    """
    if not spare:
        return remaining
    # Every last half of a half that cannot go is tried at once: more rows cost hardly more time.
    halves = [spare]
    while len(halves[-1]) > 1:
        halves.append(halves[-1][len(halves[-1]) // 2 :])
    widths = trials.uncertainty([remaining.difference(half) for half in halves])
    can_go = [at for at, width in enumerate(widths) if (width <= certain).all()]
    if can_go:
        remaining = remaining.difference(halves[can_go[0]])
    for half in reversed(halves[: can_go[0]] if can_go else halves[:-1]):
        remaining = _without(trials, certain, remaining, half[: len(half) // 2])
    return remaining


class _Trials:
    """One launch, completed with made-up values for metrics that it lacks."""

    def __init__(
        self, capture: Capture, row: int, slugs: Sequence[str], missing: Sequence[str]
    ) -> None:
        metrics, may_read = load_metrics(), names_read()
        self.rules = [load_rules()[slug] for slug in slugs]
        self.launch = capture.launches[row]
        self.text = {name: cells[row] for name, cells in capture.text.items()}
        self.present = [
            column.holding(column.values[[row]])
            for name, column in capture.columns.items()
            if (name in may_read or name.startswith(OWN_COLUMNS))
            and not np.isnan(column.values[row])
        ]
        self.missing = tuple(missing)
        capability = self.launch.compute_capability
        self.columns = [
            (metrics[name].ncu_names(capability)[0], metrics[name].unit) for name in missing
        ]
        self.values = _completions(missing)

    def uncertainty(self, subsets: Sequence[set[str]]) -> FloatArray:
        """Return the width of the rules' gains over copies of the launch that have these metrics.

        The shape is ``(subsets, trials)``.
        """
        masks = np.array([[name in names for name in self.missing] for names in subsets])
        values = np.where(masks[:, None, :], self.values[None], np.nan)
        context = RuleContext(Facts(self._capture(values.reshape(-1, len(self.missing)))))
        unexplained = context.units.limited_by_unnamed_unit
        widths = (unexplained.sure != unexplained.maybe).astype(np.float64)
        for rule in self.rules:
            finding = rule.evaluate(context)
            for interval in (finding.gain, finding.saturation):
                if interval is not None:
                    widths += np.minimum(interval.high - interval.low, WIDE)
        rounded: FloatArray = np.round(widths, 9).reshape(len(subsets), TRIALS)
        return rounded

    def _capture(self, table: FloatArray) -> Capture:
        """Copies of the launch, one a row of values of what it lacks."""
        count = len(table)
        columns = {each.name: each.holding(np.full(count, each.values[0])) for each in self.present}
        for index, (name, unit) in enumerate(self.columns):
            columns[name] = MetricColumn(name, table[:, index], unit, unit, Origin.MEASURED)
        return Capture(
            Launches([self.launch.id] * count, np.zeros(count, dtype=np.intp), [self.launch]),
            columns,
            {name: (cell,) * count for name, cell in self.text.items()},
        )


def _completions(missing: Sequence[str]) -> FloatArray:
    """Made-up values, one row a trial and one column a metric; the ideal is below the actual."""
    metrics = load_metrics()
    rng = np.random.default_rng(seed=0)
    values = np.empty((TRIALS, len(missing)))
    for index, name in enumerate(missing):
        low, high = _RANGES.get(metrics[name].unit, (1.0, 1e6))
        values[:, index] = rng.uniform(low, high, TRIALS)
        if name.endswith("_ideal") and name.removesuffix("_ideal") in missing:
            whole = values[:, missing.index(name.removesuffix("_ideal"))]
            values[:, index] = whole * rng.uniform(0.2, 1.0, TRIALS)
    return values
