"""What a change of the time is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.report.changes import taken

import kernelprof
from kernelprof.report.document import Chart
from kernelprof.report.documents.capture_page import after_fixes
from kernelprof.report.documents.changed_kernel import LEAST, MOST, find_causes
from kernelprof.report.figures.measured import Medians
from kernelprof.report.figures.multiprocessor import EXPLAINED, IN_WORDS

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.report.documents.changed_kernel import Causes

PAIRS = [("tile", "tile-barrier"), ("tile-barrier", "tile"), ("padded", "padded-0")]


def found(before: str, after: str) -> Causes:
    sides = [taken(each, "1") for each in (before, after)]
    numbers = [Medians(side.kernels[0], side.machine) for side in sides]
    times = [side.kernels[0].median_ns for side in sides]
    assert times[0] is not None
    assert times[1] is not None
    known = find_causes(*numbers, *times)
    assert known is not None
    return known


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_the_parts_add_up_to_the_change(before: str, after: str) -> None:
    known = found(before, after)
    change = known.after_ns - known.before_ns
    parts = [part for _, part in known.largest]
    assert sum(parts) + known.rest_ns == pytest.approx(change)
    assert 1 <= len(parts) <= MOST
    assert all(part * change > 0 and abs(part) >= LEAST * abs(change) for part in parts)
    assert abs(sum(parts)) <= abs(change) * (1 + 1e-9)
    assert parts == sorted(parts, key=abs, reverse=True)


def test_conflicts_that_are_gone_are_named() -> None:
    known = found("padded-0", "padded")
    assert known.largest[0][0] == "waiting for shared memory or special functions"


def test_nothing_is_made_of_no_change() -> None:
    side = taken("tile", "1")
    numbers = Medians(side.kernels[0], side.machine)
    assert find_causes(numbers, numbers, 5.0, 5.0) is None


def test_every_state_has_words() -> None:
    assert {name.replace("_", " ") for name in EXPLAINED} == set(IN_WORDS)


def test_a_page_shows_the_time_after_each_fix(captures: Path) -> None:
    capture = kernelprof.read(captures / "h200_two_causes" / "1_grid_layout.raw.csv.gz")
    (kernel,) = capture.diagnose().kernels
    (section,) = after_fixes(kernel)
    chart = section.blocks[0]
    assert isinstance(chart, Chart)
    now, *fixes, last = chart.rows
    assert (now.start, now.end) == (0.0, pytest.approx(776_000, rel=1e-3))
    assert [each.name for each in fixes] == ["small-grid", "uncoalesced-global-access"]
    assert [each.start for each in fixes] == [now.end, fixes[0].end]
    gains = [each.start / each.end for each in fixes]
    causes = kernel.verdict.causes
    assert gains == pytest.approx([each.gain_after_previous for each in causes], rel=1e-3)
    assert last.end == fixes[-1].end
