"""What a cubin says beside its code: constants, global variables, shared memory, registers.

A cubin is an ELF file, which pyelftools reads. NVIDIA shows its own sections by ``cuobjdump -elf``
and documents none; the attributes read here are those that it names there.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from sassim.sass.elf import read_attributes

if TYPE_CHECKING:
    from collections.abc import Iterator

_TEXT: Final = ".text."
_REGISTERS: Final = 0x2F
"""EIATTR_REGCOUNT: a function's symbol, and its registers a thread."""
_FRAME: Final = 0x11
"""EIATTR_FRAME_SIZE: a function's symbol, and its bytes of local memory a thread."""
_STACK: Final = 0x12
"""EIATTR_MIN_STACK_SIZE: the same with what it calls."""
_PARAMETERS: Final = 0x0A
"""EIATTR_PARAM_CBANK: a symbol, where parameters begin in constant bank 0, and their size."""

_CLUSTER: Final = 0x3D
"""EIATTR_CTA_PER_CLUSTER: blocks of a cluster along x, y and z (``__cluster_dims__``)."""

_LEAST_REGISTERS: Final = 16
"""What a thread gets at least since compute capability 7.0 (``cuobjdump -res-usage`` shows it)."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable in global memory that the code declares."""

    name: str
    size: int
    initial: bytes | None
    """Its value; ``None``: zeros."""


@dataclass(frozen=True, slots=True)
class KernelResources:
    """What a thread and a block of a kernel take, as the compiler decided."""

    registers: int
    shared_bytes: int
    """Static shared memory of a block with what the system keeps to itself."""
    stack_bytes: int
    """Local memory of a thread, with what it calls."""


@dataclass(frozen=True, slots=True)
class CubinImage:
    """A kernel's cubin, without the code itself."""

    resources: KernelResources
    parameters_at: int
    """Where parameters begin in constant bank 0."""
    constants: dict[int, bytes]
    """Constant banks by number, bank 0 left out: it is the launch's."""
    variables: tuple[Variable, ...]
    addresses: tuple[tuple[int, int, str, int], ...]
    """Addresses that constants hold: bank, offset, the variable's name, and what is added."""
    pointers: tuple[tuple[str, int, str, int], ...] = ()
    """Addresses that variables hold: whose, where in it, of which variable, and what is added."""
    outside: tuple[str, ...] = ()
    """What the code names and the system has, such as ``vprintf``."""
    cluster: tuple[int, int, int] | None = None
    """Blocks of a cluster along x, y and z, where the code says it (``__cluster_dims__``)."""


def read_image(cubin: bytes, entry: str) -> CubinImage:
    """What a cubin says of one of its kernels."""
    file = _parse(cubin)
    symbols = file.symbols
    registers = parameters_at = 0
    frames: dict[str, int] = {}
    cluster = None
    for name in (".nv.info", f".nv.info.{entry}"):
        info = file.by_name.get(name)
        for attribute, value in read_attributes(b"" if info is None else info.data()):
            if len(value) < 8:
                continue
            first, second = struct.unpack_from("<II", value)
            if attribute == _PARAMETERS:
                parameters_at = second & 0xFFFF
            elif attribute == _CLUSTER:
                cluster = struct.unpack_from("<3I", value)
            elif attribute == _REGISTERS and symbols[first].name == entry:
                registers = second
            elif attribute in (_FRAME, _STACK):
                owner = symbols[first].name
                frames[owner] = max(frames.get(owner, 0), second)
    shared = file.by_name.get(f".nv.shared.{entry}")
    constants, addresses = _read_constants(file, entry)
    return CubinImage(
        resources=KernelResources(
            registers=max(registers, _LEAST_REGISTERS),
            shared_bytes=0 if shared is None else int(shared["sh_size"]),
            stack_bytes=frames.get(entry, 0),
        ),
        parameters_at=parameters_at,
        constants=constants,
        variables=tuple(_read_variables(file, symbols)),
        addresses=tuple(addresses),
        pointers=tuple(_read_pointers(file, symbols)),
        outside=tuple(_external_functions(symbols)),
        cluster=cluster,
    )


def read_machine_code(cubin: bytes) -> dict[str, bytes]:
    """The code of each function by mangled name."""
    return {
        name.removeprefix(_TEXT): section.data()
        for name, section in _parse(cubin).by_name.items()
        if name.startswith(_TEXT)
    }


@dataclass(frozen=True, slots=True)
class _ParsedCubin:
    """The sections and symbols of a cubin."""

    sections: list[Any]
    by_name: dict[str, Any]
    symbols: list[Any]


@lru_cache(maxsize=2)
def _parse(cubin: bytes) -> _ParsedCubin:
    from elftools.elf.elffile import ELFFile

    sections: list[Any] = list(ELFFile(io.BytesIO(cubin)).iter_sections())
    by_name = {each.name: each for each in sections}
    return _ParsedCubin(sections, by_name, list(by_name[".symtab"].iter_symbols()))


def _read_constants(
    file: _ParsedCubin, entry: str
) -> tuple[dict[int, bytes], list[tuple[int, int, str, int]]]:
    """Banks with what they hold, and the addresses in them."""
    from elftools.elf.relocation import RelocationSection

    banks: dict[int, bytes] = {}
    addresses = []
    for section in file.sections:
        plain, _, owner = section.name.removeprefix(".nv.constant").partition(".")
        if section.name.startswith(".nv.constant") and plain.isdigit() and plain != "0":
            if owner in ("", entry):
                banks[int(plain)] = section.data()
        elif isinstance(section, RelocationSection):
            target = file.sections[section["sh_info"]].name
            bank, _, owner = target.removeprefix(".nv.constant").partition(".")
            if not target.startswith(".nv.constant") or owner not in ("", entry):
                continue
            table = file.sections[section["sh_link"]]
            for each in section.iter_relocations():
                name = table.get_symbol(each["r_info_sym"]).name
                addend = each.entry.get("r_addend", 0)
                addresses.append((int(bank), int(each["r_offset"]), name, int(addend)))
    return banks, addresses


def _read_variables(file: _ParsedCubin, symbols: list[Any]) -> Iterator[Variable]:
    for symbol in symbols:
        index = symbol["st_shndx"]
        if not isinstance(index, int) or symbol["st_size"] == 0:
            continue
        section = file.sections[index]
        if section.name == ".nv.global":
            yield Variable(symbol.name, int(symbol["st_size"]), None)
        elif section.name == ".nv.global.init":
            start = int(symbol["st_value"])
            data = section.data()[start : start + int(symbol["st_size"])]
            yield Variable(symbol.name, int(symbol["st_size"]), data)


def _read_pointers(file: _ParsedCubin, symbols: list[Any]) -> Iterator[tuple[str, int, str, int]]:
    """Addresses in initial values of variables."""
    from elftools.elf.relocation import RelocationSection

    for section in file.sections:
        if not isinstance(section, RelocationSection):
            continue
        target = section["sh_info"]
        if file.sections[target].name != ".nv.global.init":
            continue
        for each in section.iter_relocations():
            at, name = int(each["r_offset"]), symbols[each["r_info_sym"]].name
            for symbol in symbols:
                start = int(symbol["st_value"])
                if symbol["st_shndx"] == target and start <= at < start + int(symbol["st_size"]):
                    yield symbol.name, at - start, name, int(each.entry.get("r_addend", 0))


def _external_functions(symbols: list[Any]) -> Iterator[str]:
    for symbol in symbols:
        if symbol["st_shndx"] == "SHN_UNDEF" and symbol["st_info"]["type"] == "STT_FUNC":
            yield symbol.name
