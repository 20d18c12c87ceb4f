"""Inputs and reference of these kernels."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def order(lists: int, hops: int) -> npt.NDArray[np.int64]:
    """Where the links of each list lie: a row for each list, scattered over the pool."""
    return np.random.default_rng(0).permutation(lists * hops).reshape(lists, hops)


def links(shape: tuple[int, ...], lists: int, hops: int, codes: int) -> npt.NDArray[np.int32]:
    """The pool of links: the number of the next one, then codes."""
    pool = np.random.default_rng(1).integers(0, codes, shape, dtype=np.int32)
    places = order(lists, hops)
    pool[places[:, :-1], 0] = places[:, 1:]
    pool[places[:, -1], 0] = 0
    return pool


def heads(lists: int, hops: int) -> npt.NDArray[np.int32]:
    """The first link of each list."""
    return order(lists, hops)[:, 0].astype(np.int32)


def score_lists(links: npt.NDArray[Any], scores: Floats, lists: int, hops: int) -> Floats:
    """The sum of the scores of each list's codes."""
    found = links[order(lists, hops)][:, :, 1:]
    totals: Floats = scores[found].sum(axis=(1, 2))
    return totals
