"""Kernels that do not end, and those that only take long."""

from __future__ import annotations

import pytest
from tests.sassim.sanitizer.running import bound, line

from sassim.faults import WatchdogError
from sassim.interpreter.context import ObserverGroup
from sassim.sanitizer.watchdog import Watchdog
from sassim.simulator import run_blocks


def test_a_loop_that_counts_on_ends_at_a_limit() -> None:
    _, launch = bound("faults", "counts_on")
    with pytest.raises(WatchdogError, match="did not end within 3000 instructions") as caught:
        run_blocks(launch.launch, ObserverGroup([Watchdog(3000)]))
    error = caught.value
    assert error.instruction is not None
    lines = {f"faults.cu:{each.number}" for each in error.instruction.lines}
    number = int(line("counts_on", "loop").partition(":")[2])
    assert lines <= {f"faults.cu:{number + n}" for n in range(4)}


def test_what_ends_is_not_stopped_by_a_limit_that_it_stays_below() -> None:
    _, launch = bound("faults", "copies")
    counted = Watchdog()
    run_blocks(launch.launch, counted)
    instructions = counted._instructions
    assert 50 < instructions < 2000
    run_blocks(bound("faults", "copies")[1].launch, Watchdog(instructions))
    with pytest.raises(WatchdogError):
        run_blocks(bound("faults", "copies")[1].launch, Watchdog(instructions - 1))


def test_a_loop_that_comes_back_is_known_long_before_the_limit() -> None:
    _, launch = bound("faults", "waits_for_nobody")
    counted = Watchdog()
    with pytest.raises(WatchdogError, match="repeats without changing any state"):
        run_blocks(launch.launch, counted)
    assert counted._instructions < 100_000


def test_a_long_loop_that_changes_something_does_not_come_back() -> None:
    _, launch = bound("faults", "adds_until")
    run_blocks(launch.launch, Watchdog())
    found = launch.array("y")
    assert found[0] == 6000
