"""Two kernels in turns: who is timed when and how often, and what the rounds say."""

from __future__ import annotations

import math

import pytest

from kernelprof.ladder.bench import FEWEST_ROUNDS, LAUNCHES, ROUNDS, time_interleaved
from kernelprof.ladder.product import Product
from kernelprof.ladder.results import ratio_of

BF16 = Product("bfloat16", "nt", "normal")


class Gpu:
    """A clock that falls with every launch: each takes a thousandth longer than the one before."""

    def __init__(self) -> None:
        self.slower = 1.0
        self.asked: list[tuple[str, int]] = []

    def side(self, name: str, nanoseconds: float):
        def times(count: int) -> list[float]:
            self.asked.append((name, count))
            found = []
            for _ in range(count):
                self.slower *= 1.001
                found.append(nanoseconds * self.slower)
            return found

        return times


def test_both_are_timed_in_turns_and_each_begins_every_other_round() -> None:
    gpu = Gpu()
    found = time_interleaved(gpu.side("rung", 1.4e6), gpu.side("cublas", 1.4e6), 8192, BF16)
    first, second, *rows = gpu.asked
    assert (first, second) == (("rung", 1), ("cublas", 1))
    assert len(rows) == 2 * ROUNDS
    assert {count for _, count in rows} == {LAUNCHES}
    assert [name for name, _ in rows[:6]] == ["cublas", "rung", "rung", "cublas", "cublas", "rung"]
    assert found.timing.launches == found.ceiling.launches == ROUNDS * LAUNCHES
    assert found.timing.warm_up == ROUNDS + 2
    assert (found.timing.flops, found.timing.min_bytes) == (2.0 * 8192**3, 6.0 * 8192**2)
    assert len(found.timing.times_ns) == ROUNDS * LAUNCHES
    assert found.ceiling.times_ns == ()


def test_a_clock_that_falls_favours_neither() -> None:
    """Alone and one after the other they would differ by the whole fall of the clock."""
    gpu = Gpu()
    found = time_interleaved(gpu.side("rung", 1e6), gpu.side("cublas", 1.02e6), 4096, BF16)
    assert gpu.slower > 1.4
    ratio = ratio_of(found)
    assert ratio.median == pytest.approx(1.02, rel=0.025)
    assert ratio.low < 1.02 < ratio.high
    even = [each.ceiling_ns / each.rung_ns for each in found.rounds]
    assert math.sqrt(even[0] * even[1]) == pytest.approx(1.02, rel=1e-3)


def test_the_ratio_is_that_of_each_round_s_own_medians() -> None:
    rung, cublas = iter([[9.0], *[[2.0]] * 9]), iter([[9.0], *([[2.0], [3.0], [4.0]] * 3)])
    found = time_interleaved(lambda _: next(rung), lambda _: next(cublas), 64, BF16)
    assert [tuple(each) for each in found.rounds] == [(2.0, 2.0), (2.0, 3.0), (2.0, 4.0)] * 3
    assert ratio_of(found) == (1.5, 1.0, 2.0)


@pytest.mark.parametrize(
    ("rung_ns", "rounds", "launches"),
    [(1e5, ROUNDS, LAUNCHES), (1e7, ROUNDS, 10), (2e8, ROUNDS, 1), (2.2e9, FEWEST_ROUNDS, 1)],
)
def test_a_kernel_that_takes_long_is_launched_less_often(rung_ns, rounds, launches) -> None:
    gpu = Gpu()
    gpu.slower = 1 / 1.001
    found = time_interleaved(gpu.side("rung", rung_ns), gpu.side("cublas", 1e5), 64, BF16)
    assert len(found.rounds) == rounds
    assert found.timing.launches == rounds * launches
    assert found.ceiling.launches == rounds * LAUNCHES


def test_the_number_of_rounds_is_odd() -> None:
    for milliseconds in range(100, 2000, 50):
        gpu = Gpu()
        found = time_interleaved(gpu.side("r", milliseconds * 1e6), gpu.side("c", 1e5), 64, BF16)
        assert len(found.rounds) % 2 == 1
