"""Sectors and wavefronts of addresses; figures are those of counters in captures of an H200."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sassim.counters.counters import count_local
from sassim.counters.transactions import (
    count_atomic_wavefronts,
    count_global,
    count_most_alike,
    count_shared_wavefronts,
)

LANE = np.arange(32, dtype=np.int64)[None, :]
BASE = 0x7F00_0000_0000


def _wavefronts(addresses: np.ndarray, size: int, taking: np.ndarray | None = None):
    found, ideal = count_shared_wavefronts(addresses, taking, size)
    return found.tolist(), ideal.tolist()


@pytest.mark.parametrize(
    ("stride", "size", "wanted", "ideal"),
    [
        (4, 4, 4, 4),
        (16, 16, 16, 16),
        (64, 4, 32, 4),
        (8, 4, 8, 4),
        (0, 4, 1, 1),
        (0, 16, 1, 1),
        (1, 1, 1, 1),
    ],
)
def test_sectors_of_a_stride(stride: int, size: int, wanted: int, ideal: int) -> None:
    addresses = BASE + LANE * stride
    taken = count_global(addresses, None, size)
    assert (taken.sectors.tolist(), taken.ideal.tolist()) == ([wanted], [ideal])


def test_an_access_that_does_not_begin_at_a_sector_takes_one_more() -> None:
    taken = count_global(BASE + 4 + LANE * 4, None, 4)
    assert (taken.sectors.tolist(), taken.lines.tolist()) == ([5], [2])
    # Words of two lines that lie in different banks go together.
    assert taken.passes.tolist() == [1]


def test_lanes_that_take_no_part_count_nothing() -> None:
    addresses = BASE + LANE * 32
    taking = np.zeros((1, 32), np.bool_)
    taken = count_global(addresses, taking, 4)
    assert [taken.sectors, taken.ideal, taken.lines, taken.passes] == [[0]] * 4
    taking[0, [3, 17, 30]] = True
    taken = count_global(addresses, taking, 4)
    assert (taken.sectors.tolist(), taken.ideal.tolist()) == ([3], [1])


@given(
    st.lists(st.integers(0, 4095), min_size=32, max_size=32),
    st.lists(st.booleans(), min_size=32, max_size=32),
)
def test_sectors_are_the_distinct_ones_of_the_lanes_that_take_part(offsets, some) -> None:
    addresses = BASE + np.array([offsets], np.int64) * 4
    taking = np.array([some])
    chosen = {a >> 5 for a, t in zip(addresses[0].tolist(), some, strict=True) if t}
    taken = count_global(addresses, taking, 4)
    assert taken.sectors.tolist() == [len(chosen)]
    assert taken.lines.tolist() == [len({a >> 2 for a in chosen})]
    words = {a for a, t in zip(offsets, some, strict=True) if t}
    assert taken.ideal.tolist() == [-(-len(words) * 4 // 32)]
    in_bank = Counter(word % 32 for word in words)
    assert taken.passes.tolist() == [max(in_bank.values(), default=0)]


@pytest.mark.parametrize(
    ("stride", "size", "found", "ideal"),
    [
        (4, 4, 1, 1),
        (8, 4, 2, 1),
        (128, 4, 32, 1),
        (0, 4, 1, 1),
        (8, 8, 2, 2),
        (16, 16, 4, 4),
        (0, 8, 1, 1),
        (0, 16, 2, 2),  # B of `ladder/03`: all of a warp read one float4, and it counts as two
        (32, 16, 8, 4),
    ],
)
def test_wavefronts_of_a_stride(stride: int, size: int, found: int, ideal: int) -> None:
    assert _wavefronts(LANE * stride, size) == ([found], [ideal])
    both = np.concatenate([LANE * stride, LANE * stride + 128])
    assert _wavefronts(both, size) == ([found] * 2, [ideal] * 2)


def test_neighbours_that_read_the_same_halve_the_passes() -> None:
    pairs = (LANE // 2) * 16
    assert _wavefronts(pairs, 16) == ([2], [2])
    every_second = ((LANE // 4) * 2 + LANE % 2) * 16
    assert _wavefronts(every_second, 16) == ([2], [2])
    assert _wavefronts((LANE // 2) * 8, 8) == ([1], [1])


@pytest.mark.parametrize(("threads", "found"), [(32, 2), (17, 2), (16, 1), (1, 1)])
def test_parts_are_made_of_the_threads_that_take_part(threads: int, found: int) -> None:
    """Before of `additive-synthesis-mixed-voices`: float4 for all, half of the warp at random."""
    taking = np.zeros((1, 32), np.bool_)
    taking[0, np.random.default_rng(threads).permutation(32)[:threads]] = True
    assert _wavefronts(LANE * 0, 16, taking) == ([found], [found])


def test_atomics_at_one_bank_go_one_after_the_other() -> None:
    everyone = np.ones((1, 32), np.bool_)
    assert [each.tolist() for each in count_atomic_wavefronts(LANE * 0, everyone)] == [[32], [1]]
    assert [each.tolist() for each in count_atomic_wavefronts(LANE * 4, everyone)] == [[1], [1]]
    half = LANE < 16
    assert [each.tolist() for each in count_atomic_wavefronts(LANE % 4 * 128, half)] == [[16], [1]]


@given(st.lists(st.integers(0, 5), min_size=32, max_size=32), st.integers(0, 2**32 - 1))
def test_the_most_lanes_at_one_address(values, mask) -> None:
    taking = (np.array([mask]) >> np.arange(32) & 1).astype(bool)[None, :]
    chosen = [v for v, t in zip(values, taking[0], strict=True) if t]
    most = max((chosen.count(each) for each in chosen), default=0)
    assert count_most_alike(np.array([values], np.int64), taking).tolist() == [most]


@pytest.mark.parametrize(
    ("offsets", "size", "expected"),
    [
        (np.full(32, 8), 1, (4, 1)),
        (np.full(32, 8), 8, (8, 2)),
        (np.arange(32) * 4, 1, (32, 32)),
        (np.arange(32) // 16 * 4, 4, (4, 2)),
    ],
    ids=["one offset", "two words", "an offset each", "two offsets"],
)
def test_local_memory_has_a_line_for_each_word(
    offsets: np.ndarray, size: int, expected: tuple[int, int]
) -> None:
    sectors, lines = count_local(offsets[None, :], None, size, 1)
    assert (int(sectors[0]), int(lines[0])) == expected
