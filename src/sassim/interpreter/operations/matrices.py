"""Matrices of 8 by 8 numbers of 16 bits: LDSM, STSM and MOVM (``ldmatrix``, ``stmatrix``).

A row is 16 bytes, or 4 words; a lane is 4 times its row and its word in it (PTX ISA, "ldmatrix").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.interpreter.context import NotKnownError
from sassim.interpreter.lanes import LANE, LANES
from sassim.interpreter.operand_access import (
    operand_at,
    read_guard,
    read_u32,
    write_u32,
)
from sassim.interpreter.operations import operation
from sassim.interpreter.operations.address_spaces import decode_address, load, split_by_space, store
from sassim.interpreter.operations.memory import address_in, report_access
from sassim.sass.operands import Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.operations import Step
    from sassim.interpreter.operations.address_spaces import SpaceAccess
    from sassim.sass.listing import Instruction
    from sassim.sass.operands import Operand

_ROWS: Final = 8
_ROW_BYTES: Final = 16
_ROW_WORDS: Final = 4


def _decode_form(i: Instruction) -> tuple[int, bool]:
    """How many matrices, and whether each is transposed."""
    count_modifiers = [each for each in i.modifiers if each not in ("16", "M88", "MT88")]
    if (
        not i.has("16")
        or not i.has("M88", "MT88")
        or count_modifiers not in ([], ["1"], ["2"], ["4"])
    ):
        raise NotKnownError(i)
    return int(count_modifiers[0]) if count_modifiers else 1, i.has("MT88")


def _transpose(words: Array) -> Array:
    numbers = np.ascontiguousarray(words).view(np.uint16)
    return np.ascontiguousarray(numbers.transpose(0, 2, 1)).view(np.uint32)


def _read_rows(
    i: Instruction, operand: Operand, matrices: int
) -> Callable[[ExecutionContext, Array | None], list[SpaceAccess]]:
    """Where lanes that give the address of a row access it, which is reported; 8 a matrix do."""
    space, at = decode_address(i, operand)
    giving = _ROWS * matrices > LANE

    def access(c: ExecutionContext, active: Array | None) -> list[SpaceAccess]:
        lanes = c.active_lanes & (giving if active is None else giving & active)
        parts = split_by_space(space, c, at(c), lanes) if lanes.any() else []
        report_access(c, i, "matrix", parts, _ROW_BYTES)
        return parts

    return access


@operation("LDSM")
def _load_matrices(i: Instruction) -> Step:
    """8 lanes after each other give the addresses of the rows of a matrix."""
    matrices, transposed = _decode_form(i)
    _, operand = address_in(i)
    access, guard = _read_rows(i, operand, matrices), read_guard(i)
    results = [write_u32(i, 0, n) for n in range(matrices)]

    def execute(c: ExecutionContext) -> None:
        active = guard(c)
        parts = access(c, active)
        if not parts:
            return
        if c.is_value_unused(i):
            for result in results:
                result(c, np.zeros((1, 1), np.uint32), active)
            return
        rows = load(c, parts, _ROW_BYTES)
        for n, result in enumerate(results):
            matrix = rows[:, _ROWS * n : _ROWS * (n + 1)]
            matrix = _transpose(matrix) if transposed else np.ascontiguousarray(matrix)
            result(c, matrix.reshape(c.warps, LANES), active)

    return execute


@operation("STSM")
def _store_matrices(i: Instruction) -> Step:
    matrices, transposed = _decode_form(i)
    place, operand = address_in(i)
    source = operand_at(i, place + 1)
    if not isinstance(source, Register):
        raise NotKnownError(i)
    words = [read_u32(i, Register(source.index + n)) for n in range(matrices)]
    access, guard = _read_rows(i, operand, matrices), read_guard(i)

    def execute(c: ExecutionContext) -> None:
        parts = access(c, guard(c))
        if not parts or c.is_value_unused(i):
            return
        rows = np.zeros((c.warps, LANES, _ROW_WORDS), np.uint32)
        for n, word in enumerate(words):
            matrix = c.broadcast(word(c)).reshape(c.warps, _ROWS, _ROW_WORDS)
            rows[:, _ROWS * n : _ROWS * (n + 1)] = _transpose(matrix) if transposed else matrix
        store(c, parts, rows, _ROW_BYTES)

    return execute


@operation("MOVM")
def _move_matrix(i: Instruction) -> Step:
    if i.modifiers != ("16", "MT88"):
        raise NotKnownError(i)
    a, guard, result = read_u32(i, 1), read_guard(i), write_u32(i, 0)

    def execute(c: ExecutionContext) -> None:
        matrix = c.broadcast(a(c)).reshape(c.warps, _ROWS, _ROW_WORDS)
        result(c, _transpose(matrix).reshape(c.warps, LANES), guard(c))

    return execute
