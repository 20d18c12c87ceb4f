"""Presets as plain text: a list of them, or the metrics of one."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from kernelprof.analysis.metrics.catalogue import SAMPLES
from kernelprof.report.numbers import count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.analysis.metrics.catalogue import Metric, Preset

_WHY_SAMPLES = (
    "Where in the source warps spend their time, for the lines that a report marks. Costs one pass."
)


def preset_list(presets: Iterable[Preset], *, width: int = 80) -> str:
    """All presets, each with its description."""
    presets = list(presets)
    widest = max((len(preset.name) for preset in presets), default=0)
    lines = []
    for preset in presets:
        amount = count(len(preset.metrics), "metric")
        if preset.samples:
            amount += " and samples by source line"
        text = f"{preset.name:<{widest}}  {preset.description} ({amount})"
        lines.append(_fill(text, width, widest + 2))
    return "".join(lines)


def preset_page(preset: Preset, *, width: int = 80) -> str:
    """One preset's metrics: canonical name, unit, names of ``ncu``, why each is there."""
    head = _fill(f"{preset.name}: {preset.description}", width, 0)
    parts = [head, *(_metric(metric, width) for metric in preset.metrics)]
    if preset.samples:
        parts.append(f"samples by source line\n  {SAMPLES}\n{_fill(f'  {_WHY_SAMPLES}', width, 2)}")
    return "\n".join(parts)


def _metric(metric: Metric, width: int) -> str:
    names = [f"  {' or '.join(metric.ncu)}\n"]
    for chip, special in metric.architectures.items():
        names.append(f"  on {chip}: {' or '.join(special) or 'not there'}\n")
    if metric.section is not None:
        names.append(f"  collected with section {metric.section}\n")
    unit = "" if metric.unit == "1" else f" ({metric.unit})"
    return f"{metric.name}{unit}\n" + "".join(names) + _fill(f"  {metric.why}", width, 2)


def _fill(text: str, width: int, indent: int) -> str:
    lines = textwrap.wrap(
        text,
        max(width, indent + 20),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines) + "\n"
