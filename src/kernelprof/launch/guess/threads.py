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
    axes = [axis for axis in AXES if axis in usage.axes]
    if axes[-1] != "x" and usage.axes_of_threads == {"x"}:
        axes = ["x"]  # blockIdx.y is a row, and no thread runs along it
    default = _BLOCKS[AXES.index(axes[-1]) + 1]
    bounds = (kernel.launch_bounds or "").split(",")[0].strip()
    most = known.get(bounds) or (int(bounds) if bounds.isdecimal() else None)
    threads, why = [], []
    for axis, usual in zip(AXES, default, strict=False):
        stride = usage.strides.get(axis, "")
        written = known.get(stride) or (int(stride) if stride.isdecimal() else None)
        if written is not None and written <= MAX_THREADS:
            threads.append(written)
            why.append(f"blockIdx.{axis} is multiplied by {stride}")
        elif stride.isidentifier() and TILE_NAME.search(stride) and stride not in known:
            found.defines[stride] = _TILE
            threads.append(_TILE)
        elif usage.shared_by_thread.get(axis):
            threads.append(usage.shared_by_thread[axis])
            why.append(f"threadIdx.{axis} runs through shared memory of that size")
        elif stride == f"blockDim.{axis}" or usage.uses_block_dim:
            threads.append(usual)
            why.append("the kernel takes any block")
        else:
            threads = []
            break
    if most is not None and (not threads or (len(threads) == 1 and usage.uses_block_dim)):
        threads = [min(most, 256) if usage.uses_block_dim and threads else most]
        why = ["__launch_bounds__"]
    if threads and math.prod(threads) <= MAX_THREADS:
        names = [usage.strides.get(axis, "") for axis in AXES]
        found.block = [
            amounts.size(name) if name in found.defines else amounts.number(each)
            for name, each in zip(names, threads, strict=False)
        ]
        found.why["block"] = "; ".join(dict.fromkeys(why))


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
            by_thread = stride == f"blockDim.{axis}" or stride.isdecimal()
            threads = found.block["xyz".index(axis)] if by_thread else _ONE
            grid.append(amounts.ceil_div(amounts.size(name), threads))
            whose = "block" if threads == _ONE else "thread"
            why.append(f"nothing else is done with {name}: a {whose} for each")
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
