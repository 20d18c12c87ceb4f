"""From a few metrics to the verdict that all of them would give, measuring only what it asks for.

A loop over a function that collects; it touches no GPU and no process itself.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernelprof.analysis.metrics.catalogue import load_metrics, metrics_for, preset
from kernelprof.analysis.metrics.facts import Facts
from kernelprof.analysis.verdict import diagnose
from kernelprof.collect.failures import ProfilerError
from kernelprof.errors import InputError
from kernelprof.model.diagnosis import Diagnosis, Status
from kernelprof.model.merge import merge_metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kernelprof.analysis.metrics.catalogue import Metric
    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import KernelDiagnosis, Verdict

    Collect = Callable[[Sequence[Metric], Sequence[str] | None, str], Capture]
    """Runs the program once: these metrics, of all kernels or of those of these names, and why."""

MOST_ROUNDS = 4
"""Follow-up runs. From ``triage``, no recorded launch needs a second; the last takes all."""

PASSES = "profiler__replayer_passes"
_NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class DrillRound:
    """One run of the program: metrics, kernels (``None``: all), reason, passes and seconds."""

    number: int
    why: str
    metrics: tuple[str, ...]
    kernels: tuple[str, ...] | None
    passes: int | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class DrillDown:
    """Everything that was measured, put together, the last verdicts, and the way there."""

    capture: Capture
    diagnosis: Diagnosis
    rounds: tuple[DrillRound, ...]

    @property
    def passes(self) -> int | None:
        """Passes over all runs, ``None`` where one of them does not say."""
        passes = [each.passes for each in self.rounds if each.passes is not None]
        return sum(passes) if len(passes) == len(self.rounds) else None


def count_passes(capture: Capture) -> int | None:
    """How often kernels were replayed for a capture, ``None`` where it does not say."""
    column = capture.columns.get(PASSES)
    return None if column is None else int(np.nansum(column.values))


class _Demand(NamedTuple):
    names: tuple[str, ...]
    rows: frozenset[int]
    why: str


def collect_by_verdicts(
    collect: Collect, *, start: str = "triage", most_rounds: int = MOST_ROUNDS
) -> DrillDown:
    """Collect the preset ``start``, and then what verdicts ask for, until they are final.

    Each round is one run for all undecided kernels. A follow-up that fails because the program
    behaves otherwise ends the drill-down with a warning.
    """
    rounds: list[DrillRound] = []

    def run(metrics: Sequence[Metric], kernels: tuple[str, ...] | None, why: str) -> Capture:
        begin = time.monotonic()
        capture_of_round = collect(metrics, kernels, why)
        seconds, names = time.monotonic() - begin, tuple(metric.name for metric in metrics)
        rounds.append(
            DrillRound(len(rounds), why, names, kernels, count_passes(capture_of_round), seconds)
        )
        return capture_of_round

    first = preset(start)
    capture = run(first.metrics, None, f"preset {start}: {first.title}")
    requested = {metric.name: set(range(len(capture))) for metric in first.metrics}
    diagnosis = diagnose(capture)
    for number in range(1, most_rounds + 1):
        demand = _demand(capture, diagnosis, requested, last=number == most_rounds)
        if demand is None:
            break
        kernels = _kernels(capture, demand.rows)
        capability = capture.launches[min(demand.rows)].compute_capability
        try:
            both = merge_metrics(
                capture, run(metrics_for(demand.names, capability), kernels, demand.why)
            )
        except (InputError, ProfilerError) as error:
            sentence = f"The follow-up run for undecided verdicts was not completed: {error.what}."
            capture = replace(capture, warnings=(*capture.warnings, sentence))
            diagnosis = diagnose(capture)
            break
        warnings = tuple(dict.fromkeys(both.warnings))
        capture = replace(both, origin=capture.origin, warnings=warnings)
        launches = enumerate(capture.launches)
        rows = {row for row, each in launches if kernels is None or each.kernel in kernels}
        for name in demand.names:
            requested.setdefault(name, set()).update(rows)
        diagnosis = diagnose(capture)
    return DrillDown(capture, diagnosis, tuple(rounds))


def is_undecided(verdict: Verdict) -> bool:
    """Whether a verdict asks for more: it is inconclusive, or a runner-up is near."""
    return verdict.status is Status.INCONCLUSIVE or bool(verdict.also)


def _demand(
    capture: Capture, diagnosis: Diagnosis, requested: dict[str, set[int]], *, last: bool
) -> _Demand | None:
    # What the open verdicts ask for that was not asked yet; `None` where nothing is left. An
    # inconclusive verdict that names nothing more, and any in the last round, gets all that the
    # preset `full` has
    names: dict[str, None] = {}
    rows: set[int] = set()
    open_: list[KernelDiagnosis] = []
    near: list[KernelDiagnosis] = []
    facts: Facts | None = None
    for kernel in diagnosis.kernels:
        verdict = kernel.verdict
        if not is_undecided(verdict):
            continue
        undecided = verdict.status is Status.INCONCLUSIVE
        wanted = _new(requested, (metric.metric for metric in verdict.missing), kernel.rows)
        if undecided and (last or not wanted):
            facts = facts or Facts(capture)
            wanted = _new(requested, _lacking(facts, kernel), kernel.rows)
        if not wanted:
            continue
        names.update(dict.fromkeys(wanted))
        rows.update(kernel.rows)
        (open_ if undecided else near).append(kernel)
    if not names:
        return None
    return _Demand(tuple(names), frozenset(rows), _why(open_, near))


def _why(open_: Sequence[KernelDiagnosis], near: Sequence[KernelDiagnosis]) -> str:
    between = list(dict.fromkeys(c.bottleneck for k in open_ for c in k.verdict.also))
    shown = ", ".join(between[:_NAMES_SHOWN]) + (", ..." if between[_NAMES_SHOWN:] else "")
    undecided = "undecided" + (f" between {shown}" if shown else "")
    return "; ".join(
        f"{len(each)} kernel{' is' if len(each) == 1 else 's are'} {what}"
        for each, what in ((open_, undecided), (near, "limited by nearly tied bottlenecks"))
        if each
    )


def _lacking(facts: Facts, kernel: KernelDiagnosis) -> list[str]:
    # Metrics of the preset `full` that a kernel's launches lack and that the chip has
    rows = list(kernel.rows)
    return [
        metric.name
        for metric in preset("full").metrics
        if metric.ncu_names(kernel.compute_capability) and not facts.has(metric.name)[rows].all()
    ]


def _new(requested: dict[str, set[int]], names: Iterable[str], rows: Iterable[int]) -> list[str]:
    here = set(rows)
    metrics = load_metrics()
    return [name for name in names if name in metrics and not here <= requested.get(name, set())]


def _kernels(capture: Capture, rows: Iterable[int]) -> tuple[str, ...] | None:
    wanted = dict.fromkeys(capture.launches[row].kernel for row in sorted(rows))
    return None if len(wanted) == len({each.kernel for each in capture.launches}) else tuple(wanted)
