"""What a roofline is drawn from."""

from __future__ import annotations

from kernelprof.report.charts import roofline
from kernelprof.report.charts.roofline import Ceiling, Point


def test_the_rows_of_a_roofline() -> None:
    points = (
        Point("kernel at DRAM", "DRAM", 16.0, 8e12, "1"),
        Point("fewest", "ideal", 680.0, 60e12, path="way"),
    )
    ceilings = (
        Ceiling("FP32 peak", "compute", 60e12, "datasheet"),
        Ceiling("DRAM", "bandwidth", 4e12, "measured"),
    )
    rows = roofline.rows(points, ceilings)
    dram, ideal = (row for row in rows if row["what"] == "point")
    assert (dram["text"], dram["path"]) == ("1", "")
    assert (ideal["text"], ideal["path"]) == ("", "way")
    assert dram["shown"] == "16 FLOP per byte, 8 TFLOP/s"
    peak, memory = (row for row in rows if row["what"] == "limit")
    assert (peak["text"], peak["assumed"]) == ("FP32 peak 60 TFLOP/s", True)
    assert (memory["text"], memory["x2"], memory["y2"]) == ("DRAM 4 TB/s", 15.0, 60e12)
    corners = [row for row in rows if row["what"] == "corner"]
    for row in (dram, ideal, peak, memory):
        assert corners[0]["x"] <= row["x"] <= corners[1]["x"]  # type: ignore[operator]
        assert corners[0]["y"] <= row["y"] <= corners[1]["y"]  # type: ignore[operator]


def test_a_chart_without_points_has_no_rows() -> None:
    assert roofline.rows((), ()) == ()


def test_a_legend_names_the_levels_that_are_there() -> None:
    rows = roofline.rows((Point("k", "L1", 1.0, 1e12), Point("k", "DRAM", 9.0, 1e12)), ())
    keys = roofline.KIND.legend(rows)
    assert [(each.words, each.shape) for each in keys] == [
        ("at device memory", "circle"),
        ("at L1", "triangle-up"),
    ]
