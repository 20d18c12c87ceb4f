"""How threads part, meet and wait: what kernels of ``code/control.cu`` give.

The code was made by ``nvcc`` 13.0 and read by ``nvdisasm``, as ``code/README.md`` says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.sassim.interpreter.running import code, each_architecture

from sassim.faults import DeadlockError, ThreadId, TrapError
from sassim.interpreter.context import NotKnownError

if TYPE_CHECKING:
    import numpy.typing as npt
    from tests.sassim.interpreter.running import Code

ALL = each_architecture("control")
LANES = np.arange(32)
ZEROS = np.zeros(32, np.int32)


@pytest.fixture(params=ALL)
def kernels(request: pytest.FixtureRequest) -> Code:
    """The code for each architecture."""
    return code("control", request.param)


def values(count: int = 32, most: int = 1000) -> npt.NDArray[np.int32]:
    """Numbers that look random."""
    return np.random.default_rng(count).integers(0, most, count, dtype=np.int32)


def bits(lanes: Any) -> int:
    """Lanes as a mask."""
    return sum(1 << int(lane) for lane in np.flatnonzero(lanes))


def signed(number: Any) -> npt.NDArray[np.int32]:
    """Numbers that wrap at 32 bits."""
    return np.asarray(number, np.int64).astype(np.uint32).view(np.int32)


def test_threads_on_both_sides_of_a_branch_shuffle_together(kernels: Code) -> None:
    given = values()
    out, _ = kernels.run("shuffles_apart", ZEROS, given)
    # Lane 5 is odd and gives v, lane 8 is even and gives v + 1.
    assert out.tolist() == [given[5] * 3 if lane & 1 else given[8] + 1 + 2 for lane in range(32)]


def test_threads_left_in_a_loop_vote(kernels: Code) -> None:
    given = values(most=9)
    out, _ = kernels.run("votes_in_loop", ZEROS, given)
    wanted = [
        sum(1 << k for k in range(v) if any(w == k + 3 and w > k for w in given)) for v in given
    ]
    assert out.tolist() == wanted


def test_halves_of_a_warp_work_apart(kernels: Code) -> None:
    given = values()
    out, _ = kernels.run("halves", ZEROS, given)
    low, high = given[:16], given[16:]
    first = low[LANES[:16] ^ 3] + bits(low & 2)
    up = np.r_[high[:1], high[:-1]].astype(np.int64)
    second = (up ^ (bits(high & 1) << 16)) + 1 + 2 * int((high > 900).any())
    assert out.tolist() == [*signed(first), *signed(second)]


@pytest.mark.parametrize("size", [4, 8, 16, 32])
def test_groups_with_masks_of_their_own_do_not_see_each_other(kernels: Code, size: int) -> None:
    given = values()
    out, _ = kernels.run("groups", ZEROS, given, np.int32(size))
    wanted = []
    for start in range(0, 32, size):
        group = given[start : start + size]
        value = (bits(group & 1) << start) + int(group[1]) + 3 * int((group > 900).any())
        wanted += [value] * size
    assert out.tolist() == signed(wanted).tolist()


@pytest.mark.parametrize("arch", each_architecture("control", 80))
@pytest.mark.parametrize("size", [8, 16, 32])
def test_groups_reduce_each_for_itself(arch: str, size: int) -> None:
    given = values() - 500
    out, _ = code("control", arch).run("reductions", np.zeros(96, np.int32), given, np.int32(size))
    groups = given.reshape(-1, size)
    for part, function in zip(
        out.reshape(3, -1, size), (np.add, np.maximum, np.bitwise_xor), strict=True
    ):
        wanted = function.reduce(groups, axis=1)
        assert (part == wanted[:, None]).all()


def test_lanes_with_the_same_value_find_each_other(kernels: Code) -> None:
    given = values()
    out, _ = kernels.run("matches", np.zeros(160, np.uint32), given)
    any_, all_, wide, all_wide, same = out.reshape(5, 32)
    assert any_.tolist() == [bits((given & 3) == (v & 3)) for v in given]
    assert (all_ == 0xFFFFFFFF).all()
    assert wide.tolist() == [bits((given & 1) == (v & 1)) for v in given]
    assert (all_wide == 0).all()
    assert (same == 1).all()


def test_a_block_votes(kernels: Code) -> None:
    given = values(192)
    given[64:] %= 900
    out, _ = kernels.run(
        "block_votes", np.zeros_like(given), given, grid=(2, 1, 1), block=(96, 1, 1)
    )
    wanted = [
        4 * int((block & 1).sum()) + 2 + int((block > 900).any()) for block in given.reshape(2, 96)
    ]
    assert (out.reshape(2, 96) == np.array(wanted)[:, None]).all()


def test_warps_that_arrive_go_on_and_those_that_wait_see_what_they_brought(kernels: Code) -> None:
    given = values(64)
    out, _ = kernels.run("named_barriers", np.zeros(128, np.int32), given, block=(128, 1, 1))
    assert (out[:64] == 2 * given[np.arange(64) ^ 32]).all()
    assert (out[64:] == 2 * given + 1).all()


@pytest.mark.parametrize("number", [1, 2, 15])
def test_a_barrier_may_be_known_when_it_runs(kernels: Code, number: int) -> None:
    given = values(64)
    out, _ = kernels.run(
        "barriers_by_number",
        np.zeros(192, np.int32),
        given,
        np.int32(number),
        np.int32(64),
        block=(128, 1, 1),
    )
    assert (out[:64] == 2 * given[::-1]).all()
    assert (out[64:] == 96).all()


def test_a_switch_jumps_by_its_table(kernels: Code) -> None:
    given = np.r_[np.arange(10), np.full(22, 3)].astype(np.int32)
    given[10:] = values(22, 12)
    out, _ = kernels.run("switches", ZEROS, given)

    def wanted(v: int) -> int:
        cases = {
            0: given[5] + 1, 1: v * 7, 2: given[7] - 3, 3: v ^ given[1], 4: v << given[3],
            5: (v + int(given[0])).bit_count(), 6: 32 - v.bit_length(),
            7: int(f"{v:032b}"[::-1], 2), 8: v // given[2],
        }  # fmt: skip
        return int(cases.get(v, -1))

    assert out.tolist() == signed([wanted(int(v)) for v in given]).tolist()


@pytest.mark.parametrize("which", [0, 1])
def test_functions_are_called_by_their_addresses(kernels: Code, which: int) -> None:
    (out,) = kernels.run("function_pointers", ZEROS, np.int32(which))
    functions = (np.add, np.multiply, np.subtract)
    assert out.tolist() == [functions[(n + which) % 3](n, 7) for n in range(32)]


def test_a_function_calls_itself(kernels: Code) -> None:
    (out,) = kernels.run("recursion", ZEROS)
    numbers = [0, 1, 1, 2, 3, 5, 8, 13, 21]
    assert out.tolist() == [numbers[n % 9] for n in range(32)]


def test_a_thread_takes_so_much_of_the_stack_as_it_finds_out(kernels: Code) -> None:
    (out,) = kernels.run("stack", ZEROS, np.int32(10))
    assert out.tolist() == [sum(k * k + n for k in range(10)) for n in range(32)]


def test_a_variable_is_found_by_a_pointer_to_it(kernels: Code) -> None:
    (out,) = kernels.run("variables", ZEROS)
    assert (out == 40 + 32).all()


def test_printing_gives_the_number_of_arguments(kernels: Code) -> None:
    (out,) = kernels.run("prints", ZEROS, np.int32(7))
    assert out.tolist() == [4] * 3 + [0] * 29


def test_an_assertion_that_does_not_hold_is_told_with_its_line_and_thread(kernels: Code) -> None:
    (out,) = kernels.run("asserts", ZEROS, np.int32(32))
    assert (out == 32).all()
    with pytest.raises(TrapError, match=r"the assertion 'threadIdx\.x < n' does not hold") as found:
        kernels.run("asserts", ZEROS, np.int32(20), grid=(2, 1, 1))
    assert found.value.places[0] == ThreadId((0, 0, 0), (20, 0, 0))
    assert "control.cu" in str(found.value)


def test_a_trap_is_told_with_its_line_and_thread(kernels: Code) -> None:
    with pytest.raises(TrapError, match="stops itself") as found:
        kernels.run("traps", ZEROS, np.int32(6), block=(8, 4, 1))
    threads = [(x, y, 0) for y in range(4) for x in (6, 7)]
    assert found.value.places == tuple(ThreadId((0, 0, 0), thread) for thread in threads)
    assert found.value.where is not None
    assert found.value.where.startswith("/kernels/control.cu:")


def test_threads_that_wait_for_ever_are_told(kernels: Code) -> None:
    with pytest.raises(DeadlockError, match="32 wait at a barrier of the block") as found:
        kernels.run("waits_for_ever", np.zeros(64, np.int32), block=(64, 1, 1))
    assert "32 have ended" in str(found.value)


@pytest.mark.parametrize(
    ("entry", "what"), [("reads_clock", "clock"), ("reads_processor", "%smid")]
)
def test_what_only_a_gpu_knows_is_named(kernels: Code, entry: str, what: str) -> None:
    with pytest.raises(NotKnownError, match=what):
        kernels.run(entry, np.zeros(32, np.int64))


def test_lanes_know_those_below_and_above_them(kernels: Code) -> None:
    (out,) = kernels.run("lane_masks", np.zeros(160, np.uint32))
    for part, compare in zip(
        out.reshape(5, 32),
        (np.less, np.less_equal, np.greater, np.greater_equal, np.equal),
        strict=True,
    ):
        assert part.tolist() == [bits(compare(LANES, lane)) for lane in LANES]


@pytest.mark.parametrize("arch", each_architecture("control", 90))
def test_blocks_of_a_cluster_reach_each_others_memory(arch: str) -> None:
    kernels = code("control", arch)
    (out,) = kernels.run("cluster", np.zeros(16 * 64, np.int32), grid=(4, 4, 1))
    for block, part in enumerate(out.reshape(16, 2, 32)):
        x, y = block % 4, block // 4
        other = y * 4 + (x ^ 1)
        rank = y % 2 * 2 + x % 2
        assert (part[0] == 2 * (LANES + 100 * other) + LANES + 100 * block + 5).all()
        assert (part[1] == ((rank * 10 + 4) * 10 + x % 2) * 100 + y // 2 * 10 + 2).all()
