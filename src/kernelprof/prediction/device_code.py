"""A source without the host's code, line by line as it was, with the user's own headers likewise.

What stays is what the device needs: code that is marked for it, and the types, constants and
``constexpr`` functions that this names. What is left out leaves empty lines.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kernelprof import files
from kernelprof.launch import syntax
from kernelprof.launch.inference.rewriting import without_launches
from kernelprof.launch.signature import parse_signatures
from kernelprof.launch.source import read_source
from kernelprof.prediction.declarations import (
    Declaration,
    Where,
    find_declarations,
    find_device_words,
    find_instantiations,
    find_macros,
    find_names,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from tree_sitter import Node

_DIRECTIVE: Final = re.compile(
    rb"^[ \t]*#[ \t]*(?:define|undef|if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b"
    rb"(?:\\\r?\n|[^\n])*",
    re.MULTILINE,
)
"""A directive that what follows depends on, with the lines that continue it."""

_CCCL: Final = frozenset(("cub", "cuda", "thrust"))
"""Folders of headers that declare what is in the namespace of that name, and take long to read."""

_GRAPHICS: Final = frozenset(
    (
        *("cuda_gl_interop.h", "cuda_egl_interop.h", "cuda_vdpau_interop.h"),
        *("cudaGL.h", "cudaEGL.h", "cudaVDPAU.h"),
    )
)
"""Headers of the toolkit that include those of libraries for graphics, all for the host."""

_NUMBER: Final = re.compile(rb"(?:static\s+)?(const)\s+(?:float|double)\s+\w+\s*=")
"""A constant, whose value the device needs and nvcc knows, but NVRTC only of a ``constexpr``."""

_OF_STD: Final = re.compile(rb"\busing\s+namespace\s+std\b")
"""After it, nobody sees which names are those of C++."""

_MOST_BYTES: Final = 2 * 1024 * 1024
"""Of headers that are read here: those of a large library, found later, stay as they are."""

_STANDARD: Final = "cuda/std"
"""The folder of libcu++'s standard headers."""

BROUGHT: Final = ("type_traits", "utility", "limits")
"""Headers of C++ that ``nvcc``'s own bring along, and that take NVRTC half a second."""


@dataclass(frozen=True, slots=True)
class Search:
    """Where includes are looked for, as ``nvcc`` does."""

    home: Path
    """The source's folder."""
    folders: Sequence[Path] = ()
    """Of ``-I``."""
    system: Sequence[Path] = ()
    """Of ``-isystem``."""
    toolkit: Sequence[Path] = ()

    def find(self, name: str, folder_of_file: Path) -> Path | None:
        """The file of an include, written as ``<name>`` or ``"name"`` in a file of that folder."""
        quoted = (folder_of_file, self.home) if name.startswith('"') else ()
        for folder in (*quoted, *self.folders, self.home, *self.system, *self.toolkit):
            file: Path = folder / name[1:-1]
            if files.is_plain(file):
                return file
        return None

    def is_own(self, file: Path) -> bool:
        """Whether a file is the user's, and not of the toolkit."""
        return not any(file.is_relative_to(each) for each in self.toolkit)

    def is_standard(self, name: str) -> bool:
        """Whether ``<name>`` is a header of C++ that libcu++ has."""
        plausible = re.fullmatch(r"<[a-z_]+>", name) is not None
        return plausible and any((each / _STANDARD / name[1:-1]).is_file() for each in self.toolkit)


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """What is compiled for the device."""

    source: str
    headers: Mapping[str, str]
    """Texts by the name that they are included by."""
    missing: tuple[str, ...]
    """Includes that are nowhere: those of the host's libraries, or what device code then lacks."""
    spared: bool
    """Whether headers were left out that device code does not seem to need."""


@dataclass(slots=True)
class _SourceFile:
    data: bytes
    folder: Path
    root: Node
    signatures: Node
    """The same, without bodies if the parser cannot read them."""
    declared: list[Declaration] = field(default_factory=list)
    included: dict[int, Path] = field(default_factory=dict)
    """The user's own files, by where their ``#include`` begins."""


def extract_device_code(
    source: str,
    search: Search,
    kernel: str = "",
    *,
    spare: bool = True,
    name_of: Callable[[Path], Path] = lambda path: path,
) -> DeviceCode:
    """Take the host's code out of a source and of the headers beside it.

    ``kernel`` is named beside what the device's code names; other kernels are left out, or none if
    it is not there. ``spare`` leaves out headers of CCCL and of C++ that none of it seems to need.
    ``name_of`` gives the name of a header in messages.
    Raises :class:`InputError` for a header that cannot be read.
    """
    read = _read_files(source, search)
    macro_bodies: dict[str, frozenset[str]] = {}
    for each in read.values():
        for name, body in find_macros(each.root).items():
            macro_bodies[name] = macro_bodies.get(name, frozenset()) | body
    words = find_device_words(macro_bodies)
    instantiations = find_instantiations(macro_bodies, words)
    for each in read.values():
        each.declared = find_declarations(
            each.data, each.signatures, words, instantiations, macro_bodies
        )
    every = [declared for each in read.values() for declared in each.declared]
    used, retained = _find_device_declarations(every, macro_bodies, kernel)
    writer = _Writer(search, used, spare, name_of)
    texts = {path: writer.text(each, retained) for path, each in read.items()}
    main = texts.pop(None)
    headers = {str(name_of(path)): text for path, text in texts.items() if path is not None}
    return DeviceCode(
        main, {**headers, **writer.standard()}, tuple(dict.fromkeys(writer.missing)), writer.spared
    )


def _read_files(source: str, search: Search) -> dict[Path | None, _SourceFile]:
    """The source, under ``None``, and the user's own files that it includes."""
    source_files: dict[Path | None, _SourceFile] = {}
    pending: deque[tuple[Path | None, str]] = deque([(None, source)])
    seen: set[Path] = set()
    size = 0
    while pending:
        path, text = pending.popleft()
        text = without_launches(text.removeprefix("\ufeff"))
        folder = search.home if path is None else path.parent
        root = syntax.parse(text)
        read = source_files[path] = _SourceFile(
            text.encode(), folder, root, parse_signatures(text, root)
        )
        for node, name in _includes(read.root):
            file = search.find(name, folder)
            if file is None or not search.is_own(file):
                continue
            file = file.resolve()
            if file not in seen:
                text = read_source(file)
                size += len(text)
                if size > _MOST_BYTES:
                    continue
                seen.add(file)
                pending.append((file, text))
            read.included[node.start_byte] = file
    return source_files


def _includes(root: Node) -> Iterable[tuple[Node, str]]:
    for node in syntax.walk(root):
        name = syntax.text(syntax.child(node, "path")) if node.type == "preproc_include" else ""
        if name[:1] in {'"', "<"}:
            yield node, name


def _find_device_declarations(
    every: Sequence[Declaration], macro_bodies: Mapping[str, frozenset[str]], kernel: str
) -> tuple[frozenset[str], frozenset[int]]:
    """The names that device code uses, and its declarations by their ``id``."""
    used = set(find_names(kernel))
    declared: set[str] = set()
    retained: set[int] = set()
    macros_left = dict(macro_bodies)
    kernels = [each for each in every if each.where is Where.KERNEL]
    chosen = [each for each in kernels if not used.isdisjoint(each.names)]
    # One that macros define is not seen: then it can be any.
    others = [each for each in kernels if used.isdisjoint(each.names)] if chosen else []
    fresh = [each for each in every if each.where is Where.DEVICE] + (chosen or kernels)
    waiting = [each for each in every if each.where in {Where.EITHER, Where.INSTANCE}] + others
    while fresh:
        retained.update(map(id, fresh))
        declared.update(*(each.names for each in fresh))
        used.update(*(each.used for each in fresh))
        while reached := used & macros_left.keys():
            used.update(*(macros_left.pop(name) for name in reached))
        fresh = [
            each
            for each in waiting
            if not (declared if each.where is Where.INSTANCE else used).isdisjoint(each.names)
        ]
        fresh_ids = set(map(id, fresh))
        waiting = [each for each in waiting if id(each) not in fresh_ids]
    gone = {
        name
        for each in every
        if id(each) not in retained and each.where is not Where.ASSERTION
        for name in each.names - declared
    }
    checked = [each for each in every if each.where is Where.ASSERTION]
    retained.update(id(each) for each in checked if gone.isdisjoint(each.used))
    return frozenset(used), frozenset(retained)


class _Writer:
    """Writes files without what the device does not need, and keeps in mind which includes."""

    def __init__(
        self, search: Search, used: frozenset[str], spare: bool, name_of: Callable[[Path], Path]
    ) -> None:
        self._search = search
        self._used = used
        self._spare = spare
        self._name_of = name_of
        self._standard = set(BROUGHT if self._wanted("std") else ())
        self.missing: list[str] = []
        self.spared = False

    def text(self, file: _SourceFile, retained: frozenset[int]) -> str:
        """What is compiled of a file."""
        data = bytearray(file.data)
        if _OF_STD.search(file.data) and not self._wanted("std"):
            self.spared = True
        for declared in file.declared:
            cuts = declared.cuts if id(declared) in retained else ((declared.start, declared.end),)
            for start, end in cuts:
                data[start:end] = _blank_out(bytes(data[start:end]))
        changes = [
            (node.start_byte, node.end_byte, line)
            for node, name in _includes(file.root)
            if (line := self._include(file, node, name)) is not None
        ]
        numbers = [_NUMBER.match(file.data, each.start, each.end) for each in file.declared]
        changes += [(*each.span(1), "constexpr") for each in numbers if each is not None]
        for start, end, line in sorted(changes, reverse=True):
            if data[start:end].strip():
                ended = b"\n" if data[start:end].endswith(b"\n") else b""
                data[start:end] = line.encode() + ended
        return data.decode("utf-8", "replace")

    def standard(self) -> dict[str, str]:
        """The headers of C++ that are taken from libcu++."""
        names = sorted(name for name in self._standard if self._search.is_standard(f"<{name}>"))
        using = "namespace std { using namespace cuda::std; }"
        return {name: f"#pragma once\n#include <{_STANDARD}/{name}>\n{using}\n" for name in names}

    def _wanted(self, name: str) -> bool:
        return not self._spare or name in self._used

    def _include(self, file: _SourceFile, node: Node, name: str) -> str | None:
        """What an include becomes; ``None`` if it stays."""
        own = file.included.get(node.start_byte)
        if own is not None:
            return f'#include "{self._name_of(own)}"'
        match = self._search.find(name, file.folder)
        if match is not None and match.name not in _GRAPHICS:
            folder = name[1:].partition("/")[0]
            if self._search.is_own(match) or folder not in _CCCL or self._wanted(folder):
                return None
            self.spared = True
            return ""
        if match is not None or not self._search.is_standard(name):
            self.missing.append(name)
            return ""
        if self._wanted("std"):
            self._standard.add(name[1:-1])
            return None
        self.spared = True
        return ""


def _blank_out(data: bytes) -> bytes:
    """Spaces in the place of code, with its lines, and with what the preprocessor reads there."""
    blank = bytearray(re.sub(rb"[^\r\n]", b" ", data))
    for directive in _DIRECTIVE.finditer(data):
        blank[directive.start() : directive.end()] = directive[0]
    return bytes(blank)
