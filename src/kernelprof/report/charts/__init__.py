"""Charts as Vega-Lite specifications without data, found by their names.

A chart's ``kind`` is a name of :data:`KINDS`, with options of the specification behind colons:
``launches:near``. A specification stands in a page once; each chart brings its rows. Nothing is
shown by colour alone: points have shapes and names, bars have their names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.report.charts import bars, roofline, times

if TYPE_CHECKING:
    from kernelprof.report.charts.parts import Kind, Spec

KINDS: Final[dict[str, Kind]] = {**bars.KINDS, **times.KINDS, "roofline": roofline.KIND}
"""Every chart by its name; what is no part of this package adds its own."""


def kind_of(name: str) -> Kind:
    """What there is to know of a chart, whatever its options."""
    return KINDS[name.partition(":")[0]]


def spec_of(name: str) -> Spec:
    """The specification of a chart with its options."""
    return kind_of(name).spec(*name.split(":")[1:])
