"""What identifies a measurement: the kernel's source, how it is launched, how it is compiled."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelprof.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.launch.spec import LaunchSpec


@dataclass(frozen=True, slots=True)
class LaunchHashes:
    """SHA-256 digests, in hexadecimal. Equal digests: the same kernel, launched the same way."""

    source: str
    """Of the source file's bytes."""
    includes: tuple[tuple[str, str], ...]
    """Of the files that it includes in quotes, by their path relative to it, and of theirs."""
    specification: str
    """Of the specification with its defaults written out; its layout does not count."""
    compile: str
    """Of the options that ``nvcc`` gets, in their order."""


def launch_hashes(source: Path, spec: LaunchSpec) -> LaunchHashes:
    """The digests of a kernel's file and its specification."""
    return LaunchHashes(
        source=file_hash(source),
        includes=include_hashes(source),
        specification=_json_digest(spec.document()),
        compile=_json_digest(list(spec.compile.arguments())),
    )


def include_hashes(source: Path) -> tuple[tuple[str, str], ...]:
    """The digests of the files that a source includes in quotes, by their names."""
    return tuple((name, file_hash(file)) for name, file in sorted(local_includes(source).items()))


def local_includes(source: Path) -> dict[str, Path]:
    """Files that the source includes in quotes and that exist beside it, and those that they do."""
    from kernelprof.launch.signature import quoted_includes
    from kernelprof.launch.source import read_source

    folder = source.parent.resolve()
    found: dict[str, Path] = {}
    pending = [source.resolve()]
    while pending:
        file = pending.pop()
        for name in quoted_includes(read_source(file)):
            included = (file.parent / name).resolve()
            if not included.is_file() or included in found.values() or included == source.resolve():
                continue
            inside = included.is_relative_to(folder)
            found[included.relative_to(folder).as_posix() if inside else name] = included
            pending.append(included)
    return found


def file_hash(path: Path) -> str:
    """The digest of a file's bytes."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror}", where=str(path)) from error


def _json_digest(document: object) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
