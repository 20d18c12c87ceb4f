"""DXT1: of all ways to part the colours of a block into four or three groups, the best.

Every step is rounded as the kernel's, which is compiled without fused multiply-add.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_F = np.float32
_FOUR = (
    np.array([9, 0, 6, 3], _F),
    (0x090000, 0x000900, 0x040102, 0x010402),
    _F(9),
    _F(0.111111111111),
)
_THREE = (np.array([4, 0, 2, 2], _F), (0x040000, 0x000400, 0x040101, 0x010401), _F(4), _F(0.25))
"""Weights of the first colour by group, their products, the sum of both, and a factor."""


def permutations(shape: tuple[int, ...]) -> Array:
    """The group of each of sixteen colours along a line, in two bits: 160 with three, then four."""
    three = [_groups((0, 2, 1), ends) for ends in combinations_with_replacement(range(17), 2)]
    four = [_groups((0, 2, 3, 1), ends) for ends in combinations_with_replacement(range(17), 3)]
    found = (three[1:-1] + [three[8]] * 160)[:160] + four[1:-1]
    return np.resize(np.array(found, np.uint32), shape)


def _groups(order: tuple[int, ...], ends: tuple[int, ...]) -> int:
    """Colours before the first end are in the first group, and so on."""
    which = [order[sum(place >= end for end in ends)] for place in range(16)]
    return sum(group << 2 * place for place, group in enumerate(which))


def colours(shape: tuple[int, ...]) -> Array:
    """Blocks of colours that differ."""
    return np.random.default_rng(4).integers(0, 1 << 24, shape)


def expected(permutations: Array, image: Array) -> Array:
    """Two colours of 16 bits, and two bits a colour."""
    colour = np.stack([(image >> shift & 255).astype(_F) for shift in (0, 8, 16)], axis=2)
    colour *= _F(1) / _F(255)
    total = _folded(colour)
    line = _line(colour, total)
    along = _dot(colour, line[:, None])
    place = np.argsort(np.argsort(along, axis=1, kind="stable"), axis=1)
    inverse = np.argsort(place, axis=1)
    colour = np.take_along_axis(colour, inverse[:, :, None], axis=1)
    first, last, which = _best(permutations, colour, total)
    which = np.where(first == last, 0, which)
    bits = which[:, None] >> (2 * place) & 3
    packed = (bits << 2 * np.arange(16)).sum(axis=1)
    return np.stack([last << 16 | first, packed], axis=1)


def _dot(one: Array, other: Array) -> Array:
    product: Array = one * other
    result: Array = product[..., 0] + product[..., 1] + product[..., 2]
    return result


def _folded(values: Array) -> Array:
    """The sum of sixteen, each half added to the other."""
    while values.shape[1] > 1:
        half = values.shape[1] // 2
        values = values[:, :half] + values[:, half:]
    result: Array = values[:, 0]
    return result


def _line(colour: Array, total: Array) -> Array:
    """The first eigenvector of the colours' covariance, by eight multiplications."""
    away = colour - (total * _F(1 / 16))[:, None]
    pairs = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    xx, xy, xz, yy, yz, zz = _folded(np.stack([away[..., i] * away[..., j] for i, j in pairs], 2)).T
    vector = np.ones((3, len(colour)), _F)
    for _ in range(8):
        x, y, z = vector
        x, y, z = (x * a + y * b + z * c for a, b, c in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
        vector = np.stack([x, y, z]) * (_F(1) / np.maximum(np.maximum(x, y), z))
    return vector.T


def _tried(permutation: Array, colour: Array, total: Array, kind: Any) -> tuple[Array, ...]:
    """Error and both colours, for each block and permutation."""
    weights, products, both, factor = kind
    first, all_products = (
        np.zeros((len(colour), len(permutation), 3), _F),
        np.zeros(len(permutation), np.int64),
    )
    for place in range(16):
        group = permutation >> np.uint32(2 * place) & 3
        first += weights[group][None, :, None] * colour[:, place][:, None]
        all_products += np.array(products)[group]
    second = (both * total)[:, None] - first
    aa, bb, ab = ((all_products >> shift & 255).astype(_F)[None, :, None] for shift in (16, 8, 0))
    with np.errstate(all="ignore"):
        scale = _F(1) / (aa * bb - ab * ab)
        a, word_a = _rounded((first * bb - second * ab) * scale)
        b, word_b = _rounded((second * aa - first * ab) * scale)
    error = a * a * aa + b * b * bb + _F(2) * (a * b * ab - a * first - b * second)
    return factor * _dot(error, np.ones(3, _F)), word_a, word_b


def _rounded(colour: Array) -> tuple[Array, Array]:
    """To 5, 6 and 5 bits, and back."""
    most = np.array([31, 63, 31], _F)
    whole = np.rint(np.clip(np.nan_to_num(colour, nan=0), 0, 1) * most)
    word = whole.astype(np.int64) @ np.array([1 << 11, 1 << 5, 1])
    back = np.array([0.03227752766457, 0.01583151765563, 0.03227752766457], _F)
    return whole * back, word


def _best(permutations: Array, colour: Array, total: Array) -> tuple[Array, Array, Array]:
    """What 64 threads find, each with every 64th permutation, and then the best of them."""
    blocks, threads = np.arange(len(colour))[:, None], np.arange(64)
    error, first, last = _tried(permutations[:992], colour, total, _FOUR)
    error, first, last, which = _of_threads(permutations[:992], error, first, last)
    turned = first < last
    which = np.where(turned, which ^ 0x55555555, which)
    first, last = np.maximum(first, last), np.minimum(first, last)
    other = _of_threads(permutations[:160], *_tried(permutations[:160], colour, total, _THREE))
    better = other[0] < error
    swapped = other[1] > other[2]
    kept = np.where(swapped, other[3] ^ (~other[3] >> 1 & 0x55555555), other[3])
    error = np.where(better, other[0], error)
    first = np.where(better, np.minimum(other[1], other[2]), first)
    last = np.where(better, np.maximum(other[1], other[2]), last)
    which = np.where(better, kept, which)
    winner = np.broadcast_to(threads, error.shape)
    for half in (32, 16, 8, 4, 2, 1):
        left, right = error[:, :half], error[:, half : 2 * half]
        winner = np.where(right < left, winner[:, half : 2 * half], winner[:, :half])
        error = np.minimum(left, right)
    found = first[blocks, winner], last[blocks, winner], which[blocks, winner]
    return found[0][:, 0], found[1][:, 0], found[2][:, 0]


def _of_threads(permutation: Array, *values: Array) -> tuple[Array, ...]:
    """The first best of each thread: its error, its colours, its permutation."""
    rounds = -(-len(permutation) // 64)
    room = rounds * 64 - len(permutation)
    error, first, last = (
        np.pad(each, ((0, 0), (0, room)), constant_values=np.inf if n == 0 else 0).reshape(
            len(each), rounds, 64
        )
        for n, each in enumerate(values)
    )
    best = error.argmin(axis=1)[:, None]
    which = np.pad(permutation.astype(np.int64), (0, room)).reshape(rounds, 64)
    chosen = (np.take_along_axis(each, best, axis=1)[:, 0] for each in (error, first, last))
    return (*chosen, which[best[:, 0], np.arange(64)])
