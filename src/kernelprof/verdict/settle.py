"""What is missing, why it matters, and the command that collects just that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.capture.command import ncu_command, quote
from kernelprof.metrics.catalogue import catalogue, metrics_for, preset
from kernelprof.metrics.groups import FALLBACKS
from kernelprof.model.diagnosis import MissingMetric
from kernelprof.rules import registry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.metrics.catalogue import Metric
    from kernelprof.metrics.facts import Facts
    from kernelprof.model.capture import Capture
    from kernelprof.verdict.needed import Needs


def deciding_metrics(
    facts: Facts, needs: Needs, row: int, slugs: Sequence[str]
) -> tuple[MissingMetric, ...]:
    """Missing metrics that would decide between these rules in this launch."""
    return _described(facts, row, needs.needed(row, slugs, _missing(facts, row, slugs)))


def absent_metrics(facts: Facts, row: int, slug: str) -> tuple[MissingMetric, ...]:
    """Metrics of one rule that the launch lacks: what would raise the confidence in it."""
    return _described(facts, row, _missing(facts, row, [slug]))


def _missing(facts: Facts, row: int, slugs: Iterable[str]) -> list[str]:
    """Canonical metrics of these rules that the launch lacks and that can be had.

    A metric that only stands in for another, one that the chip does not have, and one that ncu
    already failed to give are never asked for.
    """
    rules = registry()
    capability = facts.capture.launches[row].compute_capability
    known = catalogue()
    wanted = dict.fromkeys(name for slug in slugs for name in rules[slug].metrics)
    return [
        name
        for name in wanted
        if name not in FALLBACKS
        and not facts.has(name)[row]
        and known[name].ncu_names(capability)
        and not set(known[name].ncu_names(capability)) & facts.capture.unavailable
    ]


def _described(facts: Facts, row: int, names: Iterable[str]) -> tuple[MissingMetric, ...]:
    capability = facts.capture.launches[row].compute_capability
    known = catalogue()
    return tuple(
        MissingMetric(name, known[name].ncu_names(capability)[0], known[name].why) for name in names
    )


def settling_command(
    capture: Capture,
    rows: Sequence[int],
    missing: Sequence[MissingMetric],
    preset_name: str | None,
) -> str:
    """The ``ncu`` command for the launches at ``rows``: what is missing, or a whole preset."""
    first = capture.launches[rows[0]]
    if preset_name is not None:
        metrics: Iterable[Metric] = preset(preset_name).metrics
    else:
        metrics = metrics_for([m.metric for m in missing], first.compute_capability)
    alike = [
        row
        for row, launch in enumerate(capture.launches)
        if (launch.kernel, launch.grid, launch.block) == (first.kernel, first.grid, first.block)
    ]
    application = [capture.application] if capture.application else None
    return quote(
        ncu_command(
            metrics,
            compute_capability=first.compute_capability,
            kernel=first.kernel,
            launch_count=1 + max(alike.index(row) for row in rows),
            clock_control=capture.clock_control,
            application=application,
            output="followup.csv",
        )
    )
