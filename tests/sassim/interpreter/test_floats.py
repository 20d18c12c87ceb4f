"""Floating-point numbers: what kernels of ``code/floats.cu`` give, against NumPy and Python."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.sassim.interpreter.running import code, each_architecture
from tests.support.few import one_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.sassim.interpreter.running import Array, Code

COUNT = 256
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 1e-40, -1e-42, 3e38, 1.5, 2.5, -2.5]


def numbers(kind: np.dtype[Any], seed: int, *, edges: bool = True, scale: float = 8.0) -> Array:
    """Numbers of many sizes, most of them near one."""
    generator = np.random.default_rng(seed)
    with np.errstate(over="ignore"):
        found = (generator.normal(size=COUNT) * 2.0 ** generator.normal(0, scale, COUNT)).astype(
            kind
        )
    if edges:
        for n, edge in enumerate(EDGES):
            found[(n * (7 + 4 * seed)) % COUNT] = edge
    return found


def rounded(function: Callable[..., Any], direction: float) -> Callable[[Array, Array], Array]:
    """A function of exact numbers, rounded to 32 bits in a direction (``nan``: towards zero)."""

    def one(x: float, y: float) -> np.float32:
        plain = np.float32(function(np.float64(x), np.float64(y)))
        if not (math.isfinite(x) and math.isfinite(y)):
            return plain
        exact = function(Fraction(x), Fraction(y))
        near = np.float32(exact)
        away = direction if not math.isnan(direction) else (-math.inf if exact > 0 else math.inf)
        value = Fraction(float(near)) if np.isfinite(near) else float(near)
        wrong = value > exact if away < 0 else value < exact
        found = np.nextafter(near, np.float32(away)) if wrong else near
        return found if found != 0 else plain

    return lambda a, b: np.array([one(float(x), float(y)) for x, y in zip(a, b, strict=True)])


def of_each(function: Callable[[float], float]) -> Callable[[Array, Array], Array]:
    """A function of Python's for each number."""

    def one(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            return math.nan if not math.isinf(x) else math.inf

    return lambda a, b: np.array([one(float(x)) for x in a])


def wide(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """A function worked out in 64 bits."""
    return lambda a, b: function(a.astype(F64), b.astype(F64))


EXACT: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "add_down": rounded(operator.add, -np.inf),
    "add_up": rounded(operator.add, np.inf),
    "add_to_zero": rounded(operator.add, np.nan),
    "multiply_down": rounded(operator.mul, -np.inf),
    "multiply_up": rounded(operator.mul, np.inf),
    "fused": wide(lambda a, b: a * b - 1.0),
    "fused_to_zero": rounded(lambda a, b: a * b + a, np.nan),
    "saturate": lambda a, b: np.nan_to_num(np.clip(a * b, 0, 1)),
    "divide": wide(np.divide),
    "reciprocal": wide(lambda a, b: 1 / a),
    "root": lambda a, b: np.sqrt(np.abs(a)),
    "floor_of": lambda a, b: np.floor(a),
    "ceiling_of": lambda a, b: np.ceil(a),
    "round_even": lambda a, b: np.rint(a),
    "round_away": lambda a, b: np.copysign(np.floor(np.abs(a.astype(F64)) + 0.5), a),
    "truncate": lambda a, b: np.trunc(a),
    "sign_of": np.copysign,
    "smaller": np.fmin,
    "larger": np.fmax,
    "largest_of_three": lambda a, b: np.fmax(np.fmax(a, b), a * b),
    "modulus": np.fmod,
    "add_double": np.add,
    "subtract_double": np.subtract,
    "multiply_double": np.multiply,
    "divide_double": np.divide,
    "reciprocal_double": lambda a, b: 1 / a,
    "root_double": lambda a, b: np.sqrt(np.abs(a)),
    "floor_double": lambda a, b: np.floor(a) + np.rint(b),
    "smaller_double": lambda a, b: np.fmin(a, b) + np.fmax(a, 1.0),
}
"""What a kernel works out exactly, but for its rounding."""

CLOSE: dict[str, tuple[Callable[[Array, Array], Array], int]] = {
    "reciprocal_root": (wide(lambda a, b: 1 / np.sqrt(np.abs(a))), 2),
    "exponential": (wide(lambda a, b: np.exp(a)), 2),
    "exponential_2": (wide(lambda a, b: np.exp2(a)), 2),
    "exponential_10": (wide(lambda a, b: 10.0**a), 2),
    "exponential_1": (wide(lambda a, b: np.expm1(a)), 2),
    "logarithm": (wide(lambda a, b: np.log(np.abs(a))), 2),
    "logarithm_2": (wide(lambda a, b: np.log2(np.abs(a))), 2),
    "logarithm_1": (wide(lambda a, b: np.log1p(np.abs(a))), 2),
    "power": (wide(lambda a, b: np.power(np.abs(a), b)), 4),
    "sine": (wide(lambda a, b: np.sin(a)), 2),
    "cosine": (wide(lambda a, b: np.cos(a)), 2),
    "tangent": (wide(lambda a, b: np.tan(a)), 4),
    "arc_sine": (wide(lambda a, b: np.arcsin(np.fmin(np.abs(a), 1.0))), 2),
    "arc_tangent": (wide(np.arctan2), 3),
    "hyperbolic_tangent": (wide(lambda a, b: np.tanh(a)), 2),
    "hyperbolic_cosine": (wide(lambda a, b: np.cosh(a)), 2),
    "error_function": (of_each(math.erf), 2),
    "error_complement": (of_each(math.erfc), 4),
    "cubic_root": (wide(lambda a, b: np.cbrt(a)), 1),
    "length": (wide(np.hypot), 3),
    "reciprocal_root_double": (lambda a, b: 1 / np.sqrt(np.abs(a)), 1),
    "exponential_double": (lambda a, b: np.exp(a), 1),
    "logarithm_double": (lambda a, b: np.log(np.abs(a)), 1),
    "sine_double": (lambda a, b: np.sin(a), 2),
    "cosine_double": (lambda a, b: np.cos(a), 2),
    "power_double": (lambda a, b: np.power(np.abs(a), b), 2),
    "arc_tangent_double": (np.arctan2, 2),
    "hyperbolic_tangent_double": (lambda a, b: np.tanh(a), 2),
    "error_function_double": (of_each(math.erf), 2),
}
"""What a kernel approximates, and by how many units in the last place it may be off.

(CUDA C++ Programming Guide, "Mathematical Functions", Tables "Single-Precision" and "Double".)
"""

LOOSE: dict[str, tuple[Callable[[Array, Array], Array], float]] = {
    "divide_fast": (wide(np.divide), 1e-6),
    "exponential_fast": (wide(lambda a, b: np.exp(a)), 1e-5),
    "logarithm_fast": (wide(lambda a, b: np.log(np.abs(a))), 1e-5),
    "power_fast": (wide(lambda a, b: np.abs(a) ** np.float64(np.float32(0.3))), 1e-4),
}
"""What a kernel approximates fast, for numbers of moderate size, and its relative error."""


@pytest.fixture(params=each_architecture("floats"))
def kernels(request: pytest.FixtureRequest) -> Code:
    """The code for each architecture."""
    return code("floats", request.param)


def kind_of(name: str) -> np.dtype[Any]:
    return F64 if name.endswith("double") else F32


def run(kernels: Code, name: str, result: Any, a: Array, b: Array) -> Array:
    """What a kernel gives for numbers a and b."""
    out, *_ = kernels.run(name, np.zeros(len(a), result), a, b, block=(len(a), 1, 1))
    return out


@pytest.mark.parametrize("name", one_in(3, EXACT, why="an operation alike"))
def test_a_kernel_gives_what_numpy_does(kernels: Code, name: str) -> None:
    kind = kind_of(name)
    a, b = numbers(kind, 1), numbers(kind, 2)
    out = run(kernels, name, kind, a, b)
    with np.errstate(all="ignore"):
        wanted = EXACT[name](a, b).astype(kind)
    differs = ~((out == wanted) | (np.isnan(out) & np.isnan(wanted)))
    assert not differs.any(), (a[differs], b[differs], out[differs], wanted[differs])


@pytest.mark.parametrize("name", one_in(3, CLOSE, why="an operation alike"))
def test_a_kernel_is_as_near_as_nvidia_says(kernels: Code, name: str) -> None:
    kind = kind_of(name)
    function, most = CLOSE[name]
    a, b = numbers(kind, 1, scale=4), numbers(kind, 2, scale=2)
    out = run(kernels, name, kind, a, b)
    with np.errstate(all="ignore"):
        exact = np.asarray(function(a, b), F64)
        wanted = exact.astype(kind)
        unit = np.spacing(np.abs(wanted))
        off = np.abs(out.astype(F64) - exact) / unit
    same = (out == wanted) | (np.isnan(out) & np.isnan(wanted))
    wrong = ~same & ~(off <= most + 0.5)
    assert not wrong.any(), (a[wrong], b[wrong], out[wrong], wanted[wrong])


@pytest.mark.parametrize("name", one_in(3, LOOSE, why="an operation alike"))
def test_fast_functions_are_near(kernels: Code, name: str) -> None:
    function, error = LOOSE[name]
    a, b = (numbers(F32, seed, edges=False, scale=1.5) for seed in (1, 2))
    out = run(kernels, name, F32, a, b)
    assert np.allclose(out, function(a, b), rtol=error, atol=1e-6)


def test_fast_sines_are_near(kernels: Code) -> None:
    a, b = (np.linspace(-3, 3, COUNT, dtype=np.float32) for _ in range(2))
    assert np.allclose(run(kernels, "sine_fast", F32, a, b), np.sin(a) + np.cos(b), atol=2e-6)
    a = np.linspace(-50, 50, COUNT, dtype=np.float32)
    wanted = np.sin(np.pi * a.astype(F64))
    assert np.allclose(run(kernels, "sine_of_pi", F32, a, a), wanted, atol=1e-6)


@pytest.mark.parametrize("name", ["sine", "cosine"])
def test_angles_may_be_huge(kernels: Code, name: str) -> None:
    a = (np.logspace(5, 38, COUNT) * np.resize([1, -1], COUNT)).astype(np.float32)
    out = run(kernels, name, F32, a, a)
    wanted = {"sine": np.sin, "cosine": np.cos}[name](a.astype(F64))
    assert np.allclose(out, wanted, atol=3e-7)


def test_gamma_functions_are_near(kernels: Code) -> None:
    a = np.linspace(0.05, 30, COUNT, dtype=np.float32)
    out = run(kernels, "gamma_function", F32, a, a)
    wanted = np.array([math.gamma(float(x)) for x in a])
    assert np.allclose(out, wanted, rtol=2e-6)
    out = run(kernels, "gamma_logarithm", F32, a, a)
    assert np.allclose(out, [math.lgamma(float(x)) for x in a], rtol=1e-5, atol=1e-6)


def test_quotients_and_roots_are_rounded_in_a_direction(kernels: Code) -> None:
    a, b = numbers(F32, 1, edges=False), numbers(F32, 2, edges=False)
    down = run(kernels, "divide_down", F32, a, b)
    up = run(kernels, "root_up", F32, a, b)
    for x, y, low, high in zip(a.tolist(), b.tolist(), down, up, strict=True):
        exact = Fraction(x) / Fraction(y)
        assert (
            Fraction(float(low)) <= exact < Fraction(float(np.nextafter(low, np.float32(np.inf))))
        )
        below = Fraction(float(np.nextafter(high, np.float32(0))))
        assert below**2 < abs(Fraction(x)) <= Fraction(float(high)) ** 2


def test_remainders_are_exact(kernels: Code) -> None:
    a, b = numbers(F32, 1, edges=False), numbers(F32, 2, edges=False)
    wanted = [math.remainder(float(x), float(y)) for x, y in zip(a, b, strict=True)]
    assert run(kernels, "remainder_of", F32, a, b).tolist() == wanted


def test_numbers_are_taken_apart_and_scaled(kernels: Code) -> None:
    a, b = numbers(F32, 1, edges=False), np.arange(COUNT, dtype=np.float32) - 128
    mantissa, exponent = np.frexp(a)
    wanted = mantissa + exponent.astype(np.float32)
    assert (run(kernels, "mantissa", F32, a, b) == wanted).all()
    with np.errstate(over="ignore"):
        assert (run(kernels, "scale", F32, a, b) == np.ldexp(a, b.astype(np.int32))).all()


def test_numbers_are_compared(kernels: Code) -> None:
    a, b = numbers(F32, 1), numbers(F32, 2)
    b[:100] = a[:100]
    b[50:80] = np.nan
    wanted = sum(
        (found.astype(np.int32) << n)
        for n, found in enumerate(
            (
                a < b, a <= b, a == b, a != b, a > b, a >= b,
                np.isnan(a), np.isinf(b), ~(a < b), ~(a >= b),
            )
        )
    )  # fmt: skip
    assert (run(kernels, "compare", np.int32, a, b) == wanted).all()
    c, d = a.astype(F64), b.astype(F64)
    wanted = (c < d) + 2 * (c <= d) + 4 * (c == d) + 8 * (c != d) + 16 * np.isnan(c)
    assert (run(kernels, "compare_double", np.int32, c, d) == wanted).all()


def clipped(values: Array, kind: Any) -> Array:
    """Whole numbers in the range of a type, zero for NaN."""
    info = np.iinfo(kind)
    found = np.nan_to_num(values.astype(np.longdouble), nan=0.0, posinf=np.inf, neginf=-np.inf)
    return np.array(
        [
            max(
                info.min,
                min(info.max, int(x) if np.isfinite(x) else (info.max if x > 0 else info.min)),
            )
            for x in found
        ],
        kind,
    )


@pytest.mark.parametrize(
    ("name", "kind", "how"),
    [
        ("to_int", np.int32, np.trunc),
        ("to_int_nearest", np.int32, np.rint),
        ("to_int_up", np.int32, np.ceil),
        ("to_int_down", np.int32, np.floor),
        ("to_unsigned", np.uint32, np.trunc),
        ("to_long", np.int64, np.trunc),
        ("to_unsigned_long", np.uint64, np.trunc),
        ("double_to_int", np.int32, np.trunc),
        ("double_to_long", np.int64, np.rint),
        ("double_to_unsigned", np.uint32, np.floor),
    ],
)
def test_numbers_become_whole(kernels: Code, name: str, kind: Any, how: Any) -> None:
    given = numbers(F64 if name.startswith("double") else F32, 1, scale=20)
    given[np.isnan(given)] = 0
    assert (run(kernels, name, kind, given, given) == clipped(how(given), kind)).all()


def test_what_is_no_number_becomes_zero(kernels: Code) -> None:
    given = np.full(32, np.nan, np.float32)
    assert not run(kernels, "to_int", np.int32, given, given).any()
    assert not run(kernels, "to_unsigned", np.uint32, given, given).any()


def test_whole_numbers_become_floats(kernels: Code) -> None:
    generator = np.random.default_rng(5)

    def given(kind: Any) -> Array:
        info = np.iinfo(kind)
        raw = generator.integers(info.min, info.max, COUNT, kind, endpoint=True)
        return raw >> generator.integers(0, info.bits, COUNT).astype(kind)

    for name, kind, first, second in (
        ("from_int", np.int32, 0.0, np.nan),
        ("from_unsigned", np.uint32, 0.0, np.nan),
    ):
        a, b = given(kind), given(kind)
        toward_zero = rounded(lambda x, _: x, second)(b.astype(F64), b.astype(F64))
        wanted = a.astype(np.float32) + toward_zero
        assert (run(kernels, name, F32, a, b) == wanted).all(), first
    a, b = given(np.int32), given(np.int32)
    up = rounded(lambda x, _: x, np.inf)(a.astype(F64), a.astype(F64))
    down = rounded(lambda x, _: x, -np.inf)(b.astype(F64), b.astype(F64))
    assert (run(kernels, "from_int_up", F32, a, b) == up - down).all()
    for name, kind in (("from_long", np.int64), ("from_unsigned_long", np.uint64)):
        a = given(kind)
        assert (run(kernels, name, F32, a, a) == a.astype(np.float32)).all()
    for name, kind in (("long_to_double", np.int64), ("unsigned_long_to_double", np.uint64)):
        a = given(kind)
        assert (run(kernels, name, F64, a, a) == a.astype(F64)).all()
    for name, kind in (("int_to_double", np.int32), ("unsigned_to_double", np.uint32)):
        a, b = given(kind), given(kind)
        assert (run(kernels, name, F64, a, b) == a.astype(F64) + b).all()
    for name, kind, function in (
        ("from_byte", np.int8, np.multiply),
        ("from_short", np.uint16, np.add),
    ):
        a, b = given(kind), given(kind)
        wanted = function(a.astype(np.float32), b.astype(np.float32))
        assert (run(kernels, name, F32, a, b) == wanted).all()


def test_doubles_become_floats(kernels: Code) -> None:
    a = numbers(F64, 1)
    a[np.abs(a) > 1e38] = 7
    assert np.array_equal(
        run(kernels, "double_to_float", F32, a, a), a.astype(np.float32), equal_nan=True
    )
    down = rounded(lambda x, _: x, -np.inf)(a, a)
    assert np.array_equal(run(kernels, "double_to_float_down", F32, a, a), down, equal_nan=True)
    b = numbers(F32, 2)
    c = numbers(F32, 3)
    with np.errstate(all="ignore"):
        wanted = b.astype(F64) * c
    assert np.array_equal(run(kernels, "to_double", F64, b, c), wanted, equal_nan=True)


@pytest.mark.parametrize(
    ("name", "function", "direction"),
    [("add_double_down", operator.add, -np.inf), ("multiply_double_up", operator.mul, np.inf)],
)
def test_doubles_are_rounded_in_a_direction(
    kernels: Code, name: str, function: Any, direction: float
) -> None:
    a, b = numbers(F64, 1, edges=False), numbers(F64, 2, edges=False)
    out = run(kernels, name, F64, a, b)
    for x, y, z in zip(a.tolist(), b.tolist(), out.tolist(), strict=True):
        exact = function(Fraction(x), Fraction(y))
        near = float(exact)
        if (direction < 0 and Fraction(near) > exact) or (direction > 0 and Fraction(near) < exact):
            near = math.nextafter(near, direction)
        assert z == near


def test_a_product_and_a_sum_are_rounded_once(kernels: Code) -> None:
    a, b = numbers(F64, 1, edges=False, scale=2), numbers(F64, 2, edges=False, scale=2)
    b[:128] = 1 + np.arange(128) * 2.0**-52
    out = run(kernels, "fused_double", F64, a, b)
    for x, y, z in zip(a.tolist(), b.tolist(), out.tolist(), strict=True):
        assert z == float(Fraction(x) * Fraction(y) - Fraction(x))


def test_bits_of_numbers_are_seen(kernels: Code) -> None:
    a, b = numbers(F32, 1), numbers(F32, 2)
    wanted = a.view(np.uint32) ^ b.view(np.uint32)
    assert (run(kernels, "bits_of", np.uint32, a, b) == wanted).all()
    c, d = numbers(F64, 1), numbers(F64, 2)
    high = (c.view(np.uint64) >> np.uint64(32)).astype(np.uint32)
    low = d.view(np.uint64).astype(np.uint32)
    assert (run(kernels, "halves_of_double", np.uint32, c, d) == high ^ low).all()
