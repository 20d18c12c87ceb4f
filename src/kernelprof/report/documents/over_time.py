"""What a launch did over its time: a line of text, and a section with its chart on a page."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.over_time import NOTABLE, describe_over_time
from kernelprof.model.launch_series import ACTIVE
from kernelprof.model.numbers import count, quantity, share
from kernelprof.report.charts.timeline import Lane
from kernelprof.report.document import Block, Chart, Note, Paragraph, Section

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.diagnosis import KernelDiagnosis

_MOST_LANES: Final = 6


def line(kernel: KernelDiagnosis, *, always: bool) -> Iterable[Paragraph]:
    """Say the parts of a launch, where one is notable or ``always``."""
    over_time = kernel.over_time
    if over_time is None or not (text := describe_over_time(over_time)):
        return
    edges = max(over_time.ramp or 0.0, over_time.tail or 0.0)
    if always or edges >= NOTABLE or len(over_time.phases) > 1:
        yield Paragraph(f"Over time: {text[0].lower()}{text[1:]}")


def section(kernel: KernelDiagnosis) -> Iterable[Section]:
    """Draw the busiest units over the time of a launch, and the SMs that are active."""
    over_time = kernel.over_time
    if over_time is None:
        return
    busy = [each for each in over_time.units if each.metric != ACTIVE][:_MOST_LANES]
    lanes = [*busy, *(each for each in over_time.units if each.metric == ACTIVE)]
    edges = {edge for phase in over_time.phases for edge in (phase.start, phase.end)}
    rows = tuple(
        Lane(
            f"{each.label} {share(fmean(each.values) / 100)}",
            each.values,
            over_time.duration_ns,
            tuple(sorted(edge for edge in edges if 0 < edge < 1)),
        )
        for each in lanes
    )
    parts = describe_over_time(over_time)
    blocks: list[Block] = [Paragraph(parts)] if parts else []
    blocks.append(Chart("timeline", rows, "Utilization of each unit over one launch"))
    samples = int(over_time.duration_ns / over_time.interval_ns)
    blocks.append(
        Note(
            f"{count(samples, 'sample')} of one launch, {quantity(over_time.interval_ns, 'ns')} "
            "apart; each lane spans 0 to 100 % of peak. Values are scaled so that each lane's mean "
            "equals the metric of the whole launch."
        )
    )
    yield Section("Over time", tuple(blocks))
