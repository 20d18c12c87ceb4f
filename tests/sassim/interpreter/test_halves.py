"""Numbers of 16 and of 8 bits: what kernels of ``code/halves.cu`` give, against NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.sassim.interpreter.running import code, each_architecture

from sassim.interpreter.number_formats import SMALL, of_bfloat, round_to_bfloat16, small_bits

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.sassim.interpreter.running import Array, Code

COUNT = 256
EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 6e-8, 60000.0, 1.5, 2.5, -2.5]


@pytest.fixture(params=each_architecture("halves"))
def kernels(request: pytest.FixtureRequest) -> Code:
    """The code for each architecture."""
    return code("halves", request.param)


def numbers(seed: int, *, edges: bool = True, scale: float = 3.0) -> Array:
    """Numbers of several sizes, for float16 and bfloat16."""
    generator = np.random.default_rng(seed)
    found = generator.normal(size=2 * COUNT) * 2.0 ** generator.normal(0, scale, 2 * COUNT)
    if edges:
        for n, edge in enumerate(EDGES):
            found[(n * (7 + 4 * seed)) % (2 * COUNT)] = edge
    return found


class Kind:
    """float16 or bfloat16: how numbers become 16 bits, and back."""

    def __init__(self, name: str) -> None:
        self.brain = name == "brain"

    def bits(self, values: Array) -> Array:
        """Rounded to the nearest."""
        with np.errstate(over="ignore"):
            if self.brain:
                return round_to_bfloat16(np.asarray(values)).astype(np.uint16)
            return np.asarray(values).astype(np.float16).view(np.uint16)

    def of(self, raw: Array) -> Array:
        """In 64 bits."""
        found = of_bfloat(raw) if self.brain else raw.view(np.float16)
        return found.astype(np.float64)


def same(kind: Kind, out: Array, wanted: Array) -> bool:
    """Whether bits stand for numbers, rounded; any that is none is as good as another."""
    got, exact = kind.of(out), kind.of(kind.bits(wanted))
    return bool(((got == exact) | (np.isnan(got) & np.isnan(exact))).all())


EXACT: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "fused": lambda a, b: a * b + a,
    "fused_negative": lambda a, b: -a * b + np.abs(b),
    "fused_relu": lambda a, b: np.maximum(a * b + a, 0),
    "saturate": lambda a, b: np.nan_to_num(np.clip(a + b, 0, 1)),
    "smaller": np.fmin,
    "larger": np.fmax,
    "larger_nan": np.maximum,
    "greater": lambda a, b: (a > b).astype(np.float64),
    "equal": lambda a, b: (a == b).astype(np.float64),
    "floor": lambda a, b: np.floor(a),
    "nearest": lambda a, b: np.rint(b),
}
CLOSE: dict[str, Callable[[Array, Array], Array]] = {
    "divide": np.divide,
    "exponential": lambda a, b: np.exp(a),
    "logarithm": lambda a, b: np.log(np.abs(a)),
    "root": lambda a, b: np.sqrt(np.abs(a)),
    "reciprocal": lambda a, b: 1 / a,
    "sine": lambda a, b: np.sin(a),
}


def run(kernels: Code, name: str, result: Any, a: Array, b: Array, *, count: int = COUNT) -> Array:
    """What a kernel gives for numbers a and b."""
    out, *_ = kernels.run(name, np.zeros(count, result), a, b, block=(COUNT, 1, 1))
    return out


@pytest.mark.parametrize("type_", ["half", "brain"])
@pytest.mark.parametrize("name", EXACT)
def test_two_numbers_at_once(kernels: Code, type_: str, name: str) -> None:
    kind = Kind(type_)
    a, b = kind.bits(numbers(1)), kind.bits(numbers(2))
    b[:40] = a[:40]
    out = run(kernels, f"{type_}_{name}", np.uint16, a, b, count=2 * COUNT)
    with np.errstate(all="ignore"):
        wanted = EXACT[name](kind.of(a), kind.of(b))
    if name == "fused_relu":
        wanted = np.where(np.isnan(wanted), np.nan, wanted)
    assert same(kind, out, wanted)


@pytest.mark.parametrize("type_", ["half", "brain"])
@pytest.mark.parametrize("name", CLOSE)
def test_functions_of_two_numbers_at_once(kernels: Code, type_: str, name: str) -> None:
    kind = Kind(type_)
    a, b = (kind.bits(numbers(seed, edges=False, scale=1.5)) for seed in (1, 2))
    out = kind.of(run(kernels, f"{type_}_{name}", np.uint16, a, b, count=2 * COUNT))
    with np.errstate(all="ignore"):
        exact = CLOSE[name](kind.of(a), kind.of(b))
    unit = 2.0**-7 if kind.brain else 2.0**-10
    assert np.allclose(out, exact, rtol=unit, atol=6e-8)


def test_both_numbers_are_compared(kernels: Code) -> None:
    for type_ in ("half", "brain"):
        kind = Kind(type_)
        a, b = kind.bits(numbers(1)), kind.bits(numbers(2))
        b[:200] = a[:200]
        x, y = (kind.of(each).reshape(-1, 2) for each in (a, b))
        wanted = sum(
            (found.all(axis=1).astype(np.int32) << n)
            for n, found in enumerate((x > y, x == y, ~(x >= y)))
        )
        assert (run(kernels, f"{type_}_compare", np.int32, a, b) == wanted).all()
        if type_ == "half":
            masks = np.where(x > y, 0xFFFF, 0)
            out = run(kernels, "half_masks", np.uint32, a, b)
            assert (out == masks[:, 0] + (masks[:, 1] << 16)).all()


def test_halves_are_swapped_and_mixed(kernels: Code) -> None:
    kind = Kind("half")
    a, b = (kind.bits(numbers(seed, edges=False)) for seed in (1, 2))
    x, y = (kind.of(each).reshape(-1, 2) for each in (a, b))
    out = run(kernels, "half_swapped", np.uint16, a, b, count=2 * COUNT)
    assert same(kind, out, (x[:, ::-1] + y[:, :1]).reshape(-1))
    out = run(kernels, "half_mixed", np.uint16, a, b, count=2 * COUNT).reshape(-1, 2)
    assert (out[:, 0] == a[1::2]).all()
    assert (out[:, 1] == b[::2]).all()


def test_one_number_of_16_bits(kernels: Code) -> None:
    kind = Kind("half")
    a, b = kind.bits(numbers(1)[:COUNT]), kind.bits(numbers(2)[:COUNT])
    with np.errstate(all="ignore"):
        difference = kind.of(kind.bits(kind.of(a) - kind.of(b)))
        assert same(
            kind,
            run(kernels, "half_single", np.uint16, a, b),
            kind.of(a) * kind.of(b) + difference,
        )
        total = (kind.of(a) + kind.of(b)).astype(np.float32)
    out = run(kernels, "half_to_float", np.float32, a, b)
    assert np.array_equal(out, total, equal_nan=True)
    out = run(kernels, "half_to_double", np.float64, a, b)
    assert np.array_equal(out, kind.of(a), equal_nan=True)


def toward_zero(kind: Kind, values: Array) -> Array:
    """The nearest number of 16 bits that is no larger."""
    raw = kind.bits(values)
    return np.where(np.abs(kind.of(raw)) > np.abs(values), raw - 1, raw)


def test_numbers_become_16_bits(kernels: Code) -> None:
    half, brain = Kind("half"), Kind("brain")
    a, b = (numbers(seed)[:COUNT].astype(np.float32) for seed in (1, 2))
    with np.errstate(all="ignore"):
        total, product = a + b, a * b
    finite = np.isfinite(total) & (np.abs(total) < 60000)
    assert same(half, run(kernels, "half_of_float", np.uint16, a, b), total)
    out = run(kernels, "half_of_float_zero", np.uint16, a, b)
    assert (out == toward_zero(half, total))[finite].all()
    assert same(brain, run(kernels, "brain_of_float", np.uint16, a, b), product)
    out = run(kernels, "brain_of_float_zero", np.uint16, a, b)
    finite = np.isfinite(a)
    assert (out == toward_zero(brain, a))[finite].all()
    for kind, name in ((half, "half_pair"), (brain, "brain_pair")):
        out = run(kernels, name, np.uint16, a, b, count=2 * COUNT)
        assert same(kind, out, np.stack([a, b], axis=1).reshape(-1))
    c = numbers(3)[:COUNT]
    assert same(half, run(kernels, "half_of_double", np.uint16, c, c), c)


def test_16_bits_become_whole_numbers_and_back(kernels: Code) -> None:
    half, brain = Kind("half"), Kind("brain")
    a, b = (half.bits(numbers(seed, edges=False, scale=2)[:COUNT]) for seed in (1, 2))
    x, y = half.of(a), half.of(b)
    out = run(kernels, "half_to_int", np.int32, a, b)
    assert (out == np.rint(x).astype(np.int32) + 7 * np.trunc(y).astype(np.int32)).all()
    assert (run(kernels, "half_to_short", np.int16, a, b) == np.trunc(x)).all()
    c = brain.bits(numbers(1, edges=False)[:COUNT])
    assert (run(kernels, "brain_to_int", np.int32, c, c) == np.trunc(brain.of(c))).all()
    whole = np.random.default_rng(4).integers(-70000, 70000, COUNT, dtype=np.int32)
    assert same(half, run(kernels, "half_of_int", np.uint16, whole, whole), whole.astype(float))
    assert same(brain, run(kernels, "brain_of_int", np.uint16, whole, whole), whole.astype(float))
    short = whole.astype(np.int16)
    assert same(half, run(kernels, "half_of_short", np.uint16, short, short), short.astype(float))


def test_numbers_become_8_bits(kernels: Code) -> None:
    a = numbers(1)[:COUNT].astype(np.float32)
    a[np.isnan(a)] = 3
    out = run(kernels, "small_of_float", np.uint8, a, a)
    got = SMALL["E4M3"][out].astype(np.float64)
    table = np.unique(SMALL["E4M3"][np.isfinite(SMALL["E4M3"])].astype(np.float64))
    nearest = np.abs(np.clip(a, -448, 448).astype(np.float64)[:, None] - table).min(axis=1)
    assert (np.abs(got - np.clip(a, -448, 448)) == nearest).all()
    pairs = numbers(2).astype(np.float32)
    pairs[np.isnan(pairs)] = 3
    out = run(kernels, "small_pair", np.uint8, pairs, pairs, count=2 * COUNT)
    assert (out == small_bits(pairs, "E5M2")).all()


def test_8_bits_become_16(kernels: Code) -> None:
    raw = np.arange(256, dtype=np.uint8)
    out = run(kernels, "small_to_half", np.uint16, raw, raw).view(np.float16)
    assert np.array_equal(out, SMALL["E4M3"], equal_nan=True)
    twice = np.resize(raw, 512)
    out = run(kernels, "small_to_halves", np.uint16, twice, twice, count=512).view(np.float16)
    assert np.array_equal(out, SMALL["E5M2"][twice], equal_nan=True)


def test_rounding_to_8_bits_goes_to_the_nearest_and_to_even() -> None:
    for name, table in SMALL.items():
        finite = table[np.isfinite(table)]
        assert (table[small_bits(finite, name)] == finite).all()
        positive = np.sort(finite[finite >= 0].astype(np.float64))
        middles = (positive[1:] + positive[:-1]) / 2
        assert (small_bits(middles, name) % 2 == 0).all()
        just_above = small_bits(np.nextafter(middles, np.inf), name)
        assert (table[just_above] == positive[1:]).all()
