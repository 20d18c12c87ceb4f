"""Calls on a Ray cluster, or on a Ray of this machine: an actor a GPU, and some without.

Each actor has its calls made by a process of its own, which can be ended with all that it started:
Ray itself can only kill.
"""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import time
from typing import TYPE_CHECKING, Any, Final

from kernelprof.errors import MissingToolError
from kernelprof.fleet.executor import (
    CallProcess,
    Executor,
    GpuDevice,
    WorkerDied,
    end_workers,
    local_devices,
    select_devices,
)
from kernelprof.fleet.store import require_package

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelprof.errors import ErrorFacts
    from kernelprof.fleet.executor import Call, Slot

LOCAL: Final = "local"
"""The address for which a Ray is started here, and ended with us."""
RECORDED: Final = "recorded_gpu"
"""The resource that stands for a GPU where recorded captures stand for measurements."""

_SHORT_FOLDER: Final = "/tmp"
_LONGEST_FOLDER: Final = 30
"""Ray puts 68 characters behind a folder for the name of a socket, which has 107 at most."""
_GRACE_S: Final = 10.0
_ANSWERS_WITHIN_S: Final = 10.0
_COMES_WITHIN_S: Final = 120.0
"""What an actor gets to start: a node may have to come up, and imports take seconds."""


class RayWorker:
    """The actor: hands calls to its process. Without ``resource`` it needs no device."""

    def __init__(self, resource: str | None) -> None:
        self._device = ""
        if resource == "GPU":
            self._device = _uuid(os.environ.get("CUDA_VISIBLE_DEVICES", ""))
        self._process = CallProcess(self._device)

    def device(self) -> GpuDevice | None:
        """The GPU that it has; ``None`` of one that has none."""
        return next((each for each in local_devices() if each.uuid == self._device), None)

    def pids(self) -> tuple[int, int]:
        """Its own process and the one that makes the calls."""
        return os.getpid(), self._process.pid

    def make(self, call: Call) -> tuple[Any, ErrorFacts | None] | None:
        """A call's value or failure; ``None`` where the process died over it."""
        try:
            self._process.send(call)
            return self._process.answer()
        except WorkerDied:
            return None

    def end(self) -> None:
        """End the process, and with it what it measures."""
        self._process.end()
        self._process.join()


def _uuid(visible: str) -> str:
    # What Ray gave an actor, by the UUID: numbers are counted anew in each process
    here = local_devices()
    if visible.isdecimal() and int(visible) < len(here):
        return here[int(visible)].uuid
    return visible


def _knock(address: str) -> None:
    # Raise :class:`OSError` where nobody listens: Ray tries that for minutes
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), _ANSWERS_WITHIN_S).close()


class RayExecutor(Executor):
    """An executor on a cluster, or on a Ray of this machine at :data:`LOCAL`.

    ``wanted`` are parts of names of GPUs, ``None`` where no GPU is needed; ``recorded`` are
    devices that stand in where nothing is measured; ``options`` go to ``ray.init``.
    """

    def __init__(
        self,
        address: str,
        wanted: Sequence[str] | None,
        workers: int | None,
        retries: int,
        *,
        recorded: Sequence[GpuDevice] = (),
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__((), workers or 0, retries)
        self._ray = require_package("ray", "running a fleet on Ray")
        self._address = address
        self._wanted = wanted
        self._recorded = tuple(recorded)
        self._resource = RECORDED if recorded else "GPU"
        self._options = dict(options or {})
        self._spare: list[tuple[GpuDevice, _Hand]] = []
        self._left = contextlib.ExitStack()
        """What is there until Ray has ended."""

    def __enter__(self) -> RayExecutor:
        """Join the cluster, and take a hand for each of its GPUs that is wanted."""
        given: dict[str, Any] = {"address": self._address, "log_to_driver": False}
        if self._address == LOCAL:
            # What is measured here is nobody else's business.
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            given["include_dashboard"] = False
            if len(tempfile.gettempdir()) > _LONGEST_FOLDER:
                folder = tempfile.TemporaryDirectory(prefix="ray-", dir=_SHORT_FOLDER)
                self._left.enter_context(folder)
                given["_temp_dir"] = folder.name
            if self._recorded:
                given["resources"] = {RECORDED: len(self._recorded)}
        try:
            _knock(self._address)
            self._ray.init(**{**given, **self._options})
        except (ConnectionError, OSError, RuntimeError, ValueError) as error:
            self._left.close()
            raise MissingToolError(
                f"no Ray cluster was found: {error}",
                where=self._address,
                hint="start Ray ('ray start --head'), name another address, or leave --ray out",
            ) from error
        try:
            self._take_devices()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End all hands, and leave the cluster."""
        try:
            super().__exit__()
            end_workers([hand for _, hand in self._spare])
        finally:
            self._spare.clear()
            self._ray.shutdown()
            self._left.close()

    def _take_devices(self) -> None:
        resources = self._ray.cluster_resources()
        cpus = max(1, int(resources.get("CPU", 1)))
        self.workers = min(self.workers or cpus, cpus)
        if self._recorded or self._wanted is None:
            self.devices = self._recorded
            return
        hands = [self._hand("GPU") for _ in range(int(resources.get("GPU", 0)))]
        requests = {hand.actor.device.remote(): hand for hand in hands}
        ready, late = (
            self._ray.wait(list(requests), num_returns=len(requests), timeout=_COMES_WITHIN_S)
            if requests
            else ([], [])
        )
        answers = [(self._ray.get(each), requests[each]) for each in ready]
        self._spare = [(device, hand) for device, hand in answers if device is not None]
        try:
            wanted = select_devices([device for device, _ in self._spare], self._wanted)
        finally:
            end_workers([requests[each] for each in late])
        end_workers([hand for device, hand in self._spare if device not in wanted])
        self._spare = [each for each in self._spare if each[0] in wanted]
        self.devices = tuple(device for device, _ in self._spare)

    def _hand(self, resource: str | None) -> _Hand:
        # A new actor; a second thread lets it end what the first one waits for
        needs: dict[str, Any] = {"num_cpus": 0, "max_concurrency": 2, "max_restarts": 0}
        if resource is None:
            needs["num_cpus"] = 1
        elif resource == "GPU":
            needs["num_gpus"] = 1
        else:
            needs["resources"] = {resource: 1}
        actor = self._ray.remote(RayWorker).options(**needs).remote(resource)
        return _Hand(self._ray, actor)

    def _start(self, device: GpuDevice | None) -> _Hand:
        if device is None:
            return self._hand(None)
        for at, (candidate, hand) in enumerate(self._spare):
            if candidate == device:
                del self._spare[at]
                return hand
        return self._hand(self._resource)

    def _ready(self, busy: Sequence[Slot]) -> Sequence[Slot]:
        requests = {each.worker.request: each for each in busy}
        ready, _ = self._ray.wait(list(requests), num_returns=1)
        return [requests[each] for each in ready]


class _Hand:
    """An actor of Ray, as a worker of the executor."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray = ray
        self.actor = actor
        self.request: Any = None
        self._ended: Any = None
        self._deadline = 0.0

    def send(self, call: Call) -> None:
        self.request = self.actor.make.remote(call)

    def answer(self) -> tuple[Any, ErrorFacts | None]:
        try:
            answer: tuple[Any, ErrorFacts | None] | None = self._ray.get(self.request)
        except self._ray.exceptions.RayError as error:
            raise WorkerDied from error
        if answer is None:
            raise WorkerDied
        return answer

    def end(self) -> None:
        self._ended = self.actor.end.remote()
        self._deadline = time.monotonic() + _GRACE_S

    def join(self) -> None:
        with contextlib.suppress(self._ray.exceptions.RayError):
            self._ray.wait([self._ended], timeout=max(0.0, self._deadline - time.monotonic()))
        self._ray.kill(self.actor)
