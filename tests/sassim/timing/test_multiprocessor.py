"""One SM with a few instructions whose times are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sassim.counters.trace import PhaseTrace
from sassim.opcodes import ASYNC_COPY, COMMIT_GROUP
from sassim.timing.instruction_costs import PARTITION_PIPES, MemoryTiming, TimedInstruction
from sassim.timing.multiprocessor import Multiprocessor, SharedUnitRates, SmTimes
from sassim.timing.pipes import load_latencies
from sassim.timing.segments import WarpSegments

PLENTY = SharedUnitRates(
    l2_sectors=2.0,
    bulk_sectors=2.0,
    dram_sectors=2.0,
    atomic_cycles=1.0,
    halves=True,
)
FAR = MemoryTiming("load", passes=1.0, sectors=4.0, waits=1.0, far=0.0, serialized=0.0, l2_cost=4.0)
L2 = load_latencies()["l2"]


def op(
    name: str, *, stall: int = 2, memory: MemoryTiming | None = None, **more: Any
) -> TimedInstruction:
    return TimedInstruction(
        stall=stall,
        waits=(),
        result=more.get("result"),
        operands=None,
        pipe=more.get("pipe", -1),
        cycles=more.get("cycles", 0.0),
        adu=0.0,
        latency=0.0,
        memory=memory,
        name=name,
        pending=more.get("pending", -1),
        role=more.get("role", ""),
        ends_group=more.get("ends_group", False),
        together=more.get("together", 0),
    )


def nothing(warps: int, blocks: int = 1) -> PhaseTrace:
    """Warps that come to no barriers in shared memory."""
    return PhaseTrace([[] for _ in range(warps)], [[] for _ in range(warps)], [{}] * blocks)


def run(
    *warps: tuple[TimedInstruction, ...], weight: float = 1.0, phases: PhaseTrace | None = None
) -> SmTimes:
    """One block, each of whose warps carries out its instructions."""
    steps = WarpSegments(
        warps=tuple(((ops, weight),) for ops in warps),
        warps_of_block=len(warps),
        share_run=1.0,
        instructions=sum(map(len, warps)),
        phases=phases or nothing(len(warps)),
    )
    return Multiprocessor(steps, PLENTY).run(1, 1)


def test_a_warp_waits_as_long_as_its_code_says() -> None:
    found = run((op("FADD", stall=7), op("FADD", stall=5), op("EXIT", stall=5)))
    assert found.cycles == 17.0
    assert found.instructions == 3.0
    assert found.stalls["wait"] == 14.0


def test_what_is_left_out_counts_by_its_weight() -> None:
    once, often = (run((op("FADD", stall=4), op("EXIT")), weight=each) for each in (1.0, 10.0))
    assert often.cycles == once.cycles
    assert often.instructions == 10 * once.instructions
    assert often.scale_to_full_run == 10.0


def test_no_warp_leaves_a_barrier_before_the_last_has_come() -> None:
    late = tuple(op("FADD", stall=10) for _ in range(20))
    found = run((op("BAR"), op("EXIT")), (*late, op("BAR")))
    assert found.cycles > 200.0
    assert found.stalls["barrier"] > 195.0


def test_copies_are_waited_for_by_groups() -> None:
    copy = (op(ASYNC_COPY, memory=FAR), op(COMMIT_GROUP, result=0))
    all_of_them = run((*copy, op("DEPBAR", pending=0), op("EXIT")))
    assert L2 < all_of_them.cycles < L2 + 50.0
    assert all_of_them.stalls["long_scoreboard"] > L2 - 20.0
    one_under_way = run((*copy, op("DEPBAR", pending=1), op("EXIT")))
    assert one_under_way.cycles < 20.0


def test_steps_in_another_order_are_those_of_the_same_blocks() -> None:
    ops = [((op(name),), 1.0) for name in "ABCDEF"]
    steps = WarpSegments(tuple((each,) for each in ops), 2, 1.0, 6.0, nothing(6, 3))
    names = [warp[0][0][0].name for warp in steps.ordered(np.array([2, 0, 1])).warps]
    assert names == ["E", "F", "A", "B", "C", "D"]


def test_loads_from_a_busy_memory_take_longer_some_more_than_others() -> None:
    far = FAR._replace(far=1.0, dram_cost=4.0)
    ops = (op("LDG", memory=far, result=0), op("EXIT")._replace(waits=(0,)))
    steps = WarpSegments(tuple(((ops, 1.0),) for _ in range(8)), 8, 1.0, 16.0, nothing(8))
    alone = Multiprocessor(steps, PLENTY).run(1, 1)
    assert alone.cycles < load_latencies()["dram"] + 60.0
    rates = replace(PLENTY, dram_sectors=0.25)
    took = sorted(Multiprocessor(steps, rates).run(64, 8).durations[0])
    # Eight warps of 16 cycles each are served one after the other; the rest is chance.
    assert took[0] > load_latencies()["dram"] + 128.0
    assert took[-1] - took[0] > 200.0
    assert took == sorted(Multiprocessor(steps, rates).run(64, 8).durations[0])


ARRIVE, WAIT = op("SYNCS", role="arrive"), op("SYNCS", role="wait")
BOX = op("UTMALDG", role="copy", memory=FAR._replace(sectors=512.0))


def test_a_phase_ends_when_all_have_come_and_all_bytes_are_there() -> None:
    phases = PhaseTrace([[(7,), (7,)], []], [[], [7]], [{7: 2}])
    found = run((ARRIVE, BOX, op("EXIT")), (WAIT, op("EXIT")), phases=phases)
    assert found.cycles > L2 + 512.0 / PLENTY.bulk_sectors
    assert found.stalls["long_scoreboard"] > found.cycles - 10.0


def test_a_warp_that_does_not_copy_leaves_others_alone() -> None:
    phases = PhaseTrace([[(7,), ()], []], [[], [7]], [{7: 1}])
    found = run((ARRIVE, BOX, op("EXIT")), (WAIT, op("EXIT")), phases=phases)
    assert found.cycles < L2


def test_nobody_waits_for_a_phase_that_nobody_comes_to() -> None:
    phases = PhaseTrace([[]], [[9]], [{}])
    assert run((WAIT, op("EXIT")), phases=phases).cycles < 20.0


def test_warps_that_wait_for_what_is_left_out_go_on() -> None:
    phases = PhaseTrace([[]], [[9]], [{9: 1}])
    assert run((WAIT, op("EXIT")), phases=phases).blocks == 1


def test_products_are_under_way_until_their_group_is_waited_for() -> None:
    tensor = PARTITION_PIPES.index("tensor")
    product = op("HGMMA", role="product", pipe=tensor, cycles=128.0)
    last = op("HGMMA", role="product", pipe=tensor, cycles=128.0, ends_group=True)
    wait = op("WARPGROUP", pending=0)
    assert run((product, last, op("EXIT"))).cycles < 30.0
    found = run((product, last, wait, op("EXIT")))
    assert 256.0 < found.cycles < 330.0
    assert found.stalls["barrier"] > 230.0
    assert run((product, last, op("WARPGROUP", pending=1), op("EXIT"))).cycles < 30.0


def test_neighbours_meet_at_a_barrier_of_a_part_of_the_block() -> None:
    late = tuple(op("FADD", stall=10) for _ in range(20))
    meet = op("BAR", together=2)
    found = run((meet, op("EXIT")), (meet, op("EXIT")), (*late, op("EXIT")))
    assert found.stalls["barrier"] < 50.0
