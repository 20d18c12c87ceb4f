"""Whole numbers: what kernels of ``code/integers.cu`` give, against Python's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.sassim.interpreter.running import code, each_architecture

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.sassim.interpreter.running import Array, Code

COUNT = 256
I32, U32, I64, U64 = (np.dtype(each) for each in (np.int32, np.uint32, np.int64, np.uint64))


def wrap(value: int, bits: int, *, signed: bool) -> int:
    """A number as so many bits hold it."""
    value &= 2**bits - 1
    return value - 2**bits if signed and value >> (bits - 1) else value


def quotient(a: int, b: int) -> int:
    """Towards zero, as in C."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    """With the sign of the dividend, as in C."""
    return a - b * quotient(a, b)


def parts(value: int, bits: int, *, signed: bool = False) -> list[int]:
    """The numbers of so many bits in 32, the lowest first."""
    return [wrap(value >> n, bits, signed=signed) for n in range(0, 32, bits)]


def joined(values: list[int], bits: int) -> int:
    """The other way around."""
    return sum((value & (2**bits - 1)) << (bits * n) for n, value in enumerate(values))


def each(function: Callable[[int, int], int], bits: int, *, signed: bool = False) -> Any:
    """A function of the numbers of so many bits in 32."""

    def work(a: int, b: int) -> int:
        pairs = zip(parts(a, bits, signed=signed), parts(b, bits, signed=signed), strict=True)
        return joined([function(x, y) for x, y in pairs], bits)

    return work


def permuted(a: int, b: int, selector: int) -> int:
    """CUDA Math API, ``__byte_perm``, with the sign of ``prmt``."""
    source = parts(a, 8) + parts(b, 8)
    found = []
    for n in range(4):
        nibble = selector >> 4 * n & 15
        value = source[nibble & 7]
        found.append(255 * (value >> 7) if nibble & 8 else value)
    return joined(found, 8)


def rotated(value: int, by: int) -> int:
    """To the left."""
    return (value << by | value >> (32 - by)) & 0xFFFFFFFF if by else value


def turns(a: int, b: int) -> int:
    """How many turns the loop of ``counted`` takes."""
    k, n = a & 0xFF, 0
    while k != 1 and n < 200:
        k = 3 * k + 1 if k & 1 else k >> 1
        if k == 0:
            break
        n += 1
    return n + b


def zeros(value: int, bits: int) -> int:
    """Leading zeros."""
    return bits - (value & (2**bits - 1)).bit_length()


def first_set(value: int) -> int:
    """The place of the lowest bit, from 1 on."""
    return (value & -value).bit_length()


def compared(a: int, b: int) -> int:
    """Which comparisons hold."""
    return (a < b) + 2 * (a <= b) + 4 * (a == b) + 16 * (a >= b)


M32 = 0xFFFFFFFF
M128 = 2**128 - 1

CASES: dict[str, tuple[np.dtype[Any], Callable[[int, int], int]]] = {
    "divide_i32": (I32, quotient),
    "remainder_i32": (I32, remainder),
    "divide_u32": (U32, quotient),
    "remainder_u32": (U32, remainder),
    "divide_i64": (I64, quotient),
    "remainder_i64": (I64, remainder),
    "divide_u64": (U64, quotient),
    "remainder_u64": (U64, remainder),
    "divide_by_7": (I32, lambda a, b: quotient(a, 7) + remainder(b, 10)),
    "divide_by_1000": (U64, lambda a, b: a // 1000 + b % 9),
    "multiply_i64": (I64, lambda a, b: a * b),
    "multiply_high_i32": (I32, lambda a, b: a * b >> 32),
    "multiply_high_u32": (U32, lambda a, b: a * b >> 32),
    "multiply_high_i64": (I64, lambda a, b: a * b >> 64),
    "multiply_high_u64": (U64, lambda a, b: a * b >> 64),
    "multiply_wide": (I32, lambda a, b: a * b + 5),
    "multiply_u128": (U64, lambda a, b: (a * b + (b << 70) & M128) >> 61),
    "add_u128": (U64, lambda a, b: ((a << 40) + (b << 30) + a) >> 64),
    "subtract_u128": (U64, lambda a, b: ((a << 40) - (b << 50) - b) >> 64),
    "sum_of_three": (U32, lambda a, b: a + b + (a >> 3)),
    "difference": (I64, lambda a, b: a - b - 1),
    "funnel_left": (U32, lambda a, b: (b << 32 | a) << (a & 31) >> 32),
    "funnel_right": (U32, lambda a, b: (b << 32 | a) >> (b & 31)),
    "funnel_left_clamped": (U32, lambda a, b: (b << 32 | a) << min(a & 63, 32) >> 32),
    "funnel_right_clamped": (U32, lambda a, b: (b << 32 | a) >> min(b & 63, 32)),
    "left_clamped": (U32, lambda a, b: 0 if b > 31 else a << b),
    "rotate": (U32, lambda a, b: rotated(a, 7) ^ (b << (a & 31) | b >> (-a & 31))),
    "leading_zeros": (I32, lambda a, b: zeros(a, 32) + 100 * zeros(b, 32)),
    "leading_zeros_i64": (I64, lambda a, b: zeros(a, 64) + 100 * zeros(b, 64)),
    "first_set": (I32, lambda a, b: first_set(a) + 100 * first_set(b)),
    "first_set_i64": (I64, lambda a, b: first_set(a) + 100 * first_set(b)),
    "population": (U32, lambda a, b: a.bit_count() + 100 * b.bit_count()),
    "population_u64": (U64, lambda a, b: a.bit_count() + 100 * b.bit_count()),
    "reverse_bits": (U32, lambda a, b: int(f"{a:032b}"[::-1], 2) ^ b),
    "reverse_bits_u64": (U64, lambda a, b: int(f"{a:064b}"[::-1], 2) ^ b),
    "permute_bytes": (U32, lambda a, b: permuted(a, b, a & 0x7777)),
    "permute_signs": (U32, lambda a, b: permuted(a, b, 0x9A5D)),
    "smallest": (I32, lambda a, b: min(a, b, -17)),
    "largest": (U32, lambda a, b: max(a, b, 17)),
    "smallest_of_three": (I32, lambda a, b: min(a, b, a ^ b)),
    "largest_of_three": (U32, lambda a, b: max(a, b, a ^ b)),
    "at_least_zero": (I32, lambda a, b: max(min(a, b), 0)),
    "smallest_i64": (I64, min),
    "largest_u64": (U64, max),
    "absolute": (I32, lambda a, b: abs(a) - abs(b)),
    "absolute_i64": (I64, lambda a, b: abs(a) - abs(b)),
    "less_i64": (I64, lambda a, b: compared(a, b) + 8 * (a != b)),
    "less_u64": (U64, lambda a, b: compared(a, b) + 8 * (a > b)),
    "dot_bytes": (
        I32,
        lambda a, b: sum(np.multiply(parts(a, 8, signed=True), parts(b, 8, signed=True))) + 1000,
    ),
    "dot_bytes_unsigned": (U32, lambda a, b: sum(np.multiply(parts(a, 8), parts(b, 8))) + 1000),
    "dot_halves": (
        I32,
        lambda a, b: 30 + sum(np.multiply(parts(a, 16, signed=True) * 2, parts(b, 8, signed=True))),
    ),
    "sum_of_differences": (I32, lambda a, b: abs(a - b) + 77),
    "differences_of_bytes": (U32, lambda a, b: sum(np.abs(np.subtract(parts(a, 8), parts(b, 8))))),
    "add_bytes": (U32, each(lambda x, y: x + y, 8)),
    "add_bytes_saturating": (U32, each(lambda x, y: min(x + y, 255), 8)),
    "compare_bytes": (U32, each(lambda x, y: 255 * (x > y), 8)),
    "largest_bytes": (U32, each(max, 8)),
    "largest_halves": (U32, each(max, 16, signed=True)),
    "average": (I32, lambda a, b: (a + b >> 1) + (a + b + 1 >> 1)),
    "extract_bits": (I32, lambda a, b: wrap(a << (b & 7), 32, signed=True) >> 20),
    "logic": (U32, lambda a, b: ((a & b) | (~a & (b >> 3))) ^ (a | 0x00FF00FF)),
    "narrow": (
        I32,
        lambda a, b: wrap(a, 8, signed=True) + wrap(b, 16, signed=True) + (a >> 4 & 255),
    ),
    "counted": (I32, turns),
}
"""What a kernel is given, and what it works out for a pair of numbers, before it wraps."""

RESULTS = {"multiply_wide": I64, "sum_of_differences": U32} | dict.fromkeys(
    ("leading_zeros_i64", "first_set_i64", "population", "population_u64", "less_i64", "less_u64"),
    I32,
)
"""What kernels give, where it is another type."""


def numbers(kind: np.dtype[Any], seed: int) -> Array:
    """All sizes of numbers, and the ends of the range."""
    generator = np.random.default_rng(seed)
    info = np.iinfo(kind)
    raw = generator.integers(info.min, info.max, COUNT, kind, endpoint=True)
    found = raw >> generator.integers(0, info.bits, COUNT).astype(kind)
    edges = [info.max, info.min, 0, 1, info.max - 1, 2, 0x80, 0x8000]
    for n, edge in enumerate(edges):
        found[(n * (5 + 2 * seed)) % COUNT] = edge
    return found


@pytest.fixture(params=each_architecture("integers"))
def kernels(request: pytest.FixtureRequest) -> Code:
    """The code for each architecture."""
    return code("integers", request.param)


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_gives_what_python_does(kernels: Code, name: str) -> None:
    kind, function = CASES[name]
    result = RESULTS.get(name, kind)
    a, b = numbers(kind, 1), numbers(kind, 2)
    if "divide_" in name or "remainder_" in name:
        b[b == 0] = 3
        if kind.kind == "i":
            a[(a == np.iinfo(kind).min) & (b == -1)] = 5
    if name in {"absolute_i64", "absolute"}:
        a, b = a >> kind.type(1), b >> kind.type(1)
    out, *_ = kernels.run(
        name, np.zeros(COUNT, result), a, b, grid=(2, 1, 1), block=(COUNT // 2, 1, 1)
    )
    bits, is_signed = 8 * result.itemsize, result.kind == "i"
    wanted = [
        wrap(int(function(int(x), int(y))), bits, signed=is_signed)
        for x, y in zip(a, b, strict=True)
    ]
    assert out.tolist() == wanted


@pytest.mark.parametrize(
    ("name", "kind", "function"),
    [
        ("left_i64", I64, lambda a, b: a << (b & 63)),
        ("right_i64", I64, lambda a, b: a >> (b & 63)),
        ("right_u64", U64, lambda a, b: a >> (b & 63)),
    ],
)
def test_numbers_of_64_bits_are_shifted(
    kernels: Code, name: str, kind: np.dtype[Any], function: Callable[[int, int], int]
) -> None:
    a, by = numbers(kind, 1), np.arange(COUNT, dtype=np.int32)
    out, *_ = kernels.run(name, np.zeros(COUNT, kind), a, by, block=(COUNT, 1, 1))
    wanted = [
        wrap(function(int(x), int(y)), 64, signed=kind.kind == "i")
        for x, y in zip(a, by, strict=True)
    ]
    assert out.tolist() == wanted


def test_bytes_and_shorts_are_loaded_and_stored(kernels: Code) -> None:
    generator = np.random.default_rng(3)
    a, b = (generator.integers(0, 256, COUNT).astype(each) for each in (np.int8, np.uint8))
    out, *_ = kernels.run("narrow_bytes", np.zeros(COUNT, np.int8), a, b, block=(COUNT, 1, 1))
    assert (out == (a.astype(np.int32) * 3 - b).astype(np.int8)).all()
    c, d = (generator.integers(0, 65536, COUNT).astype(each) for each in (np.int16, np.uint16))
    out, *_ = kernels.run("narrow_shorts", np.zeros(COUNT, np.int16), c, d, block=(COUNT, 1, 1))
    assert (out == (c.astype(np.int32) * 5 + (d >> 3)).astype(np.int16)).all()


def test_a_generator_of_random_numbers_runs(kernels: Code) -> None:
    (out,) = kernels.run("generator", np.zeros(32, np.uint32), np.int32(100))
    for lane in (0, 31):
        x, y, z, w, v = (123456789 + lane, 362436069, 521288629, 88675123, 5783321)
        d = 6615241
        for _ in range(100):
            t = x ^ (x >> 2)
            x, y, z, w = y, z, w, v
            v = (v ^ (v << 4)) ^ (t ^ (t << 1))
            v &= M32
            d = d + 362437 & M32
        assert out[lane] == (v + d) & M32
