"""What a cubin says of its kernels: their names, and where each parameter has to lie.

A cubin is an ELF file. NVIDIA documents its sections by ``cuobjdump -elf`` alone, which shows all
that is read here.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from kernelprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ELF: Final = b"\x7fELF\x02\x01"
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_TEXT, _INFO = ".text.", ".nv.info."
_NOBITS: Final = 8
"""The type of a section that takes room on the device and none in the file."""
_OF_DEBUGGING: Final = (".debug_", ".nv_debug", ".rela.debug", ".rel.debug", ".note")
_OF_NAMES: Final = (".shstrtab", ".strtab", ".symtab")

_SIZED: Final = 4
"""The format of an attribute that stands after its size (EIFMT_SVAL); others take 4 bytes."""
_PARAMETER: Final = 0x17
"""EIATTR_KPARAM_INFO: a parameter's number, its offset, and its size above 18 other bits."""


class CompileError(InputError):
    """The kernel does not compile; the message holds the compiler's own."""


class Compiled(NamedTuple):
    """What the compiler gave: the code, and what it wrote beside."""

    cubin: bytes
    said: str = ""
    entry: str | None = None
    """The kernel's mangled name, where the compiler was asked for it."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a parameter lies in the parameters of a kernel, in bytes."""

    offset: int
    size: int


def entries(cubin: bytes) -> tuple[str, ...]:
    """The kernels in a cubin by mangled name: its code sections are called after them."""
    found = [name for name, _ in _sections(cubin) if name.startswith(_TEXT)]
    return tuple(dict.fromkeys(name.removeprefix(_TEXT) for name in found))


def code_digest(cubin: bytes) -> str:
    """SHA-256 of what decides what the code of a cubin does: equal ones run alike.

    That is its instructions, constants, initial values, registers and memory (``.text``,
    ``.nv.constant``, ``.nv.global``, ``.nv.info``, ``.nv.shared``); lines of the source, which a
    comment moves, are not among it.
    """
    found = hashlib.sha256()
    for name, data in sorted(_sections(cubin, sized=True)):
        if not name.startswith((*_OF_DEBUGGING, *_OF_NAMES)):
            found.update(f"{name} {len(data)}\0".encode() + data)
    return found.hexdigest()


def parameters(cubin: bytes, entry: str) -> tuple[Slot, ...]:
    """Where the parameters of a kernel lie, in their order.

    It cannot be told from their types: a ``CUtensorMap`` is aligned to 128 bytes since CUDA 13 (to
    64 before), and on ``sm_90`` by its address in the constant bank, where parameters begin at
    0x210, so that the first of a kernel lies at 0x70.
    """
    info = next((data for name, data in _sections(cubin) if name == _INFO + entry), b"")
    found: dict[int, Slot] = {}
    at = 0
    while at + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form != _SIZED:
            continue
        if attribute == _PARAMETER and at + 12 <= len(info):
            _, number, offset, packed = struct.unpack_from("<IHHI", info, at)
            found[number] = Slot(offset, packed >> 18)
        at += size
    return tuple(found[number] for number in sorted(found))


def packed(values: Sequence[bytes], slots: Sequence[Slot], where: str | None = None) -> bytes:
    """The parameters of a launch as the driver takes them: each value in its place.

    Raises :class:`CompileError` where the kernel's parameters are others; ``values`` have one entry
    for each.
    """
    sizes, wanted = [len(each) for each in values], [each.size for each in slots]
    if sizes != wanted:
        raise CompileError(
            f"the compiled kernel has parameters of {_listed(wanted)} bytes, and the arguments "
            f"have {_listed(sizes)}",
            where=where,
            hint="each parameter has one [[arguments]] table, in order, with its type; an array "
            "that is no parameter has passed = false; a structure has all members of its "
            "declaration, with align where that is more than the type's",
        )
    buffer = bytearray(max((each.offset + each.size for each in slots), default=0))
    for value, slot in zip(values, slots, strict=True):
        buffer[slot.offset : slot.offset + slot.size] = value
    return bytes(buffer)


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes)) or "no"


def _sections(cubin: bytes, *, sized: bool = False) -> Iterator[tuple[str, bytes]]:
    """The sections of an ELF file by name, with what they hold.

    What takes room on the device alone holds nothing; where ``sized``, its size as text.
    """
    if not cubin.startswith(_ELF) or len(cubin) < 64:
        raise CompileError("the compiler did not write a cubin", hint="see [compile] flags")
    (table,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names_at = struct.unpack_from("<HHH", cubin, 58)
    try:
        sections = [_SECTION.unpack_from(cubin, table + size * i) for i in range(count)]
        names = sections[names_at][4]
        for each in sections:
            start = names + each[0]
            name = cubin[start : cubin.index(b"\0", start)]
            data = cubin[each[4] : each[4] + each[5]]
            if each[1] == _NOBITS:
                data = str(each[5]).encode() if sized else b""
            yield name.decode("utf-8", "replace"), data
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise CompileError("the compiler wrote a cubin that cannot be read") from error
