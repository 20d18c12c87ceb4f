"""One instruction alone: what registers hold before it, and after it. A new opcode adds a row."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sassim.listings import program

from sassim.interpreter.context import Observer
from sassim.interpreter.interpreter import Interpreter
from sassim.interpreter.launch import KernelLaunch
from sassim.interpreter.memory import GlobalMemory

FILES = {"R": "registers", "UR": "uniform", "P": "predicates", "UP": "uniform_predicates"}


def split(name: str) -> tuple[str, int]:
    """The register file and the number of a register: ``UR4`` is 4 of ``uniform``."""
    prefix = name.rstrip("0123456789")
    return FILES[prefix], int(name.removeprefix(prefix))


def execute(text: str, **registers: int) -> Interpreter:
    """Execute an instruction for one warp whose lanes hold the same values."""
    launch = KernelLaunch(
        program(text, "EXIT"), (1, 1, 1), (32, 1, 1), 0, GlobalMemory(), {0: bytes(96)}
    )
    interpreter = Interpreter(launch, [0], Observer())
    for name, value in registers.items():
        file, index = split(name)
        kind = np.bool_ if "predicates" in file else np.uint32
        lanes = 1 if "uniform" in file else 32
        getattr(interpreter.blocks, file)[index] = np.full((1, lanes), value, kind)
    interpreter.run()
    return interpreter


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("BREV R0, R1", {"R1": 1}, {"R0": 0x80000000}),
        ("IADD3 R0, P0, R1, R2, RZ", {"R1": 0xFFFFFFFF, "R2": 2}, {"R0": 1, "P0": 1}),
        ("IMAD.WIDE.U32 R2, R0, R1, RZ", {"R0": 1 << 31, "R1": 6}, {"R2": 0, "R3": 3}),
        ("ISETP.LT.AND P1, PT, R0, -0x1, PT", {"R0": 0xFFFFFFFE}, {"P1": 1}),
        ("@P0 MOV R0, 0x7", {"R0": 3, "P0": 0}, {"R0": 3}),
        ("USHF.L.U32 UR4, UR5, 0x3, URZ", {"UR5": 5}, {"UR4": 40}),
        ("UISETP.GE.U32.AND UP0, UPT, UR4, 0x8, UPT", {"UR4": 7}, {"UP0": 0}),
        ("FFMA R0, R1, R1, 1", {"R1": 0x40000000}, {"R0": 0x40A00000}),
        # 2 * 3 / 2, 2 * 3 * 4, and half of the smallest normal number
        ("FMUL.D2 R0, R1, 3", {"R1": 0x40000000}, {"R0": 0x40400000}),
        ("FMUL.M4 R0, R1, 3", {"R1": 0x40000000}, {"R0": 0x41C00000}),
        ("FMUL.FTZ.D2 R0, R1, 1", {"R1": 0x00800000}, {"R0": 0}),
        ("VOTE.ANY R0, PT, P2", {"P2": 1}, {"R0": 0xFFFFFFFF}),
    ],
)
def test_registers_after_an_instruction(
    text: str, before: dict[str, int], after: dict[str, int]
) -> None:
    blocks = execute(text, **before).blocks
    for name, value in after.items():
        file, index = split(name)
        assert np.unique(getattr(blocks, file)[index]).tolist() == [value], name
