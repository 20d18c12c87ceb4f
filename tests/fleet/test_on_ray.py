"""A real Ray of this machine, whose fake GPUs give recorded captures."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
from tests.fleet.conftest import ROOT

from kernelprof.errors import MissingToolError
from kernelprof.fleet.executor import recorded_devices
from kernelprof.fleet.plan import read_plan
from kernelprof.fleet.ray_executor import LOCAL, RayExecutor
from kernelprof.fleet.results import Done
from kernelprof.fleet.run import run_plan
from kernelprof.fleet.store import FleetStore

if TYPE_CHECKING:
    from pathlib import Path


SMALL: dict[str, Any] = {"num_cpus": 2, "object_store_memory": 100 << 20}


@pytest.fixture
def ray_finds_us(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of Ray are started with the environment, and not with the path of imports."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))


@pytest.mark.exhaustive("starts a cluster")
@pytest.mark.usefixtures("ray_finds_us")
def test_workers_that_are_killed_lose_nothing(
    write_plan, some_captures, store, monkeypatch
) -> None:
    monkeypatch.setattr("kernelprof.fleet.run._AT_ONCE", 1)
    ladder = '[[ladder]]\nname = "sgemm"\nrungs = ["1", "2", "3"]\n'
    plan = read_plan(write_plan(some_captures + ladder))
    killed: set[int] = set()

    def kill(done: int, *_: object) -> None:
        """First the process that makes the calls of an actor, then an actor itself."""
        if done not in (1, 4):
            return
        slot = next(each for each in executor._slots if each.doing is not None)
        actor, process = executor._ray.get(slot.worker.actor.pids.remote())
        killed.add(process if done == 1 else actor)
        os.kill(process if done == 1 else actor, signal.SIGKILL)

    with RayExecutor(LOCAL, None, 2, 3, recorded=recorded_devices() * 2, options=SMALL) as executor:
        assert [each.name for each in executor.devices] == ["NVIDIA H200"] * 2
        first = run_plan(plan, store, executor, tell=kill, recorded=True)
        second = run_plan(plan, FleetStore(store.backend), executor, recorded=True)
    assert len(killed) == 2
    assert {each.done for each in first.jobs} == {Done.DIAGNOSED, Done.RECORDED}
    assert first.count(Done.RECORDED) == 3
    assert len(FleetStore(store.backend).names()) == 9
    assert second.count(Done.UNCHANGED) == 9


def test_an_address_without_a_ray_is_an_error(tmp_path: Path) -> None:
    del tmp_path
    with pytest.raises(MissingToolError, match="no Ray cluster was found"):
        RayExecutor("127.0.0.1:1", None, 1, 0).__enter__()
