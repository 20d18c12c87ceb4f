"""The text page of our own reports has the values of the raw page of the same launches."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from kernelprof.model.capture import Origin
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.model.capture import Capture


@pytest.mark.parametrize("name", ["fixture_basic", "fixture_sections"])
def test_every_value_is_that_of_the_raw_page(captures: Path, name: str) -> None:
    """Within the digits that the text page prints."""
    text = read_capture(captures / f"{name}.text.txt")
    raw = read_capture(captures / f"{name}.base-units.raw.csv")
    assert text.page == "text"
    assert _launches(text) == _launches(raw)
    shared = [each for each in text.columns if each in raw.columns]
    assert len(shared) >= 30
    for each in shared:
        mine, theirs = text.columns[each], raw.columns[each]
        assert mine.unit in {theirs.unit, ""} or not theirs.unit, each
        for one, other in zip(mine.values, theirs.values, strict=True):
            if math.isnan(one) and mine.source is Origin.REPORTED:
                continue  # a rule's message is there for some launches only
            assert math.isclose(one, other, rel_tol=6e-3, abs_tol=6e-3), (each, one, other)


def test_a_log_of_the_program_is_read_around_its_output(captures: Path) -> None:
    log = read_capture(captures / "fixture_basic.log.txt")
    text = read_capture(captures / "fixture_basic.text.txt")
    assert _launches(log) == _launches(text)
    assert log.clock_control == "none"
    assert log.application is not None
    assert log.application.endswith("series")


def _launches(capture: Capture) -> list[tuple[object, ...]]:
    return [(each.kernel, each.grid, each.block) for each in capture.launches]
