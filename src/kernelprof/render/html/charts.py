"""The charts as Vega-Lite specifications without data, and the rows that each of them draws.

A specification stands in a page once; a kernel brings its rows. Colours come from the theme, and
nothing is told by colour alone: points have shapes and labels, bars have their names.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelprof.render.html.view import KernelView, Roofline, Share

Row = dict[str, object]
Spec = dict[str, Any]

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_ROW_HEIGHT = 22
_MOST_IN_OVERVIEW = 20
_STATUS = {
    "bottleneck": "held back",
    "at-limit": "at its limit",
    "inconclusive": "inconclusive",
    "others": "others",
}
_WHOLE = {"domain": [0, 1.15]}
"""A share's scale: all of it, and room for the number at the end of a full bar."""

_QUARTERS = [0, 0.25, 0.5, 0.75, 1]
_WIDEST_LABEL = 200


def specs() -> Mapping[str, Spec]:
    """All charts by the name that a container's ``data-chart`` has."""
    return {
        "roofline": _roofline(),
        "memory": _memory(),
        "warps": _bars("Share of a warp's time"),
        "pipes": _bars("Utilization"),
        "instructions": _bars("Share of the instructions"),
        "occupancy": _occupancy(),
        "overview": _overview(),
    }


TABLES: Mapping[str, Sequence[tuple[str, str, str]]] = {
    "roofline": (
        ("What", "label", "text"),
        ("FLOP per byte", "x", "number"),
        ("FLOP a second", "y", "number"),
    ),
    "memory": (
        ("Where", "name", "text"),
        ("Bytes", "text", "text"),
        ("Of the minimum", "multiple", "times"),
        ("Hit rate", "hits", "share"),
    ),
    "warps": (("Reason", "name", "text"), ("Share", "share", "share"), ("Meaning", "name", "tip")),
    "pipes": (("Pipe", "name", "text"), ("Use", "share", "share"), ("Meaning", "name", "tip")),
    "instructions": (
        ("Kind", "name", "text"),
        ("Share", "share", "share"),
        ("Meaning", "name", "tip"),
    ),
    "occupancy": (("Resource", "name", "text"), ("Blocks an SM", "blocks", "number")),
}
"""Each chart's content as a table, made in the page when it is opened: heading, field and form."""


def tips(kernel: KernelView) -> dict[str, str]:
    """What the names in a kernel's charts mean; the same for all kernels."""
    states = kernel.warp_states.states if kernel.warp_states is not None else ()
    return {each.name: each.tip for each in (*states, *kernel.pipes, *kernel.instructions)}


def rows(kernel: KernelView) -> dict[str, list[Row]]:
    """The rows of a kernel's charts; a chart without rows is not drawn."""
    found: dict[str, list[Row]] = {}
    if kernel.roofline is not None:
        found["roofline"] = roofline_rows(kernel.roofline)
    if kernel.memory is not None:
        least = [level.bytes / level.multiple for level in kernel.memory.levels if level.multiple]
        moved = [level.bytes for level in kernel.memory.levels if level.bytes > 0]
        floor = _decade(min([*least, *moved]) / 2, up=False) if moved else 1.0
        found["memory"] = [
            {
                "name": level.name,
                "bytes": level.bytes,
                "floor": floor,
                "text": level.text,
                "multiple": level.multiple,
                "hits": level.hit_rate,
            }
            for level in kernel.memory.levels
            if level.bytes > 0
        ]
    if kernel.warp_states is not None:
        found["warps"] = _share_rows(kernel.warp_states.states)
    if kernel.pipes:
        found["pipes"] = _share_rows(kernel.pipes)
    if kernel.instructions:
        found["instructions"] = _share_rows(kernel.instructions)
    if kernel.occupancy is not None and kernel.occupancy.limits:
        found["occupancy"] = [
            {"name": name, "blocks": blocks, "first": name in kernel.occupancy.limiters}
            for name, blocks in kernel.occupancy.limits
        ]
    return found


def overview_rows(kernels: Sequence[KernelView]) -> list[Row]:
    """The kernels with the largest shares of time, and all others as one."""
    known = [each for each in kernels if each.time_share is not None]
    shown: list[Row] = [
        {
            "name": f"{position + 1} {each.name}",
            "share": each.time_share,
            "verdict": each.bottleneck or each.status,
            "status": _STATUS[each.status],
        }
        for position, each in enumerate(known[:_MOST_IN_OVERVIEW])
    ]
    rest = sum(each.time_share or 0.0 for each in known[_MOST_IN_OVERVIEW:])
    if rest > 0:
        name = f"{len(known) - _MOST_IN_OVERVIEW} others"
        shown.append(
            {
                "name": name,
                "share": rest,
                "verdict": "",
                "status": _STATUS["others"],
            }
        )
    return shown


def roofline_rows(roofline: Roofline) -> list[Row]:
    """Ceilings as lines over the range that the points need, and the points."""
    xs = [point.flop_per_byte for point in roofline.points if point.flop_per_byte > 0]
    ys = [point.flop_per_second for point in roofline.points if point.flop_per_second > 0]
    if not xs or not ys:
        return []
    compute = [each.value for each in roofline.ceilings if each.kind == "compute"]
    bandwidth = [each.value for each in roofline.ceilings if each.kind == "bandwidth"]
    peak = max([*compute, *ys])
    ridges = [peak / each for each in bandwidth]
    low = _decade(min([*xs, *ridges]) / 2, up=False)
    high = _decade(max([*xs, *ridges]) * 4, up=True)
    found: list[Row] = []
    for each in roofline.ceilings:
        label = f"{each.label} ({each.origin})"
        if each.kind == "compute":
            start = min(each.value / max(bandwidth), high) if bandwidth else low
            ends = ((start, each.value), (high, each.value))
        else:
            ends = (
                (low, each.value * low),
                (min(peak / each.value, high), min(peak, each.value * high)),
            )
        for position, (x, y) in enumerate(ends):
            found.append(
                {
                    "what": "ceiling",
                    "label": label,
                    "x": x,
                    "y": y,
                    "name": label if position == 1 else "",
                    "side": each.kind,
                    "value": each.value,
                }
            )
    found += [
        {
            "what": "point",
            "label": point.label,
            "level": point.level,
            "x": point.flop_per_byte,
            "y": point.flop_per_second,
        }
        for point in roofline.points
    ]
    return found


def _decade(value: float, *, up: bool) -> float:
    exponent = math.log10(value)
    whole = math.ceil(exponent) if up else math.floor(exponent)
    return float(10.0**whole)


def _share_rows(shares: Sequence[Share]) -> list[Row]:
    return [
        {"name": each.name, "share": each.share, "first": position == 0}
        for position, each in enumerate(shares)
        if each.share > 0
    ]


def _spec(**content: Any) -> Spec:
    fit = {"type": "fit-x", "contains": "padding"}
    return {"$schema": _SCHEMA, "width": "container", "autosize": fit, **content}


_NAMES: Spec = {
    "field": "name",
    "type": "nominal",
    "title": None,
    "axis": {"labelLimit": _WIDEST_LABEL, "domain": False, "ticks": False},
}
_FIRST: Spec = {
    "condition": {"test": "datum.first", "value": {"expr": "accent"}},
    "value": {"expr": "calm"},
}


def _params() -> list[Spec]:
    """Colours that the page sets by its theme."""
    return [{"name": name, "value": "gray"} for name in ("accent", "calm", "inside")]


def _bars(title: str) -> Spec:
    x: Spec = {
        "field": "share",
        "type": "quantitative",
        "title": title,
        "axis": {"format": ".0%", "values": _QUARTERS},
        "scale": _WHOLE,
    }
    y: Spec = {**_NAMES, "sort": None}
    tooltip = [
        {"field": "name", "title": "Name"},
        {"field": "share", "title": title, "format": ".1%"},
    ]
    return _spec(
        height={"step": _ROW_HEIGHT},
        params=_params(),
        encoding={"x": x, "y": y, "tooltip": tooltip},
        layer=[
            {"mark": {"type": "bar", "cornerRadiusEnd": 3}, "encoding": {"color": _FIRST}},
            {
                "mark": {"type": "text", "align": "left", "dx": 4},
                "encoding": {"text": {"field": "share", "format": ".1%"}},
            },
        ],
    )


def _occupancy() -> Spec:
    x: Spec = {
        "field": "blocks",
        "type": "quantitative",
        "title": "Blocks an SM",
        "axis": {"tickMinStep": 1, "format": "d"},
    }
    return _spec(
        height={"step": _ROW_HEIGHT},
        params=_params(),
        encoding={"x": x, "y": {**_NAMES, "sort": None}},
        layer=[
            {"mark": {"type": "bar", "cornerRadiusEnd": 3}, "encoding": {"color": _FIRST}},
            {
                "mark": {"type": "text", "align": "left", "dx": 4},
                "encoding": {"text": {"field": "blocks", "format": "d"}},
            },
        ],
    )


def _memory() -> Spec:
    x: Spec = {
        "field": "bytes",
        "type": "quantitative",
        "title": "Bytes, each tick ten times the one before",
        "scale": {"type": "log"},
        "axis": {"format": "~s", "tickCount": 5},
    }
    return _spec(
        height={"step": _ROW_HEIGHT + 6},
        params=_params(),
        encoding={"y": {**_NAMES, "sort": None}},
        layer=[
            {
                "mark": {"type": "bar", "cornerRadiusEnd": 3, "color": {"expr": "accent"}},
                "encoding": {"x": x, "x2": {"field": "floor"}},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 4},
                "encoding": {"x": x, "text": {"field": "text"}},
            },
        ],
    )


def _overview() -> Spec:
    x: Spec = {
        "field": "share",
        "type": "quantitative",
        "title": "Share of time",
        "axis": {"format": ".0%", "tickCount": 5},
    }
    return _spec(
        height={"step": _ROW_HEIGHT},
        params=_params(),
        transform=[{"joinaggregate": [{"op": "max", "field": "share", "as": "most"}]}],
        encoding={
            "x": x,
            "y": {**_NAMES, "sort": None},
            "tooltip": [
                {"field": "name", "title": "Kernel"},
                {"field": "share", "title": "Share of time", "format": ".1%"},
                {"field": "verdict", "title": "Verdict"},
            ],
        },
        layer=[
            {
                "mark": {"type": "bar", "cornerRadiusEnd": 3},
                "encoding": {
                    "color": {
                        "field": "status",
                        "type": "nominal",
                        "title": None,
                        "scale": {"domain": list(_STATUS.values())},
                    }
                },
            },
            {
                "transform": [{"filter": "datum.share <= 0.6 * datum.most"}],
                "mark": {"type": "text", "align": "left", "dx": 4},
                "encoding": {"text": {"field": "verdict"}},
            },
            {
                "transform": [{"filter": "datum.share > 0.6 * datum.most"}],
                "mark": {"type": "text", "align": "right", "dx": -6, "color": {"expr": "inside"}},
                "encoding": {"text": {"field": "verdict"}},
            },
        ],
    )


_LEVEL_LABELS = (
    ("DRAM", "left", 9, 12),
    ("L2", "right", -9, 12),
    ("L1", "right", -9, -9),
    ("ideal", "right", -9, 14),
)
"""Where a point's name stands: around it, so that levels that coincide can be read."""


def _roofline() -> Spec:
    x: Spec = {
        "field": "x",
        "type": "quantitative",
        "title": "FLOP per byte",
        "scale": {"type": "log", "nice": False},
        "axis": {"format": "~g", "tickCount": 6},
    }
    y: Spec = {
        "field": "y",
        "type": "quantitative",
        "title": "FLOP a second",
        "scale": {"type": "log"},
        "axis": {"format": "~s", "tickCount": 6},
    }
    only_points = [{"filter": "datum.what == 'point'"}]
    only_ceilings = [{"filter": "datum.what == 'ceiling'"}]
    levels = [level for level, *_ in _LEVEL_LABELS]
    return _spec(
        height=340,
        params=_params(),
        encoding={"x": x, "y": y},
        layer=[
            {
                "transform": only_ceilings,
                "mark": {"type": "line", "strokeWidth": 1.5, "color": {"expr": "calm"}},
                "encoding": {"detail": {"field": "label"}},
            },
            {
                "transform": [{"filter": "datum.what == 'ceiling' && datum.side == 'compute'"}],
                "mark": {
                    "type": "text",
                    "align": "right",
                    "baseline": "bottom",
                    "dy": -4,
                    "dx": -4,
                },
                "encoding": {"text": {"field": "name"}},
            },
            {
                "transform": [{"filter": "datum.what == 'ceiling' && datum.side == 'bandwidth'"}],
                "mark": {"type": "text", "align": "right", "dx": -10, "dy": 4},
                "encoding": {"text": {"field": "name"}},
            },
            {
                "transform": only_points,
                "mark": {"type": "point", "filled": True, "size": 130, "opacity": 1},
                "encoding": {
                    "color": {
                        "field": "level",
                        "type": "nominal",
                        "title": "Bytes at",
                        "scale": {"domain": levels},
                    },
                    "shape": {"field": "level", "type": "nominal", "scale": {"domain": levels}},
                    "tooltip": [
                        {"field": "label", "title": "What"},
                        {"field": "x", "title": "FLOP per byte", "format": ".3~g"},
                        {"field": "y", "title": "FLOP a second", "format": ".3~s"},
                    ],
                },
            },
            *(
                {
                    "transform": [{"filter": f"datum.what == 'point' && datum.level == '{level}'"}],
                    "mark": {"type": "text", "align": align, "dx": dx, "dy": dy},
                    "encoding": {"text": {"field": "level"}},
                }
                for level, align, dx, dy in _LEVEL_LABELS
            ),
        ],
    )
