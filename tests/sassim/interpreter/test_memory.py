"""Memory of all kinds: what kernels of ``code/memory.cu`` give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.sassim.interpreter.running import architectures, code, each_architecture

from sassim.faults import OutOfBoundsError, ThreadId

if TYPE_CHECKING:
    from tests.sassim.interpreter.running import Code

LANES = np.arange(32)
T64 = np.arange(64)


@pytest.fixture(params=each_architecture("memory"))
def kernels(request: pytest.FixtureRequest) -> Code:
    """The code for each architecture."""
    return code("memory", request.param)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_function_takes_pointers_to_all_kinds_of_memory(kernels: Code, which: int) -> None:
    given = np.arange(128, dtype=np.float32) * 3
    out, counts = kernels.run(
        "generic", given, np.zeros(130, np.int32), np.int32(which), block=(64, 1, 1)
    )
    tile, mine = T64.astype(np.float32), (T64 % 8 * which).astype(np.float32)
    base = {0: given[:64], 1: tile, 2: mine}[which]
    result = base + 2
    tile = result if which == 1 else tile
    mine = result if which == 2 else mine
    assert (out[64:] == result + mine + tile).all()
    assert (out[:64] == (result if which == 0 else given[:64])).all()
    even, odd = T64[T64 % 2 == 0], T64[T64 % 2 == 1]
    assert sorted(counts[1:65][even]) == np.cumsum([0, *sorted(even)])[:-1].tolist()
    assert counts[0] == odd.sum()
    space = {0: 2000, 1: 1000, 2: 4000}[which]
    assert (counts[65:129] == even.sum() + space).all()
    assert counts[129] == 12


def test_threads_of_a_warp_reach_three_kinds_of_memory_at_once(kernels: Code) -> None:
    (out,) = kernels.run("mixed_spaces", np.zeros(64, np.float32))
    where = LANES % 3
    wanted = np.where(where == 0, 200 + LANES, np.where(where == 1, 100 + LANES, 1 + LANES % 4))
    assert (out[32:] == wanted + 0.5).all()
    assert (out[:32] == 200 + LANES + 0.5 * (where == 0)).all()


@pytest.mark.parametrize("arch", each_architecture("memory", 80))
@pytest.mark.parametrize("n", [0, 1, 100, 127, 250, 256])
def test_the_rest_of_a_copy_is_zeros(arch: str, n: int) -> None:
    kernels = code("memory", arch)
    given = np.arange(1, 257, dtype=np.float32)
    out, _ = kernels.run(
        "copy_with_zeros", np.zeros(256, np.float32), given, np.int32(n), block=(64, 1, 1)
    )
    assert (out == np.where(np.arange(256) < n, given, 0)[::-1]).all()
    out, _ = kernels.run(
        "copy_or_zero", np.zeros(64, np.float32), given, np.int32(n), block=(64, 1, 1)
    )
    assert (out == np.where(n > T64, given[:64], 0)[::-1]).all()


def test_a_copy_reads_nothing_where_it_stores_zeros() -> None:
    for arch in architectures("memory", 80):
        short = np.ones(40, np.float32)
        out, _ = code("memory", arch).run(
            "copy_or_zero", np.zeros(64, np.float32), short, np.int32(40), block=(64, 1, 1)
        )
        assert (out[::-1][:40] == 1).all()


def test_floating_point_sums_in_shared_memory(kernels: Code) -> None:
    (out,) = kernels.run("shared_float_sum", np.zeros(97, np.float32), block=(96, 1, 1))
    assert out[96] == np.arange(96).sum()
    # What each thread found is a sum of others: sorted, the gaps are the threads' numbers.
    assert sorted(np.diff(sorted(out))) == list(range(96))
    (out,) = kernels.run("shared_double_sum", np.zeros(64), block=(64, 1, 1))
    assert (out == 0.5 + 0.25 * T64.sum()).all()


def test_sums_of_half_precision(kernels: Code) -> None:
    (out,) = kernels.run("shared_half_sum", np.zeros((64, 2), np.float16), block=(64, 1, 1))
    assert (out == [64, 128]).all()
    out, one = kernels.run(
        "half_sums", np.zeros((2, 2), np.float16), np.zeros(4, np.float16), block=(96, 1, 1)
    )
    assert (out == [48, 96]).all()
    assert one.tolist() == [32, 32, 32, 0]


@pytest.mark.parametrize("arch", each_architecture("memory", 90))
def test_sums_of_two_numbers(arch: str) -> None:
    kernels = code("memory", arch)
    (out,) = kernels.run("brain_sums", np.zeros((2, 2), np.uint16), block=(64, 1, 1))
    assert ((out.astype(np.uint32) << 16).view(np.float32) == [32, 64]).all()
    (out,) = kernels.run("vector_sums", np.zeros((65, 2), np.float32), block=(64, 1, 1))
    assert out[0].tolist() == [64, 128]
    assert sorted(out[1:, 0]) == list(range(64))
    assert (out[1:, 1] == 2 * out[1:, 0]).all()


def one_by_one(function: Any, start: int, given: Any) -> tuple[list[int], int]:
    """What an atomic finds and leaves, if threads come in their order."""
    found, now = [], start
    for value in given:
        found.append(now)
        now = function(now, value)
    return found, now


def test_each_thread_finds_what_those_before_it_left(kernels: Code) -> None:
    start = np.array([5, 7, 11, 2**31 - 5, -1, 0, 9, 3, 4, 2, 0], np.int32)
    q, old = kernels.run("atomics", start, np.zeros(352, np.int32), np.int32(3))
    old = old.reshape(11, 32)
    t = range(32)
    functions: list[tuple[Any, Any]] = [
        (lambda a, b: a + b, t),
        (lambda a, b: a - b, t),
        (max, [n * 7 % 31 + 3 for n in t]),
        (min, [-n & 0xFFFFFFFF for n in t]),
        (lambda a, b: a & b, [~(1 << n) & 0xFFFFFFFF for n in t]),
        (lambda a, b: a | b, [1 << n for n in t]),
        (lambda a, b: a ^ b, [3 << n & 0xFFFFFFFF for n in t]),
        (lambda _, b: b, t),
        (lambda a, _: 0 if a >= 9 else a + 1, t),
        (lambda a, _: 5 if a == 0 or a > 5 else a - 1, t),
        (lambda a, b: b + 1 if a == b else a, t),
    ]
    for row, (function, given) in enumerate(functions):
        unsigned = row in (3, 4, 5, 6)
        first = int(start[row]) & 0xFFFFFFFF if unsigned else int(start[row])
        found, last = one_by_one(function, first, given)
        kind = np.uint32 if unsigned else np.int32
        assert old[row].view(kind).tolist() == found, row
        assert q[row : row + 1].view(kind)[0] == last, row


def test_atomics_without_a_result(kernels: Code) -> None:
    start = np.array([5, 11, 2, -1, 0, 9, 4, 2, 3], np.int32)
    (q,) = kernels.run("atomics_unused", start, grid=(2, 1, 1), block=(32, 1, 1))
    inc, _ = one_by_one(lambda a, _: 0 if a >= 9 else a + 1, 4, range(65))
    dec, _ = one_by_one(lambda a, _: 5 if a == 0 or a > 5 else a - 1, 2, range(65))
    wanted = [5 + 2 * 496, 30, -31, 0, -1, 9, inc[64], dec[64], 31]
    assert q.tolist() == wanted


def test_atomics_of_64_bits(kernels: Code) -> None:
    start = np.array([1, 1 << 41, 3, 4, 0, 0], np.uint64)
    q, old = kernels.run("atomics_wide", start, np.zeros(160, np.uint64))
    old = old.reshape(5, 32)
    t = range(32)
    for row, (function, given) in enumerate(
        [
            (lambda a, b: a + b, [n << 33 for n in t]),
            (max, [(n * 7 % 31) << 40 for n in t]),
            (min, [-n for n in t]),
            (lambda _, b: b, [n << 35 for n in t]),
            (lambda a, b: b + (1 << 40) if a == b else a, [n << 40 for n in t]),
        ]
    ):
        found, last = one_by_one(function, int(start[row]), given)
        kind = np.int64 if row == 2 else np.uint64
        assert old[row].view(kind).tolist() == found, row
        assert q[row : row + 1].view(kind)[0] == last, row
    assert q[5] == np.bitwise_xor.reduce([3 << n for n in t])


def test_sums_of_many_threads(kernels: Code) -> None:
    f, d, before = kernels.run(
        "atomics_floating",
        np.zeros(4, np.float32),
        np.zeros(1),
        np.zeros(1024, np.float32),
        grid=(4, 1, 1),
        block=(256, 1, 1),
    )
    assert f.tolist() == [1024, 171, 170.5, 170.5]
    assert d[0] == 256
    assert sorted(before) == list(range(1024))


def test_atomics_in_shared_memory(kernels: Code) -> None:
    (out,) = kernels.run("atomics_shared", np.zeros(72, np.int32), np.int32(2))
    t = range(32)
    biggest, last = one_by_one(max, 2, [n * 11 % 37 for n in t])
    exchanged = [2, *range(31)]
    swapped, end = one_by_one(lambda a, b: b + 1 if a == b else a, 2, [2 + n for n in t])
    wanted = [2 + n // 4 + 100 * biggest[n] + 10000 * exchanged[n] for n in t]
    assert out[:32].tolist() == wanted
    assert out[32:64].tolist() == swapped
    assert out[64:].tolist() == [10, 10, 10, 10, last, 31, end, 2]


def test_blocks_take_turns_with_a_lock(kernels: Code) -> None:
    blocks = 3
    nothing = np.zeros(1, np.int32)
    out, mutex, total = kernels.run(
        "lock", np.zeros(blocks, np.int32), nothing, nothing, grid=(blocks, 1, 1), block=(64, 1, 1)
    )
    assert (mutex[0], total[0]) == (0, 3)
    # Each block saw the sum that those before it had left.
    seen = sorted((int(value), int(value) + block) for block, value in enumerate(out))
    assert [before for before, _ in seen] == [0, *(after for _, after in seen[:-1])]


def test_structures_are_moved_as_they_lie(kernels: Code) -> None:
    kind = np.dtype([("a", "<f8"), ("b", "<f4"), ("c", "<i2"), ("d", "<i1"), ("", "V1")])
    given = np.zeros(32, kind)
    given["a"], given["b"] = LANES * 1.5, LANES + 0.25
    given["c"], given["d"] = LANES - 7, 5 - LANES
    out, _ = kernels.run("structures", np.zeros(32, kind), given)
    other = given[LANES ^ 1]
    assert (out["a"] == other["a"] + other["b"]).all()
    assert (out["c"] == other["c"] * 2).all()
    assert (out["d"] == other["d"] - 1).all()


def test_vectors_are_moved_at_once(kernels: Code) -> None:
    given = np.arange(128, dtype=np.float32).reshape(32, 4)
    small = np.arange(128, dtype=np.uint8).reshape(32, 4) + 100
    out, _, shorts, _ = kernels.run(
        "vectors", np.zeros((32, 4), np.float32), given, np.zeros((32, 4), np.uint16), small
    )
    assert (out == given[::-1, ::-1]).all()
    assert (shorts == small[:, ::-1]).all()


@pytest.mark.parametrize("arch", each_architecture("memory", 100))
def test_32_bytes_are_moved_at_once(arch: str) -> None:
    given = np.arange(256, dtype=np.float32).reshape(32, 8)
    out, _ = code("memory", arch).run("wide_vectors", np.zeros((32, 8), np.float32), given)
    assert (out == np.roll(given, 1, axis=1)).all()


def test_constant_arrays_are_indexed(kernels: Code) -> None:
    at = (LANES * 5 % 16).astype(np.int32)
    out, _ = kernels.run("constants", np.zeros(32, np.float32), at)
    weights = np.zeros(64)
    weights[:8] = [1, 2, 3, 5, 8, 13, 21, 34]
    letters = np.frombuffer(b"the quick brown fox jumps over the lazy dog", np.uint8)
    assert (out == weights[at] + letters[at * 2 + 1]).all()


def test_parameters_of_all_sizes(kernels: Code) -> None:
    (out,) = kernels.run(
        "parameters",
        np.zeros(32, np.int32),
        np.int8(-3),
        np.int16(-300),
        np.int64(-7 << 32),
        np.bool_(True),
        np.array((10, 20, 30, 40), "<f4,<f4,<f4,<f4")[()],
    )
    assert (out == -3 - 300 - 7 + 1 + 10 * (LANES % 4 + 1)).all()


def test_arrays_of_a_thread_are_indexed(kernels: Code) -> None:
    at = (LANES * 7 % 16).astype(np.int32)
    out, _ = kernels.run("local_array", np.zeros(32, np.int32), at)
    assert (out == (at ^ 1) ** 2 + LANES - 1).all()


def test_dynamic_shared_memory_lies_behind_the_static(kernels: Code) -> None:
    (out,) = kernels.run("dynamic_shared", np.zeros(32, np.int32), shared=256)
    assert (out == 31 - LANES + 2 * (LANES ^ 3) + 256000).all()


@pytest.mark.parametrize(
    ("where", "by", "kind", "what", "thread"),
    [
        (0, 1, "a load", "4 bytes past argument 1", 31),
        (0, -2, "a load", "8 bytes before argument 1", 0),
        (1, 3, "a store", "4 bytes past argument 0", 29),
        (2, 2, "a load", "4 bytes past the 128 bytes of shared memory", 30),
        (2, -1, "a load", "4 bytes before shared memory", 0),
        (3, 1, "a store", "4 bytes past the 128 bytes of shared memory", 31),
        (4, 2, "a load", "not aligned to 4 bytes", 0),
        (5, 1, "an atomic", "4 bytes past argument 0", 31),
    ],
)  # fmt: skip
def test_an_access_that_must_not_be_is_told(
    kernels: Code, where: int, by: int, *, kind: str, what: str, thread: int
) -> None:
    arrays = np.zeros(32, np.int32), np.zeros(32, np.int32)
    with pytest.raises(OutOfBoundsError) as found:
        kernels.run("wrong", *arrays, np.int32(by), np.int32(where))
    error = found.value
    assert what in str(error)
    assert str(error).startswith(f"{kind} by thread ({thread}, 0, 0)")
    assert error.places[0] == ThreadId((0, 0, 0), (thread, 0, 0))
    assert error.where is not None
    line = int(error.where.rpartition(":")[2])
    source = (_source()[line - 1]).strip()
    assert ("in[t", "out[t + by]", "s[t + by]", "s[t + by]", "4 * t", "atomicAdd")[where] in source


def _source() -> list[str]:
    from tests.sassim.interpreter.running import FOLDER

    return (FOLDER / "memory.cu").read_text(encoding="utf-8").splitlines()


def test_a_threads_own_array_has_an_end(kernels: Code) -> None:
    at = np.where(LANES == 9, 4000, LANES % 16).astype(np.int32)
    with pytest.raises(OutOfBoundsError, match="local memory") as found:
        kernels.run("local_array", np.zeros(32, np.int32), at)
    assert found.value.places == (ThreadId((0, 0, 0), (9, 0, 0)),)
