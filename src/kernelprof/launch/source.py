"""A ``.cu`` file and where its launch specification stands: inside it, or beside it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelprof.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

OPENING = "// /// kernelprof"
CLOSING = "// ///"
MAX_BYTES = 16 * 1024 * 1024

_OPEN = re.compile(r"//\s?///\s*kernelprof\s*")
_CLOSE = re.compile(r"//\s?///\s*")


@dataclass(frozen=True, slots=True)
class Block:
    """A specification's TOML text and the file and line that its first line has there."""

    text: str
    path: Path
    first_line: int = 1
    start: int = 0
    """Index of the opening line in the source, from 0; meaningful for a block in a ``.cu`` only."""
    end: int = 0
    """Index of the line after the closing one."""

    def where(self, line: int) -> str:
        """A place in the file: ``line`` counts from 1 inside the TOML text."""
        return f"{self.path}:{self.first_line + line - 1}"


def read_source(path: Path) -> str:
    """The text of a source file, its line ends and a byte order mark as they are."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(
            "there is no such file", where=str(path), hint="give the path of a .cu file"
        ) from error
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror}", where=str(path)) from error
    if len(data) > MAX_BYTES:
        raise InputError(
            f"the file has {len(data)} bytes, too many for the source of a kernel", where=str(path)
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            "the file is not UTF-8", where=f"{path}:{line}", hint="store it as UTF-8"
        ) from error


def refuse_other_than_file(path: Path, hint: str) -> None:
    """An error for a path that is not there, or a folder or a pipe, which cannot be a source."""
    if path.is_file():
        return
    what = "there is no such file"
    if path.is_dir():
        what = "this is a folder, not a source file"
    elif path.exists():
        what = "this is a pipe or a device, not a source file"
    raise InputError(what, where=str(path), hint=hint)


def sidecar(path: Path) -> Path:
    """Where the specification of a ``.cu`` stands when it is not inside it."""
    return path.with_suffix(".toml")


def file_of(name: str, folder: Path) -> Path:
    """Where the module of ``module:function`` lies if it is one of ``folder``."""
    return folder.joinpath(*name.partition(":")[0].split(".")).with_suffix(".py")


def cut_block(source: str, path: Path) -> Block | None:
    """The specification inside a source, or ``None``."""
    lines = [line.removesuffix("\r") for line in source.removeprefix("\ufeff").split("\n")]
    openings = [index for index, line in enumerate(lines) if _OPEN.fullmatch(line)]
    if not openings:
        return None
    start = openings[0]
    end = next(
        (index for index in range(start + 1, len(lines)) if _CLOSE.fullmatch(lines[index])), None
    )
    if end is None or (len(openings) > 1 and openings[1] < end):
        raise InputError(
            f"the specification that begins with {OPENING!r} does not end",
            where=f"{path}:{start + 1}",
            hint=f"put {CLOSING!r} on a line of its own after it",
        )
    if len(openings) > 1:
        raise InputError(
            f"a second specification; the first one is in line {start + 1}",
            where=f"{path}:{openings[1] + 1}",
            hint="keep one of them; sizes and defines can be changed on the command line",
        )
    text = "\n".join(
        _uncomment(lines[index], f"{path}:{index + 1}") for index in range(start + 1, end)
    )
    return Block(text, path, first_line=start + 2, start=start, end=end + 1)


def find_block(path: Path) -> Block | None:
    """The specification of a ``.cu``: inside it or in the ``.toml`` beside it; ``None`` if neither.

    A ``.toml`` that is named itself is read as one, too.
    """
    if path.suffix == ".toml":
        return Block(read_source(path).removeprefix("\ufeff"), path)
    inside = cut_block(read_source(path), path)
    beside = sidecar(path)
    if not beside.is_file():
        return inside
    if inside is not None:
        raise InputError(
            "the kernel has two specifications",
            where=f"{inside.where(1)} and {beside}",
            hint=f"remove {beside.name} or the comment block",
        )
    return Block(read_source(beside).removeprefix("\ufeff"), beside)


def with_block(source: str, toml: str, old: Block | None) -> str:
    """The source with a specification at its top, or in the place of the old one."""
    mark = "\ufeff" if source.startswith("\ufeff") else ""
    body = source.removeprefix(mark)
    newline = "\r\n" if "\r\n" in body else "\n"
    lines = [OPENING, *(f"// {line}".rstrip() for line in toml.splitlines()), CLOSING]
    block = "".join(line + newline for line in lines)
    if old is None:
        return mark + block + body
    kept = re.split(r"(?<=\n)", body)  # splitlines would also split at form feeds
    return mark + "".join(kept[: old.start]) + block + "".join(kept[old.end :])


def _uncomment(line: str, where: str) -> str:
    if line.startswith("// "):
        return line[3:]
    if line.startswith("//"):
        return line[2:]
    raise InputError(
        "a line inside the specification is not a // comment",
        where=where,
        hint=f"begin it with '// ', or end the specification with {CLOSING!r} before it",
    )
