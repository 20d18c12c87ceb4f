"""Threads that compare and swap at the same addresses: one after the other, by their numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sassim.listings import program

from sassim.interpreter.interpreter import Interpreter
from sassim.interpreter.launch import KernelLaunch
from sassim.interpreter.memory import GlobalMemory
from sassim.sanitizer.watchdog import Watchdog

THREADS = 64
CELLS = 8
SWAPS = program(
    "S2R R0, SR_TID.X",
    "LDC.64 R2, c[0x0][0x210]",
    "IMAD.WIDE R4, R0, 0x4, R2",
    "LDG.E R6, desc[UR4][R4.64]",
    "LDG.E R7, desc[UR4][R4.64+0x100]",
    "LDG.E R8, desc[UR4][R4.64+0x200]",
    "IMAD.WIDE R2, R6, 0x4, R2",
    "ATOMG.E.CAS.STRONG.GPU PT, R9, [R2+0x400], R7, R8",
    "STG.E desc[UR4][R4.64+0x300], R9",
    "EXIT",
)

few_values = st.integers(0, 3)
threads = st.lists(
    st.tuples(st.integers(0, CELLS - 1), few_values, few_values),
    min_size=THREADS,
    max_size=THREADS,
)


@settings(deadline=None, max_examples=50)
@given(threads, st.lists(few_values, min_size=CELLS, max_size=CELLS))
def test_each_thread_finds_what_those_before_it_left(
    threads: list[tuple[int, int, int]], cells: list[int]
) -> None:
    content = np.array([*np.array(threads).T.ravel(), *([9] * THREADS), *cells], np.uint32)
    memory = GlobalMemory()
    buffer = memory.allocate("all", content.nbytes, content.copy)
    bank = bytearray(0x260)
    bank[0x210:0x218] = buffer.base.to_bytes(8, "little")
    launch = KernelLaunch(SWAPS, (1, 1, 1), (THREADS, 1, 1), 0, memory, {0: bytes(bank)})
    Interpreter(launch, range(1), Watchdog()).run()
    left, found = list(cells), []
    for cell, wanted, value in threads:
        found.append(left[cell])
        if left[cell] == wanted:
            left[cell] = value
    after = buffer.data[: buffer.size].view(np.uint32).tolist()
    assert after[3 * THREADS : 4 * THREADS] == found
    assert after[4 * THREADS :] == left
