"""The template arguments in mangled names (Itanium C++ ABI), beside those of a specification."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from kernelprof.collect.processes import ask
from kernelprof.errors import MissingToolError
from kernelprof.launch.nvcc import find_nvcc

if TYPE_CHECKING:
    from collections.abc import Sequence

_BUILTIN = {
    **{"b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short"},
    **{"t": "unsigned short", "i": "int", "j": "unsigned", "l": "long", "m": "unsigned long"},
    **{"x": "long long", "y": "unsigned long long", "f": "float", "d": "double", "v": "void"},
}
_OTHER_NAMES = {
    **{"half": "__half", "nv_bfloat16": "__nv_bfloat16", "uint": "unsigned"},
    **{"size_t": "unsigned long", "ssize_t": "long", "ptrdiff_t": "long"},
    **{"int8_t": "signed char", "int16_t": "short", "int32_t": "int", "int64_t": "long"},
    **{"uint8_t": "unsigned char", "uint16_t": "unsigned short"},
    **{"uint32_t": "unsigned", "uint64_t": "unsigned long"},
    "true": "1",
    "false": "0",
    "uchar": "unsigned char",
    "ushort": "unsigned short",
}
_WORDS = ("unsigned", "signed", "char", "short", "long", "int")
_KNOWN = {*_BUILTIN.values(), "__half", "__nv_bfloat16"}
_NUMBER = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)[uUlL]*")


def split_arguments(kernel: str) -> tuple[str, ...]:
    """The template arguments of a name such as ``ns::copy<64, float>``, as they are written."""
    inside = kernel.partition("<")[2].strip().removesuffix(">")
    found, depth, begun = [], 0, 0
    for at, letter in enumerate(inside):
        depth += (letter in "<([") - (letter in ">)]")
        if letter == "," and not depth:
            found.append(inside[begun:at].strip())
            begun = at + 1
    last = inside[begun:].strip()
    return (*found, last) if last else tuple(found)


def fitting(names: Sequence[str], kernel: str) -> list[str]:
    """The names whose template arguments can be those of the kernel.

    One that is written as more than a number or a built-in type, or that cannot be read in the
    mangled name, fits everything: one of the names is that of the kernel.
    """
    wanted = [normalised(each) for each in split_arguments(kernel)]
    read = {name: _arguments(name) for name in names}
    found = [name for name in names if _fits(wanted, *read[name])]
    same = [name for name in found if read[name][1] and len(read[name][0]) == len(wanted)]
    return same or found


def normalised(argument: str) -> str | None:
    """A number or a built-in type in one way of writing; ``None`` for anything else."""
    text = re.sub(r"^\([\w\s]+\)\s*", "", " ".join(argument.split()))
    number = _NUMBER.fullmatch(text)
    if number:
        digits = number[2]
        octal = len(digits) > 1 and digits.isdecimal() and digits[0] == "0"
        value = int(digits, 8 if octal else 0)
        return str(-value if number[1] == "-" else value)
    name = text.removeprefix("::").removeprefix("std::")
    name = _OTHER_NAMES.get(name, name)
    words = name.split()
    if all(word in _WORDS for word in words):
        if words.count("char") and "signed" in words:
            return "signed char"
        kept = sorted((word for word in words if word != "signed"), key=_WORDS.index)
        if len(kept) > 1 and kept[-1] == "int":
            kept.pop()
        name = " ".join(kept) or "int"
    return name if name in _KNOWN or name in {"0", "1"} else None


def _fits(wanted: Sequence[str | None], found: Sequence[str | None], complete: bool) -> bool:
    if complete and len(found) < len(wanted):
        return False
    pairs = zip(wanted, found, strict=False)
    return all(one is None or other is None or one == other for one, other in pairs)


def _arguments(name: str) -> tuple[list[str | None], bool]:
    """The arguments in a mangled name, and whether these are all."""
    read, complete = _decoded(name)
    if complete and None not in read:
        return read, complete
    said = _demangled(name)
    if said is None:
        return read, complete
    return [normalised(each) for each in split_arguments(said)], True


def _decoded(name: str) -> tuple[list[str | None], bool]:
    at = len("_ZN") if name.startswith("_ZN") else len("_Z")
    while part := re.compile(r"L?(\d+)").match(name, at):
        at = part.end() + int(part[1])
    if name[at : at + 1] != "I":
        return [], False
    at += 1
    found: list[str | None] = []
    while at < len(name) and name[at] != "E":
        literal = re.compile(r"L[a-z](n?)(\d+)E").match(name, at)
        named = re.compile(r"(\d+)").match(name, at)
        if literal:
            found.append(("-" if literal[1] else "") + literal[2])
            at = literal.end()
        elif named:
            at = named.end() + int(named[1])
            found.append(normalised(name[named.end() : at]))
        elif name[at] in _BUILTIN:
            found.append(_BUILTIN[name[at]])
            at += 1
        else:
            return found, False
    return found, True


def _demangled(name: str) -> str | None:
    """What ``cu++filt`` beside ``nvcc`` says, up to the end of the template arguments."""
    try:
        tool = Path(find_nvcc()).resolve().with_name("cu++filt")
        program = str(tool) if tool.is_file() else shutil.which("cu++filt")
        if program is None:
            return None
    except MissingToolError:
        return None
    done = ask(program, name)
    if done is None:
        return None
    text = done.stdout.strip()
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "<") - (letter == ">")
        if letter == ">" and not depth:
            return text[: at + 1]
    return None
