"""Where an address lies among a launch's arrays, in shared memory, or a thread's own memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.launch.check.arrays import storage_type
from sassim.faults import MisalignedError, UninitializedReadError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.prediction.binding import BoundLaunch
    from sassim.faults import AccessError
    from sassim.interpreter.memory import Buffer

_NULL: Final = 1 << 16
"""Addresses below this are a null pointer with an offset."""
_FAR: Final = 1 << 20
"""Bytes from which an access is not near any array."""
_SIGN: Final = 1 << 31


def describe_address(fault: AccessError, bound: BoundLaunch) -> str:
    """How the first address at fault lies to what the kernel was given."""
    address = int(fault.addresses[0])
    if fault.space == "global":
        return _in_arrays(fault, address, bound)
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
    whole = f"{fault.space} memory, of which a {whose} has {size} bytes"
    return _describe_access(fault, at, size, what=f"byte {at}", whole=whole)


def _in_arrays(fault: AccessError, address: int, bound: BoundLaunch) -> str:
    if 0 <= address < _NULL:
        offset = f" plus {address} bytes" if address else ""
        return f"address {address:#x} is a null pointer{offset}"
    near = _nearest(address, bound.launch.memory.buffers)
    if near is None:
        return f"address {address:#x} is in none of the kernel's arrays: it has none"
    if _away(address, near) > max(_FAR, near.size):
        near = _nearest(address, bound.buffers.values()) or near
        return (
            f"address {address:#x} is in none of the kernel's arrays; {near.name}, the nearest, is "
            f"{_away(address, near)} bytes away"
        )
    at = address - near.base
    element = _element_bytes(near, bound)
    if element is None:
        whole = f"{near.name}, which has {near.size} bytes"
        return _describe_access(fault, at, near.size, what=f"byte {at}", whole=whole)
    whole = f"{near.name}, which has {near.size // element} elements ({near.size} bytes)"
    what = f"{near.name}[{at // element}]"
    return _describe_access(fault, at, near.size, what=what, whole=whole, element=element)


def _nearest(address: int, buffers: Iterable[Buffer]) -> Buffer | None:
    return min(buffers, key=lambda each: _away(address, each), default=None)


def _away(address: int, buffer: Buffer) -> int:
    """Bytes from an array to an address outside of it."""
    return max(buffer.base - address, address - buffer.end)


def _element_bytes(buffer: Buffer, bound: BoundLaunch) -> int | None:
    """Bytes of an element of an array that the specification speaks of."""
    array = bound.resolved.arrays.get(buffer.name)
    return None if array is None else storage_type(array.argument.element).itemsize


def _describe_access(
    fault: AccessError, at: int, size: int, *, what: str, whole: str, element: int = 1
) -> str:
    """How an access at byte ``at`` lies to ``whole``, which has ``size`` bytes."""
    if isinstance(fault, MisalignedError):
        return f"{what} is not aligned: {fault.size} does not divide byte {at} of {whole}"
    if isinstance(fault, UninitializedReadError):
        where = what if element > 1 else f"byte {at} of {whole}"
        return f"nothing was written to {where} before"
    if at < 0:
        return f"{what} is {_distance(-at, element)} before the first of {whole}"
    past = _distance(at + fault.size - size, element)
    if at < size:
        return f"{what} is the last of {whole}, and {past} of the access are behind it"
    return f"{what} is {past} past the last of {whole}"


def _distance(size: int, element: int) -> str:
    """Bytes, and elements where they are whole ones."""
    if element == 1 or size % element:
        return f"{size} bytes"
    count = size // element
    return f"{count} element{'s' if count > 1 else ''} ({size} bytes)"
