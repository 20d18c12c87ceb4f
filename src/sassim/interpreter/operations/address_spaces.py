"""Where an access goes: global, shared or local memory, or whichever a generic address says."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from sassim.faults import AccessError
from sassim.interpreter.clusters import OFFSET_MASK, RANK_SHIFT
from sassim.interpreter.context import NotKnownError, SharedStore
from sassim.interpreter.lanes import LANES
from sassim.interpreter.launch import LOCAL_WINDOW, SHARED_WINDOW
from sassim.interpreter.operand_access import pair, read_u32
from sassim.opcodes import OPCODES
from sassim.sass.operands import ZERO, Address, Register

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.sass.listing import Instruction
    from sassim.sass.operands import Operand

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
    row.name: row.space for row in OPCODES.values() if row.space not in ("", "constant")
}
"""Where each opcode accesses memory."""


class SpaceAccess(NamedTuple):
    """Lanes that access one kind of memory."""

    space: str
    addresses: Array
    """In that memory, as 64-bit numbers."""
    active: Array | None
    """The active mask, of shape (warps, lanes); ``None``: all lanes."""


@contextmanager
def at_first_lane(warp: int) -> Iterator[None]:
    """Have what is wrong with a copy or product of a whole warp be its first thread's."""
    try:
        yield
    except AccessError as error:
        error.lanes = np.array([[warp, 0]])
        raise


def split_by_space(
    space: str, c: ExecutionContext, addresses: Array, active_mask: Array | None
) -> list[SpaceAccess]:
    """What an access by an opcode for ``space`` accesses, by kind of memory."""
    if space == SHARED and c.blocks.clusters.size > 1:
        return _split_cluster(c, addresses, active_mask)
    if space != GENERIC:
        return [SpaceAccess(space, addresses, active_mask)]
    window = addresses >> _WINDOW_BITS
    shared, local = window == _SHARED, window == _LOCAL
    if not (shared.any() or local.any()):
        return [SpaceAccess(GLOBAL, addresses, active_mask)]
    here = c.broadcast(np.ones((1, 1), np.bool_)) if active_mask is None else active_mask
    offset = addresses & _OFFSET
    parts = []
    if (lanes := here & shared).any():
        parts += split_by_space(SHARED, c, offset, lanes)
    if (lanes := here & local).any():
        parts.append(SpaceAccess(LOCAL, offset, lanes))
    if (lanes := here & ~shared & ~local).any():
        parts.append(SpaceAccess(GLOBAL, addresses, lanes))
    return parts


def _split_cluster(
    c: ExecutionContext, addresses: Array, active_mask: Array | None
) -> list[SpaceAccess]:
    """Shared memory of a cluster: of the block itself, and of others."""
    own = c.blocks.clusters.rank[block_rows(c)] == addresses >> RANK_SHIFT
    if own.all():
        return [SpaceAccess(SHARED, addresses, active_mask)]
    here = c.broadcast(np.ones((1, 1), np.bool_)) if active_mask is None else active_mask
    both = [
        SpaceAccess(SHARED, addresses, here & own),
        SpaceAccess(CLUSTER, addresses, here & ~own),
    ]
    return [part for part in both if part.active is not None and part.active.any()]


def block_rows(c: ExecutionContext) -> Array:
    """The block of each warp among those that run, as one column."""
    return c.select_warps(c.blocks.block_row)


def load(c: ExecutionContext, parts: list[SpaceAccess], size: int) -> Array:
    """The values, as :meth:`sassim.interpreter.memory.GlobalMemory.load` gives them."""
    if len(parts) == 1:
        return _load(c, parts[0], size)
    shape = (c.warps, LANES)
    result: Array | None = None
    for part in parts:
        got = _load(c, part, size)
        if result is None:
            result = np.zeros(shape if size <= 4 else (*shape, size // 4), got.dtype)
        result[part.active] = got[part.active]
    return np.zeros(shape, np.uint32) if result is None else result


def _load(c: ExecutionContext, part: SpaceAccess, size: int) -> Array:
    at = part.addresses
    if part.active is not None:
        at = np.broadcast_to(at, part.active.shape)
    if part.space == GLOBAL:
        return c.blocks.memory.load(at, part.active, size)
    if part.space == LOCAL:
        return c.blocks.local.load(at, c.select_warps(c.blocks.thread_row), part.active, size)
    at, owner = locate_shared(c, at, part.active)
    return c.blocks.shared.load(at, owner, part.active, size)


def store(c: ExecutionContext, parts: list[SpaceAccess], values: Array, size: int) -> None:
    """Write ``values``, which are of all lanes."""
    for part in parts:
        at = c.broadcast(part.addresses)
        if part.space == GLOBAL:
            c.blocks.memory.store(at, part.active, values, size)
        elif part.space == LOCAL:
            c.blocks.local.store(at, c.select_warps(c.blocks.thread_row), part.active, values, size)
        else:
            at, owner = locate_shared(c, at, part.active)
            c.blocks.shared.store(at, owner, part.active, values, size)
            if part.space == SHARED:
                c.observer.on_shared_store(SharedStore(c, at, values, part.active, size))


def forget(c: ExecutionContext, i: Instruction, parts: list[SpaceAccess], size: int) -> None:
    """Note that an instruction was to store something there, and did not."""
    for part in parts:
        if part.space not in c.blocks.assumes:
            continue
        at = c.broadcast(part.addresses)
        if part.space == GLOBAL:
            c.blocks.memory.forget(at, part.active, size, id(i))
        elif part.space == LOCAL:
            c.blocks.local.forget(at, c.select_warps(c.blocks.thread_row), part.active, size)
        else:
            at, owner = locate_shared(c, at, part.active)
            c.blocks.shared.forget(at, owner, part.active, size)


def locate_shared(
    c: ExecutionContext, addresses: Array, active_mask: Array | None
) -> tuple[Array, Array]:
    """Offsets in shared memory, and whose: the block's own, or another's of its cluster."""
    own = block_rows(c)
    if c.blocks.clusters.size == 1:
        return addresses, own
    return addresses & OFFSET_MASK, c.blocks.clusters.owner(addresses, own, active_mask)


def read_address(
    i: Instruction, operand: Operand, *, wide: bool
) -> Callable[[ExecutionContext], Array]:
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
    terms: list[Callable[[ExecutionContext], Array]] = []
    for register in (operand.register, operand.uniform):
        if register is None or register.index == ZERO:
            continue
        parts = register.part.split(".")
        if (wide and ("64" in parts or (not marked and i.has("E")))) or (
            wide and marked and register is operand.uniform and operand.register is not None
        ):
            terms.append(_read_pair(register))
        else:
            read = read_u32(i, Register(register.index, register.uniform))
            scale = operand.scale if register is operand.register else 1
            terms.append(_read_scaled(read, scale, is_signed=wide and "U32" not in parts))

    def execute(c: ExecutionContext) -> Array:
        total: Array = np.full((1, 1), offset, np.int64)
        for n, term in enumerate(terms):
            total = term(c) + offset if n == 0 else total + term(c)
        return total if wide else total & 0xFFFFFFFF

    return execute


def _read_pair(register: Register) -> Callable[[ExecutionContext], Array]:
    index = register.index
    if register.uniform:
        return lambda c: pair(c.u[index], c.u[index + 1]).view(np.int64)
    return lambda c: pair(c.r[index], c.r[index + 1]).view(np.int64)


def _read_scaled(
    read: Callable[[ExecutionContext], Array], scale: int, *, is_signed: bool
) -> Callable[[ExecutionContext], Array]:
    if is_signed:
        return lambda c: read(c).view(np.int32).astype(np.int64) * scale
    return lambda c: read(c).astype(np.int64) * scale


def decode_address(
    i: Instruction, operand: Operand
) -> tuple[str, Callable[[ExecutionContext], Array]]:
    """The kind of memory that an opcode accesses, and the addresses."""
    space = SPACES[i.opcode]
    return space, read_address(i, operand, wide=space in (GLOBAL, GENERIC))
