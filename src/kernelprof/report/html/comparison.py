"""The page of a comparison: before and after side by side, what changed first."""

from __future__ import annotations

import json
from dataclasses import fields
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from kernelprof.report.html import charts
from kernelprof.report.html.build.comparison import build_comparison
from kernelprof.report.html.charts import comparison as drawn
from kernelprof.report.html.charts import launches
from kernelprof.report.html.page import MOST_OPEN, fill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.model.comparison import Comparison
    from kernelprof.report.html.charts import Row, Spec
    from kernelprof.report.html.comparison_view import ChangedKernel, ComparisonPage


def render_comparison_page(
    comparison: Comparison,
    command: str = "",
) -> str:
    """What happened between two captures as one HTML file; every text in it is escaped.

    ``command`` is what was typed.
    """
    return render_built(build_comparison(comparison, command))


def render_built(page: ComparisonPage) -> str:
    """The page of values that are built."""
    cards = [
        SimpleNamespace(
            **{each.name: getattr(kernel, each.name) for each in fields(kernel)}, index=index
        )
        for index, kernel in enumerate(page.kernels)
    ]
    return fill(
        "comparison.html.j2",
        card_from="change.html.j2",
        styles=("report.css", "comparison.css"),
        page=page,
        cards=cards,
        alone=len(cards) == 1 and not page.headline,
        stored=cards if len(cards) > MOST_OPEN else [],
        views=_views(page),
        drawn_kernels=min(len(cards), drawn.MOST_KERNELS),
    )


def _views(page: ComparisonPage) -> str:
    overview = drawn.kernel_rows(page.kernels) if page.headline else []
    kernels = [_rows(kernel) for kernel in page.kernels]
    views = {
        "config": charts.CONFIG,
        "specs": _specs(page.kernels),
        "tables": {"roofline": charts.TABLES["roofline"]},
        "tips": {},
        "page": {"changes": overview},
        "metrics": [],
        "kernels": [{"charts": rows, "metrics": []} for rows in kernels],
    }
    return json.dumps(views, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _specs(kernels: Sequence[ChangedKernel]) -> dict[str, Spec]:
    return {
        "changes": drawn.kernels_chart(near=drawn.are_near(kernels)),
        "times": launches.chart(near=False),
        "times-near": launches.chart(near=True),
        "states": drawn.states_chart(),
        "roofline": drawn.roofline_chart(),
    }


def _rows(kernel: ChangedKernel) -> dict[str, list[Row]]:
    """The rows of a kernel's charts; a chart without rows is not drawn."""
    found: dict[str, Any] = {"states": drawn.state_rows(kernel.states)}
    if kernel.times is not None:
        found["times-near" if kernel.times.near else "times"] = launches.rows(kernel.times)
    if kernel.roofline is not None:
        found["roofline"] = drawn.roofline_rows(kernel.roofline)
    return {kind: rows for kind, rows in found.items() if rows}
