"""What a source may have compiled and run where nobody allowed to run programs.

To predict a kernel runs no program of its author: NVRTC compiles it in this process, and NumPy
carries its machine code out. Three things in a source reach further, and are refused: Python that
gives a reference or values, files in other folders, and includes that cannot be known before they
are compiled, whose lines the compiler would quote in its messages.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelprof import files
from kernelprof.errors import UsageError
from kernelprof.launch.build.options import divide_options, split_options
from kernelprof.launch.source import (
    find_block,
    local_includes,
    read_source,
    specification_path,
)
from kernelprof.launch.specification.reader import load_spec
from kernelprof.model.specification import is_version

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.launch.specification.spec import LaunchSpec
    from kernelprof.server.folders import Folders

ALLOW: Final = "--allow-run"

_SPLICE: Final = re.compile(r"\\[ \t]*\r?\n")
_GAP: Final = r"(?:\s|/\*.*?\*/)*"
_DIRECTIVE: Final = re.compile(
    rf"(?:#|%:|\?\?=){_GAP}(?:include\w*|import|embed)\b{_GAP}(?P<file>\"[^\"\n]*\"|<[^>\n]*>)?",
    re.DOTALL,
)
"""What could be an include, also inside of comments and strings: nothing that is one is missed."""
_IMPORT: Final = re.compile(
    rf"\bimport\b(?:{_GAP}[\"<]|(?:/\*.*?\*/|[^;\n])*;)",
    re.DOTALL,
)
"""What C++20 takes for the import of a module or header, whose name a macro may give."""
_ASKS: Final = re.compile(r"__has_(?:include|embed)")
_NAME_PARTS: Final = frozenset(
    fragment
    for name in ("__has_include", "__has_embed")
    for at in range(1, len(name))
    for fragment in (name[:at], name[at:])
    if fragment.startswith("__") or "has_" in fragment
)
"""Names that could be pasted together to one of those that ask."""
_NAME: Final = re.compile(r"[\w$]+")
_UNKNOWN: Final = "its includes or imports cannot be determined before compilation"
_HINT: Final = "include only files in the source's folder, with literal names"
_HERE: Final = re.compile(rf"#{_GAP}include\b", re.DOTALL)


def check_source(source: Path, folders: Folders) -> LaunchSpec | None:
    """Return the specification of a source that may be predicted, ``None`` where it has none.

    A reference that is another version of the kernel is checked as the source is. Raises
    :class:`UsageError` for a source that may not be predicted, and what reading it raises.
    """
    spec = _check_version(source, folders)
    if spec is not None and is_version(spec.reference):
        _check_version((spec.path or source).parent / spec.reference, folders)
    return spec


def _check_version(source: Path, folders: Folders) -> LaunchSpec | None:
    folders.check(source)
    if files.is_plain(sidecar_file := specification_path(source)):
        folders.check(sidecar_file)
    spec = None if find_block(source) is None else load_spec(source)
    flags: tuple[str, ...] = ()
    if spec is not None:
        flags = tuple(spec.compile.flags)
        _refuse_python(spec, source)
        folder = (spec.path or source).parent
        for argument in spec.arguments:
            if argument.file is not None:
                folders.check(folder / argument.file)
    included, _ = local_includes(source, flags)
    for each in (source, *included.values()):
        folders.check(each)
        _refuse_unknown(each)
    for name in divide_options(split_options(flags)).before:
        _refuse_elsewhere(name, source)
    return spec


def _refuse_python(spec: LaunchSpec, source: Path) -> None:
    functions = [("reference", spec.reference)]
    functions += [(f"the fill of {each.name}", each.function or "") for each in spec.arguments]
    for what, name in functions:
        if ":" in name:
            raise UsageError(
                f"{what} is a Python function ({name}), which this server may not run",
                where=str(source),
                hint="use a built-in reference or fill, or start the server with: kernelprof mcp "
                f"{ALLOW}",
            )


def _refuse_unknown(file: Path) -> None:
    source = read_source(file)
    text = _SPLICE.sub("", source)
    # A line that ends in a backslash and blanks goes on in code, and not in a comment.
    for each in (text, _SPLICE.sub(" ", source)):
        if _ASKS.search(each) or not _NAME_PARTS.isdisjoint(_NAME.findall(each)):
            what = "the source checks which files exist (__has_include)"
            raise _refused(what, file, hint="remove __has_include or __has_embed")
        if _IMPORT.search(each):
            raise _refused(_UNKNOWN, file)
    for directive in _DIRECTIVE.finditer(text):
        name = directive["file"]
        if name is None or not _HERE.match(directive[0]):
            raise _refused(_UNKNOWN, file)
        _refuse_elsewhere(name[1:-1], file)


def _refuse_elsewhere(name: str, file: Path) -> None:
    parts = name.replace("\\", "/").split("/")
    if name.startswith(("/", "~")) or ".." in parts or ":" in parts[0]:
        raise _refused(f"the source includes a file outside its own folder: {name}", file)


def _refused(why: str, file: Path, *, hint: str = _HINT) -> UsageError:
    return UsageError(
        f"this server is not allowed to compile this source: {why}",
        where=str(file),
        hint=f"{hint}, or start the server with: kernelprof mcp {ALLOW}",
    )
