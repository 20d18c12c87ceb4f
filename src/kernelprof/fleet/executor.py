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
import signal
import traceback
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol, Self

from kernelprof.errors import ExitCode, KernelprofError, MissingToolError, Terminated, UsageError
from kernelprof.launch.processes import end_children, end_with_parent
from kernelprof.tools import ask, which

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection
    from types import FrameType


@dataclass(frozen=True, slots=True)
class GpuDevice:
    """A GPU; ``uuid`` is what the driver calls it, and empty for one that was recorded."""

    name: str
    compute_capability: tuple[int, int]
    uuid: str = ""

    @property
    def arch(self) -> str:
        """What code for it is compiled for, such as ``sm_90``."""
        return "sm_{}{}".format(*self.compute_capability)


def local_devices() -> tuple[GpuDevice, ...]:
    """The GPUs of this machine, as ``nvidia-smi`` lists them."""
    tool = which("nvidia-smi")
    done = tool and ask(tool, "--query-gpu=name,compute_cap,uuid", "--format=csv,noheader,nounits")
    if not done or done.returncode != 0:
        return ()
    devices = []
    for row in csv.reader(done.stdout.splitlines()):
        name, capability, uuid = (cell.strip() for cell in row)
        major, _, minor = capability.partition(".")
        if major.isdigit() and minor.isdigit():
            devices.append(GpuDevice(name, (int(major), int(minor)), uuid))
    return tuple(devices)


def recorded_devices() -> tuple[GpuDevice, ...]:
    """The GPUs that recorded captures are of, which stand in where nothing is measured."""
    from kernelprof.collect.recorded import FOLDER
    from kernelprof.sources.capture_directory import MANIFEST, read_manifest

    devices = {}
    for folder in sorted(each for each in FOLDER.iterdir() if each.is_dir()):
        first = next(iter(sorted(folder.rglob(MANIFEST))), None)
        gpu = None if first is None else read_manifest(first.parent).gpu
        if gpu is not None and gpu.name and gpu.compute_capability:
            major, _, minor = gpu.compute_capability.partition(".")
            devices[gpu.name] = GpuDevice(gpu.name, (int(major), int(minor)))
    return tuple(devices.values())


def select_devices(devices: Sequence[GpuDevice], wanted: Sequence[str]) -> tuple[GpuDevice, ...]:
    """Return the devices whose name has one of these parts, all without any.

    Raises :class:`MissingToolError` without a device, :class:`UsageError` for a part without
    one.
    """
    if not devices:
        raise MissingToolError(
            "there is no NVIDIA GPU to measure on (none answers nvidia-smi)",
            hint="run the plan on a machine with one, on a Ray cluster with --ray ADDRESS, or take "
            "recorded captures in place of measurements with --recorded",
        )
    for pattern in wanted:
        if not any(pattern.lower() in each.name.lower() for each in devices):
            raise UsageError(
                f"the plan wants a GPU {pattern!r}, and there is none",
                where=", ".join(dict.fromkeys(each.name for each in devices)),
                hint="correct gpus in the plan, or run it where there is one",
            )
    return tuple(
        each
        for each in devices
        if not wanted or any(pattern.lower() in each.name.lower() for pattern in wanted)
    )


@dataclass(frozen=True, slots=True)
class Call:
    """``function(argument)`` on a device of this name, or anywhere; ``label`` comes back."""

    function: Callable[[Any], Any]
    argument: Any
    label: Any = None
    device: str | None = None


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What a call returned, or why it failed; ``deaths`` are workers that it outlived."""

    call: Call
    value: Any = None
    error: Failure | None = None
    deaths: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as it travels between processes."""

    what: str
    where: str | None = None
    hint: str | None = None
    exit_code: int = ExitCode.ENVIRONMENT

    @staticmethod
    def from_exception(error: BaseException) -> Failure:
        """What an exception says; one that is not ours says where it came from."""
        if isinstance(error, KernelprofError):
            return Failure(error.what, error.where, error.hint, int(error.exit_code))
        last = "".join(traceback.format_exception(error)[-3:]).strip()
        return Failure(f"{type(error).__name__}: {error}", hint=last)

    def raised(self) -> KernelprofError:
        """The same as an exception."""
        error = KernelprofError(self.what, where=self.where, hint=self.hint)
        error.exit_code = ExitCode(self.exit_code)
        return error


class Executor(Protocol):
    """Runs calls; entered, it has workers, and left, none of them is there any more."""

    devices: tuple[GpuDevice, ...]
    """Those that it has, one entry a GPU."""
    workers: int
    """How many calls without a device are made at a time."""
    pending: int
    """Calls that were submitted and whose outcome nobody took yet."""

    def __enter__(self) -> Self:
        """Start what runs calls."""

    def __exit__(self, *_: object) -> None:
        """End it, and with it the calls that are being made."""

    def submit(self, call: Call) -> None:
        """Have a call made, after those that were submitted before."""

    def wait(self) -> CallOutcome:
        """The outcome of the next call that ends; there must be one pending."""


def dead(deaths: int) -> Failure:
    """What is said of a call that killed one worker after the other."""
    return Failure(
        f"{deaths} workers died over it",
        hint="it may need more memory than there is; retries in the plan says how often to try",
    )


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

    device: GpuDevice | None
    handle: Any
    doing: Queued | None = None


class Pool(ABC):
    """``devices`` have a worker each; ``workers`` more make the calls without a device."""

    def __init__(self, devices: Sequence[GpuDevice], workers: int, retries: int) -> None:
        self.devices = tuple(devices)
        self.workers = workers
        self.pending = 0
        self._retries = retries
        self._queues: dict[str | None, deque[Queued]] = {}
        self._done: deque[CallOutcome] = deque()
        self._workers: list[Worker] = []

    @abstractmethod
    def _start(self, device: GpuDevice | None) -> Any:
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

    def wait(self) -> CallOutcome:
        """Wait for workers, and replace those that die."""
        while not self._done:
            for worker in self._ready([each for each in self._workers if each.doing is not None]):
                self._process_outcome(worker)
            self._dispatch()
        self.pending -= 1
        return self._done.popleft()

    def _process_outcome(self, worker: Worker) -> None:
        made = worker.doing
        assert made is not None
        try:
            value, failure = self._answer(worker.handle)
        except WorkerDied:
            self._lost(worker, made)
            return
        worker.doing = None
        self._done.append(CallOutcome(made.call, value, failure, made.deaths))

    def _lost(self, worker: Worker, made: Queued) -> None:
        self._workers.remove(worker)
        self._gone(worker.handle)
        made.deaths += 1
        if made.deaths > self._retries:
            self._done.append(CallOutcome(made.call, None, dead(made.deaths), made.deaths))
        else:
            self._queues[made.call.device].appendleft(made)

    def _dispatch(self) -> None:
        for name, queue in self._queues.items():
            while queue and (worker := self._idle(name)) is not None:
                worker.doing = queue.popleft()
                try:
                    self._send(worker.handle, worker.doing.call)
                except WorkerDied:
                    self._lost(worker, worker.doing)

    def _idle(self, name: str | None) -> Worker | None:
        mine = [each for each in self._workers if _is_for(each.device, name)]
        for each in mine:
            if each.doing is None:
                return each
        if name is None:
            return self._added(None) if len(mine) < self.workers else None
        used_devices = [each.device for each in mine]
        for device in self.devices:
            if device.name == name and used_devices.count(device) < self.devices.count(device):
                return self._added(device)
        return None

    def _added(self, device: GpuDevice | None) -> Worker:
        worker = Worker(device, self._start(device))
        self._workers.append(worker)
        return worker


def _is_for(device: GpuDevice | None, name: str | None) -> bool:
    return (None if device is None else device.name) == name


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

    def answer(self) -> tuple[Any, Failure | None]:
        """What the call gave; waits for it."""
        try:
            answer: tuple[Any, Failure | None] = self.connection.recv()
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


class LocalExecutor(Pool):
    """Without Ray: all workers are processes of this machine."""

    def _start(self, device: GpuDevice | None) -> CallProcess:
        return CallProcess("" if device is None else device.uuid)

    def _send(self, handle: CallProcess, call: Call) -> None:
        handle.send(call)

    def _ready(self, busy: Sequence[Worker]) -> Sequence[Worker]:
        ready = wait([each.handle.connection for each in busy])
        return [each for each in busy if each.handle.connection in ready]

    def _answer(self, handle: CallProcess) -> tuple[Any, Failure | None]:
        return handle.answer()

    def _gone(self, handle: CallProcess) -> None:
        handle.join()

    def _end(self, handles: Sequence[CallProcess]) -> None:
        for each in handles:
            each.end()
        for each in handles:
            each.join()


def _serve(connection: Connection, device: str) -> None:
    signal.signal(signal.SIGTERM, _terminated)
    end_with_parent(signal.SIGTERM)  # a measurement would go on, and hold its GPU
    if device:
        use_device(device)
    with contextlib.suppress(EOFError, OSError, Terminated):
        while True:
            function, argument = connection.recv()
            answer: tuple[Any, Failure | None]
            try:
                answer = function(argument), None
            except Exception as error:
                answer = None, Failure.from_exception(error)
            connection.send(answer)
    os._exit(0)


def _terminated(number: int, _frame: FrameType | None) -> NoReturn:
    # End what was started, while it can be found below us, and clean up on the way out
    signal.signal(number, signal.SIG_IGN)
    end_children(os.getpid(), grace=_GRACE_BELOW_S)
    raise Terminated(number)


def use_device(uuid: str) -> None:
    """Let this process, and all that it starts, see one GPU."""
    os.environ[VISIBLE_DEVICES] = uuid
