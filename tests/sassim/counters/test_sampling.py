"""Blocks that stand for a grid: whole clusters, each edge, and totals with their interval."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sassim.counters.sampling import sample_blocks

AXIS = st.integers(1, 40)
CLUSTERS = st.sampled_from([(1, 1, 1), (2, 1, 1), (4, 1, 1), (2, 2, 1), (1, 2, 4)])


@given(AXIS, AXIS, st.integers(1, 3), CLUSTERS, st.integers(1, 64))
def test_clusters_are_run_whole_and_blocks_once(
    x: int, y: int, z: int, cluster: tuple[int, int, int], most: int
) -> None:
    grid = (x * cluster[0], y * cluster[1], z * cluster[2])
    found = sample_blocks(grid, most, cluster)
    assert len(np.unique(found.blocks)) == len(found.blocks)
    assert sum(every for _, every in found.counts) == math.prod(grid)
    assert sum(some for some, _ in found.counts) == len(found.blocks)
    columns, rows = found.blocks % grid[0], found.blocks // grid[0] % grid[1]
    layers = found.blocks // (grid[0] * grid[1])
    places = (columns // cluster[0], rows // cluster[1], layers // cluster[2])
    _, members = np.unique(np.stack(places), axis=1, return_counts=True)
    assert set(members) == {math.prod(cluster)}


@given(AXIS, AXIS, CLUSTERS, st.integers(1, 64), st.integers(0, 9))
def test_what_all_blocks_count_alike_is_known_exactly(
    x: int, y: int, cluster: tuple[int, int, int], most: int, each: int
) -> None:
    grid = (x * cluster[0], y * cluster[1], cluster[2])
    found = sample_blocks(grid, most, cluster)
    total = math.prod(grid) * each
    assert found.total(np.full(len(found.blocks), each)) == pytest.approx((total, total, total))


def test_what_differs_within_a_cluster_alone_is_known_exactly() -> None:
    found = sample_blocks((4096, 1, 1), 64, (4, 1, 1))
    counted = found.blocks % 4
    assert len(counted) < 100
    assert found.total(counted) == pytest.approx((6144, 6144, 6144))


def test_edges_are_run_and_count_for_themselves() -> None:
    """The last block of a row does half the work."""
    grid = (100, 100, 1)
    found = sample_blocks(grid, 64)
    work = np.where(found.blocks % 100 == 99, 5, 10)
    assert found.total(work) == pytest.approx((99_500, 99_500, 99_500))
