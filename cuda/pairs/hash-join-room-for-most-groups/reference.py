"""A hash table of buckets, keys to look up, and how many belong to each group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

MULTIPLIER = 2654435761


def _hashed(shape: tuple[int, ...], bits: int) -> Ints:
    """Hashes of the keys of each bucket, all different."""
    low = 2 ** (32 - bits)
    place = np.arange(32) * (low // 32)
    inside = np.random.default_rng(51).integers(0, low // 32, shape, dtype=np.uint32)
    hashed: Ints = np.arange(shape[0])[:, None] * low + place + inside
    return hashed


def _keys_of(hashed: Ints) -> Ints:
    """The keys that have these hashes: multiplication by an odd number can be undone."""
    inverse = pow(MULTIPLIER, -1, 2**32)
    return (hashed.astype(np.uint64) * np.uint64(inverse) % np.uint64(2**32)).astype(np.int64)


def table(shape: tuple[int, ...], bits: int) -> Ints:
    """The keys of each bucket."""
    return _keys_of(_hashed(shape, bits))


def groups(shape: tuple[int, ...], group_count: int) -> Ints:
    """The group of each key."""
    return np.random.default_rng(52).integers(0, group_count, shape)


def keys(shape: tuple[int, ...], bits: int) -> Ints:
    """Keys of the table, and one of eight that is in none of its buckets."""
    generator = np.random.default_rng(53)
    hashed = _hashed((2**bits, 32), bits)
    drawn = hashed[generator.integers(0, 2**bits, shape), generator.integers(0, 32, shape)]
    return _keys_of(drawn ^ (generator.integers(0, 8, shape) == 0))


def count_groups(table: Ints, groups: Ints, keys: Ints, group_count: int) -> Ints:
    """Keys that were found, by group."""
    order = np.argsort(table.ravel())
    sorted_keys = table.ravel()[order]
    at = np.minimum(np.searchsorted(sorted_keys, keys), len(order) - 1)
    found = sorted_keys[at] == keys
    return np.bincount(groups.ravel()[order[at[found]]], minlength=group_count)
