"""Kernels of a few instructions, as a source page would have them."""

from __future__ import annotations

from kernelprof.model.sampled import Counts, Instruction, Place, SampledCode

FILE = "k.cu"


def code(*rows: tuple[int, str, Counts] | tuple[int, str], whole: str = "") -> SampledCode:
    """A kernel ``k``: each row is a line, the instruction's text, and what was counted at it."""
    instructions = tuple(
        Instruction(
            16 * number, row[1], (Place(FILE, row[0]),), row[2] if len(row) == 3 else Counts()
        )
        for number, row in enumerate(rows)
    )
    return SampledCode("k", instructions, whole=whole)


def waits(executed: int = 1, **states: int) -> Counts:
    """Samples by state at an instruction that warps carried out so often."""
    return Counts(sum(states.values()), states, executed=executed, threads=32 * executed)
