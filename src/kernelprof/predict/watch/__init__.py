"""Watches a kernel for what ``compute-sanitizer`` finds on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.predict.machine.context import Counters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.blocks import Blocks
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.program import Block


class Together(Counters):
    """Tells several others what it is told."""

    def __init__(self, parts: Sequence[Counters]) -> None:
        super().__init__()
        self._parts = parts

    def begin(self, blocks: Blocks) -> None:
        """Blocks begin to run."""
        for each in self._parts:
            each.begin(blocks)

    def piece(self, c: Context, block: Block) -> None:
        """A straight piece of code is carried out."""
        for each in self._parts:
            each.piece(c, block)

    def access(
        self,
        c: Context,
        i: Instruction,
        space: str,
        kind: str,
        addresses: Array,
        *,
        taking: Array | None,
        size: int,
    ) -> None:
        """Memory is read or written."""
        for each in self._parts:
            each.access(c, i, space, kind, addresses, taking=taking, size=size)

    def bulk(
        self,
        c: Context,
        i: Instruction,
        outside: Array,
        inside: Array,
        sizes: Array,
        *,
        taking: Array,
        inward: bool,
    ) -> None:
        """Warps copy bytes to shared memory, or from it."""
        for each in self._parts:
            each.bulk(c, i, outside, inside, sizes, taking=taking, inward=inward)

    def stored(
        self, c: Context, addresses: Array, values: Array, *, taking: Array | None, size: int
    ) -> None:
        """Lanes have written their values to shared memory."""
        for each in self._parts:
            each.stored(c, addresses, values, taking=taking, size=size)

    def arrived(self, i: Instruction, lanes: Array) -> None:
        """Threads have come to a barrier of their block."""
        for each in self._parts:
            each.arrived(i, lanes)

    def ordered(self, c: Context, i: Instruction) -> None:
        """Threads order their accesses beside the barriers of their block."""
        for each in self._parts:
            each.ordered(c, i)

    def end(self) -> None:
        """All threads have ended."""
        for each in self._parts:
            each.end()
