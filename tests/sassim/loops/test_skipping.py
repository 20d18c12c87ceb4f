"""Turns of loops that are left out: the counts are those of all turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.sassim.listings import LOOP, program

from sassim.counters.counters import BlockCounters
from sassim.interpreter.interpreter import Interpreter
from sassim.interpreter.launch import KernelLaunch
from sassim.interpreter.memory import GlobalMemory
from sassim.loops import recording
from sassim.loops.backward_slice import slice_program
from sassim.loops.skipping import LoopInterpreter

if TYPE_CHECKING:
    from sassim.sass.program import Program

BLOCKS = 3
THREADS = 128


@dataclass(frozen=True)
class Counts:
    """What a tally counted, by instruction."""

    runs: dict[int, tuple[list[int], list[int]]]
    accesses: dict[tuple[int, str], dict[str, list[int]]]
    guarded: dict[int, list[int]]
    branches: dict[int, list[list[int]]]


def counts(block_counters: BlockCounters) -> Counts:
    return Counts(
        {at: (run.warps.tolist(), run.threads.tolist()) for at, run in block_counters.runs.items()},
        {
            key: {name: each.tolist() for name, each in found.counts.items()}
            for key, found in block_counters.accesses.items()
        },
        {at: each.tolist() for at, each in block_counters.guarded.items()},
        {at: [each.tolist() for each in pair] for at, pair in block_counters.branches.items()},
    )


def launch(code: Program, *, base: int | None = None) -> KernelLaunch:
    """A launch with one large array, whose address is the first parameter."""
    memory = GlobalMemory()
    array = memory.allocate("a", 1 << 30, lambda: np.zeros(0, np.uint8))
    bank = bytearray(0x260)
    bank[0x210:0x218] = (array.base if base is None else base).to_bytes(8, "little")
    return KernelLaunch(code, (BLOCKS, 1, 1), (THREADS, 1, 1), 0x4000, memory, {0: bytes(bank)})


def both(code: Program) -> tuple[Counts, Counts, int]:
    """What all turns count, what the machine with loops counts, and how many it left out."""
    every, some = BlockCounters(), BlockCounters()
    wanted = slice_program(code)
    Interpreter(launch(code), range(BLOCKS), every, wanted).run()
    machine = LoopInterpreter(launch(code), range(BLOCKS), some, wanted)
    machine.run()
    return counts(every), counts(some), machine.skipped


START = (
    "S2R R0, SR_TID.X",
    "S2R R1, SR_CTAID.X",
    "LDC.64 R2, c[0x0][0x210]",
    "IMAD R0, R1, 0x80, R0",
    "IMAD.WIDE R2, R0, 0x4, R2",
    "MOV R6, RZ",
)
STEP = ("IADD3 R2, P1, R2, 0x204, RZ", "IADD3.X R3, RZ, R3, RZ, P1, !PT", "IADD3 R6, R6, 0x1, RZ")
BACK = ("@P0 BRA `(.L_x_1)", "EXIT")

LONG = (
    *START,
    ".L_x_1:",
    "LDG.E R4, desc[UR4][R2.64]",
    *STEP,
    "ISETP.LT.AND P0, PT, R6, 0x1f3, PT",
    *BACK,
)
TO_EQUAL = tuple(line.replace("LT.AND", "NE.AND") for line in LONG)
DOWN = (
    *START,
    "MOV R6, 0x1f3",
    ".L_x_1:",
    "STG.E desc[UR4][R2.64], R4",
    "IADD3 R2, P1, R2, 0x10, RZ",
    "IADD3.X R3, RZ, R3, RZ, P1, !PT",
    "IADD3 R6, R6, -0x4, RZ",
    "ISETP.GT.AND P0, PT, R6, -0xf, PT",
    *BACK,
)
GUARDED = (
    *START,
    ".L_x_1:",
    "ISETP.GE.AND P2, PT, R6, 0x55, PT",
    "@P2 LDG.E R4, desc[UR4][R2.64]",
    *STEP,
    "ISETP.LT.AND P0, PT, R6, 0x1f3, PT",
    *BACK,
)
BY_THREAD = (
    *START,
    "IADD3 R7, R0, 0xc8, RZ",
    ".L_x_1:",
    "LDG.E R4, desc[UR4][R2.64]",
    *STEP,
    "ISETP.LT.AND P0, PT, R6, R7, PT",
    *BACK,
)
RING = (
    *START,
    "MOV R8, RZ",
    "S2R R9, SR_TID.X",
    ".L_x_1:",
    "IADD3 R8, R8, 0x1, RZ",
    "ISETP.NE.AND P2, PT, R8, 0x3, PT",
    "SEL R8, R8, RZ, P2",
    "IMAD R10, R8, 0x408, RZ",
    "IMAD R10, R9, 0x8, R10",
    "STS [R10], R4",
    "BAR.SYNC.DEFER_BLOCKING 0x0",
    "LDS.64 R4, [R10]",
    *STEP,
    "ISETP.LT.AND P0, PT, R6, 0x1f3, PT",
    *BACK,
)
MASKED = (
    *START,
    "MOV R9, RZ",
    ".L_x_1:",
    "SHF.R.U32.HI R8, RZ, 0x4, R6",
    "LOP3.LUT R8, R8, 0x7, RZ, 0xc0, !PT",
    "IMAD R8, R8, 0x84, RZ",
    "LDS R4, [R8]",
    *STEP,
    "ISETP.LT.AND P0, PT, R6, 0x1f3, PT",
    *BACK,
)
SIGN = (
    *START,
    "LDC.64 R10, c[0x0][0x210]",
    "MOV R6, -0x64",
    ".L_x_1:",
    "SHF.R.S32.HI R7, RZ, 0x1f, R6",
    "IADD3 R8, R7, 0x1, RZ",
    "IMAD.WIDE R12, R8, 0x4, R10",
    "LDG.E R4, desc[UR4][R12.64]",
    *STEP,
    "ISETP.LT.AND P0, PT, R6, 0x1f3, PT",
    *BACK,
)
MASKED_RING = (
    *START,
    ".L_x_1:",
    "LOP3.LUT R8, R6, 0x3, RZ, 0xc0, !PT",
    "IMAD R8, R8, 0x84, RZ",
    "LDS R4, [R8]",
    *STEP,
    "ISETP.LT.AND P0, PT, R6, 0x1f3, PT",
    *BACK,
)
HALVES = (
    *START,
    ".L_x_1:",
    "SHF.R.U32.HI R8, RZ, 0x1, R6",
    "IMAD R8, R8, 0x4, RZ",
    "LDS R4, [R8]",
    *STEP,
    "ISETP.LT.AND P0, PT, R6, 0x1f3, PT",
    *BACK,
)
LEAST = (
    *START,
    ".L_x_1:",
    "VIMNMX R7, R6, 0x40, PT",
    "VIMNMX R7, R7, 0x20, !PT",
    "IMAD R7, R7, 0x4, RZ",
    "LDS R4, [R7]",
    *STEP,
    "ISETP.LT.AND P0, PT, R6, 0x1f3, PT",
    *BACK,
)


@pytest.mark.parametrize(
    ("lines", "at_least"),
    [
        (LONG, 400),
        (TO_EQUAL, 400),
        (DOWN, 80),
        (GUARDED, 300),
        (RING, 150),
        (SIGN, 400),
        (MASKED_RING, 100),
        (HALVES, 150),
    ],
    ids=["long", "to equal", "down", "guarded", "ring", "sign", "masked ring", "halves"],
)
def test_most_turns_are_left_out_and_count(lines: tuple[str, ...], at_least: int) -> None:
    every, some, left_out = both(program(*lines))
    assert some == every
    assert left_out >= at_least


@pytest.mark.parametrize(
    "lines", [LOOP, BY_THREAD, MASKED, LEAST], ids=["short", "by thread", "masked", "least"]
)
def test_what_is_not_even_counts_the_same(lines: tuple[str, ...]) -> None:
    every, some, _ = both(program(*lines))
    assert some == every


@pytest.mark.parametrize("lines", [MASKED, LEAST], ids=["masked", "least"])
def test_turns_that_may_go_on_differently_are_all_carried_out(lines: tuple[str, ...]) -> None:
    assert both(program(*lines))[2] == 0


def test_without_room_for_addresses_all_turns_are_carried_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recording, "_MOST_BYTES", 0)
    every, some, left_out = both(program(*LONG))
    assert some == every
    assert left_out == 0
