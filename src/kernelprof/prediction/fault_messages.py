"""What a mistake of a kernel is to its author: with line, thread, block and address.

The words are those of ``compute-sanitizer`` where it has some: who knows one knows the other.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from kernelprof.launch.check.arrays import storage_type
from kernelprof.launch.run.faults import ILLEGAL_ACCESS, MISALIGNED
from kernelprof.launch.run.trial import LaunchError
from kernelprof.prediction.lines import SourcePaths
from sassim.faults import (
    FOR_PHASE,
    AccessError,
    BarrierError,
    DeadlockError,
    FaultError,
    FaultLocation,
    MisalignedError,
    OutOfBoundsError,
    RaceError,
    TrapError,
    UninitializedReadError,
    WatchdogError,
)
from sassim.opcodes import find_opcode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from kernelprof.prediction.binding import BoundLaunch
    from sassim.faults import BlockedThreads, Dim3, ThreadId
    from sassim.interpreter.memory import Buffer
    from sassim.sass.listing import Instruction, SourceLine

_FIRST: Final = "fix this error first: until then the kernel's results are undefined"
_EVERYONE: Final = (
    "every running thread of the block must reach the same __syncthreads(): move "
    "it out of conditional code"
)
_WAIT: Final = (
    "the copying thread must wait for the copy (cp.async.wait_group, "
    "__pipeline_wait_prior), and the other threads must wait for that thread at a barrier"
)
_ARRIVALS: Final = (
    "an mbarrier expects more threads or bytes than arrive: check its count and its expect_tx bytes"
)
_MEANINGS: Final[dict[type[FaultError], tuple[str, str]]] = {
    OutOfBoundsError: (
        ILLEGAL_ACCESS,
        "common causes: the grid covers more than the arrays and a bounds check is missing, or a "
        "shape in the launch specification is too small",
    ),
    MisalignedError: (
        MISALIGNED,
        "vector accesses need aligned addresses (float4: 16 bytes): check row length and offset",
    ),
    UninitializedReadError: (
        "the kernel read uninitialized memory",
        'if the kernel reads an output array, add fill = "zeros" or "random" to its [[arguments]] '
        "table; write shared memory before reading it",
    ),
    RaceError: (
        "threads of a block race on shared memory",
        f"separate the two accesses with __syncthreads(); {_FIRST}",
    ),
    BarrierError: ("not all threads reach the barrier", _EVERYONE),
    DeadlockError: ("the kernel never ends: its threads wait for each other", _EVERYONE),
    WatchdogError: (
        "",
        "possible causes: a loop that never ends, threads that wait for each other, or too much "
        "work (use smaller [check] sizes)",
    ),
    TrapError: ("", "check the condition of this assert or __trap()"),
}
"""What it is, unless the mistake says it by itself, and what to do about it."""


_NULL: Final = 1 << 16
"""Addresses below this are a null pointer with an offset."""
_FAR: Final = 1 << 20
"""Bytes from which an access is not near any array."""
_SIGN: Final = 1 << 31


@contextmanager
def translate_faults(bound: BoundLaunch, source: Path, kernel: str) -> Iterator[None]:
    """Raise mistakes of a kernel as the errors of a launch that they are.

    ``kernel`` is its name in the source.
    """
    try:
        yield
    except FaultError as fault:
        raise _MessageWriter(bound, source, kernel).error(fault) from fault


class _MessageWriter:
    def __init__(self, bound: BoundLaunch, source: Path, kernel: str) -> None:
        self._bound = bound
        self._source = source
        self._files = SourcePaths(source)
        self._kernel = kernel

    def error(self, fault: FaultError) -> LaunchError:
        """The error of a launch that a mistake is."""
        what, hint = _MEANINGS[type(fault)]
        if isinstance(fault, RaceError) and fault.copies:
            hint = _WAIT
        if isinstance(fault, DeadlockError) and any(
            each.kind == FOR_PHASE for each in fault.waiting
        ):
            hint = _ARRIVALS
        there = _locations_of(fault)
        line = next((line for each in there if (line := self._line(each.instruction))), None)
        where = str(self._source)
        if line is not None:
            where = f"{self._files.name(line.file)}:{line.number}"
        hints = dict.fromkeys([hint, *(_describe_instruction(each.instruction) for each in there)])
        return LaunchError(
            "\n".join([f"{what or fault.diagnosis}:", *self._details(fault)]),
            where=where,
            hint="; ".join(hints),
        )

    def _details(self, fault: FaultError) -> list[str]:
        if isinstance(fault, RaceError):
            return self._race(fault)
        if isinstance(fault, BarrierError):
            return self._barrier(fault)
        if isinstance(fault, DeadlockError):
            waiting = [line for each in fault.waiting for line in self._waiting(each)]
            return [*waiting, f"threads that have ended: {fault.ended}"]
        (at,) = _locations_of(fault)
        if not isinstance(fault, AccessError):
            return [*self._who(at)]
        kind = _access_kind(at.instruction, fault.space)
        what = f"Invalid __{fault.space}__ {kind}"
        if isinstance(fault, UninitializedReadError):
            what = f"Uninitialized __{fault.space}__ memory {kind}"
        first, last = self._who(at)
        address = _describe_address(fault, self._bound)
        return [f"{what} of size {fault.size} bytes", first, f"{last}:", address]

    def _race(self, fault: RaceError) -> list[str]:
        one, other = fault.one, fault.other
        first, second = (_access_kind(each.instruction, "shared").title() for each in (one, other))
        byte = fault.address - self._bound.launch.reserved_shared
        between = "with no intervening barrier"
        if fault.copies:
            between = "with no intervening wait for the asynchronous copy"
        return [
            f"Race reported between {first} access at {self._name(one.instruction)}",
            f"and {second} access at {self._name(other.instruction)}",
            f"by thread {_dim(one.place.thread)} and thread {_dim(other.place.thread)} in block "
            f"{_dim(one.place.block)}, {between}:",
            f"byte {byte} of shared memory, one of {fault.size} bytes with a race in this block",
        ]

    def _barrier(self, fault: BarrierError) -> list[str]:
        first, last = self._who(fault.here)
        lines = [f"Barrier error detected. {fault.diagnosis}", first, f"{last}:"]
        if fault.missing is not None:
            lines.append(f"thread {_dim(fault.missing.thread)} does not reach this barrier")
        if fault.there is not None:
            name, thread = self._name(fault.there.instruction), _dim(fault.there.place.thread)
            lines.append(f"thread {thread} waits at another barrier: {name}")
        return lines

    def _waiting(self, waiting: BlockedThreads) -> list[str]:
        first, last = self._who(waiting.first)
        return [f"threads waiting {waiting.kind}: {waiting.threads}; the first:", first, f"{last};"]

    def _who(self, at: FaultLocation) -> tuple[str, str]:
        return f"at {self._name(at.instruction)}", _by(at.place)

    def _name(self, i: Instruction) -> str:
        """An instruction and its line, as ``compute-sanitizer`` writes them."""
        program = self._bound.launch.program
        names = (f.name for f in program.functions if any(each is i for each in f.instructions))
        function = next(names, program.entry)
        name = f"{self._kernel if function == program.entry else function}+{i.address:#x}"
        line = self._line(i)
        return name if line is None else f"{name} in {PurePath(line.file).name}:{line.number}"

    def _line(self, i: Instruction) -> SourceLine | None:
        """The innermost line that is not of a header that comes with the compiler."""
        own = [each for each in i.lines if not _is_toolkit_line(each, self._source)]
        return next(iter(own or i.lines), None)


def _locations_of(fault: FaultError) -> tuple[FaultLocation, ...]:
    if isinstance(fault, RaceError):
        return fault.one, fault.other
    if isinstance(fault, BarrierError):
        return (fault.here,) if fault.there is None else (fault.here, fault.there)
    if isinstance(fault, DeadlockError):
        return tuple(each.first for each in fault.waiting)
    if fault.instruction is None:
        return ()
    return (FaultLocation(fault.instruction, fault.places[0]),)


def _describe_instruction(i: Instruction) -> str:
    """A machine instruction, and the lines that its own line was inlined at."""
    chain = [f"{PurePath(each.file).name}:{each.number}" for each in i.lines]
    inlined = f" ({', inlined at '.join(chain)})" if len(chain) > 1 else ""
    return f"the instruction is {i.text}{inlined}"


def _is_toolkit_line(line: SourceLine, source: Path) -> bool:
    path = PurePath(line.file)
    return "include" in path.parts and not path.is_relative_to(source.parent.resolve())


def _access_kind(i: Instruction, space: str) -> str:
    """How an instruction accesses a kind of memory, as ``compute-sanitizer`` says it."""
    category = find_opcode(i.opcode).category
    if category == "copy":
        # UBLKCP.G.S copies from shared to global memory, all others the other way.
        return "write" if (space == "shared") != (i.modifiers[0] == "G") else "read"
    if category == "atomic":
        return "atomic"
    return "read" if i.opcode.startswith("LD") else "write"


def _by(place: ThreadId) -> str:
    return f"by thread {_dim(place.thread)} in block {_dim(place.block)}"


def _dim(place: Dim3) -> str:
    return "({},{},{})".format(*place)


def _describe_address(fault: AccessError, bound: BoundLaunch) -> str:
    """How the first address at fault lies to what the kernel was given."""
    address = int(fault.addresses[0])
    if fault.space == "global":
        return _describe_global_address(fault, address, bound)
    if fault.space == "constant":
        return f"address {address:#x} is not within constant memory"
    launch = bound.launch
    begin, size, whose = 0, launch.local_bytes, "thread"
    if fault.space == "shared":
        begin, whose = launch.reserved_shared, "block"
        size = launch.shared_bytes - begin
    at = address - begin
    if at >= _SIGN:
        at -= 2 * _SIGN
    whole = f"{fault.space} memory ({size} bytes per {whose})"
    return _describe_access(fault, at, size, what=f"byte {at}", whole=whole)


def _describe_global_address(fault: AccessError, address: int, bound: BoundLaunch) -> str:
    if 0 <= address < _NULL:
        offset = f" plus {address} bytes" if address else ""
        return f"address {address:#x} is a null pointer{offset}"
    near = _nearest(address, bound.launch.memory.buffers)
    if near is None:
        return f"address {address:#x} is in no array: the kernel has no arrays"
    if _distance_to(address, near) > max(_FAR, near.size):
        near = _nearest(address, bound.buffers.values()) or near
        return (
            f"address {address:#x} is in none of the kernel's arrays; {near.name}, the nearest, is "
            f"{_distance_to(address, near)} bytes away"
        )
    at = address - near.base
    element = _element_bytes(near, bound)
    if element is None:
        whole = f"{near.name} ({near.size} bytes)"
        return _describe_access(fault, at, near.size, what=f"byte {at}", whole=whole)
    whole = f"{near.name} ({near.size // element} elements, {near.size} bytes)"
    what = f"{near.name}[{at // element}]"
    return _describe_access(fault, at, near.size, what=what, whole=whole, element=element)


def _nearest(address: int, buffers: Iterable[Buffer]) -> Buffer | None:
    return min(buffers, key=lambda each: _distance_to(address, each), default=None)


def _distance_to(address: int, buffer: Buffer) -> int:
    return max(buffer.base - address, address - buffer.end)


def _element_bytes(buffer: Buffer, bound: BoundLaunch) -> int | None:
    array = bound.resolved.arrays.get(buffer.name)
    return None if array is None else storage_type(array.argument.element).itemsize


def _describe_access(
    fault: AccessError, at: int, size: int, *, what: str, whole: str, element: int = 1
) -> str:
    """How an access at byte ``at`` lies to ``whole``, which has ``size`` bytes."""
    if isinstance(fault, MisalignedError):
        return f"{what}: byte offset {at} in {whole} is not a multiple of {fault.size}"
    if isinstance(fault, UninitializedReadError):
        where = what if element > 1 else f"byte {at} of {whole}"
        return f"nothing had been written to {where}"
    if at < 0:
        return f"{what} is {_format_distance(-at, element)} before the start of {whole}"
    past = _format_distance(at + fault.size - size, element)
    if at < size:
        return f"the access starts at {what} and ends {past} past the end of {whole}"
    return f"the access at {what} ends {past} past the end of {whole}"


def _format_distance(size: int, element: int) -> str:
    """Bytes, and elements where they are whole ones."""
    if element == 1 or size % element:
        return f"{size} bytes"
    count = size // element
    return f"{count} element{'s' if count > 1 else ''} ({size} bytes)"
