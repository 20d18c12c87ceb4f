"""The sections of a cubin, which is an ELF file: its kernels, parameters and architecture.

NVIDIA documents them by ``cuobjdump -elf`` alone, which shows all that is read here.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sassim.errors import CubinError

if TYPE_CHECKING:
    from collections.abc import Iterator

_ELF: Final = b"\x7fELF\x02\x01"
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_TEXT, _INFO = ".text.", ".nv.info."
_NOBITS: Final = 8
"""The type of a section that takes room on the device and none in the file."""
_ABI_OF_CUDA_13: Final = 8
"""The version of the ABI since which flags hold the architecture in their second byte."""
_SIZED: Final = 4
"""The format of an attribute that follows its size (EIFMT_SVAL); others take 4 bytes."""
_PARAMETER: Final = 0x17
_PARAMETER_INFO: Final = struct.Struct("<IHHI")
"""EIATTR_KPARAM_INFO: a parameter's number, its offset, and its size above 18 other bits."""


@dataclass(frozen=True, slots=True)
class ParameterSlot:
    """The place of a parameter among the parameters of a kernel, in bytes."""

    offset: int
    size: int


def list_kernels(cubin: bytes) -> tuple[str, ...]:
    """Return the mangled names of the kernels, after which code sections are called.

    Raises :class:`CubinError` for what is no cubin.
    """
    names = (name for name, _ in read_sections(cubin) if name.startswith(_TEXT))
    return tuple(dict.fromkeys(name.removeprefix(_TEXT) for name in names))


def read_architecture(cubin: bytes) -> str:
    """Return what a cubin was compiled for, such as ``sm_90``."""
    _check_header(cubin)
    (flags,) = struct.unpack_from("<I", cubin, 48)
    return f"sm_{flags >> 8 & 0xFF if cubin[8] >= _ABI_OF_CUDA_13 else flags & 0xFF}"


def read_parameters(cubin: bytes, kernel: str) -> tuple[ParameterSlot, ...]:
    """Return the places of a kernel's parameters, in their order.

    Their types do not decide them: a ``CUtensorMap`` is aligned to 128 bytes since CUDA 13 (to 64
    before), and on ``sm_90`` by its address in the constant bank, where parameters begin at 0x210,
    so that the first of a kernel is at 0x70.
    """
    info = next((data for name, data in read_sections(cubin) if name == _INFO + kernel), b"")
    slots: dict[int, ParameterSlot] = {}
    for attribute, value in read_attributes(info):
        if attribute == _PARAMETER and len(value) >= _PARAMETER_INFO.size:
            _, number, offset, bits = _PARAMETER_INFO.unpack_from(value)
            slots[number] = ParameterSlot(offset, bits >> 18)
    return tuple(slots[number] for number in sorted(slots))


def read_attributes(info: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the attributes of a section ``.nv.info`` that have a size, each with its value."""
    at = 0
    while at + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form == _SIZED:
            yield attribute, info[at : at + size]
            at += size


def read_sections(cubin: bytes, *, sized: bool = False) -> Iterator[tuple[str, bytes]]:
    """Yield the sections of an ELF file by name, with their bytes.

    What takes room on the device alone has none; where ``sized``, its size as text.
    """
    _check_header(cubin)
    (table,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names_at = struct.unpack_from("<HHH", cubin, 58)
    try:
        sections = [_SECTION.unpack_from(cubin, table + size * i) for i in range(count)]
        names = sections[names_at][4]
        for section in sections:
            start = names + section[0]
            name = cubin[start : cubin.index(b"\0", start)]
            data = cubin[section[4] : section[4] + section[5]]
            if section[1] == _NOBITS:
                data = str(section[5]).encode() if sized else b""
            yield name.decode("utf-8", "replace"), data
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise CubinError("the cubin is damaged: its sections cannot be read") from error


def _check_header(cubin: bytes) -> None:
    if not cubin.startswith(_ELF) or len(cubin) < 64:
        raise CubinError("this is not a cubin (a 64-bit ELF file)")
