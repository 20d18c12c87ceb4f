"""What a roofline is drawn from."""

from __future__ import annotations

import pytest

from kernelprof.report.charts import roofline
from kernelprof.report.charts.roofline import HEIGHT, Ceiling, Picture, Point


def test_the_rows_of_a_roofline() -> None:
    dram = Point("kernel at DRAM", "DRAM", 16.0, 8e12, "1")
    ideal = Point("fewest", "ideal", 680.0, 60e12, path="way")
    peak = Ceiling("FP32 peak", "compute", 60e12, "datasheet")
    memory = Ceiling("DRAM", "bandwidth", 4e12, "measured")
    rows = roofline.rows((dram, ideal), (peak, memory))
    assert rows == (peak, memory, dram, ideal)
    assert dram.amount == "16 FLOP per byte, 8 TFLOP/s"
    assert (peak.title, peak.amount) == ("FP32 peak (datasheet)", "60 TFLOP/s")
    assert memory.amount == "4 TB/s"
    picture = Picture(rows)
    ends = picture.ends(memory)
    assert ends[2:] == picture.place(15.0, 60e12)
    places = [*map(picture.place_point, (dram, ideal)), picture.ends(peak)[:2], ends[:2], ends[2:]]
    for across, down in places:
        assert 0 <= across <= 1
        assert -1e-9 <= down <= HEIGHT + 1e-9


@pytest.mark.parametrize("points", [(), (Point("none", "L1", 0.0, 1.0),)])
def test_a_chart_without_points_has_no_rows(points: tuple[Point, ...]) -> None:
    assert roofline.rows(points, (Ceiling("DRAM", "bandwidth", 4e12, "measured"),)) == ()


def test_a_legend_names_the_levels_that_are_there() -> None:
    rows = roofline.rows((Point("k", "L1", 1.0, 1e12), Point("k", "DRAM", 9.0, 1e12)), ())
    keys = roofline.KIND.legend(rows)
    assert [(each.words, each.shape) for each in keys] == [
        ("at device memory", "circle"),
        ("at L1", "triangle-up"),
    ]
