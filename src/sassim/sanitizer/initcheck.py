"""Reads of memory that nothing was written to before: outputs without a fill, and shared memory.

Memory itself notes which of its bytes were written, and refuses to read others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sassim.interpreter.context import Observer

if TYPE_CHECKING:
    from sassim.interpreter.state import ResidentBlocks


class Initcheck(Observer):
    """Has the shared memory of blocks note what is written."""

    def on_start(self, blocks: ResidentBlocks) -> None:
        """Nothing is written when blocks begin."""
        blocks.shared.written = np.zeros(len(blocks.shared.data), np.uint8)
