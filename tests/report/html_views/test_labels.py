"""Where the names of points stand: none covers another where there is room."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kernelprof.report.charts import roofline
from kernelprof.report.charts.labels import GAP, HALF_LINE, Place, Plot, places
from kernelprof.report.charts.parts import CHARACTER
from kernelprof.report.charts.roofline import Ceiling, Point

PLOT = Plot(960, 380)


def box(point: tuple[float, float], name: str, place: Place) -> tuple[float, float, float, float]:
    """The place of a name, worked out anew."""
    length = CHARACTER * len(name)
    left = point[0] + GAP if place.right else point[0] - GAP - length
    middle = point[1] + place.rise
    return left, middle - HALF_LINE, left + length, middle + HALF_LINE


def overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return (
        min(one[2], other[2]) > max(one[0], other[0]) + 0.01
        and min(one[3], other[3]) > max(one[1], other[1]) + 0.01
    )


def test_a_lone_point_has_its_name_to_the_right() -> None:
    assert places([(100.0, 100.0)], ["DRAM"], PLOT) == [Place(True, 0)]


def test_a_name_turns_away_from_the_edge() -> None:
    assert places([(950.0, 100.0)], ["DRAM"], PLOT) == [Place(False, 0)]


def test_levels_beside_one_another_keep_their_names_apart() -> None:
    points = [(300.0, 200.0), (297.0, 200.0), (420.0, 200.0)]
    names = ["L2: 8.56 FLOP per byte", "L1: 7.97 FLOP per byte", "DRAM: 16.23 FLOP per byte"]
    found = places(points, names, PLOT)
    assert found[1] == Place(False, 0)
    assert found[2] == Place(True, 0)
    assert found[0].rise != 0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 30).map(lambda x: 200.0 + 20 * x),
            st.integers(0, 12).map(lambda y: 70.0 + 20 * y),
        ),
        min_size=1,
        max_size=8,
        unique=True,
    )
)
def test_no_two_names_cover_one_another(points: list[tuple[float, float]]) -> None:
    names = [f"{number} rung" for number in range(len(points))]
    found = places(points, names, PLOT)
    boxes = [box(*each) for each in zip(points, names, found, strict=True)]
    for index, one in enumerate(boxes):
        assert not any(overlap(one, other) for other in boxes[index + 1 :])
        assert one[0] >= 0
        assert one[2] <= PLOT.width


def test_a_name_gives_way_to_what_is_written_there() -> None:
    written = Plot(960, 380, taken=((105, 90, 200, 110),))
    (found,) = places([(100.0, 100.0)], ["DRAM"], written)
    assert found == Place(False, 0)


def test_the_rows_of_a_roofline_hold_places_for_desk_and_phone() -> None:
    points = (
        Point("kernel at DRAM", "DRAM", 16.0, 8e12, "DRAM: 16", "DRAM"),
        Point("fewest", "ideal", 680.0, 60e12, path="way"),
    )
    ceilings = (
        Ceiling("FP32 peak", "compute", 60e12, "datasheet"),
        Ceiling("DRAM", "bandwidth", 4e12, "measured"),
    )
    rows = roofline.rows(points, ceilings)
    dram, ideal = (row for row in rows if row["what"] == "point")
    assert (dram["text"], dram["text_narrow"]) == ("DRAM: 16", "DRAM")
    assert (ideal["text"], ideal["path"]) == ("ideal", "way")
    assert dram["shown"] == "16 FLOP per byte, 8 TFLOP/s"
    peak, memory = (row for row in rows if row["what"] == "limit")
    assert (peak["text"], peak["assumed"]) == ("FP32 peak 60 TFLOP/s (datasheet)", True)
    assert (memory["text"], memory["x2"], memory["y2"]) == ("DRAM 4 TB/s", 15.0, 60e12)
    corners = [row for row in rows if row["what"] == "corner"]
    for row in (dram, ideal, peak, memory):
        assert corners[0]["x"] <= row["x"] <= corners[1]["x"]  # type: ignore[operator]
        assert corners[0]["y"] <= row["y"] <= corners[1]["y"]  # type: ignore[operator]


def test_a_chart_without_points_has_no_rows() -> None:
    assert roofline.rows((), ()) == ()
