"""Reads of memory that nothing was written to before: outputs without a fill, and shared memory.

Memory itself notes which of its bytes were written, and refuses to read others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelprof.predict.machine.context import Counters

if TYPE_CHECKING:
    from kernelprof.predict.bind import Bound
    from kernelprof.predict.machine.blocks import Blocks


class Unwritten(Counters):
    """Has the shared memory of blocks note what is written."""

    def begin(self, blocks: Blocks) -> None:
        """Nothing is written when blocks begin."""
        blocks.shared.written = np.zeros(len(blocks.shared.data), np.uint8)


def watch_outputs(bound: Bound) -> None:
    """Have arrays that begin without values note what is written."""
    for name, array in bound.resolved.arrays.items():
        if array.argument.fill is None:
            buffer = bound.buffers[name]
            buffer.written = np.zeros(len(buffer.data), np.uint8)
