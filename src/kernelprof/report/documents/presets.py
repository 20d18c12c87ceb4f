"""The metric presets: a list of them, or the metrics of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.catalogue import SAMPLES
from kernelprof.report.document import Cell, Column, Document, Paragraph, Section, Span, Table, Tone

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.analysis.metrics.catalogue import Metric, Preset

_WHY_SAMPLES = (
    "Warp samples by source line and stall reason, from the section SourceCounters. Verdicts use "
    "them to name source lines."
)


_SAMPLES: Final = " Also collects samples by source line."


def index(presets: Iterable[Preset]) -> Document:
    """All presets, each with its description."""
    rows = tuple(
        (
            Cell(Span(preset.name, code=True)),
            Cell(str(len(preset.metrics))),
            Cell(f"{preset.description}{_SAMPLES if preset.samples else ''}"),
        )
        for preset in presets
    )
    columns = (Column("preset"), Column("metrics", number=True), Column("purpose"))
    return Document("Metric presets", (Table(columns, rows, label="Presets"),))


def document(preset: Preset | Mapping[str, Preset]) -> Document:
    """One preset's metrics: canonical name, unit, names of ``ncu``, why each is there.

    Of several presets a line each.
    """
    if isinstance(preset, Mapping):
        return index(preset.values())
    metrics = [_metric(metric) for metric in preset.metrics]
    if preset.samples:
        names = Paragraph(Span(SAMPLES, code=True), Tone.MUTED)
        metrics.append(Section("samples by source line", (names, Paragraph(_WHY_SAMPLES))))
    blocks = (Paragraph(preset.description), Section("", tuple(metrics)))
    return Document(f"{preset.name}: {preset.title}", blocks)


def _metric(metric: Metric) -> Section:
    unit = "" if metric.unit == "1" else f" ({metric.unit})"
    lines = [_names(metric.ncu)]
    lines += [
        (f"on {chip}: ", *(_names(special) if special else ("not available",)))
        for chip, special in metric.architectures.items()
    ]
    if metric.section is not None:
        lines.append(("collected with section ", Span(metric.section, code=True)))
    blocks = (*(Paragraph(line, Tone.MUTED) for line in lines), Paragraph(metric.why))
    return Section((Span(metric.name, code=True), unit), blocks)


def _names(names: Iterable[str]) -> tuple[str | Span, ...]:
    texts: list[str | Span] = []
    for name in names:
        texts += [" or ", Span(name, code=True)]
    return tuple(texts[1:])
