"""Bytes that were written, and reads of others."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sassim.sanitizer.running import bound

from kernelprof.prediction.binding import track_uninitialized_outputs
from sassim.faults import UninitializedReadError
from sassim.interpreter.memory import GlobalMemory, PrivateMemory

SIZES = (1, 2, 4, 8, 16)


def shared() -> PrivateMemory:
    found = PrivateMemory(2, 64, "shared")
    found.written = np.zeros(len(found.data), np.uint8)
    return found


def values(size: int) -> np.ndarray:
    kind = {1: np.uint8, 2: np.uint16}.get(size, np.uint32)
    return np.ones((1, 32) if size <= 4 else (1, 32, size // 4), kind)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("read", SIZES)
def test_a_read_of_what_was_written_in_parts_is_refused_by_the_byte(size: int, read: int) -> None:
    memory = shared()
    piece, one = np.zeros((1, 1), np.int64), np.arange(32)[None, :] == 0
    memory.store(np.full((1, 32), 16, np.int64), piece, one, values(size), size)
    for at in range(0, 48, read):
        known = at >= 16 and at + read <= 16 + size
        places = np.full((1, 32), at, np.int64)
        if known:
            memory.load(places, piece, one, read)
            continue
        with pytest.raises(UninitializedReadError) as caught:
            memory.load(places, piece, one, read)
        error = caught.value
        assert (error.space, error.size, error.addresses.tolist()) == ("shared", read, [at])
        assert error.lanes is not None
        assert error.lanes.tolist() == [[0, 0]]


def test_another_block_wrote_its_own() -> None:
    memory = shared()
    every = np.ones((1, 32), np.bool_)
    at = np.arange(0, 64, 2)[None, :]
    memory.store(at, np.zeros((1, 1), np.int64), every, values(2), 2)
    memory.load(at, np.zeros((1, 1), np.int64), None, 2)
    with pytest.raises(UninitializedReadError):
        memory.load(at, np.ones((1, 1), np.int64), None, 2)


def test_lanes_that_do_not_take_part_read_nothing() -> None:
    memory = shared()
    none = np.zeros((1, 32), np.bool_)
    memory.load(np.zeros((1, 32), np.int64), np.zeros((1, 1), np.int64), none, 4)


def test_an_array_notes_what_is_written_once_it_is_asked_to() -> None:
    memory = GlobalMemory()
    buffer, other = memory.allocate("y", 128), memory.allocate("x", 128)
    at = buffer.base + 4 * np.arange(32)[None, :]
    memory.load(at, None, 4)
    buffer.written = np.zeros(len(buffer.data), np.uint8)
    even = np.arange(32)[None, :] % 2 == 0
    memory.store(at, even, values(4), 4)
    memory.load(at, even, 4)
    with pytest.raises(UninitializedReadError) as caught:
        memory.load(at, None, 4)
    assert caught.value.lanes is not None
    assert caught.value.lanes[:, 1].tolist() == list(range(1, 32, 2))
    # Of lanes that read two arrays, those of the other one are right.
    mixed = np.where(even, at, other.base)
    memory.load(mixed, None, 4)


def test_outputs_without_a_fill_are_watched_and_others_are_not() -> None:
    _, launch = bound("past_the_end")
    track_uninitialized_outputs(launch)
    assert {name: each.written is None for name, each in launch.buffers.items()} == {
        "x": True,
        "y": True,
    }
    _, launch = bound("reads_output")
    track_uninitialized_outputs(launch)
    assert {name: each.written is None for name, each in launch.buffers.items()} == {
        "x": True,
        "y": False,
    }
