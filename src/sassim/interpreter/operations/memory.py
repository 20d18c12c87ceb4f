"""Loads and stores: global, shared, local, generic, and copies from global to shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sassim.interpreter.context import Access, NotKnownError
from sassim.interpreter.lanes import LANES
from sassim.interpreter.operand_access import (
    operand_at,
    operands_of_type,
    read_guard,
    read_predicate,
    read_u32,
    write_predicate,
    write_u32,
)
from sassim.interpreter.operations import operation
from sassim.interpreter.operations.address_spaces import (
    CLUSTER,
    GLOBAL,
    LOCAL,
    SHARED,
    SPACES,
    decode_address,
    forget,
    load,
    read_address,
    split_by_space,
    store,
)
from sassim.sass.operands import ZERO, Address, Predicate, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.operand_access import Write
    from sassim.interpreter.operations import Step
    from sassim.interpreter.operations.address_spaces import SpaceAccess
    from sassim.sass.listing import Instruction
    from sassim.sass.operands import Operand


def all_lanes(c: ExecutionContext, active_mask: Array | None) -> Array:
    """A mask of the lanes that take part."""
    return np.ones((c.warps, LANES), np.bool_) if active_mask is None else active_mask


def count_words(size: int) -> int:
    """Registers that an access of so many bytes needs."""
    return max(1, size // 4)


def report_access(
    c: ExecutionContext, i: Instruction, kind: str, parts: list[SpaceAccess], size: int
) -> None:
    """Report an access, once for each kind of memory that it reaches."""
    for part in parts:
        c.observer.on_access(Access(c, i, part.space, kind, part.addresses, part.active, size))


def address_in(i: Instruction) -> tuple[int, Operand]:
    """The operand that is an address, and its place."""
    for place, each in enumerate(i.operands):
        if isinstance(each, Address):
            return place, each
    raise NotKnownError(i)


@operation("LDG", "LDS", "LDL", "LD")
def _load(i: Instruction) -> Step:
    place, operand = address_in(i)
    space, at = decode_address(i, operand)
    targets = [each for each in i.operands[:place] if isinstance(each, Register)]
    if not targets or any(isinstance(each, Predicate) for each in i.operands):
        raise NotKnownError(i)
    size, guard = i.width // 8, read_guard(i)
    results = _write_registers(i, targets, size)
    is_signed = i.has("S8", "S16")

    def execute(c: ExecutionContext) -> None:
        active = guard(c)
        active_mask = c.active_mask(active)
        if active_mask is not None and not active_mask.any():
            return
        parts = split_by_space(space, c, at(c), active_mask)
        report_access(c, i, "load", parts, size)
        if c.is_value_unused(i):
            for result in results:
                result(c, np.zeros((1, 1), np.uint32), active)
            return
        got = load(c, parts, size)
        for word, result in enumerate(results):
            result(c, _extract_word(got, word, size, is_signed=is_signed), active)

    return execute


def _write_registers(i: Instruction, targets: list[Register], size: int) -> list[Write]:
    """The registers that an access fills: in a row; of 256 bits the second half is named first."""
    words = max(1, count_words(size) // len(targets))
    return [write_u32(i, each, word) for each in reversed(targets) for word in range(words)]


def _extract_word(got: Array, word: int, size: int, *, is_signed: bool) -> Array:
    if size == 4:
        return got
    if size > 4:
        return np.ascontiguousarray(got[..., word])
    if is_signed:
        return got.view(np.dtype(f"int{8 * size}")).astype(np.int32).view(np.uint32)
    return got.astype(np.uint32)


@operation("STG", "STS", "STL", "ST")
def _store(i: Instruction) -> Step:
    place, operand = address_in(i)
    space, at = decode_address(i, operand)
    size, guard = i.width // 8, read_guard(i)
    read = read_values(i, operand_at(i, place + 1), size, *i.operands[place + 2 :])

    def execute(c: ExecutionContext) -> None:
        active_mask = c.active_mask(guard(c))
        if active_mask is not None and not active_mask.any():
            return
        parts = split_by_space(space, c, at(c), active_mask)
        report_access(c, i, "store", parts, size)
        if c.is_value_unused(i):
            forget(c, i, parts, size)
        else:
            store(c, parts, read(c), size)

    return execute


def read_values(
    i: Instruction, source: Operand, size: int, *more: Operand
) -> Callable[[ExecutionContext], Array]:
    """What is stored, as warps by 32, with words in a last dimension where there are more."""
    sources = [each for each in (source, *more) if isinstance(each, Register)]
    if not isinstance(source, Register) or len(sources) != 1 + len(more):
        raise NotKnownError(i)
    count_of_each = count_words(size) // len(sources)
    words = [
        read_u32(i, each if each.index == ZERO else Register(each.index + n, each.uniform))
        for each in sources
        for n in range(max(1, count_of_each))
    ]

    def read(c: ExecutionContext) -> Array:
        if size > 4:
            return np.stack([c.broadcast(word(c)) for word in words], axis=-1)
        values = c.broadcast(words[0](c))
        return values if size == 4 else values.astype(np.dtype(f"uint{8 * size}"))

    return read


@operation("LDGSTS")
def _copy(i: Instruction) -> Step:
    """``cp.async``: from global to shared memory, past the registers. Here it is there at once.

    Where the predicate behind the addresses is false nothing is read and zeros are stored. With
    ``.ZFILL`` the lowest bits of the source say how many bytes at the end are zeros.
    """
    to, source = operands_of_type(i, Address, 2)
    wanted = [read_predicate(i, each) for each in i.operands if isinstance(each, Predicate)]
    target, at = read_address(i, to, wide=False), read_address(i, source, wide=True)
    size, guard = i.width // 8, read_guard(i)
    fills = i.has("ZFILL")

    def execute(c: ExecutionContext) -> None:
        active_mask = c.active_mask(guard(c))
        if active_mask is not None and not active_mask.any():
            return
        reading = active_mask
        for each in wanted:
            reading = all_lanes(c, active_mask) & each(c)
        places = at(c)
        sources = split_by_space(GLOBAL, c, places & -size if fills else places, reading)
        targets = split_by_space(SHARED, c, target(c), active_mask)
        if reading is None or reading.any():
            report_access(c, i, "copy", sources, size)
        report_access(c, i, "copy", targets, size)
        if c.is_value_unused(i):
            forget(c, i, targets, size)
            return
        got = load(c, sources, size)
        got = np.broadcast_to(got, (c.warps, LANES, *got.shape[2:]))
        if reading is not None and reading is not active_mask:
            keeps = reading if got.ndim == 2 else reading[..., None]
            got = np.where(keeps, got, np.zeros((), got.dtype))
        if fills:
            got = _zero_tail(got, size - (c.broadcast(places) & (size - 1)), size)
        store(c, targets, got, size)

    return execute


def _zero_tail(got: Array, valid_bytes: Array, size: int) -> Array:
    """Values of which so many bytes are kept; the rest is zeros."""
    raw = np.ascontiguousarray(got).view(np.uint8).reshape(*valid_bytes.shape, size)
    cut = np.where(np.arange(size) < valid_bytes[..., None], raw, np.uint8(0))
    return cut.view(got.dtype).reshape(got.shape)


@operation("QSPC")
def _ask_space(i: Instruction) -> Step:
    """Whether a generic address is one of global, shared or local memory, or of a cluster's."""
    flag, guard = write_predicate(i, 0), read_guard(i)
    _, operand = address_in(i)
    at = read_address(i, operand, wide=True)
    spaces_by_modifier = {"G": (GLOBAL,), "S": (SHARED,), "D": (SHARED, CLUSTER), "L": (LOCAL,)}
    wanted = next((spaces for name, spaces in spaces_by_modifier.items() if i.has(name)), None)
    if wanted is None:
        raise NotKnownError(i)

    def execute(c: ExecutionContext) -> None:
        inside = np.zeros((c.warps, LANES), np.bool_)
        for part in split_by_space(SPACES["LD"], c, at(c), None):
            if part.space in wanted:
                inside |= all_lanes(c, part.active)
        flag(c, inside, guard(c))

    return execute
