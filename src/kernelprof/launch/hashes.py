"""What identifies a measurement: the kernel's source, how it is launched, how it is compiled."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelprof.errors import InputError
from kernelprof.launch.signature import includes
from kernelprof.launch.source import file_of, read_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
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

    def digest(self) -> str:
        """One digest of all of them."""
        return _json_digest([self.source, self.includes, self.specification, self.compile])


def changed_meanwhile(where: str) -> InputError:
    """The error where what is launched is not what was checked."""
    return InputError(
        "the source was changed while it was measured",
        where=where,
        hint="run it again, once it is saved",
    )


def launch_hashes(source: Path, spec: LaunchSpec) -> LaunchHashes:
    """The digests of a kernel's file and its specification."""
    return LaunchHashes(
        source=file_hash(source),
        includes=(*include_hashes(source, _folders(spec, source)), *_data_hashes(source, spec)),
        specification=_json_digest(spec.document()),
        compile=_json_digest(list(spec.compile.arguments())),
    )


def include_hashes(source: Path, folders: Sequence[Path] = ()) -> tuple[tuple[str, str], ...]:
    """The digests of the user's files that a source includes, by their path from its folder.

    ``folders`` are those of ``-I``. An include whose name only a macro knows has no digest: nobody
    can tell here which file that is.
    """
    found, unknown = local_includes(source, folders)
    known = tuple((name, file_hash(file)) for name, file in sorted(found.items()))
    return (*known, *((f"#include {name}", "") for name in sorted(unknown)))


def local_includes(
    source: Path, folders: Sequence[Path] = ()
) -> tuple[dict[str, Path], frozenset[str]]:
    """Files that the source includes and that are not the toolkit's, and those that they do.

    They are looked for where ``nvcc`` looks: beside the file that includes them, beside the source,
    in the folders of ``-I``. Also gives what is included by way of a macro.
    """
    home = source.parent.resolve()
    found: dict[str, Path] = {}
    unknown: set[str] = set()
    pending = [source.resolve()]
    seen = {source.resolve()}
    while pending:
        file = pending.pop()
        for name in filter(None, includes(read_source(file))):
            if name[0] not in '"<':
                unknown.add(name)
                continue
            places = [*([file.parent] if name[0] == '"' else []), home, *folders]
            candidates = [(place / name[1:-1]).resolve() for place in places]
            included = next((each for each in candidates if each.is_file()), None)
            if included is None or included in seen:
                continue
            seen.add(included)
            found[os.path.relpath(included, home)] = included
            pending.append(included)
    return found, frozenset(unknown)


def _folders(spec: LaunchSpec, source: Path) -> list[Path]:
    """The folders of ``-I`` among the flags, relative to the source's."""
    found = []
    for flag in spec.compile.flags:
        match = re.fullmatch(r"(?:-I|--include-path|-include-path)[= ]?(.+)", flag)
        if match:
            found += [source.parent / each for each in match[1].split(",")]
    return found


def _data_hashes(source: Path, spec: LaunchSpec) -> Iterator[tuple[str, str]]:
    """The digests of the files that values come from: of arguments, of the reference."""
    folder = (spec.path or source).parent
    functions = [("reference", spec.reference)]
    for argument in spec.arguments:
        if argument.file is not None and (folder / argument.file).is_file():
            yield f"fill of {argument.name}", file_hash(folder / argument.file)
        if argument.function is not None:
            functions.append((f"fill of {argument.name} by", argument.function))
    for use, name in functions:
        if ":" in name and (beside := file_of(name, folder)).is_file():
            yield f"{use} {name.partition(':')[0]}", file_hash(beside)


def file_hash(path: Path) -> str:
    """The digest of a file's bytes."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror}", where=str(path)) from error


def _json_digest(document: object) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
