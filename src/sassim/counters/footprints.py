"""Which sectors of each array a launch touches: what has to come from device memory at least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sassim.counters.transactions import SECTOR, find_contention
from sassim.interpreter.lanes import distinct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sassim.interpreter.lanes import Array
    from sassim.interpreter.memory import Buffer

HALVES: Final = 2
"""Blocks are counted in two halves: their union against one half shows how a footprint grows."""
_SLICE_SECTORS: Final = 16
"""Sectors beside each other in one slice of L2. Atomics on a KiB kept two slices of an H200 busy
for 80 % of the time, and the others idle (``imagetutorial-histogram``)."""
_AT_ONCE: Final = 1 << 20
_MOST: Final = 1 << 24
"""Sectors that are marked for one access of a loop; of more, every so many are."""


@dataclass
class _Marks:
    """Sectors of one array, a bit for each half of the blocks."""

    read: Array
    written: Array


@dataclass(frozen=True, slots=True)
class Touched:
    """Sectors of one array that the sampled blocks touch: those of one half of them, and all."""

    read: tuple[int, int]
    written: tuple[int, int]
    sectors: int
    """Of the array."""


class Footprints:
    """Sectors that are read and written, by array."""

    def __init__(self, buffers: Sequence[Buffer], halves: Array) -> None:
        self._buffers = sorted(buffers, key=lambda each: each.base)
        self._bases = np.array([each.base for each in self._buffers], np.int64)
        self._marks: dict[str, _Marks] = {}
        self._ranges: dict[tuple[int, bool, int], Array] = {}
        """Where ranges of sectors begin and end, by array, whether written, and half: summed up
        when somebody asks."""
        self._serialized: dict[tuple[str, int], Array] = {}
        """Turns that atomics take, by sector, of each array and half."""
        self._second = halves[:, None]
        """The half of each warp."""

    def add(
        self, addresses: Array, active: Array | None, rows: Array | None, *, written: bool
    ) -> None:
        """Warps access addresses, as warps by lanes."""
        second = self._second if rows is None else self._second[rows]
        for half in range(HALVES):
            mine = second == half
            if not mine.any():
                continue
            if active is None:
                flat = (addresses[mine[:, 0]] if addresses.shape[0] > 1 else addresses).reshape(-1)
            else:
                flat = np.broadcast_to(addresses, active.shape)[active & mine]
            if len(flat):
                self._add(flat, np.uint8(1 << half), written=written)

    def contend(self, addresses: Array, active: Array, rows: Array | None) -> None:
        """Count atomics: a sector serializes the threads at one address."""
        second = self._second if rows is None else self._second[rows]
        for half in range(HALVES):
            sectors, serialized = find_contention(addresses, active & (second == half))
            for number in distinct(np.searchsorted(self._bases, sectors << 5, "right") - 1):
                if number < 0:
                    continue
                buffer = self._buffers[number]
                at = sectors - (buffer.base >> 5)
                inside = (at >= 0) & (at << 5 < max(buffer.size, 1))
                turned = self._serialized.get((buffer.name, half))
                if turned is None:
                    count = len(self._marks_of(buffer, written=True))
                    turned = self._serialized[buffer.name, half] = np.zeros(count, np.int64)
                np.add.at(turned, at[inside], serialized[inside])

    def hottest(self) -> list[tuple[int, int]]:
        """Return serialized atomics of the hottest slice of each array, by half of the blocks."""
        hottest = []
        for name in {name for name, _ in self._serialized}:
            nothing = np.zeros(1, np.int64)
            counts = (self._serialized.get((name, half), nothing) for half in range(HALVES))
            one, other = (
                np.add.reduceat(each, np.arange(0, len(each), _SLICE_SECTORS)) for each in counts
            )
            at = int((one + other).argmax())
            hottest.append((int(one[min(at, len(one) - 1)]), int(other[min(at, len(other) - 1)])))
        return hottest

    def _add(self, flat: Array, bit: Any, *, written: bool) -> None:
        low, high = int(flat.min()), int(flat.max())
        first, last = self._at(low), self._at(high)
        for number in range(max(first, 0), last + 1):
            buffer = self._buffers[number]
            marks = self._marks_of(buffer, written=written)
            at = (flat - buffer.base) >> 5
            if first != last or low < buffer.base or high >= buffer.end:
                at = at[(at >= 0) & (at < len(marks))]
            marks[at] |= bit

    def name_of(self, sector: int) -> str:
        """The array that a sector belongs to."""
        return self._buffers[max(self._at(sector << 5), 0)].name

    def _at(self, address: int) -> int:
        return int(np.searchsorted(self._bases, address, "right")) - 1

    def _marks_of(self, buffer: Buffer, *, written: bool) -> Array:
        marks = self._marks.get(buffer.name)
        if marks is None:
            count = -(-max(buffer.size, 1) // 32)
            marks = self._marks[buffer.name] = _Marks(
                np.zeros(count, np.uint8), np.zeros(count, np.uint8)
            )
        return marks.written if written else marks.read

    def stretch(
        self,
        addresses: Array,
        active: Array | None,
        rows: Array | None,
        stride: Array,
        times: int,
        *,
        written: bool,
    ) -> None:
        """The same accesses ``times`` more, each warp ``stride`` further every time."""
        shape = addresses.shape if active is None else active.shape
        second = self._second if rows is None else self._second[rows]
        parts = [addresses >> 5, stride, 1 << second]
        columns = [np.broadcast_to(each, shape) for each in parts]
        flat = [each.reshape(-1) if active is None else each[active] for each in columns]
        starts, steps, bits = _drop_duplicates(*flat) if len(flat[0]) * times > _AT_ONCE else flat
        first = starts << 5
        numbers = np.searchsorted(self._bases, first, "right") - 1
        for number in distinct(numbers[numbers >= 0]):
            buffer = self._buffers[number]
            marks = self._marks_of(buffer, written=written)
            for bit in (1, 2):
                mine = (numbers == number) & (bits == bit)
                near = np.abs(steps) <= SECTOR
                places = starts - (buffer.base >> 5)
                self._add_ranges(
                    (int(number), written, bit), places[mine & near], steps[mine & near], times
                )
                _mark_strides(marks, bit, places[mine & ~near], steps[mine & ~near], times)

    def _add_ranges(
        self, key: tuple[int, bool, int], places: Array, steps: Array, times: int
    ) -> None:
        """All sectors between the first place and the last."""
        if len(places) == 0:
            return
        count = len(self._marks_of(self._buffers[key[0]], written=key[1]))
        change = self._ranges.get(key)
        if change is None:
            change = self._ranges[key] = np.zeros(count + 1, np.int32)
        reach = times * np.abs(steps) // SECTOR
        low = np.clip(np.where(steps >= 0, places, places - reach), 0, count)
        high = np.clip(np.where(steps >= 0, places + reach, places) + 1, 0, count)
        np.add.at(change, low, 1)
        np.add.at(change, high, -1)

    def touched(self) -> dict[str, Touched]:
        """What is touched of each array."""
        for (number, written, bit), change in self._ranges.items():
            marks = self._marks_of(self._buffers[number], written=written)
            marks[np.cumsum(change[:-1]) > 0] |= np.uint8(bit)
        self._ranges.clear()
        return {
            name: Touched(_count_halves(marks.read), _count_halves(marks.written), len(marks.read))
            for name, marks in self._marks.items()
        }


def _count_halves(marks: Array) -> tuple[int, int]:
    return int((marks & 1).sum()), int(np.count_nonzero(marks))


def _drop_duplicates(starts: Array, steps: Array, bits: Array) -> tuple[Array, Array, Array]:
    """Each start only once, where all move alike."""
    if (steps != steps[0]).any():
        return starts, steps, bits
    both = distinct(starts << 2 | bits)
    return both >> 2, np.full(len(both), steps[0]), both & 3


def _mark_strides(marks: Array, bit: int, places: Array, steps: Array, times: int) -> None:
    """Mark every place that a stride leads to."""
    thin = max(1, -(-len(places) * times // _MOST))
    places, steps = places[::thin], steps[::thin]
    if len(places) == 0:
        return
    alike = bool((steps == steps[0]).all())
    step = max(1, _AT_ONCE // len(places))
    for start in range(0, times + 1, step):
        serialized = np.arange(start, min(start + step, times + 1))
        if alike:
            at = (places[:, None] + steps[0] * serialized // SECTOR).reshape(-1)
        else:
            at = (places[:, None] + steps[:, None] * serialized // SECTOR).reshape(-1)
        if at.min() < 0 or at.max() >= len(marks):
            at = at[(at >= 0) & (at < len(marks))]
        marks[at] |= np.uint8(bit)
