"""Barriers in shared memory and what waits for them: what kernels of ``code/barriers.cu`` give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.sassim.interpreter.running import code, each_architecture

from sassim.faults import DeadlockError
from sassim.interpreter.mbarriers import arrive_before_hopper, arrive_together

if TYPE_CHECKING:
    from tests.sassim.interpreter.running import Array, Code

T64, T128 = np.arange(64), np.arange(128)
HOPPER = each_architecture("barriers", 90)


@pytest.fixture(params=each_architecture("barriers"))
def kernels(request: pytest.FixtureRequest) -> Code:
    """The code for each architecture."""
    return code("barriers", request.param)


def values(count: int) -> Array:
    """Numbers that look random."""
    return np.random.default_rng(count).integers(0, 1000, count, dtype=np.int32)


def test_threads_arrive_and_wait_again_and_again(kernels: Code) -> None:
    given = values(128)
    out, _ = kernels.run("arrive_and_wait", np.zeros(384, np.int32), given, block=(128, 1, 1))
    for k, part in enumerate(out.reshape(3, 128)):
        assert (part == given[T128 ^ 33] + k + 2 * given).all()


@pytest.mark.parametrize("name", ["pipeline", "pipeline_of_a_thread"])
def test_a_pipeline_hands_on_tiles(kernels: Code, name: str) -> None:
    given = values(512).astype(np.float32)
    out, _ = kernels.run(name, np.zeros(128, np.float32), given, np.int32(4), block=(128, 1, 1))
    order = T128 ^ 1 if name == "pipeline" else T128
    assert (out == given.reshape(4, 128).sum(axis=0)[order]).all()


@pytest.mark.parametrize("name", ["copy_with_barrier", "copy_of_group"])
def test_a_copy_is_there_once_its_barrier_says_so(kernels: Code, name: str) -> None:
    given = values(256).astype(np.float32)
    out, _ = kernels.run(name, np.zeros(256, np.float32), given, block=(256, 1, 1))
    assert (out == given[::-1]).all()


def test_groups_of_threads_of_the_library(kernels: Code) -> None:
    given = values(128)
    out, _ = kernels.run("groups", np.zeros(640, np.int32), given, block=(128, 1, 1))
    total, scan, rank, odd_sum, alike = out.reshape(5, 128)
    tiles = given.reshape(8, 16)
    wanted = tiles.sum(axis=1) + 3 * tiles.max(axis=1)
    assert (total.reshape(8, 16) == wanted[:, None]).all()
    assert (scan.reshape(8, 16) == np.cumsum(tiles, axis=1)).all()
    for warp in range(4):
        lanes = slice(32 * warp, 32 * warp + 32)
        odd = np.flatnonzero(given[lanes] & 1)
        assert (rank[lanes][odd] == 100 * np.arange(len(odd)) + len(odd)).all()
        assert (odd_sum[lanes][odd] == given[lanes][odd].sum()).all()
    for tile, found in zip(tiles, alike.reshape(8, 16), strict=True):
        same = (tile & 3)[:, None] == (tile & 3)
        assert (found == (same * tile).sum(axis=1) * 10 + same.sum(axis=1)).all()


def test_atomics_of_the_library(kernels: Code) -> None:
    out, p = kernels.run(
        "atomics_of_libraries", np.zeros(192, np.int32), np.zeros(2, np.int32), block=(64, 1, 1)
    )
    before, seen, swapped = out.reshape(3, 64)
    steps = np.diff(sorted([*before.tolist(), 2016]))
    assert sorted(steps.tolist()) == list(range(1, 64)) or set(steps.tolist()) <= set(range(64))
    assert p[1:].view(np.float32)[0] == 96
    assert swapped.sum() == 1
    assert p[0] == 5
    assert (seen[:32] == 2016).all()


@pytest.mark.parametrize("arch", HOPPER)
@pytest.mark.parametrize("n", [4, 100, 256])
def test_bulk_copies_go_to_shared_memory_and_back(arch: str, n: int) -> None:
    given = values(256).astype(np.float32)
    out, _ = code("barriers", arch).run(
        "bulk", np.full(256, -1, np.float32), given, np.int32(n), block=(256, 1, 1)
    )
    assert (out == np.where(np.arange(256) < n, 2 * given, -1)).all()


@pytest.mark.parametrize("arch", HOPPER)
def test_threads_ask_until_all_have_come(arch: str) -> None:
    given = values(64)
    out, _ = code("barriers", arch).run("asks", np.zeros(64, np.int32), given, block=(64, 1, 1))
    assert (out == given[::-1]).all()


@pytest.mark.parametrize("arch", HOPPER)
@pytest.mark.parametrize("which", [0, 1])
def test_who_waits_at_one_barrier_looks_at_another(arch: str, which: int) -> None:
    (out,) = code("barriers", arch).run(
        "asks_two", np.zeros(32, np.int32), np.int32(which), block=(64, 1, 1)
    )
    assert (out == which).all()


@pytest.mark.parametrize("arch", HOPPER)
def test_who_waits_for_nobody_is_told(arch: str) -> None:
    with pytest.raises(DeadlockError, match="32 wait for a phase of an mbarrier"):
        code("barriers", arch).run("waits_for_nobody", np.zeros(32, np.int32))


@pytest.mark.parametrize("arch", HOPPER)
def test_blocks_store_into_each_others_memory(arch: str) -> None:
    given = values(64)
    out, _ = code("barriers", arch).run(
        "stores_to_neighbour", np.zeros(128, np.int32), given, grid=(2, 1, 1), block=(64, 1, 1)
    )
    assert (out[:64] == given + 1000).all()
    assert (out[64:] == given).all()


@pytest.mark.parametrize("threads", [1, 2, 31, 1000])
def test_a_phase_ends_with_the_last_thread(threads: int) -> None:
    state = np.array([(2**20 - threads) << 43 | (2**20 - threads) << 1], np.uint64)
    old = np.array([(2**31 - threads) << 32 | (2**30 - threads)], np.uint64)
    nothing = np.zeros(1, np.uint64)
    for phase in range(3):
        for _ in range(threads):
            assert state[0] >> np.uint64(63) == old[0] >> np.uint64(63) == phase % 2
            state = arrive(state, nothing, threads=1)
            old = arrive_before_hopper(old, nothing)
    assert state[0] >> np.uint64(63) == old[0] >> np.uint64(63) == 1


def arrive(state: Array, expected: Array, *, threads: int) -> Array:
    """What barriers hold after one thread came to each, or bytes did."""
    places = np.arange(len(state))
    return arrive_together(state, expected, places, np.ones_like(places), threads)[1]


def test_threads_that_come_together_find_what_those_before_them_left() -> None:
    empty = np.array([(2**20 - 2) << 43 | (2**20 - 2) << 1], np.uint64)
    found, after = arrive_together(
        empty, np.zeros(5, np.uint64), np.array([0]), np.array([5]), threads=1
    )
    alone = [empty]
    for _ in range(5):
        alone.append(arrive(alone[-1], np.zeros(1, np.uint64), threads=1))
    assert found.tolist() == [int(each[0]) for each in alone[:5]]
    assert after[0] == alone[5][0]
    assert (found >> np.uint64(63)).tolist() == [0, 0, 1, 1, 0]


def test_a_phase_waits_for_bytes() -> None:
    state = np.array([(2**20 - 1) << 43 | (2**20 - 1) << 1], np.uint64)
    state = arrive(state, np.array([4096], np.uint64), threads=1)
    assert state[0] >> np.uint64(63) == 0
    state = arrive(state, np.array([2**64 - 1024], np.uint64), threads=0)
    assert state[0] >> np.uint64(63) == 0
    state = arrive(state, np.array([2**64 - 3072], np.uint64), threads=0)
    assert state[0] >> np.uint64(63) == 1
