"""Calls made by worker processes of this machine; Ray's are in ``ray_executor``.

A call is a function of a module and one argument, both of which can be pickled. Calls of a device
are made one at a time on each device, in a process that sees just that one: ``ncu`` needs it alone.
Others are made beside them, by as many workers as there are. The call of a worker that dies is made
again.
"""

from __future__ import annotations

import contextlib
import csv
import multiprocessing
import os
import re
import signal
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol, Self

from kernelprof.errors import ErrorFacts, ExitCode, MissingToolError, Terminated, UsageError
from kernelprof.launch.processes import end_children, end_with_parent
from kernelprof.model.numbers import count
from kernelprof.tools import ask, which

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection
    from types import FrameType


@dataclass(frozen=True, slots=True)
class GpuDevice:
    """A GPU; ``uuid`` is what the driver calls it, and empty for one that was recorded."""

    name: str
    compute_capability: str
    uuid: str = ""

    @property
    def arch(self) -> str:
        """What code for it is compiled for, such as ``sm_90``."""
        return f"sm_{self.compute_capability.replace('.', '')}"


def local_devices() -> tuple[GpuDevice, ...]:
    """The GPUs of this machine, as ``nvidia-smi`` lists them."""
    tool = which("nvidia-smi")
    done = tool and ask(tool, "--query-gpu=name,compute_cap,uuid", "--format=csv,noheader,nounits")
    if not done or done.returncode != 0:
        return ()
    rows = csv.reader(done.stdout.splitlines())
    devices = (GpuDevice(*map(str.strip, row)) for row in rows)
    return tuple(each for each in devices if re.fullmatch(r"\d+\.\d+", each.compute_capability))


def recorded_devices() -> tuple[GpuDevice, ...]:
    """The GPUs that recorded captures are of, which stand in where nothing is measured."""
    from kernelprof.collect.recorded import FOLDER
    from kernelprof.sources.capture_directory import MANIFEST, read_manifest

    devices = {}
    for folder in sorted(filter(Path.is_dir, FOLDER.iterdir())):
        first = next(iter(sorted(folder.rglob(MANIFEST))), None)
        gpu = None if first is None else read_manifest(first.parent).gpu
        if gpu is not None and gpu.name and gpu.compute_capability:
            devices[gpu.name] = GpuDevice(gpu.name, gpu.compute_capability)
    return tuple(devices.values())


def select_devices(devices: Sequence[GpuDevice], wanted: Sequence[str]) -> tuple[GpuDevice, ...]:
    """Return the devices whose name has one of these parts, all without any.

    Raises :class:`MissingToolError` without a device, :class:`UsageError` for a part without
    one.
    """
    if not devices:
        raise MissingToolError(
            "there is no NVIDIA GPU to measure on (nvidia-smi is missing or reports no GPU)",
            hint="run the plan on a machine with a GPU or, with --ray ADDRESS, on a Ray cluster; "
            "or use recorded captures with --recorded",
        )
    chosen = []
    for part in wanted:
        matches = [each for each in devices if part.lower() in each.name.lower()]
        if not matches:
            raise UsageError(
                f"the plan needs a GPU {part!r}, which is not available",
                where=", ".join(dict.fromkeys(each.name for each in devices)),
                hint="fix `gpus` in the plan, or run the plan on a machine with that GPU",
            )
        chosen += matches
    return tuple(each for each in devices if not wanted or each in chosen)


@dataclass(frozen=True, slots=True)
class Call:
    """``function(argument)`` on a device of this name, or anywhere."""

    function: Callable[[Any], Any]
    argument: Any
    device: str | None = None


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What a call returned, or why it failed; ``deaths`` are workers that it outlived."""

    call: Call
    value: Any = None
    error: ErrorFacts | None = None
    deaths: int = 0


class WorkerDied(Exception):  # noqa: N818 (no error: it is replaced)
    """A worker is gone, and its call with it."""


class CallWorker(Protocol):
    """Makes one call at a time; :class:`WorkerDied` where it is gone."""

    def send(self, call: Call) -> None:
        """Begin a call."""

    def answer(self) -> tuple[Any, ErrorFacts | None]:
        """The value or the failure of the call; waits for it."""

    def end(self) -> None:
        """Ask it to end, and all that it started."""

    def join(self) -> None:
        """Wait for its end, and kill it if that takes long."""


@dataclass
class Slot:
    """A worker with its device, and the call that it makes."""

    device: GpuDevice | None
    worker: Any
    doing: CallOutcome | None = None


class Executor(ABC):
    """Runs calls; entered, it has workers, and left, none of them is there any more.

    ``devices`` have a worker each, which starts with the first call for it; ``workers`` more make
    the calls without a device. ``pending`` are calls whose outcome nobody took yet.
    """

    def __init__(self, devices: Sequence[GpuDevice], workers: int, retries: int) -> None:
        self.devices = tuple(devices)
        self.workers = workers
        self.pending = 0
        self._retries = retries
        self._queues: dict[str | None, deque[CallOutcome]] = {}
        self._done: deque[CallOutcome] = deque()
        self._slots: list[Slot] = []

    @abstractmethod
    def _start(self, device: GpuDevice | None) -> CallWorker:
        """Start a worker."""

    @abstractmethod
    def _ready(self, busy: Sequence[Slot]) -> Sequence[Slot]:
        """Those that are done or gone; waits for the first."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End all workers; what they started ends with them."""
        end_workers([each.worker for each in self._slots])
        self._slots.clear()

    def submit(self, call: Call) -> None:
        """Have a call made, after those that were submitted before."""
        self.pending += 1
        self._queues.setdefault(call.device, deque()).append(CallOutcome(call))
        self._dispatch()

    def wait(self) -> CallOutcome:
        """The outcome of the next call that ends; there must be one pending."""
        while not self._done:
            for slot in self._ready([each for each in self._slots if each.doing is not None]):
                assert slot.doing is not None
                try:
                    value, error = slot.worker.answer()
                except WorkerDied:
                    self._replace_dead(slot, slot.doing)
                    continue
                self._done.append(replace(slot.doing, value=value, error=error))
                slot.doing = None
            self._dispatch()
        self.pending -= 1
        return self._done.popleft()

    def _replace_dead(self, slot: Slot, made: CallOutcome) -> None:
        self._slots.remove(slot)
        end_workers([slot.worker])
        made = replace(made, deaths=made.deaths + 1)
        if made.deaths <= self._retries:
            self._queues[made.call.device].appendleft(made)
            return
        error = ErrorFacts(
            f"{count(made.deaths, 'worker')} died while running this job",
            exit_code=int(ExitCode.ENVIRONMENT),
            hint="check whether the job needs more memory than this machine has, or increase "
            "`retries` in the plan",
        )
        self._done.append(replace(made, error=error))

    def _dispatch(self) -> None:
        for name, queue in self._queues.items():
            while queue and (slot := self._find_idle(name)) is not None:
                slot.doing = queue.popleft()
                try:
                    slot.worker.send(slot.doing.call)
                except WorkerDied:
                    self._replace_dead(slot, slot.doing)

    def _find_idle(self, name: str | None) -> Slot | None:
        mine = [each for each in self._slots if name == (each.device and each.device.name)]
        for each in mine:
            if each.doing is None:
                return each
        if name is None:
            unused: list[GpuDevice | None] = [None] * (self.workers - len(mine))
        else:
            unused = [each for each in self.devices if each.name == name]
            for each in mine:
                unused.remove(each.device)
        if not unused:
            return None
        self._slots.append(Slot(unused[0], self._start(unused[0])))
        return self._slots[-1]


def end_workers(workers: Sequence[CallWorker]) -> None:
    """End workers at the same time, and wait for all of them."""
    for each in workers:
        each.end()
    for each in workers:
        each.join()


VISIBLE_DEVICES: Final = "CUDA_VISIBLE_DEVICES"
_GRACE_S: Final = 8.0
"""What a worker gets to end what it started, before it is killed."""
_GRACE_BELOW_S: Final = 2.0
"""What compilers get for that."""


class CallProcess:
    """A process that makes one call at a time, and sees one device, or what its maker sees."""

    def __init__(self, device: str = "") -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, device), daemon=True)
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid or 0

    def send(self, call: Call) -> None:
        """Begin a call; :class:`WorkerDied` where the process is gone."""
        try:
            self.connection.send((call.function, call.argument))
        except OSError as error:
            raise WorkerDied from error

    def answer(self) -> tuple[Any, ErrorFacts | None]:
        """What the call gave; waits for it."""
        try:
            answer: tuple[Any, ErrorFacts | None] = self.connection.recv()
        except (EOFError, OSError) as error:
            raise WorkerDied from error
        return answer

    def end(self) -> None:
        """Ask it to end, and all that it started."""
        self._process.terminate()

    def join(self) -> None:
        """Wait for its end, and kill it if that takes long."""
        self._process.join(_GRACE_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self.connection.close()


class LocalExecutor(Executor):
    """Without Ray: all workers are processes of this machine."""

    def _start(self, device: GpuDevice | None) -> CallProcess:
        return CallProcess("" if device is None else device.uuid)

    def _ready(self, busy: Sequence[Slot]) -> Sequence[Slot]:
        ready = wait([each.worker.connection for each in busy])
        return [each for each in busy if each.worker.connection in ready]


def _serve(connection: Connection, device: str) -> None:
    signal.signal(signal.SIGTERM, _terminated)
    end_with_parent(signal.SIGTERM)  # a measurement would go on, and hold its GPU
    if device:
        os.environ[VISIBLE_DEVICES] = device
    with contextlib.suppress(EOFError, OSError, Terminated):
        while True:
            function, argument = connection.recv()
            answer: tuple[Any, ErrorFacts | None]
            try:
                answer = function(argument), None
            except Exception as error:
                answer = None, ErrorFacts.from_exception(error)
            connection.send(answer)
    os._exit(0)


def _terminated(number: int, _frame: FrameType | None) -> NoReturn:
    # End what was started, while it can be found below us, and clean up on the way out
    signal.signal(number, signal.SIG_IGN)
    end_children(os.getpid(), grace=_GRACE_BELOW_S)
    raise Terminated(number)
