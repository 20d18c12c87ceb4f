"""What running some blocks is counted as."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernelprof.predict.machine.context import Array, Context
    from kernelprof.predict.machine.machine import Machine
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.program import Block


class Counters:
    """Counts nothing but what was carried out; others count more."""

    def __init__(self) -> None:
        self.executed = 0

    def begin(self, machine: Machine) -> None:
        """Blocks begin to run."""

    def piece(self, c: Context, block: Block) -> None:
        """A straight piece of code is carried out."""
        self.executed += c.warps * (len(block.body) + (block.end is not None))

    def predicated(self, c: Context, i: Instruction, guard: Array) -> None:
        """An instruction is carried out by those threads for which its guard holds."""

    def branch(self, c: Context, i: Instruction, taken: Array) -> None:
        """A branch is taken by some threads."""

    def constant(self, c: Context, i: Instruction, offsets: Array, taking: Array | None) -> None:
        """Constant memory is read at offsets that may differ between lanes."""

    def access(
        self,
        c: Context,
        i: Instruction,
        space: str,
        kind: str,
        addresses: Array,
        taking: Array | None,
        size: int,
    ) -> None:
        """Memory is read or written: ``size`` bytes by each lane that takes part (``None``: all)."""
