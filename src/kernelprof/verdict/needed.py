"""Which missing metrics would decide, found by trying.

A rule names all that it may look at, but in a given launch most of it does not matter: near a
unit's limit nobody asks where warps wait. So the launch is completed with made-up values for all
that is missing, several times over, and the metrics are taken away again, alone and together. What
can go without making the gain of any rule in the running less certain is not asked for.

The made-up values never reach a verdict; they only tell what depends on what.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kernelprof.metrics.catalogue import catalogue
from kernelprof.metrics.facts import Facts
from kernelprof.metrics.groups import FAMILIES
from kernelprof.model.capture import Capture, MetricColumn, Source
from kernelprof.rules import Scene, registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]

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


@dataclass(frozen=True)
class _Trial:
    """One launch, the rules in the running, what it lacks, and made-up values for that.

    ``values`` has a row a completion and a column a metric of ``missing``.
    """

    row: int
    slugs: tuple[str, ...]
    missing: tuple[str, ...]
    values: FloatArray


class Needs:
    """Finds the metrics that would decide; launches in the same situation share the search."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._found: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[str, ...]] = {}

    def needed(self, row: int, slugs: Sequence[str], missing: Sequence[str]) -> tuple[str, ...]:
        """Those of the ``missing`` canonical metrics on which a gain of ``slugs`` depends.

        Launches that lack the same metrics and have the same rules in the running are taken to
        need the same.
        """
        key = (tuple(slugs), tuple(missing))
        if key not in self._found:
            self._found[key] = self._search(row, slugs, missing) if missing else ()
        return self._found[key]

    def _search(self, row: int, slugs: Sequence[str], missing: Sequence[str]) -> tuple[str, ...]:
        trial = _Trial(row, tuple(slugs), tuple(missing), _completions(missing))
        everything = set(missing)
        certain = self._uncertainty(trial, [everything])[0]
        without_one = self._uncertainty(trial, [everything - {name} for name in missing])
        spare = [
            name
            for name, uncertainty in zip(missing, without_one, strict=True)
            if (uncertainty <= certain).all()
        ]
        kept = self._without(trial, certain, everything, spare)
        for family in FAMILIES:
            if kept.intersection(family):
                kept = kept.union(family)
        return tuple(name for name in missing if name in kept)

    def _without(
        self, trial: _Trial, certain: FloatArray, kept: set[str], spare: list[str]
    ) -> set[str]:
        """``kept`` less as many of ``spare`` as can go together; halves where not all can."""
        if not spare:
            return kept
        fewer = kept - set(spare)
        if (self._uncertainty(trial, [fewer])[0] <= certain).all():
            return fewer
        if len(spare) == 1:
            return kept
        middle = len(spare) // 2
        # The last ones go first: a rule names what it requires before what it merely uses.
        kept = self._without(trial, certain, kept, spare[middle:])
        return self._without(trial, certain, kept, spare[:middle])

    def _uncertainty(self, trial: _Trial, known: Sequence[set[str]]) -> FloatArray:
        """Width of the rules' gains over copies that know these metrics, ``(known, trials)``."""
        masks = np.array([[name in names for name in trial.missing] for names in known])
        values = np.where(masks[:, None, :], trial.values[None], np.nan)
        capture = _synthetic(self._facts, trial, values.reshape(-1, len(trial.missing)))
        scene = Scene(Facts(capture))
        rules = registry()
        unexplained = scene.machine.limited_by_something_else
        widths = (unexplained.sure != unexplained.maybe).astype(np.float64)
        for slug in trial.slugs:
            finding = rules[slug].evaluate(scene)
            for interval in (finding.gain, finding.saturation):
                if interval is not None:
                    widths += np.minimum(interval.high - interval.low, WIDE)
        rounded: FloatArray = np.round(widths, 9).reshape(len(known), TRIALS)
        return rounded


def _completions(missing: Sequence[str]) -> FloatArray:
    """Made-up values, one row a trial and one column a metric; the ideal is below the actual."""
    known = catalogue()
    rng = np.random.default_rng(seed=0)
    values = np.empty((TRIALS, len(missing)))
    for index, name in enumerate(missing):
        low, high = _RANGES.get(known[name].unit, (1.0, 1e6))
        values[:, index] = rng.uniform(low, high, TRIALS)
        if name.endswith("_ideal") and name.removesuffix("_ideal") in missing:
            whole = values[:, missing.index(name.removesuffix("_ideal"))]
            values[:, index] = whole * rng.uniform(0.2, 1.0, TRIALS)
    return values


def _synthetic(facts: Facts, trial: _Trial, table: FloatArray) -> Capture:
    """A capture of copies of one launch, completed with the rows of ``table``."""
    count, row = len(table), trial.row
    launch = facts.capture.launches[row]
    columns = {
        name: replace(column, values=np.full(count, column.values[row]))
        for name, column in facts.capture.columns.items()
        if not np.isnan(column.values[row])
    }
    for index, name in enumerate(trial.missing):
        metric = catalogue()[name]
        ncu_name = metric.ncu_names(launch.compute_capability)[0]
        columns[ncu_name] = MetricColumn(
            ncu_name, table[:, index], metric.unit, metric.unit, Source.MEASURED
        )
    text = {name: (cells[row],) * count for name, cells in facts.capture.text.items()}
    return Capture((launch,) * count, columns, text)
