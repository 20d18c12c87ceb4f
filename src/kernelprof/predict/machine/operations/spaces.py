"""Where an access goes: global, shared or local memory, or whichever a generic address says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kernelprof.predict.machine.arrays import LANES
from kernelprof.predict.machine.clusters import OFFSET_MASK, RANK_SHIFT
from kernelprof.predict.machine.context import NotKnownError
from kernelprof.predict.machine.launch import LOCAL_WINDOW, SHARED_WINDOW
from kernelprof.predict.machine.values import pair, whole
from kernelprof.sass.operands import ZERO, Address, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.sass.operands import Operand

_WINDOW_BITS: Final = 32
_SHARED: Final = SHARED_WINDOW >> _WINDOW_BITS
_LOCAL: Final = LOCAL_WINDOW >> _WINDOW_BITS
_OFFSET: Final = (1 << _WINDOW_BITS) - 1

GLOBAL: Final = "global"
SHARED: Final = "shared"
CLUSTER: Final = "cluster"
"""Shared memory of another block of the cluster."""
LOCAL: Final = "local"
GENERIC: Final = "generic"

SPACES: Final = {
    "LDG": GLOBAL, "STG": GLOBAL, "ATOMG": GLOBAL, "REDG": GLOBAL,
    "LDS": SHARED, "STS": SHARED, "ATOMS": SHARED, "LDSM": SHARED, "STSM": SHARED,
    "LDL": LOCAL, "STL": LOCAL,
    "LD": GENERIC, "ST": GENERIC, "ATOM": GENERIC, "RED": GENERIC,
}  # fmt: skip
"""Where each opcode accesses memory."""


class Part(NamedTuple):
    """Lanes that access one kind of memory."""

    space: str
    addresses: Array
    """In that memory, as 64-bit numbers."""
    taking: Array | None
    """The lanes, as warps by 32; ``None``: all."""


def parts_of(space: str, c: Context, addresses: Array, taking: Array | None) -> list[Part]:
    """What an access by an opcode for ``space`` accesses, by kind of memory."""
    if space == SHARED and c.blocks.clusters.size > 1:
        return _by_block(c, addresses, taking)
    if space != GENERIC:
        return [Part(space, addresses, taking)]
    window = addresses >> _WINDOW_BITS
    shared, local = window == _SHARED, window == _LOCAL
    if not (shared.any() or local.any()):
        return [Part(GLOBAL, addresses, taking)]
    here = c.every(np.ones((1, 1), np.bool_)) if taking is None else taking
    offset = addresses & _OFFSET
    found = []
    if (lanes := here & shared).any():
        found += parts_of(SHARED, c, offset, lanes)
    if (lanes := here & local).any():
        found.append(Part(LOCAL, offset, lanes))
    if (lanes := here & ~shared & ~local).any():
        found.append(Part(GLOBAL, addresses, lanes))
    return found


def _by_block(c: Context, addresses: Array, taking: Array | None) -> list[Part]:
    """Shared memory of a cluster: of the block itself, and of others."""
    own = c.blocks.clusters.rank[block_of(c)] == addresses >> RANK_SHIFT
    if own.all():
        return [Part(SHARED, addresses, taking)]
    here = c.every(np.ones((1, 1), np.bool_)) if taking is None else taking
    both = [Part(SHARED, addresses, here & own), Part(CLUSTER, addresses, here & ~own)]
    return [part for part in both if part.taking is not None and part.taking.any()]


def block_of(c: Context) -> Array:
    """The block of each warp among those that run, as one column."""
    return c.of_warps(c.blocks.block_row)


def load(c: Context, parts: list[Part], size: int) -> Array:
    """The values, as :meth:`kernelprof.predict.machine.memory.GlobalMemory.load` gives them."""
    if len(parts) == 1:
        return _load(c, parts[0], size)
    shape = (c.warps, LANES)
    result: Array | None = None
    for part in parts:
        got = _load(c, part, size)
        if result is None:
            result = np.zeros(shape if size <= 4 else (*shape, size // 4), got.dtype)
        result[part.taking] = got[part.taking]
    return np.zeros(shape, np.uint32) if result is None else result


def _load(c: Context, part: Part, size: int) -> Array:
    at = part.addresses
    if part.taking is not None:
        at = np.broadcast_to(at, part.taking.shape)
    if part.space == GLOBAL:
        return c.blocks.memory.load(at, part.taking, size)
    if part.space == LOCAL:
        return c.blocks.local.load(at, c.of_warps(c.blocks.thread_row), part.taking, size)
    at, piece = placed(c, at, part.taking)
    return c.blocks.shared.load(at, piece, part.taking, size)


def store(c: Context, parts: list[Part], values: Array, size: int) -> None:
    """Write ``values``, which are of all lanes."""
    for part in parts:
        at = c.every(part.addresses)
        if part.space == GLOBAL:
            c.blocks.memory.store(at, part.taking, values, size)
        elif part.space == LOCAL:
            c.blocks.local.store(at, c.of_warps(c.blocks.thread_row), part.taking, values, size)
        else:
            at, piece = placed(c, at, part.taking)
            c.blocks.shared.store(at, piece, part.taking, values, size)
            if part.space == SHARED:
                c.counters.stored(c, at, values, taking=part.taking, size=size)


def forget(c: Context, i: Instruction, parts: list[Part], size: int) -> None:
    """Note that an instruction was to store something there, and did not."""
    for part in parts:
        if part.space not in c.blocks.assumes:
            continue
        at = c.every(part.addresses)
        if part.space == GLOBAL:
            c.blocks.memory.forget(at, part.taking, size, id(i))
        elif part.space == LOCAL:
            c.blocks.local.forget(at, c.of_warps(c.blocks.thread_row), part.taking, size)
        else:
            at, piece = placed(c, at, part.taking)
            c.blocks.shared.forget(at, piece, part.taking, size)


def placed(c: Context, addresses: Array, taking: Array | None) -> tuple[Array, Array]:
    """Offsets in shared memory, and whose: the block's own, or another's of its cluster."""
    own = block_of(c)
    if c.blocks.clusters.size == 1:
        return addresses, own
    return addresses & OFFSET_MASK, c.blocks.clusters.owner(addresses, own, taking)


def address_of(i: Instruction, operand: Operand, *, wide: bool) -> Callable[[Context], Array]:
    """The addresses that lanes access, as 64-bit numbers; ``wide``: where they have 64 bits.

    Registers of 64-bit addresses say so (``R2.64``); before compute capability 8.0 it is the
    instruction that does (``.E``).
    """
    if not isinstance(operand, Address):
        raise NotKnownError(i)
    offset = operand.offset
    marked = any(
        part in ("64", "U32")
        for each in (operand.register, operand.uniform)
        if each is not None
        for part in each.part.split(".")
    )
    terms: list[Callable[[Context], Array]] = []
    for register in (operand.register, operand.uniform):
        if register is None or register.index == ZERO:
            continue
        parts = register.part.split(".")
        if (wide and ("64" in parts or (not marked and i.has("E")))) or (
            wide and marked and register is operand.uniform and operand.register is not None
        ):
            terms.append(_pair_of(register))
        else:
            read = whole(Register(register.index, register.uniform))
            scale = operand.scale if register is operand.register else 1
            terms.append(_narrow(read, scale, is_signed=wide and "U32" not in parts))

    def work(c: Context) -> Array:
        total: Array = np.full((1, 1), offset, np.int64)
        for n, term in enumerate(terms):
            total = term(c) + offset if n == 0 else total + term(c)
        return total if wide else total & 0xFFFFFFFF

    return work


def _pair_of(register: Register) -> Callable[[Context], Array]:
    index = register.index
    if register.uniform:
        return lambda c: pair(c.u[index], c.u[index + 1]).view(np.int64)
    return lambda c: pair(c.r[index], c.r[index + 1]).view(np.int64)


def _narrow(
    read: Callable[[Context], Array], scale: int, *, is_signed: bool
) -> Callable[[Context], Array]:
    if is_signed:
        return lambda c: read(c).view(np.int32).astype(np.int64) * scale
    return lambda c: read(c).astype(np.int64) * scale


def where(i: Instruction, operand: Operand) -> tuple[str, Callable[[Context], Array]]:
    """The kind of memory that an opcode accesses, and the addresses."""
    space = SPACES[i.opcode]
    return space, address_of(i, operand, wide=space in (GLOBAL, GENERIC))
