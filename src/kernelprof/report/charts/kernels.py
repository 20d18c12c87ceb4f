"""Where the time goes: kernels as areas, coloured by the kind of their bottleneck."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from kernelprof.analysis.rules import Subsystem, load_rules
from kernelprof.model.diagnosis import Status, Verdict
from kernelprof.model.numbers import share as percent
from kernelprof.report.charts.drawing import ChartKind, Key
from kernelprof.report.markup import classes, element, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markupsafe import Markup

OTHERS: Final = "others"
KINDS_OF_VERDICTS: Final = {
    "memory": ("var(--k-memory)", "memory: L1, L2 or device memory"),
    "shared": ("var(--k-shared)", "shared memory"),
    "work": ("var(--k-work)", "arithmetic and instructions"),
    "waiting": ("var(--k-waiting)", "waiting: latency not hidden"),
    "limit": ("var(--k-limit)", "at its limit"),
    "open": ("var(--k-open)", "inconclusive"),
    OTHERS: ("var(--k-rest)", "other kernels"),
}
"""Colour and words of each kind of verdict."""

_OF_SUBSYSTEM: Final = {
    Subsystem.DRAM: "memory",
    Subsystem.L2: "memory",
    Subsystem.L1: "memory",
    Subsystem.SHARED: "shared",
    Subsystem.PIPES: "work",
    Subsystem.INSTRUCTIONS: "work",
    Subsystem.WAITING: "waiting",
}
_ASPECT: Final = 4.4
"""Width over height of the whole on a page; on a phone areas are right and shapes are not."""

_LEAST: Final = 0.015
"""The part of the whole from which an area has room for a name."""
_ROOM: Final = 0.12
"""The part of the map's width from which an area has room for a few words."""


class TreemapEntry(NamedTuple):
    """A kernel with its ``share`` of the time, 0 to 1, and what of it the fix can save.

    ``group`` is the range of NVTX around it, where there is one; ``target`` its anchor.
    """

    name: str
    share: float
    kind: str
    verdict: str = ""
    saves: float = 0.0
    target: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle in parts of the whole."""

    x: float
    y: float
    width: float
    height: float

    @property
    def style(self) -> str:
        """Its place in the element around it, for a style that may lay it on its side."""
        sides = (("x", self.x), ("y", self.y), ("w", self.width), ("h", self.height))
        return "; ".join(f"--{side}: {100 * part:.3f}%" for side, part in sides)


def kind_of(verdict: Verdict) -> str:
    """The kind of a verdict, one of :data:`KINDS_OF_VERDICTS`."""
    if verdict.status is Status.AT_LIMIT:
        return "limit"
    rule = load_rules().get(verdict.bottleneck or "")
    return "open" if rule is None else _OF_SUBSYSTEM[rule.subsystem]


def areas(sizes: Sequence[float], whole: Area, aspect: float = _ASPECT) -> list[Area]:
    """Rectangles of these sizes, the largest first, as near to squares as they get.

    Squarified treemaps: Bruls, Huizing and van Wijk, 2000.
    """
    total = sum(sizes)
    if not sizes or total <= 0:
        return []
    rectangles: list[Area] = []
    room, at = whole, 0
    scale = whole.width * whole.height / total
    while at < len(sizes):
        is_tall = room.width * aspect >= room.height
        side = room.height if is_tall else room.width * aspect
        row = 1
        while at + row < len(sizes) and _worst(
            sizes[at : at + row + 1], side, scale * aspect
        ) <= _worst(sizes[at : at + row], side, scale * aspect):
            row += 1
        own = sizes[at : at + row]
        rectangles += _row(own, room, scale, is_tall=is_tall)
        covered = sum(own) * scale
        if is_tall:
            used = covered / room.height
            room = Area(room.x + used, room.y, max(room.width - used, 0.0), room.height)
        else:
            used = covered / room.width
            room = Area(room.x, room.y + used, room.width, max(room.height - used, 0.0))
        at += row
    return rectangles


def _worst(sizes: Sequence[float], side: float, scale: float) -> float:
    """The least square of a row along a side: width over height, or the other way round."""
    total = sum(sizes) * scale
    if side <= 0 or total <= 0:
        return float("inf")
    large, small = max(sizes) * scale, max(min(sizes) * scale, 1e-12)
    return max(side**2 * large / total**2, total**2 / (side**2 * small))


def _row(sizes: Sequence[float], room: Area, scale: float, *, is_tall: bool) -> Iterable[Area]:
    total = sum(sizes) * scale
    at = 0.0
    for size in sizes:
        if is_tall:
            width = total / room.height if room.height else 0.0
            height = room.height * size * scale / total if total else 0.0
            yield Area(room.x, room.y + at, width, height)
            at += height
        else:
            height = total / room.width if room.width else 0.0
            width = room.width * size * scale / total if total else 0.0
            yield Area(room.x + at, room.y, width, height)
            at += width


def _draw(entries: Sequence[TreemapEntry]) -> Markup:
    groups: dict[str, list[TreemapEntry]] = {}
    for each in entries:
        groups.setdefault(each.group, []).append(each)
    total = _size(entries)
    if len(groups) == 1:
        return element("ul", joined(_cells(entries, Area(0, 0, 1, 1), total)), class_="treemap")
    ordered = sorted(groups.items(), key=lambda each: -_size(each[1]))
    whole = areas([_size(own) for _, own in ordered], Area(0, 0, 1, 1))
    parts = []
    for (name, own), area in zip(ordered, whole, strict=True):
        title = f"{name or 'no NVTX range'} {percent(_size(own) / total)}"
        inside = element("ul", joined(_cells(own, area, total)))
        head = element("span", title, class_="range", title=title)
        parts.append(element("li", head, inside, style=area.style, class_="group"))
    return element("ul", joined(parts), class_="treemap grouped")


def _size(entries: Iterable[TreemapEntry]) -> float:
    return sum(each.share for each in entries)


def _cells(entries: Iterable[TreemapEntry], area: Area, total: float) -> Iterable[Markup]:
    ordered = sorted(entries, key=lambda each: (each.kind == OTHERS, -each.share))
    aspect = _ASPECT * area.width / area.height if area.height else 1.0
    sizes = [each.share for each in ordered]
    for each, place in zip(ordered, areas(sizes, Area(0, 0, 1, 1), aspect), strict=True):
        part = each.share / total if total else 0.0
        yield _cell(each, place, part, place.width * area.width)


def _cell(entry: TreemapEntry, area: Area, part: float, wide: float) -> Markup:
    """A kernel's rectangle; ``wide`` is its part of the map's width."""
    time_share = percent(entry.share)
    words = [f"{entry.name}: {time_share} of the time", entry.verdict]
    inside = [
        element("span", f"{entry.name} ", class_="name"),
        element("span", f"{time_share} ", class_="detail"),
    ]
    if entry.saves > 0:
        could_save = "could save" if wide >= _ROOM else "save"
        words.append(f"the fix saves about {percent(entry.saves)} of the time")
        inside.append(element("span", f"{could_save} {percent(entry.saves)} ", class_="detail"))
        style = f"width: {100 * min(entry.saves / entry.share, 1.0):.1f}%"
        inside.append(element("span", class_="saving", style=style, aria_hidden="true"))
    inside.append(element("span", f", {entry.verdict}", class_="unseen"))
    look = classes("cell", f"k-{entry.kind}", "small" if part < _LEAST else "")
    title = "\n".join(filter(None, words))
    # One that is too small to hit has its link in the table alone.
    target = f"#{entry.target}" if entry.target and part >= _LEAST else ""
    link = element("a" if target else "span", *inside, href=target, title=title, class_=look)
    return element("li", link, style=area.style)


def _legend(entries: Sequence[TreemapEntry]) -> Sequence[Key]:
    there = {each.kind for each in entries}
    keys = [
        Key(words, colour) for kind, (colour, words) in KINDS_OF_VERDICTS.items() if kind in there
    ]
    if any(each.saves > 0 for each in entries):
        keys.append(Key("line at the bottom: the time that the fix could save", "var(--fg)"))
    return keys


KIND: Final = ChartKind(_draw, readable=True, wide=True, legend=_legend)
