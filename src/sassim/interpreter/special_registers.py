"""Special registers: who a thread is, and what only a GPU knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.interpreter.lanes import BITS, LANE, NOTHING

if TYPE_CHECKING:
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.launch import KernelLaunch

UNKNOWN: Final = {
    "CLOCK": "the clock",
    "GLOBALTIMER": "the global timer",
    "VIRTUALSMID": "the ID of its SM (%smid)",
    "SMID": "the ID of its SM (%smid)",
    "VIRTID": "the ID of its warp on the SM (%warpid)",
    "VIRTCFG": "the number of warp slots of an SM (%nwarpid)",
}
"""What a special register that starts so holds, in the user's terms; only a GPU knows it."""

_ALL: Final = np.uint32(0xFFFFFFFF)
_ALWAYS: Final = {
    "LANEID": LANE,
    "EQMASK": BITS,
    "LTMASK": BITS - np.uint32(1),
    "LEMASK": BITS | (BITS - np.uint32(1)),
    "GTMASK": _ALL ^ (BITS | (BITS - np.uint32(1))),
    "GEMASK": _ALL ^ (BITS - np.uint32(1)),
    "CgaSize": NOTHING,  # Which of two tables of a cluster's sizes holds; there is one here.
    "SWINLO": NOTHING,
    "LMEMHIOFF": NOTHING,  # Where a thread's stack must end at least, in code for debugging.
}


def read_special_register(
    name: str, launch: KernelLaunch, thread: Array, block: Array
) -> Array | None:
    """A special register; ``None`` where it is not known without a GPU.

    ``thread`` is the number of each thread in its block, ``block`` that of each warp's block in the
    grid, as one column.
    """
    kind, _, axis = name.removeprefix("SR_").partition(".")
    if kind in ("TID", "CTAID") and axis:
        return index_along(
            axis, *((thread, launch.block) if kind == "TID" else (block, launch.grid))
        )
    if kind == "CgaCtaId":
        return launch.rank_in_cluster(block)
    if kind == "SWINHI":
        return np.full((1, 1), launch.shared_window >> 32, np.uint32)
    return _ALWAYS.get(kind)


def axes_of_grid(name: str) -> frozenset[int]:
    """Axes of the grid along which blocks differ in what a special register holds."""
    kind, _, axis = name.removeprefix("SR_").partition(".")
    if kind == "CTAID":
        return frozenset(("XYZ".index(axis),))
    return frozenset(range(3)) if kind == "CgaCtaId" else frozenset()


def index_along(axis: str, number: Array, size: tuple[int, int, int]) -> Array:
    """The place along an axis of what is numbered so, x fastest."""
    x, y, _ = size
    indices: Array = {"X": number % x, "Y": number // x % y, "Z": number // (x * y)}[axis]
    return indices
