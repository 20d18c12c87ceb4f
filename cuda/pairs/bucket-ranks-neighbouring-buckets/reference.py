"""Normally distributed keys, put into buckets of equal width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def keys(N: int, BUCKETS: int) -> Array:  # noqa: N803
    """The keys bucket by bucket, in no order inside of a bucket."""
    values, buckets = _bucketed(N, BUCKETS)
    return values[np.argsort(buckets, kind="stable")]


def offsets(N: int, BUCKETS: int) -> Array:  # noqa: N803
    """Where each bucket begins, and the end."""
    counts = np.bincount(_bucketed(N, BUCKETS)[1], minlength=BUCKETS)
    return np.concatenate([[0], np.cumsum(counts)])


def sorted_keys(keys: Array) -> Array:
    """All keys in order, as buckets hold rising ranges of them."""
    return np.sort(keys)


def _bucketed(count: int, buckets: int) -> tuple[Array, Array]:
    """Keys of standard deviation one and their buckets, which reach four of them each way."""
    values = np.random.default_rng(81).standard_normal(count, dtype=np.float32)
    places = np.floor((values.astype(np.float64) + 4.0) * (buckets / 8.0))
    return values, np.clip(places, 0, buckets - 1).astype(np.int64)
