"""How many sectors and wavefronts the addresses of a warp take.

Addresses are arrays of warps by 32 lanes, with a mask of the lanes that take part. What is counted
is what ``memory_l2_theoretical_sectors_global`` and ``memory_l1_wavefronts_shared`` count, which
Nsight Compute works out from addresses, too; each rule reproduces the counters of our captures of
``cuda/pairs`` (``make predict-report``).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.metrics.architectures import EVERY

if TYPE_CHECKING:
    from kernelprof.predict.machine.arrays import Array

SECTOR: Final = EVERY.sector_bytes
_BANKS: Final = 32
_BANK_BYTES: Final = 4
_FEW_WARPS: Final = 64
"""Warps whose patterns are kept together, 256 bytes each. Our choice."""
_ROW: Final = _BANKS * _BANK_BYTES
"""Bytes of shared memory that a wavefront reaches at most."""


def sectors(addresses: Array, taking: Array | None) -> Array:
    """Distinct sectors of each warp: of 32 bytes, which an aligned access never straddles."""
    return _distinct(addresses >> 5, taking)


def ideal_sectors(addresses: Array, taking: Array | None, size: int) -> Array:
    """Sectors that as many distinct addresses take if they are neighbours."""
    return -(-_distinct(addresses, taking) * size // SECTOR)


def distinct_lines(addresses: Array, taking: Array | None) -> Array:
    """Distinct cache lines of 128 bytes of each warp."""
    return _distinct(addresses >> 7, taking)


def passes(addresses: Array, taking: Array | None, size: int) -> Array:
    """Wavefronts of L1 of a global access of each warp.

    One for 128 bytes, and lines whose words lie in different banks go together, as in shared
    memory: a row that begins within a line takes one (``edge-filter-one-row-a-thread`` of
    ``cuda/pairs``), a column of a matrix one for each thread.
    """
    threads = 32 if taking is None else taking.sum(axis=1)
    least = -(-threads * size // _ROW)
    apart = distinct_lines(addresses, taking) > least
    found: Array = np.broadcast_to(least, apart.shape).astype(np.int64)
    if not apart.any():
        return found
    lanes = (len(addresses), 32)
    some = np.broadcast_to(addresses, lanes)[apart]
    mine = np.ones(some.shape, np.bool_) if taking is None else taking[apart]
    words = max(1, size // _BANK_BYTES)
    banks = _passes(_spread_words(some, words), np.repeat(mine, words, axis=1))
    found[apart] = np.maximum(found[apart], banks)
    return found


def contention(addresses: Array, taking: Array) -> tuple[Array, Array]:
    """Sectors that atomics of warps go to, and the most threads of a warp at one address of each.

    A sector that several warps go to stands there for each of them.
    """
    rows, _ = np.nonzero(taking)
    flat = addresses[taking]
    order = np.lexsort((flat, rows))
    rows, flat = rows[order], flat[order]
    new = np.ones(len(flat), np.bool_)
    new[1:] = (flat[1:] != flat[:-1]) | (rows[1:] != rows[:-1])
    starts = np.flatnonzero(new)
    alike = np.diff(np.append(starts, len(flat)))
    sectors, warps = flat[starts] >> 5, rows[starts]
    first = np.ones(len(starts), np.bool_)
    first[1:] = (sectors[1:] != sectors[:-1]) | (warps[1:] != warps[:-1])
    begin = np.flatnonzero(first)
    return sectors[begin], np.maximum.reduceat(alike, begin) if len(begin) else alike


def most_alike(values: Array, taking: Array) -> Array:
    """The most lanes of each warp that hold the same value, of those that take part."""
    ordered = np.sort(np.where(taking, values, np.iinfo(np.int64).min), axis=1)
    change = np.ones(ordered.shape, np.bool_)
    change[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    position = np.arange(ordered.shape[1])
    start = np.maximum.accumulate(np.where(change, position, 0), axis=1)
    length = position - start + 1
    length[ordered == np.iinfo(np.int64).min] = 0
    most: Array = length.max(axis=1)
    return most


def _distinct(values: Array, taking: Array | None) -> Array:
    """How many different values each warp has."""
    if values.shape[1] == 1:
        ones = np.ones(values.shape[0], np.int64)
        return ones if taking is None else ones * taking.any(axis=1)
    if taking is not None:
        values = _filled(values, taking)
    steps = np.diff(values, axis=1)
    if not (steps >= 0).all():
        steps = np.diff(np.sort(values, axis=1), axis=1)
    count = 1 + np.count_nonzero(steps, axis=1)
    found: Array = count if taking is None else count * taking.any(axis=1)
    return found


def _filled(values: Array, taking: Array) -> Array:
    """The same with the value of the nearest taking lane before it (else the first) elsewhere."""
    spread = np.broadcast_to(values, taking.shape)
    last = np.maximum.accumulate(np.where(taking, np.arange(taking.shape[1]), -1), axis=1)
    source = np.where(last < 0, taking.argmax(axis=1)[:, None], last)
    return np.take_along_axis(spread, source, axis=1)


def shared_wavefronts(addresses: Array, taking: Array | None, size: int) -> tuple[Array, Array]:
    """Wavefronts of shared-memory accesses of each warp, and the fewest that they could take.

    Accesses of 4 bytes and less: the most distinct words that one bank has. Wider ones go in parts:
    64 bits by half warps, 128 bits by quarters; two parts go together where each lane reads what
    its neighbour (lane xor 1, or each lane xor 2) reads.
    """
    if _alike(addresses, taking):
        threads = np.full(addresses.shape[0], 32) if taking is None else taking.sum(axis=1)
        parts = 16 if size > 2 * _BANK_BYTES else 32
        passes = -(-threads // parts)
        return passes, passes
    lanes = 32
    if taking is None or taking.all():
        pattern = _same_pattern(addresses)
        few = addresses if pattern is None else pattern
        if len(few) <= _FEW_WARPS:
            relative = few - (few[:, :1] & -_ROW)
            found, ideal = _of_patterns(relative.tobytes(), len(few), size)
            repeat = np.ones(len(addresses), np.int64)
            return repeat * found, repeat * ideal
        if taking is None:
            taking = np.ones((addresses.shape[0], lanes), np.bool_)
    return _wavefronts(np.broadcast_to(addresses, taking.shape), taking, size)


def _alike(addresses: Array, taking: Array | None) -> bool:
    """Whether the threads of each warp have one address."""
    if addresses.shape[1] == 1:
        return True
    if taking is None:
        return bool((addresses == addresses[:, :1]).all())
    first = np.take_along_axis(
        np.broadcast_to(addresses, taking.shape), taking.argmax(axis=1)[:, None], axis=1
    )
    return bool(((addresses == first) | ~taking).all())


def atomic_wavefronts(addresses: Array, taking: Array) -> tuple[Array, Array]:
    """Wavefronts of shared-memory atomics of each warp, and the fewest that they could take.

    Threads at one bank go one after the other, at one address, too.
    """
    place = np.arange(len(addresses))[:, None] * _BANKS + (addresses >> 2) % _BANKS
    per_bank = np.bincount(place[taking], minlength=len(addresses) * _BANKS)
    found = per_bank.reshape(len(addresses), _BANKS).max(axis=1)
    return found, np.minimum(found, 1)


def _same_pattern(addresses: Array) -> Array | None:
    """The addresses of one warp where all have the same but for a multiple of a row of banks."""
    if addresses.shape[0] == 1:
        return np.broadcast_to(addresses, (1, 32))
    first = addresses[:1]
    moved = addresses - first
    if (moved == moved[:, :1]).all() and not (moved[:, 0] % _ROW).any():
        return first
    return None


@lru_cache(maxsize=4096)
def _of_patterns(addresses: bytes, warps: int, size: int) -> tuple[Array, Array]:
    """Wavefronts of a few warps' addresses, as bytes: a loop has the same again and again."""
    every = np.frombuffer(addresses, np.int64).reshape(warps, -1)
    return _wavefronts(every, np.ones(every.shape, np.bool_), size)


def _wavefronts(addresses: Array, taking: Array, size: int) -> tuple[Array, Array]:
    words = max(1, size // _BANK_BYTES)
    if words == 1:
        found = _passes(addresses >> 2, taking)
        return found, np.minimum(found, 1)
    if not taking.all():
        # Parts are made of the threads that take part: 16 of 32 lanes make two quarters.
        order = np.argsort(~taking, axis=1, kind="stable")
        addresses = np.take_along_axis(addresses, order, axis=1)
        taking = np.take_along_axis(taking, order, axis=1)
    parts = words
    width = addresses.shape[1] // parts
    found = np.zeros(addresses.shape[0], np.int64)
    pairs = [(n, n + 1) for n in range(0, parts, 2)]
    ideal = np.zeros(addresses.shape[0], np.int64)
    for first, second in pairs:
        both = slice(first * width, (second + 1) * width)
        here, active = addresses[:, both], taking[:, both]
        together = _passes(_spread_words(here, words), np.repeat(active, words, axis=1))
        apart = np.zeros(len(here), np.int64)
        for part in (slice(0, width), slice(width, 2 * width)):
            apart += _passes(
                _spread_words(here[:, part], words), np.repeat(active[:, part], words, axis=1)
            )
        alike = _pairs_alike(here, active, 1) | _pairs_alike(here, active, 2)
        found += np.where(alike, together, apart)
        halves = active[:, :width].any(axis=1).astype(np.int64) + active[:, width:].any(axis=1)
        ideal += np.where(alike, np.minimum(halves, 1), halves)
    return found, ideal


def _spread_words(addresses: Array, words: int) -> Array:
    """All words that accesses of several words touch."""
    first = addresses >> 2
    return (first[:, :, None] + np.arange(words)).reshape(len(first), -1)


def _pairs_alike(addresses: Array, taking: Array, by: int) -> Array:
    """Whether each lane that takes part has the address of the lane beside it."""
    other = np.arange(addresses.shape[1]) ^ by
    same = (addresses == addresses[:, other]) | ~taking | ~taking[:, other]
    alike: Array = same.all(axis=1)
    return alike


def _passes(words: Array, taking: Array) -> Array:
    """The most distinct words in one bank."""
    some = taking.any(axis=1)
    filled = words if taking.all() else _filled(words, taking)
    ordered = np.sort(filled, axis=1)
    new = np.ones(ordered.shape, np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    place = np.arange(len(ordered))[:, None] * _BANKS + ordered % _BANKS
    per_bank = np.bincount(place[new], minlength=len(ordered) * _BANKS)
    found: Array = per_bank.reshape(len(ordered), _BANKS).max(axis=1) * some
    return found
