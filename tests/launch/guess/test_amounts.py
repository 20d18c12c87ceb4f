"""Amounts over sizes: what they are equal to, and how they read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelprof.launch.guess import amounts
from kernelprof.launch.guess.amounts import number, read, size

N, M, K = size("N"), size("M"), size("K")
SMALL = st.integers(0, 9)


@st.composite
def made(draw, depth=2):
    """An amount, made of sums and products, few enough for a product of two to be an expression."""
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from([N, M, number(1), number(3), number(16)]))
    one, other = draw(made(depth - 1)), draw(made(depth - 1))
    return one + other if draw(st.booleans()) else one * other


@given(made(), made(depth=2), st.integers(1, 50), st.integers(1, 50))
def test_amounts_compute_as_numbers_do(one, other, n, m) -> None:
    sizes = {"N": n, "M": m}
    a, b = one.value(sizes), other.value(sizes)
    assert (one + other).value(sizes) == a + b
    assert (one * other).value(sizes) == a * b
    assert (one - other).value(sizes) == a - b
    assert read(one.text) == one
    if one.never_below(other):
        assert a >= b
    divided = amounts.divided(one, other)
    if divided is not None:
        raised = amounts.divided(one + other - number(1), other)
        assert divided.value(sizes) == a // b
        assert raised is None or raised.value(sizes) == -(-a // b)
    whole = amounts.quotient(one, other)
    if whole is not None:
        assert whole.value(sizes) * b == a


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ((N - number(1)) * K + K, "K * N"),
        (amounts.divided(N + number(255), number(256)), "ceil_div(N, 256)"),
        (amounts.divided(M * K - number(1), K), "M - 1"),
        (amounts.divided(N, number(2)), "N // 2"),
        (amounts.ceil_div(N * number(512), number(256)), "2 * N"),
        (number(3) - N, "-N + 3"),
        (N - N, "0"),
        (amounts.larger(N, M), "max(N, M)"),
        (amounts.remainder(N * K, K), "0"),
    ],
)
def test_how_amounts_read(amount, text) -> None:
    assert amount.text == text


def test_others_stand_in_for_names() -> None:
    assert read("ceil_div(n, block__x)", {"block__x": number(32)}).text == "ceil_div(n, 32)"
    assert read("ceil_div(n, b) * b", {"n": N * size("b")}) == N * size("b")
    assert read("n / 2") is None
    assert amounts.names_in("2.5") == set()
