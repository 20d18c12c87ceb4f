"""Constant memory of a launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelprof.errors import KernelprofError
from kernelprof.predict.machine.arrays import fixed
from kernelprof.predict.machine.faults import OutsideError
from kernelprof.predict.machine.memory import inside, taken

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.predict.machine.arrays import Array


class Constants:
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
                raise KernelprofError(
                    f"the code asks for what is not known without a GPU (c[{bank:#x}][{offset:#x}])"
                )
            words = data[offset : offset + 4].copy().view(np.uint32)
            self._words[key] = fixed(words.reshape(1, 1))
        return self._words[key]

    def gather(self, bank: int, offsets: Array, size: int, taking: Array | None = None) -> Array:
        """Numbers of 1, 2 or 4 bytes at offsets that differ by lane, as 32 bits."""
        data = self._banks.get(bank)
        if data is None:
            raise KernelprofError(f"constant bank {bank} is not known")
        at = offsets.astype(np.int64)
        wrong = (at < 0) | (at + size > len(data))
        if taking is not None:
            wrong = wrong & taking
        if wrong.any():
            spread = np.broadcast_to(at, wrong.shape)
            what, where = "leaves constant memory", spread[wrong]
            raise OutsideError(what, np.argwhere(wrong), where, space="constant", size=size)
        if bank == 0 and self._unknown and (at < max(self._unknown)).any():
            for word in np.unique(
                at & -4 if taking is None else np.broadcast_to(at & -4, taking.shape)[taking]
            ):
                self.word(bank, int(word))
        return taken(data, inside(at, taking), size).astype(np.uint32)
