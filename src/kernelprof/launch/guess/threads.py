"""Threads of a block and blocks of the grid, from a kernel's own body."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from kernelprof.launch.guess import amounts
from kernelprof.launch.guess.templates import TILE_NAME
from kernelprof.launch.resolved import MAX_THREADS
from kernelprof.launch.usage import AXES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.launch.guess.amounts import Amount
    from kernelprof.launch.guess.guesses import Guesses
    from kernelprof.launch.guess.reach import Reach
    from kernelprof.launch.signature import KernelSignature
    from kernelprof.launch.usage import Usage

_BLOCKS: Final = {1: (256,), 2: (16, 16), 3: (8, 8, 4)}
_ONE: Final = amounts.number(1)
_TILE: Final = 16
_THREADS: Final = re.compile("threads|block_?(size|dim)", re.IGNORECASE)


def block(kernel: KernelSignature, usage: Usage, known: Mapping[str, int], found: Guesses) -> None:
    """The block by what the blocks' numbers are multiplied with, and by launch bounds."""
    if not usage.axes:
        found.block = [amounts.number(1)]
        found.why["block"] = "the kernel looks at no index of a thread"
        return
    named = [known[p.name] for p in kernel.template if _THREADS.search(p.name) and p.name in known]
    if named and not usage.strides and usage.axes_of_threads <= {"x"}:
        found.block = [amounts.number(named[0])]
        found.why["block"] = "the template's number of threads"
        return
    axes = usage.axes_of_threads or usage.axes
    default = iter(_BLOCKS[len(axes)])
    bounds = (kernel.launch_bounds or "").split(",")[0].strip()
    most = known.get(bounds) or (int(bounds) if bounds.isdecimal() else None)
    threads: list[Amount] = []
    why: list[str] = []
    for axis in AXES[: 1 + max(map(AXES.index, axes))]:
        # Threads that no index tells apart would all do the same.
        along = _along(axis, next(default), usage, known) if axis in axes else (_ONE, "")
        if along is None:
            threads = []
            break
        threads.append(along[0])
        why.append(along[1])
    if most is not None and (not threads or (len(threads) == 1 and usage.uses_block_dim)):
        fewer = min(most, 256) if usage.uses_block_dim and threads else most
        threads, why = [amounts.number(fewer)], ["__launch_bounds__"]
    tiles = {name: _TILE for each in threads for name in each.names}
    if threads and math.prod(each.value(tiles) for each in threads) <= MAX_THREADS:
        found.block = threads
        found.defines |= tiles
        found.why["block"] = "; ".join(dict.fromkeys(filter(None, why)))


def _along(
    axis: str, usual: int, usage: Usage, known: Mapping[str, int]
) -> tuple[Amount, str] | None:
    """The threads along an axis that has some, and what speaks for them."""
    stride = usage.strides.get(axis, "")
    written = known.get(stride) or (int(stride) if stride.isdecimal() else None)
    if written is not None and written <= MAX_THREADS:
        return amounts.number(written), f"blockIdx.{axis} is multiplied by {stride}"
    if stride.isidentifier() and TILE_NAME.search(stride) and stride not in known:
        return amounts.size(stride), ""
    if among := usage.shared_by_thread.get(axis):
        why = f"threadIdx.{axis} runs through shared memory of that size"
        return amounts.number(among), why
    if stride == f"blockDim.{axis}" or usage.uses_block_dim:
        return amounts.number(usual), "the kernel takes any block"
    return None


def grid(
    reach: Reach, usage: Usage, found: Guesses, spare: list[str], along: Mapping[str, str]
) -> bool:
    """As many blocks along each axis as what it runs along needs.

    ``spare`` are sizes that the kernel is given and never looks at: one of them is how many blocks
    it needs where nothing else says so. ``along`` are sizes that an operation is known to have
    along an axis. Gives whether something says how many blocks there are along each axis.
    """
    if found.block is None:
        return False
    told = True
    standing = dimensions("block", found.block)
    grid, why = [], []
    axes = [axis for axis in AXES if axis in usage.axes_of_blocks]
    for axis in AXES[: AXES.index(axes[-1]) + 1] if axes else "x":
        ends = [
            (amounts.read(each.end.text, standing), amounts.read(each.step.text, standing))
            for each in reach.bounds
            if each.axis == axis
        ]
        known = [(_rounded(end), step) for end, step in ends if end and step and step.terms]
        known = [(end, step) for end, step in known if not _internal(end)]
        if known:
            end, step = known[0]
            blocks = amounts.ceil_div(end, step)
            grid.append(blocks)
            why.append(f"blockIdx.{axis} runs to {end.text}")
        elif axis in along and len(found.block) == len(along):
            threads = found.block["xyz".index(axis)]
            grid.append(amounts.ceil_div(amounts.size(along[axis]), threads))
            why.append(f"a matrix product, {along[axis]} along {axis}")
        elif axis not in usage.axes_of_blocks:
            grid.append(amounts.number(1))
            if axis == "x" and not axes:
                why.append("the kernel looks at no blockIdx")
        elif spare:
            name = spare.pop(0)
            stride = usage.strides.get(axis, "")
            threads = standing[f"block__{axis}"] if stride == f"blockDim.{axis}" else _ONE
            threads = amounts.number(int(stride)) if stride.isdecimal() else threads
            grid.append(amounts.ceil_div(amounts.size(name), threads))
            whose = "a block for each"
            if threads != _ONE:
                many = f"a block for each {threads.text}"
                whose = "a thread for each" if axis in usage.axes_of_threads else many
            why.append(f"nothing else is done with {name}: {whose}")
        else:
            name = {"x": "blocks", "y": "blocks_y", "z": "blocks_z"}[axis]
            grid.append(amounts.size(name))
            found.sizes.setdefault(name, 0)
            why.append(f"nothing bounds blockIdx.{axis}: it takes any number of blocks")
            told = False
    found.grid = grid
    found.why["grid"] = "; ".join(why)
    return told


def dimensions(of: str, extents: list[Amount] | None) -> dict[str, Amount]:
    """What the names of threads or blocks along the axes stand for."""
    if extents is None:
        return {}
    one = amounts.number(1)
    whole = [*extents, one, one][:3]
    return {f"{of}__{axis}": each for axis, each in zip(AXES, whole, strict=True)}


def _rounded(end: Amount) -> Amount:
    """``n - 1``, to which a stencil runs, as ``n``."""
    constant = dict(end.terms).get((), 0)
    if constant < 0 and len(end.terms) > 1:
        return end - amounts.number(constant)
    return end


def _internal(amount: Amount) -> bool:
    return any(re.match("(loaded|grid|block)__", name) for name in amount.names)
