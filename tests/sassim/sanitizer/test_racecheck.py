"""Races beside a search through every pair of accesses."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sassim.sanitizer.running import bound

from sassim.faults import RaceError
from sassim.interpreter.context import Access, ExecutionContext, SharedStore
from sassim.interpreter.state import ResidentBlocks
from sassim.sanitizer.racecheck import Racecheck
from sassim.sanitizer.shadow_memory import ShadowMemory

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from sassim.interpreter.launch import KernelLaunch
    from sassim.sass.listing import Instruction

    Array = npt.NDArray[Any]

BLOCKS, WARPS = 2, 3
WORDS = 4
LOAD, STORE = "LDS", "STS"


class Touch(NamedTuple):
    """A warp's access: each lane that takes part touches one of a few words."""

    warp: int
    writes: bool
    lanes: int
    word: int
    step: int
    value: int


class Met(NamedTuple):
    """A barrier of a block."""

    block: int


TOUCHES = st.builds(
    Touch,
    st.integers(0, BLOCKS * WARPS - 1),
    st.booleans(),
    st.integers(1, 3),
    st.integers(0, WORDS - 1),
    st.integers(0, 1),
    st.integers(0, 1),
)
EVENTS = st.lists(TOUCHES | st.builds(Met, st.integers(0, BLOCKS - 1)), max_size=14)


@cache
def launch() -> KernelLaunch:
    """Two blocks of three warps that have accesses of four bytes."""
    _, found = bound("races")
    return replace(found.launch, grid=(BLOCKS, 1, 1), block=(32 * WARPS, 1, 1))


class Trial:
    """Blocks whose accesses are made up."""

    def __init__(self) -> None:
        self.launch = launch()
        cells = ShadowMemory(self.launch)
        self.races = Racecheck(cells)
        self.blocks = ResidentBlocks(self.launch, range(BLOCKS))
        cells.on_start(self.blocks)
        self.races.on_start(self.blocks)
        code = self.launch.program.functions[0].instructions
        self.code = {each.opcode: each for each in code}

    def touch(self, event: Touch) -> None:
        lanes = np.zeros((BLOCKS * WARPS, 32), np.bool_)
        lanes[event.warp] = words_of(event) >= 0
        c = ExecutionContext(self.blocks, self.races, lanes)
        at = (np.maximum(words_of(event), 0) * 4 + self.launch.reserved_shared)[None, :]
        i: Instruction = self.code[STORE if event.writes else LOAD]
        kind = "store" if event.writes else "load"
        self.races.on_access(Access(c, i, "shared", kind, at, c.mask, 4))
        if event.writes:
            values = np.full((1, 32), event.value, np.uint32)
            self.races.on_shared_store(SharedStore(c, at, values, c.mask, 4))

    def meet(self, block: int) -> None:
        lanes = np.zeros((BLOCKS * WARPS, 32), np.bool_)
        lanes[block * WARPS : (block + 1) * WARPS] = True
        self.blocks.block_barriers.met(lanes)


def words_of(event: Touch) -> Array:
    """The word that each lane touches; -1: none."""
    lane = np.arange(32)
    return np.where(lane < event.lanes, (event.word + event.step * lane) % WORDS, -1)


def epochs(events: list[Touch | Met]) -> Iterator[list[Touch]]:
    """What happens in each block between two of its barriers."""
    for block in range(BLOCKS):
        now: list[Touch] = []
        for each in events:
            if isinstance(each, Met):
                if each.block == block:
                    yield now
                    now = []
            elif each.warp // WARPS == block:
                now.append(each)
        yield now


def races(touches: list[Touch]) -> bool:
    """Whether two warps touch a word, one of them to write another value than the other wrote."""
    for word, one, other in product(range(WORDS), range(BLOCKS * WARPS), range(BLOCKS * WARPS)):
        mine = [each for each in touches if each.warp == one and word in words_of(each)]
        theirs = [each for each in touches if each.warp == other and word in words_of(each)]
        wrote = [each.value for each in mine if each.writes]
        if one == other or not wrote or not theirs:
            continue
        also = [each.value for each in theirs if each.writes]
        if any(not each.writes for each in theirs) or also[-1] != wrote[-1]:
            return True
    return False


@pytest.mark.slow("all pairs of hundreds of accesses")
@settings(max_examples=300, deadline=None)
@given(EVENTS)
def test_it_finds_what_a_search_through_all_pairs_finds(events: list[Touch | Met]) -> None:
    trial = Trial()
    expected = any(map(races, epochs(events)))
    try:
        for each in events:
            if isinstance(each, Met):
                trial.meet(each.block)
            else:
                trial.touch(each)
        trial.races.on_end()
    except RaceError as error:
        found = error
    else:
        assert not expected
        return
    assert expected
    one, other = found.one, found.other
    assert one.instruction.opcode == STORE
    assert one.place.block == other.place.block
    assert one.place.thread[0] // 32 != other.place.thread[0] // 32
    assert found.address % 4 == 0
    assert 0 <= found.address - trial.launch.reserved_shared < 4 * WORDS


def test_time_that_begins_anew_hides_nothing() -> None:
    trial = Trial()
    trial.races._shift = 28  # so few barriers fit into a note
    write, read = Touch(0, True, 1, 0, 0, 1), Touch(1, False, 1, 0, 0, 0)
    for _ in range(50):
        trial.touch(write)
        trial.meet(0)
        trial.touch(read)
        trial.meet(0)
    trial.touch(read)
    trial.touch(write)
    with pytest.raises(RaceError):
        trial.meet(0)


def test_a_fence_hides_what_comes_behind_it_and_nothing_before() -> None:
    write, read = Touch(0, True, 1, 0, 0, 1), Touch(1, False, 1, 0, 0, 0)
    for first, second, third in ((write, None, read), (write, read, None)):
        trial = Trial()
        c = ExecutionContext(trial.blocks, trial.races, np.ones((BLOCKS * WARPS, 32), np.bool_))
        fence = replace(trial.code[LOAD], opcode="MEMBAR")
        trial.touch(first)
        if second is None:
            trial.races.on_fence(c, fence)
        else:
            trial.touch(second)
            with pytest.raises(RaceError):
                trial.races.on_fence(c, fence)
        if third is not None:
            trial.touch(third)
            trial.races.on_end()
