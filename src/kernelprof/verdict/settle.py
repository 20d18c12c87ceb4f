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


def missing_metrics(
    facts: Facts, row: int, slugs: Iterable[str], *, everything: bool
) -> tuple[MissingMetric, ...]:
    """Metrics of these rules that the launch lacks, by their ``ncu`` name on its architecture.

    ``everything`` includes those that a rule may use beside those that it requires. A metric that
    only stands in for another, and one that the chip does not have, is never asked for.
    """
    rules = registry()
    wanted: dict[str, None] = {}
    for slug in slugs:
        names = rules[slug].metrics if everything else rules[slug].requires
        wanted.update(dict.fromkeys(names))
    capability = facts.capture.launches[row].compute_capability
    known = catalogue()
    found = []
    for name in wanted:
        if name in FALLBACKS or facts.has(name)[row]:
            continue
        ncu_names = known[name].ncu_names(capability)
        if ncu_names and not set(ncu_names) & facts.capture.unavailable:
            found.append(MissingMetric(name, ncu_names[0], known[name].why))
    return tuple(found)


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
