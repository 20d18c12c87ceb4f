"""How many sectors and wavefronts the addresses of a warp take.

Addresses are arrays of warps by 32 lanes, with a mask of the lanes that take part. What is counted
is what ``memory_l2_theoretical_sectors_global`` and ``memory_l1_wavefronts_shared`` count, which
Nsight Compute works out from addresses, too; each rule reproduces the counters of our captures of
``cuda/pairs`` (``make predict-report``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.gpu import SECTOR_BYTES

if TYPE_CHECKING:
    from sassim.interpreter.lanes import Array

SECTOR: Final = SECTOR_BYTES
_BANKS: Final = 32
_BANK_BYTES: Final = 4
_FEW_WARPS: Final = 64
"""Warps whose patterns are kept together, 256 bytes each. Our choice."""
_ROW: Final = _BANKS * _BANK_BYTES
"""Bytes of shared memory that a wavefront reaches at most."""


@dataclass(frozen=True, slots=True)
class GlobalTransactions:
    """What accesses of warps to global memory take, by warp."""

    sectors: Array
    """Distinct sectors of 32 bytes, which an aligned access never straddles."""
    ideal: Array
    """Sectors that as many distinct addresses take if they are neighbours."""
    lines: Array
    """Distinct cache lines of 128 bytes."""
    passes: Array
    """Wavefronts of L1: one for 128 bytes, and lines whose words lie in different banks go
    together, as in shared memory: a row that begins within a line takes one
    (``edge-filter-one-row-a-thread`` of ``cuda/pairs``), a column of a matrix one a thread."""


def count_global(addresses: Array, active: Array | None, size: int) -> GlobalTransactions:
    """Count what accesses of ``size`` bytes by each thread take."""
    some = np.int64(1) if active is None else active.any(axis=1)
    threads = np.int64(32) if active is None else active.sum(axis=1)
    ordered = _in_order(addresses, active)
    lines = _count_steps(ordered >> 7) * some
    least = -(-threads * size // _ROW)
    apart = lines > least
    passes = np.broadcast_to(least, apart.shape).astype(np.int64)
    if apart.any():
        words = max(1, size // _BANK_BYTES)
        addressed = _expand_words(ordered[apart], words)
        banks = _count_in_bank(addressed if words == 1 else np.sort(addressed, axis=1))
        passes[apart] = np.maximum(passes[apart], banks)
    return GlobalTransactions(
        _count_steps(ordered >> 5) * some,
        -(-_count_steps(ordered) * some * size // SECTOR),
        lines,
        passes,
    )


def count_sectors(addresses: Array, active: Array | None) -> Array:
    """Distinct sectors of each warp."""
    return _count_distinct(addresses >> 5, active)


def count_lines(addresses: Array, active: Array | None) -> Array:
    """Distinct cache lines of each warp."""
    return _count_distinct(addresses >> 7, active)


def find_contention(addresses: Array, active: Array) -> tuple[Array, Array]:
    """Sectors that atomics of warps go to, and the most threads of a warp at one address of each.

    A sector that several warps access is repeated for each of them.
    """
    rows, _ = np.nonzero(active)
    flat = addresses[active]
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


def count_most_alike(values: Array, active: Array) -> Array:
    """The most lanes of each warp that hold the same value, of those that take part."""
    ordered = np.sort(np.where(active, values, np.iinfo(np.int64).min), axis=1)
    change = np.ones(ordered.shape, np.bool_)
    change[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    position = np.arange(ordered.shape[1])
    start = np.maximum.accumulate(np.where(change, position, 0), axis=1)
    length = position - start + 1
    length[ordered == np.iinfo(np.int64).min] = 0
    most: Array = length.max(axis=1)
    return most


def _count_distinct(values: Array, active: Array | None) -> Array:
    counts = _count_steps(_in_order(values, active))
    return counts if active is None else counts * active.any(axis=1)


def _in_order(values: Array, active: Array | None) -> Array:
    """The values of each warp in order, with one of them also in the lanes that take no part."""
    if active is not None:
        largest = np.where(active, values, np.iinfo(np.int64).min).max(axis=1)
        values = np.where(active, values, largest[:, None])
    elif values.shape[1] == 1 or (values[:, 1:] >= values[:, :-1]).all():
        return values
    return np.sort(values, axis=1)


def _count_steps(ordered: Array) -> Array:
    """How many different values each row has."""
    counts: Array = 1 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)
    return counts


def count_shared_wavefronts(
    addresses: Array, active: Array | None, size: int
) -> tuple[Array, Array]:
    """Wavefronts of shared-memory accesses of each warp, and the fewest that they could take.

    Accesses of 4 bytes and less: the most distinct words that one bank has. Wider ones go in parts:
    64 bits by half warps, 128 bits by quarters; two parts go together where each lane reads what
    its neighbour (lane xor 1, or each lane xor 2) reads.
    """
    if _have_one_address(addresses, active):
        threads = np.full(addresses.shape[0], 32) if active is None else active.sum(axis=1)
        parts = 16 if size > 2 * _BANK_BYTES else 32
        passes = -(-threads // parts)
        return passes, passes
    lanes = 32
    if active is None or active.all():
        pattern = _find_common_pattern(addresses)
        few = addresses if pattern is None else pattern
        if len(few) <= _FEW_WARPS:
            relative = few - (few[:, :1] & -_ROW)
            counts, ideal = _count_pattern_wavefronts(relative.tobytes(), len(few), size)
            repeat = np.ones(len(addresses), np.int64)
            return repeat * counts, repeat * ideal
        if active is None:
            active = np.ones((addresses.shape[0], lanes), np.bool_)
    return _count_wavefronts(np.broadcast_to(addresses, active.shape), active, size)


def _have_one_address(addresses: Array, active: Array | None) -> bool:
    """Whether the threads of each warp have one address."""
    if addresses.shape[1] == 1:
        return True
    if active is None:
        return bool((addresses == addresses[:, :1]).all())
    first = np.take_along_axis(
        np.broadcast_to(addresses, active.shape), active.argmax(axis=1)[:, None], axis=1
    )
    return bool(((addresses == first) | ~active).all())


def count_atomic_wavefronts(addresses: Array, active: Array) -> tuple[Array, Array]:
    """Wavefronts of shared-memory atomics of each warp, and the fewest that they could take.

    Threads at one bank go one after the other, at one address, too.
    """
    position = np.arange(len(addresses))[:, None] * _BANKS + (addresses >> 2) % _BANKS
    per_bank = np.bincount(position[active], minlength=len(addresses) * _BANKS)
    counts = per_bank.reshape(len(addresses), _BANKS).max(axis=1)
    return counts, np.minimum(counts, 1)


def _find_common_pattern(addresses: Array) -> Array | None:
    """The addresses of one warp where all have the same but for a multiple of a row of banks."""
    if addresses.shape[0] == 1:
        return np.broadcast_to(addresses, (1, 32))
    first = addresses[:1]
    moved = addresses - first
    if (moved == moved[:, :1]).all() and not (moved[:, 0] % _ROW).any():
        return first
    return None


@lru_cache(maxsize=4096)
def _count_pattern_wavefronts(addresses: bytes, warps: int, size: int) -> tuple[Array, Array]:
    """Wavefronts of a few warps' addresses, as bytes: a loop has the same again and again."""
    every = np.frombuffer(addresses, np.int64).reshape(warps, -1)
    return _count_wavefronts(every, np.ones(every.shape, np.bool_), size)


def _count_wavefronts(addresses: Array, active: Array, size: int) -> tuple[Array, Array]:
    words = max(1, size // _BANK_BYTES)
    if words == 1:
        counts = _count_bank_conflicts(addresses >> 2, active)
        return counts, np.minimum(counts, 1)
    if not active.all():
        # Parts are made of the threads that take part: 16 of 32 lanes make two quarters.
        order = np.argsort(~active, axis=1, kind="stable")
        addresses = np.take_along_axis(addresses, order, axis=1)
        active = np.take_along_axis(active, order, axis=1)
    parts = words
    width = addresses.shape[1] // parts
    counts = np.zeros(addresses.shape[0], np.int64)
    pairs = [(n, n + 1) for n in range(0, parts, 2)]
    ideal = np.zeros(addresses.shape[0], np.int64)
    for first, second in pairs:
        both = slice(first * width, (second + 1) * width)
        here, lanes = addresses[:, both], active[:, both]
        together = _count_bank_conflicts(
            _expand_words(here, words), np.repeat(lanes, words, axis=1)
        )
        apart = np.zeros(len(here), np.int64)
        for phase in (slice(0, width), slice(width, 2 * width)):
            apart += _count_bank_conflicts(
                _expand_words(here[:, phase], words), np.repeat(lanes[:, phase], words, axis=1)
            )
        alike = _neighbours_agree(here, lanes, 1) | _neighbours_agree(here, lanes, 2)
        counts += np.where(alike, together, apart)
        halves = lanes[:, :width].any(axis=1).astype(np.int64) + lanes[:, width:].any(axis=1)
        ideal += np.where(alike, np.minimum(halves, 1), halves)
    return counts, ideal


def _expand_words(addresses: Array, words: int) -> Array:
    first = addresses >> 2
    return (first[:, :, None] + np.arange(words)).reshape(len(first), -1)


def _neighbours_agree(addresses: Array, active: Array, by: int) -> Array:
    """Whether each lane that takes part has the address of the lane beside it."""
    other = np.arange(addresses.shape[1]) ^ by
    same = (addresses == addresses[:, other]) | ~active | ~active[:, other]
    alike: Array = same.all(axis=1)
    return alike


def _count_bank_conflicts(words: Array, active: Array) -> Array:
    """The most distinct words in one bank."""
    counts = _count_in_bank(_in_order(words, None if active.all() else active))
    return counts * active.any(axis=1)


def _count_in_bank(ordered: Array) -> Array:
    new = np.ones(ordered.shape, np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    position = np.arange(len(ordered))[:, None] * _BANKS + ordered % _BANKS
    per_bank = np.bincount(position[new], minlength=len(ordered) * _BANKS)
    counts: Array = per_bank.reshape(len(ordered), _BANKS).max(axis=1)
    return counts
