"""Copies of boxes by tensor maps (TMA): UTMALDG, UTMASTG, UTMAREDG.

Registers from that of the address in shared memory on hold: of a load the barrier, then for all
the coordinates, the fastest first. A copy is there at once, as those of ``operations/barriers``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from sassim.errors import SassimError
from sassim.faults import MisalignedError
from sassim.interpreter.clusters import OFFSET_MASK, RANK_SHIFT
from sassim.interpreter.context import BulkCopy, NotKnownError
from sassim.interpreter.lanes import LANES, distinct, first_of
from sassim.interpreter.number_formats import half_bits, of_bfloat, of_half, round_to_bfloat16
from sassim.interpreter.operand_access import operands_of_type, read_guard, read_u32
from sassim.interpreter.operations import operation
from sassim.interpreter.operations.address_spaces import (
    SHARED,
    at_first_lane,
    locate_shared,
    read_address,
    split_by_space,
)
from sassim.interpreter.operations.barriers import change, widen_address
from sassim.interpreter.operations.memory import all_lanes
from sassim.interpreter.tensor_maps import UNIT_BYTES, swizzle
from sassim.sass.operands import Address, Register

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.operand_access import Read
    from sassim.interpreter.operations import Step
    from sassim.interpreter.tensor_maps import EncodedTensorMap
    from sassim.sass.listing import Instruction

_ALIGNED_TO: Final = 128
"""Bytes that the address of a box in shared memory is a multiple of (PTX ISA)."""
_MASK_SHIFT: Final = 16
"""Where a register has the mask of the blocks of a cluster that a load writes to."""
_ALL_ONES: Final = 0xFF


class _Box(NamedTuple):
    """A copy of one warp."""

    warp: int
    map: EncodedTensorMap
    at: Array
    """Coordinates."""
    shared: int


class _Boxes(NamedTuple):
    """Copies of several warps by one tensor map."""

    map: EncodedTensorMap
    warps: Array
    at: Array
    """Coordinates, by warp and dimension."""
    shared: Array

    def each(self) -> Iterator[_Box]:
        """The copies one by one."""
        for warp, at, shared in zip(self.warps, self.at, self.shared, strict=True):
            yield _Box(int(warp), self.map, at, int(shared))


class _BoxOperands:
    """The operands of a copy by a tensor map."""

    def __init__(self, i: Instruction, *, coordinates: int) -> None:
        """``coordinates`` is the place of their registers behind that of the address."""
        dims = [each for each in i.modifiers if each in ("1D", "2D", "3D", "4D", "5D")]
        if not dims or i.has("IM2COL"):
            raise NotKnownError(i, "copies in im2col mode, which is not supported")
        shared, self._map = operands_of_type(i, Address, 2)
        if shared.uniform is None or shared.register is not None or shared.offset:
            raise NotKnownError(i)
        self._i = i
        self.guard = read_guard(i)
        self.first = shared.uniform.index
        self._address = read_address(i, widen_address(self._map), wide=True)
        self._shared = self.register(0)
        self._at = [self.register(coordinates + n) for n in range(int(dims[0][0]))]

    def register(self, place: int) -> Read:
        """A register behind that of the address in shared memory."""
        return read_u32(self._i, Register(self.first + place, uniform=True))

    def boxes(self, c: ExecutionContext, active: Array) -> Iterator[_Boxes]:
        """The copies of all warps with active threads."""
        every = np.flatnonzero(active.any(axis=1))
        if not len(every):
            return
        columns = [first_of(each(c), active) for each in (self._address, self._shared, *self._at)]
        places, shared, *at = (np.broadcast_to(each, (c.warps, 1))[every, 0] for each in columns)
        coordinates = np.stack([each.astype(np.int32) for each in at], axis=1).astype(np.int64)
        for place in distinct(places):
            tensor_map = c.blocks.launch.tensor_maps.get(int(place))
            if tensor_map is None:
                raise SassimError(
                    f"the instruction {self._i.text!r} uses a tensor map that is not a parameter",
                    hint="declare it as const __grid_constant__ CUtensorMap; maps in global "
                    "memory and in structures need a GPU",
                )
            if len(tensor_map.box) != len(at):
                raise SassimError(
                    f"the instruction {self._i.text!r} has {len(at)} coordinates, but its tensor "
                    f"map has {len(tensor_map.box)} dimensions",
                    hint="give the box and dims of the map the same number of dimensions",
                )
            mine = places == place
            yield _Boxes(tensor_map, every[mine], coordinates[mine], shared[mine].astype(np.int64))

    def report(self, c: ExecutionContext, kind: str, groups: list[_Boxes], times: Array) -> None:
        """Report what is copied, ``times`` by each warp."""
        segments = [each.map.segments(each.at) for each in groups]
        most = max(sizes.shape[1] for _, sizes in segments)
        addresses, sizes = (np.zeros((c.warps, most), np.int64) for _ in range(2))
        warps = np.zeros(c.warps, np.bool_)
        for group, (starts, lengths) in zip(groups, segments, strict=True):
            addresses[group.warps, : starts.shape[1]] = starts
            sizes[group.warps, : starts.shape[1]] = lengths
            warps[group.warps] = True
        c.observer.on_bulk_copy(BulkCopy(c, self._i, addresses, sizes, warps, kind, times))


@operation("UTMALDG", modifiers="1D 2D 3D 4D 5D MULTICAST IM2COL")
def _load_boxes(i: Instruction) -> Step:
    """``cp.async.bulk.tensor`` to shared memory, of several blocks of a cluster with MULTICAST."""
    operands = _BoxOperands(i, coordinates=2)
    barrier = operands.register(1)
    masks = [each for each in i.operands if isinstance(each, Register)]
    if len(masks) != i.has("MULTICAST"):
        raise NotKnownError(i)
    mask = read_u32(i, masks[0]) if masks else None

    def execute(c: ExecutionContext) -> None:
        active = all_lanes(c, c.active_mask(operands.guard(c)))
        boxes = list(operands.boxes(c, active))
        if not boxes:
            return
        targets = None if mask is None else first_of(mask(c), active) >> np.uint32(_MASK_SHIFT)
        counts = np.ones(c.warps, np.int64)
        if targets is not None:
            counts = counts * np.bitwise_count(targets)[:, 0]
        operands.report(c, "load", boxes, counts)
        if not c.is_value_unused(i):
            for box in (each for group in boxes for each in group.each()):
                _store_box(c, box, _read_box(c, box), targets)
        first = np.zeros_like(active)
        sizes = np.zeros((c.warps, 1), np.int64)
        for group in boxes:
            first[group.warps, active[group.warps].argmax(axis=1)] = True
            sizes[group.warps] = group.map.box_bytes
        arrive_at = first_of(barrier(c), active).astype(np.int64)
        less = c.broadcast(np.negative(sizes).view(np.uint64))
        for at, lanes in _for_each_target(c, arrive_at, first, targets):
            change(c, i, split_by_space(SHARED, c, at, lanes), less, 0)

    return execute


def _for_each_target(
    c: ExecutionContext, addresses: Array, lanes: Array, targets: Array | None
) -> Iterator[tuple[Array, Array]]:
    """Addresses in shared memory of each block that a load writes to, and the lanes that do."""
    if targets is None:
        yield addresses, lanes
        return
    for rank in range(c.blocks.clusters.size):
        mine = lanes & ((targets >> np.uint32(rank) & np.uint32(1)) != 0)
        if mine.any():
            yield addresses & OFFSET_MASK | rank << RANK_SHIFT, mine


@operation("UTMASTG", modifiers="1D 2D 3D 4D 5D")
def _store_boxes(i: Instruction) -> Step:
    """``cp.async.bulk.tensor`` to global memory; what is outside of the dimensions is left out."""
    return _copy_out(i, "store", lambda _, new, _type: new)


_REDUCTIONS: Final[dict[str, Callable[[Array, Array], Array]]] = {
    "ADD": np.add,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "AND": np.bitwise_and,
    "OR": np.bitwise_or,
    "XOR": np.bitwise_xor,
    "INC": lambda old, new: np.where(old >= new, np.zeros_like(old), old + np.ones_like(old)),
    "DEC": lambda old, new: np.where((old == 0) | (old > new), new, old - np.ones_like(old)),
}


@operation("UTMAREDG", modifiers="1D 2D 3D 4D 5D " + " ".join(_REDUCTIONS))
def _reduce_boxes(i: Instruction) -> Step:
    """``cp.reduce.async.bulk.tensor``: combine with what global memory holds."""
    (combine,) = (_REDUCTIONS[each] for each in i.modifiers if each in _REDUCTIONS)

    def how(old: Array, new: Array, type_name: str) -> Array:
        if type_name == "bfloat16":
            return round_to_bfloat16(combine(of_bfloat(old), of_bfloat(new))).astype(np.uint16)
        if type_name == "float16":
            return half_bits(combine(of_half(old), of_half(new))).astype(np.uint16)
        kind = np.dtype(type_name)
        return combine(old.view(kind), new.view(kind)).view(old.dtype)

    return _copy_out(i, "reduction", how)


def _copy_out(i: Instruction, kind: str, how: Callable[[Array, Array, str], Array]) -> Step:
    operands = _BoxOperands(i, coordinates=1)

    def execute(c: ExecutionContext) -> None:
        boxes = list(operands.boxes(c, all_lanes(c, c.active_mask(operands.guard(c)))))
        if not boxes:
            return
        operands.report(c, kind, boxes, np.ones(c.warps, np.int64))
        if c.is_value_unused(i):
            return
        for box in (each for group in boxes for each in group.each()):
            _write_box(c, box, how, reads=kind == "reduction")

    return execute


def _read_box(c: ExecutionContext, box: _Box) -> Array:
    """The bytes of a box of global memory, as they are without a swizzle."""
    unit, sources, valid = box.map.units(box.at)
    raw: Array = np.zeros(box.map.box_bytes, np.uint8)
    if valid.any():
        with at_first_lane(box.warp):
            got = c.blocks.memory.load(sources[None], valid[None], unit)
        of_units = np.ascontiguousarray(got[0]).view(np.uint8).reshape(-1, unit)
        raw.reshape(-1, unit)[valid] = of_units[valid]
    if box.map.fills_nan:
        outside = raw.reshape(-1, unit)[~valid].view(np.uint8)
        outside[:] = _ALL_ONES
        outside.reshape(-1, box.map.element_bytes)[:, -1] = _ALL_ONES >> 1
        raw.reshape(-1, unit)[~valid] = outside.reshape(-1, unit)
    return raw


def _store_box(c: ExecutionContext, box: _Box, raw: Array, targets: Array | None) -> None:
    """Write a box to shared memory, of the block or of those of a cluster."""
    values = raw.view(np.uint32).reshape(1, -1, UNIT_BYTES // 4)
    start = np.full((c.warps, 1), box.shared, np.int64)
    lanes = np.zeros((c.warps, LANES), np.bool_)
    lanes[box.warp, 0] = True
    for at, _ in _for_each_target(c, start, lanes, targets):
        places, owner = _locate_units(c, box, int(at[box.warp, 0]))
        with at_first_lane(box.warp):
            c.blocks.shared.store(places, owner, None, values, UNIT_BYTES)


def _locate_units(c: ExecutionContext, box: _Box, start: int) -> tuple[Array, Array]:
    """Where each 16 bytes of a box lie in shared memory, and in that of which block."""
    if start % _ALIGNED_TO:
        what = f"copies a box to {start & OFFSET_MASK:#x}, which is not a multiple of 128 bytes"
        lanes = np.array([[box.warp, 0]])
        raise MisalignedError(what, lanes, np.array([start]), space=SHARED, size=_ALIGNED_TO)
    every = np.full((c.warps, 1), start, np.int64)
    only = np.zeros((c.warps, 1), np.bool_)
    only[box.warp] = True
    at, owner = locate_shared(c, every, only)
    offsets = np.arange(0, box.map.box_bytes, UNIT_BYTES)
    owner = np.broadcast_to(owner, (c.warps, 1))[box.warp : box.warp + 1]
    return swizzle(at[box.warp, 0] + offsets, box.map.swizzle_bytes)[None], owner


def _write_box(
    c: ExecutionContext, box: _Box, how: Callable[[Array, Array, str], Array], *, reads: bool
) -> None:
    memory = c.blocks.memory
    places, owner = _locate_units(c, box, box.shared)
    with at_first_lane(box.warp):
        got = c.blocks.shared.load(places, owner, None, UNIT_BYTES)
    raw = np.ascontiguousarray(got).view(np.uint8).reshape(-1)
    unit, targets, valid = box.map.units(box.at)
    if not valid.any():
        return
    kind = np.dtype(f"uint{8 * min(box.map.element_bytes, 8)}")
    values = raw.view(kind)
    if reads:
        with at_first_lane(box.warp):
            old = memory.load(targets[None], valid[None], unit)
        values = how(np.ascontiguousarray(old).view(kind).reshape(-1), values, box.map.type)
    by_unit = np.dtype(f"uint{8 * min(unit, 4)}")
    shaped = (
        np.ascontiguousarray(values)
        .view(by_unit)
        .reshape((1, -1) if unit <= 4 else (1, len(targets), unit // 4))
    )
    with at_first_lane(box.warp):
        memory.store(targets[None], valid[None], shaped, unit)
