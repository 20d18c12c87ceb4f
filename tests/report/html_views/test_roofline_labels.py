"""Where names stand in a roofline: in every one of the gallery, and of each recorded rung."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.report.blocks import every
from tests.report.html_views.helpers import page_of
from tests.support.captures import CAPTURES

import kernelprof
from kernelprof.ladder.registry import find_ladder
from kernelprof.ladder.results import from_json
from kernelprof.report.charts.placement import (
    Field,
    Line,
    Spot,
    boxes_overlap,
    lines_cross,
    mark_boxes,
    spot_boxes,
    text_width,
)
from kernelprof.report.charts.roofline import WIDTHS, place_labels
from kernelprof.report.document import Chart
from kernelprof.report.documents import comparison
from kernelprof.report.documents.comparison import Detail
from kernelprof.report.documents.ladder import document
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import read_manifest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.report.charts.roofline import Row
    from kernelprof.report.document import Document

ROOT = Path(__file__).parents[3]
RECORDED = ROOT / "src" / "kernelprof" / "recorded"
RUNGS = [each for name in ("h200", "h200-bf16") for each in sorted((RECORDED / name).iterdir())]
GALLERY = (
    *(f"{each.parent.name}/{each.name}" for each in RUNGS),
    "gemm_series.full.raw.csv",
    "comparison",
    "ladder-h200",
    "ladder-bf16-h200",
)


def _document(name: str) -> Document:
    if name == "comparison":
        sides = (RECORDED / "h200" / each for each in ("01_naive", "02_coalesced"))
        return comparison.document(kernelprof.compare(*sides), Detail.FULL, command="")
    if name.startswith("ladder"):
        path = ROOT / "reports" / f"{name}.json"
        climb = from_json(path.read_text(encoding="utf-8"), str(path))
        return document(climb, find_ladder(climb.ladder).rungs)
    if (folder := RECORDED / name).exists():
        return page_of(read_capture(folder), manifest=read_manifest(folder)).document
    return page_of(read_capture(CAPTURES / name)).document


@cache
def _rooflines(name: str) -> tuple[Sequence[Row], ...]:
    found = every(_document(name).blocks)
    return tuple(each.rows for each in found if isinstance(each, Chart) and each.kind == "roofline")


def _placed(rows: Sequence[Row]) -> list[tuple[Field, list[Spot]]]:
    return [
        (each.field, [*(spot for _, spot in each.limits), *each.points])
        for each in place_labels(rows)
    ]


@pytest.mark.parametrize("name", GALLERY)
def test_labels_keep_off_points_lines_and_each_other(name: str) -> None:
    charts = _rooflines(name)
    assert charts
    for rows in charts:
        for field, spots in _placed(rows):
            assert spots
            limits = [each for each in field.lines if each.weight == 1]
            for width in field.widths:
                boxes = spot_boxes(spots, np.array([width]))[:, 0]
                for at, (spot, box) in enumerate(zip(spots, boxes, strict=True)):
                    said = (spot.words, width)
                    assert box[0] >= 0, said
                    assert box[1] >= 0, said
                    assert box[2] <= width, said
                    assert box[3] <= field.height, said
                    assert not any(boxes_overlap(box, other) for other in boxes[:at]), said
                    marks = mark_boxes(field.points, np.array(width)) if field.points else ()
                    assert not any(boxes_overlap(box, mark) for mark in marks), said
                    assert not limits or not lines_cross(box, limits, np.array(width)).any(), said


def _beside(line: Line, spot: Spot) -> bool:
    widths = np.array((1000.0, 290.0))
    return bool(lines_cross(spot_boxes([spot], widths), [line], widths).any())


def test_a_line_that_goes_through_a_box_crosses_it() -> None:
    slope = Line(0.0, 300.0, 0.5, 100.0)
    # At half of its way it is at a quarter of the width, 200 pixels down.
    assert _beside(slope, Spot("DRAM 4.81 TB/s", 0.25, 204.0))
    assert _beside(slope, Spot("DRAM 4.81 TB/s", 0.25, 204.0, "middle"))
    assert not _beside(slope, Spot("DRAM 4.81 TB/s", 0.25, 217.0, dx=4.0))
    assert not _beside(slope, Spot("DRAM 4.81 TB/s", 0.75, 204.0))
    level = Line(0.2, 50.0, 1.0, 50.0)
    assert _beside(level, Spot("FP32 peak", 0.9, 52.0, "end"))
    assert not _beside(level, Spot("FP32 peak", 0.9, 43.0, "end"))


def test_a_label_gives_way_where_it_would_hide_a_point() -> None:
    wish = [Spot("12", 0.5, 100.0), Spot("12", 0.5, 130.0, cost=1.0)]
    other = [Spot("FP32 peak", 0.5, 130.0), Spot("FP32 peak", 0.8, 130.0, cost=2.0)]
    free = Field(360, (1000.0,), [], [])
    assert free.place([wish]) == [wish[0]]
    taken = Field(360, (1000.0,), [(0.505, 96.0)], [])
    assert taken.place([wish]) == [wish[1]]
    assert taken.place([wish, other]) == [wish[1], other[1]]
    # Where no spot is free, a line across words is better than a hidden point.
    crossed = Field(360, (1000.0,), [(0.505, 96.0)], [Line(0.0, 127.0, 1.0, 127.0)])
    assert crossed.place([wish]) == [wish[1]]


def test_words_are_as_broad_as_in_a_broad_font() -> None:
    # As Chromium draws them with DejaVu Sans at 12 pixels.
    for words, pixels in (
        ("L2 6.57 TB/s", 74.5),
        ("DRAM 4.81 TB/s", 95.9),
        ("FP32 peak 66.86 TFLOP/s", 152.0),
    ):
        assert pixels <= text_width(words) <= 1.2 * pixels


def test_there_are_labels_for_phones_and_for_desks() -> None:
    assert [look for look, _ in WIDTHS] == ["broad", "slim"]
    (rows,) = _rooflines("h200/03_shared_tile")
    desk, phone = ([each.words for each in spots] for _, spots in _placed(rows))
    assert desk[0] == "L1 and shared memory 33.43 TB/s: limits"
    assert phone[0] == "L1: limits"
    assert {"L2 6.57 TB/s", "DRAM 4.81 TB/s", "FP32 peak 66.86 TFLOP/s"} <= set(desk)
