"""Only an instruction whose form is not known is reported as that; other errors are errors here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.sassim.listings import program

from sassim.interpreter.context import NotKnownError, Observer
from sassim.interpreter.def_use import find_def_use
from sassim.interpreter.interpreter import Interpreter
from sassim.interpreter.launch import KernelLaunch
from sassim.interpreter.memory import GlobalMemory
from sassim.interpreter.operations import operations

if TYPE_CHECKING:
    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.operations import Step
    from sassim.sass.listing import Instruction


def run(*lines: str) -> None:
    launch = KernelLaunch(program(*lines), (1, 1, 1), (32, 1, 1), 0, GlobalMemory(), {0: bytes(96)})
    Interpreter(launch, [0], Observer()).run()


@pytest.mark.parametrize(
    "text",
    [
        "IADD3.NEW R0, R1, R2, RZ",  # a modifier
        "MUFU R0, R1",
        "ISETP.AND P0, PT, R0, R1, PT",
        "SHFL.ROUND PT, R0, R1, 0x1, 0x1f",
        "PRMT R0, R1, 0x5410",  # a count of operands
        "IADD3 R0",
        "FADD R0, R1",
        "HFMA2 R0, R1, R2",
        "SHF.L.U32 R0, R1, 0x1",
        "LEA R0, R1, R2",
        "LDGSTS.E [R0], R1",
        "BSSY 0x10",
        "FFMA R0, R1, R2, P0",  # a type of an operand
        "IADD3 R0, R1, R2.H1, RZ",
        "IADD3 R0, R1, 1.5, RZ",
        "LOP3.LUT R0, R1, R2, R3, R4, !PT",
        "SEL R0, R1, R2, R3",
        "LDC R0, [R1]",
        "HMMA.16816.F32 R0, R4, 0x1, R8",
        "IMMA.16832.S8 R0, R4, R6, R8",
        "BAR.SYNC",  # at the end of a basic block
        "BAR.SYNC 1.5",
        "WARPSYNC B0",
        "BREAK P0",
        "RET.REL.NODEC P0",
        "BRX 0x10",
        "BRA",
        "NEW R0, R1",  # an opcode
    ],
)
def test_a_form_that_is_not_known(text: str) -> None:
    with pytest.raises(NotKnownError) as raised:
        run(text, "EXIT")
    assert raised.value.instruction.text == text
    run("EXIT", text)  # nobody reaches it
    effects = find_def_use(raised.value.instruction)
    assert effects.always
    assert not effects.written


def test_what_an_unknown_form_names_is_kept() -> None:
    (block,) = program("IADD3.NEW R0, R5, UR2, P3", "EXIT").blocks.values()
    assert {"R5", "UR2", "P3"} <= find_def_use(block.body[0]).addressing


def _decodes_wrongly(i: Instruction) -> Step:
    return i.operands + 1  # type: ignore[operator,return-value]


def _computes_wrongly(i: Instruction) -> Step:
    def compute(_: ExecutionContext) -> None:
        _ = i.operands[99]

    return compute


@pytest.mark.parametrize(
    ("function", "error"), [(_decodes_wrongly, TypeError), (_computes_wrongly, IndexError)]
)
def test_a_mistake_of_an_operation_is_not_an_unknown_instruction(
    monkeypatch: pytest.MonkeyPatch, function: object, error: type[Exception]
) -> None:
    monkeypatch.setitem(operations(), "IADD3", function)  # type: ignore[arg-type]
    lines = "IADD3 R0, R1, R2, RZ", "EXIT"
    with pytest.raises(error):
        run(*lines)
    (block,) = program(*lines).blocks.values()
    with pytest.raises(error):
        find_def_use(block.body[0])
