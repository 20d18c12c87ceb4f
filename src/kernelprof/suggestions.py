"""What was probably meant by a mistyped name, or by a file that a command does not take."""

from __future__ import annotations

import os
import shlex
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof import files
from kernelprof.errors import InputError, KernelprofError
from kernelprof.files import SOURCES

if TYPE_CHECKING:
    from collections.abc import Iterable

_INTERPRETERS: Final = {".py": "python", ".sh": "sh"}
_BINARY: Final = b"\x7fELF"
_MOST_NAMES: Final = 10_000
"""Names of a folder that are compared with a mistyped one."""


def similar_name(name: str, names: Iterable[str]) -> str | None:
    """Return the name that is most like a mistyped one; ``None`` where none is near."""
    from difflib import get_close_matches

    # The first of two names that differ in case alone.
    folded = {each.lower(): each for each in reversed(list(names))}
    return next((folded[each] for each in get_close_matches(name.lower(), folded, n=1)), None)


def similar_file(path: str | os.PathLike[str]) -> str | None:
    """Return the path of a file whose name is near that of one that does not exist."""
    target = Path(path)
    try:
        names = [each.name for each in islice(os.scandir(target.parent), _MOST_NAMES)]
    except OSError:
        return None
    name = similar_name(target.name, sorted(names))
    return None if name is None else str(target.with_name(name))


def missing_file(path: str | os.PathLike[str], hint: str) -> InputError:
    """Return the error for a file that does not exist; ``hint`` is for one with no similar name."""
    similar = similar_file(path)
    return InputError(
        "there is no such file",
        where=os.fspath(path),
        hint=hint if similar is None else f"did you mean {similar}?",
    )


def program_words(path: str | os.PathLike[str]) -> list[str]:
    """Return how a shell starts a program or script; nothing for any other file."""
    target = Path(path)
    if not files.is_plain(target):
        return []
    name = os.fspath(path)
    if interpreter := _INTERPRETERS.get(target.suffix.lower()):
        return [interpreter, name]
    try:
        with target.open("rb") as file:
            head = file.read(len(_BINARY))
    except OSError:
        return []
    if head == _BINARY or (head.startswith(b"#!") and os.access(target, os.X_OK)):
        return [name if os.sep in name else f"./{name}"]
    return []


def suggested_command(path: str) -> str | None:
    """Return the command that diagnoses a source, a program or another file that exists."""
    if path.endswith(SOURCES):
        return shlex.join(["kernelprof", "diagnose", path])
    if words := program_words(path):
        return shlex.join(["kernelprof", "diagnose", "--", *words])
    return shlex.join(["kernelprof", "diagnose", path]) if Path(path).exists() else None


def refuse_program(path: str) -> KernelprofError | None:
    """Return the error for a program or a source in the place of a capture."""
    source = path.endswith(SOURCES) and files.is_plain(path)
    if not source and not program_words(path):
        return None
    return InputError(
        f"this is a {'CUDA source' if source else 'program'}, not a capture",
        where=path,
        hint=f"measure it: {suggested_command(path)}",
    )
