"""Operands as nvdisasm 13.5 prints them, of code that nvcc 13.0 made of cuda/ for sm_90."""

from __future__ import annotations

import pytest

from sassim.sass.operands import (
    TRUE,
    ZERO,
    Address,
    Barrier,
    Constant,
    Immediate,
    Label,
    Other,
    Predicate,
    Register,
    Special,
    parse_operands,
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("R5, R6.reuse, -0x1, RZ", (Register(5), Register(6), Immediate("-0x1"), Register(ZERO))),
        (
            "R18, -RZ, RZ, 0, 0",
            (
                Register(18),
                Register(ZERO, negative=True),
                Register(ZERO),
                Immediate("0"),
                Immediate("0"),
            ),
        ),
        (
            "UR8, UP0, UR8, 0x40, URZ",
            (
                Register(8, uniform=True),
                Predicate(0, uniform=True),
                Register(8, uniform=True),
                Immediate("0x40"),
                Register(ZERO, uniform=True),
            ),
        ),
        (
            "P0, PT, |R2|.reuse, +INF , PT",
            (
                Predicate(0),
                Predicate(TRUE),
                Register(2, absolute=True),
                Immediate("+INF"),
                Predicate(TRUE),
            ),
        ),
        ("R2, R4, !P1", (Register(2), Register(4), Predicate(1, negated=True))),
        (
            "R25, -RZ, R25.H0_H0",
            (Register(25), Register(ZERO, negative=True), Register(25, part="H0_H0")),
        ),
        (
            "R2, R2, ~R6, RZ, P0, !PT",
            (
                Register(2),
                Register(2),
                Register(6, inverted=True),
                Register(ZERO),
                Predicate(0),
                Predicate(TRUE, negated=True),
            ),
        ),
        ("R1, c[0x0][0x28]", (Register(1), Constant(0, 0x28))),
        ("R16, c[0x3][R16+0x1]", (Register(16), Constant(3, 1, Register(16)))),
        ("R19, desc[UR6][R26.64]", (Register(19), Address(Register(26, part="64"), None, 0))),
        ("R20, desc[UR6][R6.64+-0x4]", (Register(20), Address(Register(6, part="64"), None, -4))),
        ("R18, [R18+UR4+0x1]", (Register(18), Address(Register(18), Register(4, uniform=True), 1))),
        ("[R1+0x8], R21", (Address(Register(1), None, 8), Register(21))),
        (
            "R8, [R4.X16+0x20]",
            (Register(8), Address(Register(4, part="X16"), None, 0x20, scale=16)),
        ),
        ("B0, `(.L_x_1)", (Barrier(0), Label(".L_x_1"))),
        ("R8 `(bf16_divided_tail)", (Register(8), Label("bf16_divided_tail"))),
        ("`($__internal_0_$__cuda_sm20_div_s64)", (Label("$__internal_0_$__cuda_sm20_div_s64"),)),
        ("R24 -0x380", (Register(24), Immediate("-0x380"))),
        ("R0, SR_CTAID.Y", (Register(0), Special("SR_CTAID.Y"))),
        ("R34, SRZ", (Register(34), Special("SRZ"))),
        (
            "R9, R9, 0.15915493667125701904",
            (Register(9), Register(9), Immediate("0.15915493667125701904")),
        ),
        (
            "P0, PT, R2, 1.175494350822287508e-38, PT",
            (
                Predicate(0),
                Predicate(TRUE),
                Register(2),
                Immediate("1.175494350822287508e-38"),
                Predicate(TRUE),
            ),
        ),
        (
            "R24, gdesc[UR12], R24, UP0",
            (Register(24), Other("gdesc[UR12]"), Register(24), Predicate(0, uniform=True)),
        ),
        ("", ()),
    ],
)
def test_operands_are_read(text: str, wanted: tuple[object, ...]) -> None:
    assert parse_operands(text) == wanted


def test_a_negative_number_has_the_bits_of_its_twos_complement() -> None:
    (found,) = parse_operands("-0x10")
    assert isinstance(found, Immediate)
    assert found.bits == 0xFFFFFFF0
