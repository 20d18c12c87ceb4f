"""What the compiler gave: a cubin, its digest, and parameters as its kernel takes them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple

from kernelprof.errors import InputError
from sassim.sass.elf import read_sections

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sassim.sass.elf import ParameterSlot


_OF_DEBUGGING: Final = (".debug_", ".nv_debug", ".rela.debug", ".rel.debug", ".note")
_OF_NAMES: Final = (".shstrtab", ".strtab", ".symtab")


class CompileError(InputError):
    """The kernel does not compile; the message is the compiler's."""


class CompiledCubin(NamedTuple):
    """A cubin and the compiler's messages; ``entry`` is the mangled name if requested."""

    cubin: bytes
    messages: str = ""
    entry: str | None = None


def code_digest(cubin: bytes) -> str:
    """Return SHA-256 of a cubin's code and data: equal ones run alike.

    Line information and names are left out; instructions, constants, initial values, registers
    and memory count.
    """
    digest = hashlib.sha256()
    for name, data in sorted(read_sections(cubin, sized=True)):
        if not name.startswith((*_OF_DEBUGGING, *_OF_NAMES)):
            digest.update(f"{name} {len(data)}\0".encode() + data)
    return digest.hexdigest()


def pack_parameters(
    values: Sequence[bytes], slots: Sequence[ParameterSlot], where: str | None = None
) -> bytes:
    """Return the parameter buffer of a launch.

    Raises :class:`CompileError` where sizes do not fit.
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
