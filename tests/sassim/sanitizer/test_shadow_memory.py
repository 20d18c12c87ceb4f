"""Which blocks are looked at, and what counts as a loop that waits for others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.sassim.listings import program
from tests.sassim.sanitizer.running import bound, kernel

from sassim.interpreter.context import ExecutionContext, Observer
from sassim.interpreter.state import ResidentBlocks
from sassim.sanitizer.shadow_memory import ShadowMemory, find_compared_loads, find_spins

if TYPE_CHECKING:
    from sassim.sass.program import Program


def alone(entry: str) -> Program:
    """A kernel of ``faults.cu`` without the others."""
    _, code = kernel("faults", entry)
    return replace(code, functions=code.functions[:1])


def test_edges_are_looked_at_and_as_much_inside_as_there_is_room_for() -> None:
    _, found = bound("races")
    wide = replace(found.launch, grid=(1000, 1, 1))
    sampled = set(ShadowMemory(wide).sampled.tolist())
    assert {0, 999} < sampled
    assert 8 < len(sampled) <= 16
    large = replace(wide, block=(1024, 1, 1), dynamic_shared_bytes=200 << 10)
    assert 1 <= len(ShadowMemory(large).sampled) <= 3
    assert ShadowMemory(replace(wide, grid=(5, 1, 1))).sampled.tolist() == [0, 1, 2, 3, 4]


def test_cells_are_as_long_as_the_shortest_access() -> None:
    _, found = bound("faults", "clean")
    for entry, grain in (("no_race", 1), ("half_unwritten", 2), ("read_after_write", 4)):
        assert ShadowMemory(replace(found.launch, program=alone(entry))).grain == grain


def test_a_read_that_is_repeated_until_it_changes_is_a_wait() -> None:
    code = alone("polls")
    (found,) = find_spins(code)
    (opcode,) = [i.opcode for f in code.functions for i in f.instructions if id(i) == found]
    assert opcode == "LDS"
    for entry in ("no_race", "copies", "atomic_and_read", "local_outside"):
        assert not find_spins(alone(entry))


def test_notes_of_warps_that_are_not_looked_at_are_none() -> None:
    _, found = bound("races")
    launch = replace(found.launch, grid=(1000, 1, 1))
    cells = ShadowMemory(launch)
    first = int(cells.sampled[1])
    blocks = ResidentBlocks(launch, range(first - 1, first + 2))
    cells.on_start(blocks)
    assert cells.chosen.tolist() == [1]
    slots, rows = cells.find_slots(
        ExecutionContext(blocks, Observer(), np.ones((24, 32), np.bool_))
    )
    assert slots.tolist() == list(range(8))
    assert isinstance(rows, np.ndarray)
    assert rows.tolist() == list(range(8, 16))
    address = np.array([[launch.reserved_shared + 4]])
    notes, lanes = cells.find_notes(slots, rows, address, None, 8)
    cell = (launch.reserved_shared + 4) // 4
    assert notes[3].tolist() == [[cell * 8 + 3, (cell + 1) * 8 + 3]]
    assert lanes.tolist() == [0, 0]
    taking = np.zeros((24, 32), np.bool_)
    taking[9, 5] = True
    notes, lanes = cells.find_notes(slots, rows, address, taking, 4)
    assert (notes.tolist(), lanes.tolist()) == ([cell * 8 + 1], [5])


ADDITION = (
    "LDS R12, [R28]",
    "FADD R13, R25, R12",
    "ATOMS.CAST.SPIN R13, [R28], R12, R13",
    "ISETP.EQ.U32.AND P0, PT, R13, 0x1, PT",
)


@pytest.mark.parametrize(
    ("lines", "addresses"),
    [
        (ADDITION, [0x00]),
        (("LDS R9, [R28]", "FADD R8, R9, R9", *ADDITION), [0x20]),
        (("LDS R12, [R28+0x4]", *ADDITION[1:]), []),
        (("LDS R11, [R28]", *ADDITION[1:]), []),
        (("LDG.E R12, desc[UR4][R28.64]", *ADDITION[1:]), []),
        ((*ADDITION[:2], "ATOMS.CAS R13, [R28], R12, R13"), []),
        ((*ADDITION[:2], "ATOMS.ADD R13, [R28], R12"), []),
    ],
)
def test_loads_that_a_compare_and_swap_compares(
    lines: tuple[str, ...], addresses: list[int]
) -> None:
    code = program(*lines)
    loads = find_compared_loads(code)
    instructions = code.functions[0].instructions
    assert [i.address for i in instructions if id(i) in loads] == addresses
