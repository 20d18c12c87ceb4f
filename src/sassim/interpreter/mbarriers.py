"""Barriers in shared memory (``mbarrier``): 64 bits that count who came and what was copied.

How the bits lie is read off what code stores to begin with. From compute capability 9.0 on: bit 63
is the phase, bits 43 to 62 are 2^20 less the threads of a phase, bits 21 to 42 the bytes that are
still on their way, bits 1 to 20 2^20 less the threads that are missing. Before, where code itself
reads them: bit 63 is the phase, below it 2^31 less the threads that are missing, and the lower
word 2^30 less the threads of a phase.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.memory import PrivateMemory

_COUNT_BITS: Final = 20
_COUNT: Final = np.uint64((1 << _COUNT_BITS) - 1)
_BYTES_BITS: Final = 22
_BYTES: Final = np.uint64((1 << _BYTES_BITS) - 1)
_MISSING_AT, _BYTES_AT, _THREADS_AT, _PHASE_AT = (np.uint64(n) for n in (1, 21, 43, 63))

_OLD_MISSING: Final = np.uint64(0x7FFFFFFF)
_OLD_THREADS: Final = np.uint64(0x3FFFFFFF)
_OLD_ADDED: Final = np.uint64(0x40000000)
_WORD: Final = np.uint64(32)
_ONE: Final = np.uint64(1)


def arrive_together(
    state: Array, expected: Array, starts: Array, lengths: Array, threads: int
) -> tuple[Array, Array]:
    """What threads find that come to barriers one after the other, and what they hold then.

    The ``expected`` bytes of the threads of one barrier stand beside each other, from ``starts`` on
    ``lengths`` of them. ``threads`` is 1 where they count as threads, 0 where only bytes do.
    """
    order = np.arange(len(expected)) - np.repeat(starts, lengths)
    summed = np.cumsum(expected, dtype=np.uint64) - expected
    earlier = summed - np.repeat(summed[starts], lengths)
    seen = _after(np.repeat(state, lengths), order * threads, earlier)
    return seen, _after(state, lengths * threads, np.add.reduceat(expected, starts))


def _after(state: Array, come: Array, expected: Array) -> Array:
    """What barriers hold after so many threads came, with bytes that are to come (or less)."""
    left_to_come = (state >> _MISSING_AT & _COUNT) + come.astype(np.uint64)
    on_their_way = ((state >> _BYTES_AT) + expected) & _BYTES
    threads_of_phase = state >> _THREADS_AT & _COUNT
    complete = (left_to_come > _COUNT) | ((left_to_come == 0) & (expected != 0))
    complete &= on_their_way == 0
    # More threads may come than a phase has.
    phases, left = np.divmod(left_to_come & _COUNT, _COUNT + _ONE - threads_of_phase)
    missing = np.where(complete, threads_of_phase + left, left_to_come) & _COUNT
    phase = state >> _PHASE_AT ^ np.where(complete, phases + _ONE, 0) & _ONE
    packed: Array = phase << _PHASE_AT | threads_of_phase << _THREADS_AT
    packed |= on_their_way << _BYTES_AT | missing << _MISSING_AT
    return packed


def arrive_before_hopper(state: Array, _: Array) -> Array:
    """What a barrier holds after a thread came, before compute capability 9.0."""
    threads = state & _OLD_THREADS
    high = (state >> _WORD) + _ONE
    complete = (high & _OLD_MISSING) == 0
    anew = (high & ~_OLD_MISSING) | (threads + _OLD_ADDED)
    high = np.where(complete, anew, high) & np.uint64(0xFFFFFFFF)
    return high << _WORD | (state & np.uint64(0xFFFFFFFF))


class PhaseEvents(NamedTuple):
    """Warps that come to phases of barriers, or copies of theirs that do; or that wait for them."""

    warps: Array
    """Among all that run; one may come to several barriers."""
    places: Array
    """Of the barriers in the shared memory of all blocks."""
    phases: Array
    """How many phases of the barrier have ended before."""


_MOST_RETRIES: Final = 8
"""Times that threads ask again with nobody having come: they may do something between."""


@dataclass
class _MbarrierWaiters:
    lanes: Array
    places: Array
    """Where the upper words of their barriers lie in the shared memory of all blocks."""
    phases: Array
    """The phases that they wait for, 0 or 1."""
    flag: int
    """The predicate that says whether the phase has ended."""


class Mbarriers:
    """Who waits for a phase of a barrier in shared memory."""

    def __init__(self, shared: PrivateMemory) -> None:
        self._shared = shared
        self._waiting: dict[int, _MbarrierWaiters] = {}
        self._retries = 0
        self._ended = np.zeros(len(shared.data) >> 3, np.int64)
        """By the place of a barrier how many of its phases have ended."""
        self._arrived: list[PhaseEvents] = []
        self._phases: Array = self._ended[:0]

    def count_ended(self, places: Array) -> Array:
        """How many phases of barriers have ended; one that is set up begins with an even number."""
        words = self._shared.data.view(np.uint64)
        ended: Array = self._ended[places >> 3]
        ended += (ended ^ (words[places >> 3] >> _PHASE_AT).astype(np.int64)) & 1
        self._ended[places >> 3] = ended
        return ended

    def arrive(
        self, places: Array, expected: Array, starts: Array, lengths: Array, threads: int
    ) -> Array:
        """Have threads come to barriers at places; the others are of :func:`arrive_together`."""
        words = self._shared.data.view(np.uint64)
        before = words[places >> 3]
        self._phases = self.count_ended(places)
        seen, after = arrive_together(before, expected, starts, lengths, threads)
        words[places >> 3] = after
        self._ended[places >> 3] += ((before ^ after) >> _PHASE_AT).astype(np.int64)
        return seen

    def note(self, warps: Array, places: Array, groups: Array) -> None:
        """Say which warps came; ``groups`` are numbers of the last call's places."""
        self._arrived.append(PhaseEvents(warps, places, self._phases[groups]))
        self._retries = 0

    def take_arrivals(self) -> list[PhaseEvents]:
        """Arrivals since the last call."""
        arrived, self._arrived = self._arrived, []
        return arrived

    @property
    def waiting(self) -> dict[int, Array]:
        """Threads that wait, as warps by 32, by the address at which they go on."""
        return {behind: each.lanes for behind, each in self._waiting.items()}

    def has_ended(self, places: Array, phases: Array) -> Array:
        """Whether phases are over; ``places`` are as in :class:`_MbarrierWaiters`."""
        # Lanes that do not take part may have any address.
        upper = self._shared.data.view(np.uint32).take(places >> 2, mode="clip")
        ended: Array = (upper >> np.uint32(31)) != phases
        return ended

    def wait(self, behind: int, lanes: Array, places: Array, phases: Array, *, flag: int) -> None:
        """Threads, of all warps, that go on once their phase has ended."""
        there = self._waiting.get(behind)
        if there is None:
            self._waiting[behind] = _MbarrierWaiters(lanes, places, phases, flag)
            return
        there.places = np.where(lanes, places, there.places)
        there.phases = np.where(lanes, phases, there.phases)
        there.lanes = there.lanes | lanes

    def released(self, _: Array) -> list[tuple[int, Array]]:
        """Threads that can go on, with the address at which they do."""
        ready = []
        for behind, each in list(self._waiting.items()):
            places = np.where(each.lanes, each.places, 0)
            going = each.lanes & self.has_ended(places, each.phases)
            if going.any():
                ready.append((behind, going))
                each.lanes = each.lanes & ~going
                if not each.lanes.any():
                    del self._waiting[behind]
        return ready

    def give_up(self, predicates: dict[int, Array]) -> list[tuple[int, Array]]:
        """Have all go on that wait, as after some time on a GPU, and be told that it has not ended.

        Nobody, where they have asked again some times and nobody came to any barrier.
        """
        if self._retries == _MOST_RETRIES:
            return []
        self._retries += 1
        resumed = [(behind, each.lanes) for behind, each in self._waiting.items()]
        for each in self._waiting.values():
            predicates[each.flag] = predicates[each.flag] & ~each.lanes
        self._waiting.clear()
        return resumed
