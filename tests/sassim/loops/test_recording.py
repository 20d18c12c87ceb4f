"""Addresses of turns of a loop, kept as others with what is added to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sassim.loops import recording
from sassim.loops.recording import ArrayPool

if TYPE_CHECKING:
    import pytest

WARPS = 3


def addresses(start: int, step: int, by_warp: int = 0) -> recording.Array:
    """Of lanes that lie ``step`` apart."""
    return start + by_warp * np.arange(WARPS)[:, None] + step * np.arange(32)[None, :]


@given(st.lists(st.tuples(st.integers(0, 1 << 40), st.integers(0, 8), st.integers(-512, 512))))
def test_what_is_kept_are_the_addresses(several: list[tuple[int, int, int]]) -> None:
    known = ArrayPool()
    for each in several:
        start, moved = known.start_of(addresses(*each))
        assert (start + moved == addresses(*each)).all()


def test_addresses_that_lie_on_are_kept_once() -> None:
    known = ArrayPool()
    first, nothing = known.start_of(addresses(4096, 4))
    assert not nothing.any()
    for start, by_warp in ((8192, 0), (4096, 128), (0, -256)):
        kept, moved = known.start_of(addresses(start, 4, by_warp))
        assert kept is first
        assert moved.tolist() == [[start - 4096 + by_warp * warp] for warp in range(WARPS)]
    other, _ = known.start_of(addresses(4096, 8))
    assert other is not first
    assert known.start_of(addresses(0, 8))[0] is other


def test_one_lane_that_lies_elsewhere_is_not_lost() -> None:
    known = ArrayPool()
    known.start_of(addresses(4096, 4))
    apart = addresses(4096, 4)
    apart[WARPS - 1, 31] += 1
    start, moved = known.start_of(apart)
    assert start is apart
    assert not moved.any()


def test_masks_that_are_the_same_are_kept_once() -> None:
    known = ArrayPool()
    mask = np.arange(32)[None, :] < np.array([[3], [32], [0]])
    assert known.same_as(mask) is mask
    assert known.same_as(mask.copy()) is mask
    other = ~mask
    assert known.same_as(other) is other


def test_room_for_addresses_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    known = ArrayPool()
    monkeypatch.setattr(recording, "_MOST_BYTES", 2 * addresses(0, 0).nbytes)
    for step in range(1, 4):
        assert not known.full
        known.start_of(addresses(0, step))
        known.start_of(addresses(64, step))
    assert known.full
