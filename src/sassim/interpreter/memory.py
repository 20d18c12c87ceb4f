"""Global, shared, local and constant memory of a launch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sassim.errors import SassimError
from sassim.faults import MisalignedError, OutOfBoundsError, UninitializedReadError
from sassim.interpreter.lanes import distinct, make_read_only
from sassim.interpreter.slices import SliceError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sassim.interpreter.lanes import Array

_FIRST_ADDRESS: Final = 0x7F00_0000_0000
_GAP: Final = 1 << 21
"""Between two arrays, so that a wild access meets nothing."""
_NEGATIVE: Final = 1 << 31
"""From here on an address of 32 bits is one before the beginning."""
_ROUNDED_TO: Final = 32
"""Bytes of the widest access: arrays are stored in a multiple of them."""

_PAGE_SHIFT: Final = 18
"""An array is filled in pages of 256 KiB: an access to a part of it needs no more."""


@dataclass
class Buffer:
    """An array in global memory. What it holds is worked out once somebody asks for it."""

    name: str
    base: int
    size: int
    content: Callable[[], Array] | None
    """Makes what it holds at first; ``None``: zeros."""
    written: Array | None = None
    """Of each byte 255 where something was written, else 0; ``None``: that is not noted."""
    changed: bool = False
    """Whether something was stored since it began."""
    part: Callable[[int, int], Array] | None = None
    """Makes what it holds at first from one byte up to another; ``None``: only all at once."""

    @property
    def data(self) -> Array:
        """Its bytes, and some more to a round number."""
        if self._missing is not None:
            self._fill_pages(np.flatnonzero(self._missing))
        return self._bytes

    @property
    def capacity(self) -> int:
        """How many bytes :attr:`data` has."""
        return _round_up(self.size)

    def bytes_for(self, offsets: Array) -> Array:
        """:attr:`data`, of which only the pages of these offsets need to be filled."""
        missing = self._missing
        if missing is not None:
            pages = offsets >> _PAGE_SHIFT
            wanted = missing[pages]
            if wanted.any():
                self._fill_pages(distinct(pages[wanted]))
        return self._bytes

    def begin_anew(self) -> None:
        """Hold what it did at first."""
        for name in ("_bytes", "_missing"):
            self.__dict__.pop(name, None)
        self.changed = False

    @cached_property
    def _bytes(self) -> Array:
        stored = np.zeros(self.capacity, np.uint8)
        if self.content is not None and self.part is None:
            values = np.ascontiguousarray(self.content()).reshape(-1).view(np.uint8)
            if len(values) == len(stored) and values.flags.writeable:
                return values
            stored[: self.size] = values
        return stored

    @cached_property
    def _missing(self) -> Array | None:
        """Pages that are not filled yet."""
        return None if self.part is None else np.ones(-(-self.capacity >> _PAGE_SHIFT), np.bool_)

    def _fill_pages(self, pages: Array) -> None:
        assert self.part is not None
        assert self._missing is not None
        for page in pages.tolist():
            start = page << _PAGE_SHIFT
            end = min(start + (1 << _PAGE_SHIFT), self.size)
            if start < end:
                self._bytes[start:end] = self.part(start, end).view(np.uint8)
        self._missing[pages] = False
        if not self._missing.any():
            self._missing = None

    @property
    def end(self) -> int:
        """The first address behind it."""
        return self.base + self.size


class GlobalMemory:
    """The arrays of a launch, each at an address of its own."""

    def __init__(self) -> None:
        self._buffers: list[Buffer] = []
        self._next = _FIRST_ADDRESS
        self._noted: tuple[set[str], dict[str, set[int]]] | None = None
        """Arrays that were read, and those to which something should have been stored, each with
        the instructions that did not; ``None``: nobody asks."""

    @property
    def buffers(self) -> Sequence[Buffer]:
        """All arrays in the order of their addresses."""
        return self._buffers

    def allocate(
        self,
        name: str,
        size: int,
        content: Callable[[], Array] | None = None,
        part: Callable[[int, int], Array] | None = None,
    ) -> Buffer:
        """An array of so many bytes; what ``content`` gives is the memory, ``None``: zeros."""
        buffer = Buffer(name, self._next, size, content, part=part)
        self._buffers.append(buffer)
        self._next += -(-(size + _GAP) // _GAP) * _GAP
        return buffer

    def _split_by_buffer(
        self, addresses: Array, active: Array | None, size: int
    ) -> list[tuple[Buffer, Array | None]]:
        """The arrays that are accessed, each with the lanes that do; ``None``: all."""
        some = addresses if active is None else addresses[active]
        if some.size == 0:
            return []
        low, high = int(some.min()), int(some.max())
        for buffer in self._buffers:
            if buffer.base <= low and high + size <= buffer.end:
                return [(buffer, active)]
        parts: list[tuple[Buffer, Array | None]] = []
        everyone = np.ones(addresses.shape, np.bool_) if active is None else active
        left = everyone.copy()
        for buffer in self._buffers:
            inside = (addresses >= buffer.base) & (addresses + size <= buffer.end) & everyone
            if inside.any():
                parts.append((buffer, inside))
                left &= ~inside
        if left.any():
            raise self._out_of_bounds(addresses, left, size)
        return parts

    def _out_of_bounds(self, addresses: Array, lanes: Array, size: int) -> OutOfBoundsError:
        first = int(addresses[lanes][0])
        near = min(
            self._buffers,
            key=lambda each: max(each.base - first, first + size - each.end),
            default=None,
        )
        what = "leaves global memory"
        if near is not None:
            by = near.base - first if first < near.base else first + size - near.end
            side = "before" if first < near.base else "past"
            far = "" if by < _GAP // 2 else ", far away"
            what = f"is {by} bytes {side} {near.name}{far}"
        outside = addresses[lanes]
        return OutOfBoundsError(what, np.argwhere(lanes), outside, space="global", size=size)

    def check(self, addresses: Array, active: Array | None, size: int) -> None:
        """Raise :class:`OutOfBoundsError` where an access leaves the arrays, or is not aligned."""
        if active is not None:
            addresses = np.broadcast_to(addresses, active.shape)
        _check_aligned(addresses, active, size, "global")
        self._split_by_buffer(addresses, active, size)

    def load(self, addresses: Array, active: Array | None, size: int) -> Array:
        """What lies there: numbers of 1, 2 or 4 bytes, else words of 4 bytes in a last dimension.

        Lanes that do not take part get anything.
        """
        _check_aligned(addresses, active, size, "global")
        parts = self._split_by_buffer(addresses, active, size)
        if self._noted is not None:
            self._noted[0].update(buffer.name for buffer, _ in parts)
            self._check_noted()
        if not parts:
            return _empty_numbers(addresses.shape, size)
        if len(parts) == 1:
            buffer, lanes = parts[0]
            return _read_buffer(buffer, addresses, lanes, size)
        result = _empty_numbers(addresses.shape, size)
        for buffer, lanes in parts:
            got = _read_buffer(buffer, addresses, lanes, size)
            result[lanes] = got[lanes]
        return result

    def begin_anew(self) -> None:
        """Have every array hold what it did at first."""
        self.note(is_checked=False)
        for buffer in self._buffers:
            if buffer.changed:
                buffer.begin_anew()

    def note(self, is_checked: bool) -> None:
        """See to it that nothing is read from arrays that :meth:`forget` was told of."""
        self._noted = (set(), {}) if is_checked else None

    def forget(self, addresses: Array, active: Array | None, size: int, store: int) -> None:
        """Something was to be stored there, by an instruction of this identity, and was not."""
        if self._noted is not None:
            for buffer, _ in self._split_by_buffer(addresses, active, size):
                self._noted[1].setdefault(buffer.name, set()).add(store)
            self._check_noted()

    def _check_noted(self) -> None:
        if self._noted is not None:
            read, forgotten = self._noted
            both = read & forgotten.keys()
            if both:
                raise SliceError(frozenset().union(*(forgotten[name] for name in both)))

    def store(self, addresses: Array, active: Array | None, values: Array, size: int) -> None:
        """Write ``values``, shaped as :meth:`load` gives them; of two in a place the last stays."""
        _check_aligned(addresses, active, size, "global")
        for buffer, lanes in self._split_by_buffer(addresses, active, size):
            at = addresses - buffer.base
            data = buffer.bytes_for(at if lanes is None else at[lanes])
            _write_numbers(data, at, lanes, values, size)
            buffer.changed = True
            if buffer.written is not None:
                _mark_written(buffer.written, at, lanes, size)

    def text(self, address: int) -> str:
        """The text that begins at an address and ends with a zero; empty where there is none."""
        for buffer in self._buffers:
            if buffer.base <= address < buffer.end:
                data = buffer.data[address - buffer.base : buffer.size].tobytes()
                return data.split(b"\0")[0].decode(errors="replace")
        return ""


class PrivateMemory:
    """Shared memory of blocks, or local memory of threads: one part of one size for each owner.

    ``reserved`` bytes at the beginning of each are not the kernel's. ``space`` is shared or local.
    """

    def __init__(self, owners: int, size: int, space: str, reserved: int = 0) -> None:
        self.size = _round_up(size)
        self.used = size
        self.space = space
        self.reserved = reserved
        self.data = np.zeros(max(_ROUNDED_TO, owners * self.size), np.uint8)
        self.written: Array | None = None
        """Of each byte 255 where something was written, else 0; ``None``: that is not noted."""

    def _offsets_of(
        self, addresses: Array, owners: Array, active: Array | None, size: int
    ) -> Array:
        """Offsets in the parts of all owners; :class:`OutOfBoundsError` where one is left."""
        _check_aligned(addresses, active, size, self.space)
        wrong = (addresses < self.reserved) | (addresses > self.used - size)
        if wrong.any():
            if active is not None:
                wrong = wrong & active
            if wrong.any():
                raise self._out_of_bounds(addresses, wrong, size)
        return zero_inactive(addresses + owners * self.size, active)

    def _out_of_bounds(self, addresses: Array, wrong: Array, size: int) -> OutOfBoundsError:
        every = np.broadcast_to(addresses, wrong.shape)[wrong]
        first = int(every[0])
        first -= (first >= _NEGATIVE) << 32
        if first < self.reserved:
            what = f"is {self.reserved - first} bytes before {self.space} memory"
        else:
            own = self.used - self.reserved
            behind = first + size - self.used
            what = f"is {behind} bytes past the {own} bytes of {self.space} memory"
        return OutOfBoundsError(what, np.argwhere(wrong), every, space=self.space, size=size)

    def check(self, addresses: Array, owners: Array, active: Array, size: int) -> None:
        """Raise what :meth:`load` raises."""
        at = self._offsets_of(addresses, owners, active, size)
        if self.written is not None:
            _check_written(self.written, at, addresses, active, size=size, space=self.space)

    def load(self, addresses: Array, owners: Array, active: Array | None, size: int) -> Array:
        """As :meth:`GlobalMemory.load`; ``owners`` numbers the block or thread of each lane."""
        at = self._offsets_of(addresses, owners, active, size)
        if self.written is not None:
            _check_written(self.written, at, addresses, active, size=size, space=self.space)
        return read_numbers(self.data, at, size)

    def store(
        self, addresses: Array, owners: Array, active: Array | None, values: Array, size: int
    ) -> None:
        """As :meth:`GlobalMemory.store`."""
        at = self._offsets_of(addresses, owners, active, size)
        at = np.broadcast_to(at, values.shape[:2])
        _write_numbers(self.data, at, active, values, size)
        if self.written is not None:
            _mark_written(self.written, at, active, size)

    def forget(self, addresses: Array, owners: Array, active: Array | None, size: int) -> None:
        """Something was to be stored there, and was not: what is there may not be read."""
        at = np.broadcast_to(self._offsets_of(addresses, owners, active, size), addresses.shape)
        if self.written is not None:
            _mark_written(self.written, at, active, size, written=False)


_SHIFTS: Final = {1: 0, 2: 1, 4: 2, 8: 3, 16: 4, 32: 5}
_KINDS: Final[dict[int, Any]] = {
    1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32),
    8: np.dtype(np.uint64), 16: np.dtype(np.complex128),
}  # fmt: skip
"""What is copied as one; a number of 128 bits is the only one that NumPy has."""


def _round_up(size: int) -> int:
    return -(-max(size, 1) // _ROUNDED_TO) * _ROUNDED_TO


def read_numbers(data: Array, at: Array, size: int) -> Array:
    """Numbers of so many bytes, at offsets that are multiples of it."""
    if size > 16:
        rows: Array = data.view(np.uint32).reshape(-1, size // 4)[at >> _SHIFTS[size]]
        return rows
    numbers: Array = data.view(_KINDS[size]).take(at >> _SHIFTS[size])
    return numbers if size <= 4 else numbers.view(np.uint32).reshape(*at.shape, size // 4)


def _write_numbers(data: Array, at: Array, lanes: Array | None, values: Array, size: int) -> None:
    places = at >> _SHIFTS[size]
    if lanes is not None:
        places, values = places[lanes], values[lanes]
    if size <= 4:
        data.view(_KINDS[size])[places] = values
    else:
        data.view(np.uint32).reshape(-1, size // 4)[places] = values


_WORD: Final = 4
_WRITTEN: Final[dict[int, Any]] = {
    1: np.uint8(0xFF),
    2: np.uint16(0xFFFF),
    _WORD: np.uint32(0xFFFFFFFF),
}
"""What a number of so many bytes, or a word of a longer one, is where each byte was written."""


def _read_buffer(buffer: Buffer, addresses: Array, active: Array | None, size: int) -> Array:
    at = zero_inactive(addresses - buffer.base, active)
    if buffer.written is not None:
        _check_written(buffer.written, at, addresses, active, size=size, space="global")
    return read_numbers(buffer.bytes_for(at), at, size)


def _mark_written(
    marks: Array, at: Array, lanes: Array | None, size: int, *, written: bool = True
) -> None:
    places = at >> _SHIFTS[size]
    if lanes is not None:
        places = places[lanes]
    unit = min(size, _WORD)
    mark = _WRITTEN[unit] if written else 0
    marks.view(_KINDS[unit]).reshape(-1, size // unit)[places] = mark


def _check_written(
    written: Array, at: Array, addresses: Array, active: Array | None, *, size: int, space: str
) -> None:
    wrong = read_numbers(written, at, size) != _WRITTEN[min(size, _WORD)]
    if not wrong.any():
        return
    if size > _WORD:
        wrong = wrong.any(axis=-1)
    if active is not None:
        wrong = wrong & active
    if wrong.any():
        wrong_addresses = np.broadcast_to(addresses, wrong.shape)[wrong]
        what = f"reads {size} uninitialized bytes"
        raise UninitializedReadError(
            what, np.argwhere(wrong), wrong_addresses, space=space, size=size
        )


def _empty_numbers(shape: tuple[int, ...], size: int) -> Array:
    if size <= 4:
        return np.zeros(shape, _KINDS[size])
    return np.zeros((*shape, size // 4), np.uint32)


def zero_inactive(offsets: Array, active: Array | None) -> Array:
    """Offsets, and 0 for lanes that take none."""
    return offsets if active is None else np.where(active, offsets, 0)


def _check_aligned(addresses: Array, active: Array | None, size: int, space: str) -> None:
    if size == 1:
        return
    wrong = (addresses & (size - 1)) != 0
    if not wrong.any():
        return
    if active is not None:
        wrong = wrong & active
    if wrong.any():
        wrong_addresses = np.broadcast_to(addresses, wrong.shape)[wrong]
        what = f"is not aligned to {size} bytes"
        raise MisalignedError(what, np.argwhere(wrong), wrong_addresses, space=space, size=size)


class ConstantBanks:
    """The constant banks: parameters and sizes of the launch, ``__constant__`` arrays, tables.

    ``unknown`` are offsets of words of bank 0 that only a driver knows.
    """

    def __init__(self, banks: Mapping[int, bytes], unknown: frozenset[int]) -> None:
        self._banks = {
            bank: np.frombuffer(data + bytes(-len(data) % 4 + 64), np.uint8)
            for bank, data in banks.items()
        }
        self._unknown = unknown
        self._words: dict[tuple[int, int], Array] = {}

    def word(self, bank: int, offset: int) -> Array:
        """A word of 4 bytes, as one row and column, never to be written into."""
        key = bank, offset
        if key not in self._words:
            data = self._banks.get(bank)
            if data is None or offset + 4 > len(data) or (bank == 0 and offset in self._unknown):
                raise SassimError(
                    f"the code reads a value that only a GPU provides (c[{bank:#x}][{offset:#x}])"
                )
            words = data[offset : offset + 4].copy().view(np.uint32)
            self._words[key] = make_read_only(words.reshape(1, 1))
        return self._words[key]

    def gather(self, bank: int, offsets: Array, size: int, active: Array | None = None) -> Array:
        """Numbers of 1, 2 or 4 bytes at offsets that differ by lane, as 32 bits."""
        data = self._banks.get(bank)
        if data is None:
            raise SassimError(f"constant bank {bank} is unknown")
        at = offsets.astype(np.int64)
        wrong = (at < 0) | (at + size > len(data))
        if active is not None:
            wrong = wrong & active
        if wrong.any():
            by_lane = np.broadcast_to(at, wrong.shape)
            what, where = "leaves constant memory", by_lane[wrong]
            raise OutOfBoundsError(what, np.argwhere(wrong), where, space="constant", size=size)
        if bank == 0 and self._unknown and (at < max(self._unknown)).any():
            for word in distinct(
                at & -4 if active is None else np.broadcast_to(at & -4, active.shape)[active]
            ):
                self.word(bank, int(word))
        return read_numbers(data, zero_inactive(at, active), size).astype(np.uint32)
