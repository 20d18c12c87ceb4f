"""Expressions: arithmetic, and nothing else."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelprof.launch.specification.expressions import MAX_MAGNITUDE, Expression, ExpressionError

NAMES = {"M": 100, "N": 64, "TILE": 16, "alpha": 0.5, "in": 1000, "from": 3}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("16", 16),
        ("ceil_div(M, 16)", 7),
        ("ceil_div(N, 16)", 4),
        ("round_up(M, TILE)", 112),
        ("min(M, N, 3)", 3),
        ("max(M, N)", 100),
        ("2 * M * N", 12800),
        ("M // 3 + M % 3", 34),
        ("2 ** 10", 1024),
        ("-M + +N", -36),
        ("M / 8", 12.5),
        ("alpha * N", 32.0),
        ("(1 + 1) ** 4", 16),
        ("M > N", 1),
        ("16 < N <= 64 < M", 1),
        ("1 if M == N else 2", 2),
        ("  M", 100),
        ("(M\n + N)", 164),
        ("1 / 0 if M < 0 else 5", 5),
        ("ceil_div(in, 256) * from", 12),
    ],
)
def test_value(text, value) -> None:
    result = Expression(text).value(NAMES)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("text", "position", "said"),
    [
        ("M * (N", 5, "not arithmetic"),
        ("M +* N", 4, "not arithmetic"),
        ("", 1, "not arithmetic"),
        ("  ", None, "not arithmetic"),
        ("M + __import__('os')", 5, "no function '__import__'"),
        ("M.real", 1, "Attribute"),
        ("M[0]", 1, "Subscript"),
        ("[M]", 1, "List"),
        ("1 + ceil_div(M)", 5, "ceil_div takes 2"),
        ("round_up(M, 2, 3)", 1, "round_up takes 2"),
        ("min()", 1, "min takes 1"),
        ("lambda: 1", 1, "Lambda"),
        ("(M := 3)", 2, "NamedExpr"),
        ("'16'", 1, "not a number"),
        ("True", 1, "not a number"),
        ("1j", 1, "not a number"),
        ("M and N", 1, "BoolOp"),
        ("not M", 1, "UnaryOp"),
        ("~M", 1, "UnaryOp"),
        ("M << 2", 1, "BinOp"),
        ("M @ N", 1, "BinOp"),
        ("M in N", 1, "Compare"),
        ("max(*M)", 5, "Starred is not allowed"),
        ("min(M, key=N)", 1, "Call"),
        ("[x for x in M]", 1, "ListComp"),
        ("f'{M}'", 1, "JoinedStr"),
        (" 2 * abs(M)", 6, "no function 'abs'"),
        ("1" + " + 1" * 70, 1, "parts"),
        ("M" * 500, 1, "500 characters"),
        ("(" * 190 + ")" * 190, None, ""),
        ("\x00", None, ""),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_arithmetic_is_refused_when_it_is_read(text, position, said) -> None:
    with pytest.raises(ExpressionError) as caught:
        Expression(text, "k.cu:3: grid[0]")
    assert said in caught.value.what
    assert caught.value.where == "k.cu:3: grid[0]"
    if position is not None:
        assert caught.value.position == position


@pytest.mark.parametrize(
    ("text", "position", "said"),
    [
        ("M + X", 5, "unknown name 'X'"),
        (" M // (N - 64)", 2, "division by zero"),
        ("M % 0", 1, "division by zero"),
        ("ceil_div(M, 0)", 1, "division by zero"),
        ("2 ** 65", 1, "exponent"),
        ("2 ** 63", 1, "64 bits"),
        ("M ** 64", 1, "64 bits"),
        ("9 ** 9 ** 9", 1, "exponent"),
        ("(-8) ** 0.5", 1, "64 bits"),
        ("0 ** -1", 1, "division by zero"),
        ("1e308 * 10", 1, "64 bits"),
    ],
)
def test_what_has_no_value_says_where(text, position, said) -> None:
    with pytest.raises(ExpressionError) as caught:
        Expression(text, "k.cu:3: grid[0]").value(NAMES)
    assert said in caught.value.what
    assert caught.value.position == position
    assert caught.value.where == "k.cu:3: grid[0]"


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ExpressionError) as caught:
        Expression("X").value(NAMES)
    assert "M, N, TILE, alpha" in (caught.value.hint or "")


@pytest.mark.parametrize("text", ["M / 4", "0.5", "alpha"])
def test_a_fraction_is_no_extent(text) -> None:
    with pytest.raises(ExpressionError, match="not an integer"):
        Expression(text).integer(NAMES)


def test_normal_form() -> None:
    expression = Expression("ceil_div( (M), TILE )+N", "somewhere")
    assert expression.normalised == "ceil_div(M, TILE) + N"
    assert Expression("M", "here") == Expression("M", "there")


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text) -> None:
    try:
        value = Expression(text).value(NAMES)
    except ExpressionError:
        return
    assert math.isfinite(value)
    assert isinstance(value, float) or abs(value) <= MAX_MAGNITUDE


@pytest.mark.parametrize(
    ("text", "value"),
    [("4.46e19", 4.46e19), ("-1e300", -1e300), ("2.0 ** 64", 2.0**64), ("M * 1e20", 1e22)],
)
def test_a_fraction_may_be_larger_than_any_whole_number(text, value) -> None:
    assert Expression(text).value(NAMES) == value
    with pytest.raises(ExpressionError, match="not an integer"):
        Expression(text).integer(NAMES)


@given(st.integers(1, 10**9), st.integers(1, 10**6))
def test_ceil_div_and_round_up_cover(size, tile) -> None:
    names = {"n": size, "t": tile}
    blocks = Expression("ceil_div(n, t)").integer(names)
    assert (blocks - 1) * tile < size <= blocks * tile
    assert Expression("round_up(n, t)").integer(names) == blocks * tile
