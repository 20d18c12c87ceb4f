"""Calls shared out among workers, wherever those are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from kernelprof.fleet.executor import Call, Failure, Outcome, dead

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.fleet.devices import Device


class WorkerDied(Exception):  # noqa: N818 (no error: it is replaced)
    """A worker is gone, and its call with it."""


@dataclass
class Queued:
    """A call, and how many workers died over it."""

    call: Call
    deaths: int = 0


@dataclass
class Worker:
    """Who makes one call at a time; ``handle`` is what the pool knows it by."""

    device: Device | None
    handle: Any
    doing: Queued | None = None


class Pool(ABC):
    """``devices`` have a worker each; ``workers`` more make the calls without a device."""

    def __init__(self, devices: Sequence[Device], workers: int, retries: int) -> None:
        self.devices = tuple(devices)
        self.workers = workers
        self.pending = 0
        self._retries = retries
        self._queues: dict[str | None, deque[Queued]] = {}
        self._done: deque[Outcome] = deque()
        self._workers: list[Worker] = []

    @abstractmethod
    def _start(self, device: Device | None) -> Any:
        """The handle of a new worker."""

    @abstractmethod
    def _send(self, handle: Any, call: Call) -> None:
        """Have a worker begin; :class:`WorkerDied` where it cannot."""

    @abstractmethod
    def _ready(self, busy: Sequence[Worker]) -> Sequence[Worker]:
        """Those that are done or gone; waits for the first."""

    @abstractmethod
    def _answer(self, handle: Any) -> tuple[Any, Failure | None]:
        """What a worker's call gave; :class:`WorkerDied` where it is gone."""

    @abstractmethod
    def _gone(self, handle: Any) -> None:
        """Give up what is left of a worker that died."""

    @abstractmethod
    def _end(self, handles: Sequence[Any]) -> None:
        """End workers, and what they started."""

    def __enter__(self) -> Self:
        """Workers start with the first calls for them."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all workers; what they started ends with them."""
        handles = [each.handle for each in self._workers]
        self._workers.clear()
        self._end(handles)

    def submit(self, call: Call) -> None:
        """Queue a call, and start it if a worker is idle."""
        self.pending += 1
        self._queues.setdefault(call.device, deque()).append(Queued(call))
        self._dispatch()

    def wait(self) -> Outcome:
        """Wait for workers, and replace those that die."""
        while not self._done:
            for worker in self._ready([each for each in self._workers if each.doing is not None]):
                self._heard(worker)
            self._dispatch()
        self.pending -= 1
        return self._done.popleft()

    def _heard(self, worker: Worker) -> None:
        made = worker.doing
        assert made is not None
        try:
            value, failure = self._answer(worker.handle)
        except WorkerDied:
            self._lost(worker, made)
            return
        worker.doing = None
        self._done.append(Outcome(made.call, value, failure, made.deaths))

    def _lost(self, worker: Worker, made: Queued) -> None:
        """Take a dead worker out; its call goes back to the head of its queue."""
        self._workers.remove(worker)
        self._gone(worker.handle)
        made.deaths += 1
        if made.deaths > self._retries:
            self._done.append(Outcome(made.call, None, dead(made.deaths), made.deaths))
        else:
            self._queues[made.call.device].appendleft(made)

    def _dispatch(self) -> None:
        """Give idle workers what is queued; start those that are needed and not there yet."""
        for name, queue in self._queues.items():
            while queue and (worker := self._idle(name)) is not None:
                worker.doing = queue.popleft()
                try:
                    self._send(worker.handle, worker.doing.call)
                except WorkerDied:
                    self._lost(worker, worker.doing)

    def _idle(self, name: str | None) -> Worker | None:
        """A worker for a kind of device that has nothing to do, a new one if there is room."""
        mine = [each for each in self._workers if _is_for(each.device, name)]
        for each in mine:
            if each.doing is None:
                return each
        if name is None:
            return self._added(None) if len(mine) < self.workers else None
        taken = [each.device for each in mine]
        for device in self.devices:
            if device.name == name and taken.count(device) < self.devices.count(device):
                return self._added(device)
        return None

    def _added(self, device: Device | None) -> Worker:
        worker = Worker(device, self._start(device))
        self._workers.append(worker)
        return worker


def _is_for(device: Device | None, name: str | None) -> bool:
    return (None if device is None else device.name) == name
