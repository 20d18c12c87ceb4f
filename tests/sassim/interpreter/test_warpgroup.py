"""Products of a warpgroup by descriptors of shared memory, against NumPy.

Where an element lies is written down here as the canonical layouts of the PTX ISA have it
("Asynchronous warpgroup level matrix shared memory layout"), element by element.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.sassim.interpreter.running import code

from sassim.errors import SassimError
from sassim.interpreter.number_formats import SMALL, half_bits, round_to_bfloat16
from sassim.interpreter.tensor_maps import swizzle

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Array = npt.NDArray[Any]

M, N = 64, 16
BYTES = 16384
RANDOM = np.random.default_rng(3)
MODES = {0: 0, 128: 1, 64: 2, 32: 3}


def descriptor(start: int, leading: int, stride: int, span: int) -> np.uint64:
    """What a kernel adds the address of its shared memory to."""
    fields = start >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32
    return np.uint64(fields | MODES[span] << 62)


def place(row: int, byte: int, leading: int, stride: int, span: int, *, across: bool) -> int:
    """Where the byte of a row is, before the swizzle; ``across``: rows are contiguous.

    ``byte`` counts along the depth, for rows that are contiguous in elements of 2 bytes.
    """
    if not across:
        inside = byte if span else byte % 16 + byte // 16 * leading
        return row // 8 * stride + row % 8 * (span or 16) + inside
    width = max(span, 16) // 2
    depth, half = byte // 2, byte % 2
    block, group = (leading, stride) if span else (stride, leading)
    line = row // width * block + depth // 8 * group + depth % 8 * width * 2
    return line + row % width * 2 + half


def put(image: Array, matrix: Array, layout: tuple[int, int, int, int], *, across: bool) -> Any:
    """Put rows of bytes into an image of shared memory; gives the descriptor."""
    start, leading, stride, span = layout
    for row, values in enumerate(matrix):
        for byte, value in enumerate(values):
            at = start + place(row, byte, leading, stride, span, across=across)
            image[int(swizzle(np.array(at), span))] = value
    return descriptor(start, leading, stride, span)


def bfloats(values: Array) -> Array:
    return round_to_bfloat16(values).astype(np.uint16)


def small(values: Array, name: str) -> Array:
    """Numbers as those of 8 bits that are equal to them."""
    table = SMALL[name]
    return np.array(
        [np.flatnonzero(table == each)[0] for each in values.reshape(-1)], np.uint8
    ).reshape(values.shape)


ENCODE: dict[str, Callable[[Array], Array]] = {
    "bf16": bfloats,
    "f16": lambda values: half_bits(values).astype(np.uint16),
    "tf32": lambda values: values.astype(np.float32),
    "e4m3": lambda values: small(values, "E4M3"),
    "e5m2": lambda values: small(values, "E5M2"),
    "s8": lambda values: values.astype(np.int8),
    "u8": lambda values: values.astype(np.uint8),
}


def numbers(shape: tuple[int, int], kind: str) -> Array:
    return RANDOM.integers(0 if kind == "u8" else -4, 5, shape).astype(np.float32)


def as_bytes(values: Array) -> Array:
    return np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)


def by_thread(matrix: Array) -> Array:
    """Elements of D as each thread holds them (PTX ISA, "Register Fragments")."""
    out = np.zeros((128, 2 * N // 4), matrix.dtype)
    for thread in range(128):
        for n in range(N // 2):
            row = thread // 32 * 16 + thread % 32 // 4 + n // 2 % 2 * 8
            column = thread % 4 * 2 + n % 2 + n // 4 * 8
            out[thread, n] = matrix[row, column]
    return out


ALONG = {
    "none": (0, 128, 256, 0), "none apart": (0, 2048, 128, 0), "128": (0, 16, 1024, 128),
    "128 further": (32, 16, 1024, 128), "64": (32, 16, 512, 64), "32": (0, 16, 256, 32),
}  # fmt: skip
ACROSS = {
    "none": (0, 1024, 128, 0), "none apart": (0, 128, 256, 0), "128": (0, 4096, 1024, 128),
    "64": (0, 1024, 512, 64), "64 apart": (0, 2048, 1024, 64), "32": (0, 512, 256, 32),
}  # fmt: skip
"""Start, leading and stride offsets, and span."""


def multiply(
    kernel: str,
    kinds: tuple[str, str],
    depth: int,
    *,
    a: tuple[int, int, int, int],
    b: tuple[int, int, int, int],
    across: str = "",
    add: int = 1,
    sums: Any = np.float32,
) -> tuple[Array, Array, Array]:
    """Run a product; the product of NumPy, the sums before, and those after, by thread."""
    image = RANDOM.integers(0, 256, BYTES).astype(np.uint8)
    left, right = numbers((M, depth), kinds[0]), numbers((N, depth), kinds[1])
    b = (b[0] + 8192, *b[1:])
    of_a = put(image, as_bytes(ENCODE[kinds[0]](left)), a, across="a" in across)
    of_b = put(image, as_bytes(ENCODE[kinds[1]](right)), b, across="b" in across)
    before = RANDOM.integers(-9, 10, (128, N // 2)).astype(sums)
    _, after = code("hopper", "sm_90a").run(
        kernel, image.view(np.uint32), np.int32(BYTES // 4), of_a, of_b, np.int32(add), before,
        block=(128, 1, 1), shared=BYTES,
    )  # fmt: skip
    return by_thread(left @ right.T), before, after


@pytest.mark.parametrize("layout", ALONG)
@pytest.mark.parametrize(
    ("kernel", "kinds", "depth", "sums"),
    [
        ("bf16", ("bf16", "bf16"), 16, np.float32),
        ("tf32", ("tf32", "tf32"), 8, np.float32),
        ("e4m3_e5m2", ("e4m3", "e5m2"), 32, np.float32),
        ("f16_in_halves", ("f16", "f16"), 16, np.float16),
        ("e5m2_in_halves", ("e5m2", "e5m2"), 32, np.float16),
        ("s8_u8", ("s8", "u8"), 32, np.int32),
    ],
)
def test_rows_along_the_depth(
    layout: str, kernel: str, kinds: tuple[str, str], depth: int, sums: Any
) -> None:
    other = list(ALONG.values())[::-1][list(ALONG).index(layout)]
    product, before, after = multiply(kernel, kinds, depth, a=ALONG[layout], b=other, sums=sums)
    assert (after == product + before).all()


@pytest.mark.parametrize("layout", ACROSS)
def test_rows_across_the_depth(layout: str) -> None:
    of, along = ACROSS[layout], ALONG["128"]
    for kernel, across, a, b in (
        ("bf16_across_a", "a", of, along), ("bf16_across_b", "b", along, of),
    ):  # fmt: skip
        product, before, after = multiply(kernel, ("bf16", "bf16"), 16, a=a, b=b, across=across)
        assert (after == product + before).all()
    product, before, after = multiply("f16_across", ("f16", "f16"), 16, a=of, b=of, across="ab")
    assert (after == product + before).all()


def test_sums_are_left_out_where_a_predicate_says_so() -> None:
    layout = ALONG["128"]
    product, _, after = multiply("bf16", ("bf16", "bf16"), 16, a=layout, b=layout, add=0)
    assert (after == product).all()


def test_operands_may_be_negated() -> None:
    layout = ALONG["64"]
    for kernel in ("bf16_less_a", "bf16_less_b"):
        product, before, after = multiply(kernel, ("bf16", "bf16"), 16, a=layout, b=layout)
        assert (after == before - product).all()


def test_bits_that_are_set_in_both_are_counted() -> None:
    image = RANDOM.integers(0, 256, BYTES).astype(np.uint8)
    left, right = (RANDOM.integers(0, 256, (rows, 32)).astype(np.uint8) for rows in (M, N))
    of_a = put(image, left, ALONG["32"], across=False)
    of_b = put(image, right, (8192, *ALONG["none"][1:]), across=False)
    before = np.full((128, N // 2), 5, np.int32)
    _, after = code("hopper", "sm_90a").run(
        "b1", image.view(np.uint32), np.int32(BYTES // 4), of_a, of_b, np.int32(1), before,
        block=(128, 1, 1), shared=BYTES,
    )  # fmt: skip
    bits = [np.unpackbits(each, axis=1).astype(np.int32) for each in (left, right)]
    assert (after == by_thread(bits[0] @ bits[1].T) + 5).all()


def test_whole_numbers_saturate() -> None:
    image = np.full(BYTES, 200, np.uint8)
    layout = descriptor(0, 16, 1024, 128)
    before = np.full((128, N // 2), 2**31 - 1000, np.int32)
    _, after = code("hopper", "sm_90a").run(
        "u8_u8_limited", image.view(np.uint32), np.int32(BYTES // 4), layout, layout, np.int32(1),
        before, block=(128, 1, 1), shared=BYTES,
    )  # fmt: skip
    assert (after == 2**31 - 1).all()


@pytest.mark.parametrize(
    ("kernel", "kind", "depth", "sign", "layout"),
    [
        ("bf16_registers", "bf16", 16, 1, ACROSS["64"]),
        ("tf32_registers", "tf32", 8, -1, ALONG["128"]),
        ("s8_registers", "s8", 32, 1, ALONG["none"]),
    ],
)
def test_a_may_be_in_registers(
    kernel: str, kind: str, depth: int, sign: int, layout: tuple[int, int, int, int]
) -> None:
    image = RANDOM.integers(0, 256, BYTES).astype(np.uint8)
    left, right = numbers((M, depth), kind), numbers((N, depth), kind)
    of_b = put(image, as_bytes(ENCODE[kind](right)), layout, across=kernel == "bf16_registers")
    raw, per_register = as_bytes(ENCODE[kind](left)), 4
    fragments = np.zeros((128, 4, per_register), np.uint8)
    for thread in range(128):
        for n in range(4):
            row = thread // 32 * 16 + thread % 32 // 4 + n % 2 * 8
            first = thread % 4 * 4 + n // 2 * 16
            fragments[thread, n] = raw[row, first : first + 4]
    sums = np.int32 if kind == "s8" else np.float32
    before = RANDOM.integers(-9, 10, (128, N // 2)).astype(sums)
    *_, after = code("hopper", "sm_90a").run(
        kernel, image.view(np.uint32), np.int32(BYTES // 4), fragments, of_b, np.int32(1), before,
        block=(128, 1, 1), shared=BYTES,
    )  # fmt: skip
    assert (after == by_thread(sign * (left @ right.T)) + before).all()


def test_a_base_offset_is_refused() -> None:
    with pytest.raises(SassimError, match="base offset, which is not supported"):
        code("hopper", "sm_90a").run(
            "bf16", np.zeros(BYTES // 4, np.uint32), np.int32(BYTES // 4),
            np.uint64(1 << 49), np.uint64(0), np.int32(1), np.zeros(1024, np.float32),
            block=(128, 1, 1), shared=BYTES,
        )  # fmt: skip
