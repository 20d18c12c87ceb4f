"""What a cache of some lines serves of streams whose answer is known."""

from __future__ import annotations

import numpy as np

from sassim.cache_reuse import LINE_SECTORS, carry_first_use, find_first_uses, find_hits

LINES = 64
TURNS = 8


def cyclic() -> np.ndarray:
    """All lines one after the other, again and again."""
    return np.tile(np.arange(LINES) * LINE_SECTORS, TURNS)


def test_what_fits_is_missed_once() -> None:
    stream = cyclic()
    assert find_first_uses(stream).sum() == LINES
    assert (find_hits(stream, LINES) == ~find_first_uses(stream)).all()


def test_what_goes_round_and_does_not_fit_is_missed_every_time() -> None:
    assert not find_hits(cyclic(), LINES / 2).any()


def test_what_is_used_at_once_again_is_there_in_any_cache() -> None:
    stream = np.repeat(np.arange(1000) * LINE_SECTORS, 2)
    assert find_hits(stream, 4)[1::2].all()
    assert not find_hits(stream, 4)[::2].any()


def test_nothing_comes_of_nothing() -> None:
    assert find_hits(np.empty(0, np.int64), 4).size == 0


def test_a_sector_on_its_way_is_waited_for_by_all_that_ask_at_once() -> None:
    missed = np.array([1.0, 0.0, 0.0, 0.25, 0.0, 0.0])
    sectors = np.array([7, 7, 7, 9, 9, 7])
    executions = np.array([0, 0, 1, 1, 1, 2])
    assert carry_first_use(missed, sectors, executions).tolist() == [1, 1, 0, 0.25, 0.25, 0]
    assert carry_first_use(*[np.empty(0)] * 3).size == 0
