"""What charts draw, and how, found by their names.

A chart's ``kind`` is a name of :data:`KINDS`, with options behind colons: ``launches:near``. Each
kind makes markup of the rows of a chart, named tuples of its module, for every width and for both
themes at once. Nothing is shown by colour alone: points have shapes and names, bars their names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kernelprof.report.charts import bars, kernels, memory, roofline, timeline, times

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from kernelprof.report.charts.drawing import ChartKind

KINDS: Final[dict[str, ChartKind]] = {
    **bars.KINDS,
    **times.KINDS,
    "overview": kernels.KIND,
    "memory": memory.KIND,
    "roofline": roofline.KIND,
    "timeline": timeline.KIND,
}
"""Every chart by its name; what is no part of this package adds its own."""


def kind_of(name: str) -> ChartKind:
    """What there is to know of a chart, whatever its options."""
    return KINDS[name.partition(":")[0]]


def draw(name: str, rows: Sequence[Any]) -> Markup:
    """A chart with its options."""
    return kind_of(name).draw(rows, *name.split(":")[1:])
