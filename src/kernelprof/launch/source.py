"""A ``.cu`` file: where its launch specification stands, and what identifies a measurement of it.

That is the source with what it includes, how it is launched, and how it is compiled.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelprof import files
from kernelprof.errors import InputError
from kernelprof.launch.build.options import divide_options, split_options
from kernelprof.launch.signature import includes, kernels
from kernelprof.model.specification import is_version
from kernelprof.suggestions import missing_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from kernelprof.launch.signature import KernelSignature
    from kernelprof.launch.specification.spec import LaunchSpec

OPENING = "// /// kernelprof"
CLOSING = "// ///"
MAX_BYTES = 16 * 1024 * 1024
_OPEN = re.compile(r"//\s?///\s*kernelprof\s*")
_CLOSE = re.compile(r"//\s?///\s*")


@dataclass(frozen=True, slots=True)
class SpecBlock:
    """A specification's TOML text, and the file and line of its first line."""

    text: str
    path: Path
    first_line: int = 1
    start: int = 0
    """Index of the opening line in the source, from 0; meaningful for a block in a ``.cu`` only."""
    end: int = 0
    inferred: bool = False
    """Whether it stands in no file: it was inferred from the source."""

    def where(self, line: int) -> str:
        """Return the location of a line of the TOML text, from 1."""
        if self.inferred:
            return f"{self.path} (inferred launch)"
        return f"{self.path}:{self.first_line + line - 1}"


def read_source(path: Path, most: int = MAX_BYTES) -> str:
    """Return a source's text with its line ends and byte order mark; ``most`` limits its bytes."""
    data = _read_bytes(path, most)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            "the file is not UTF-8", where=f"{path}:{line}", hint="store it as UTF-8"
        ) from error


def read_header(path: Path) -> str:
    """Return the text of an included file, whose comments may have letters of any encoding."""
    return _read_bytes(path, MAX_BYTES).decode("utf-8", "replace")


def _read_bytes(path: Path, most: int) -> bytes:
    try:
        return files.read_bytes(path, most)
    except FileNotFoundError as error:
        raise InputError(
            "there is no such file", where=str(path), hint="give the path of a .cu file"
        ) from error
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror}", where=str(path)) from error


def kernels_of(source: Path, text: str, flags: Iterable[str] = ()) -> tuple[KernelSignature, ...]:
    """Return the kernels of a source's ``text``, or where it has none those of its own headers.

    ``flags`` are those of ``nvcc``, with the headers' folders.
    """
    own = kernels(text)
    if own:
        return own
    included, _ = local_includes(source, flags)
    return tuple(each for file in included.values() for each in kernels(read_header(file)))


def refuse_other_than_file(path: Path, hint: str) -> None:
    """Refuse a path that does not exist, a folder, and a pipe."""
    if files.is_plain(path):
        return
    if files.is_folder(path):
        what = "this is a folder, not a source file"
    elif path.exists():
        what = "this is a pipe or a device, not a source file"
    else:
        raise missing_file(path, hint)
    raise InputError(what, where=str(path), hint=hint)


def specification_path(path: Path) -> Path:
    """Return the path of the specification beside a ``.cu``."""
    return path.with_suffix(".toml")


def module_path(name: str, folder: Path) -> Path:
    """Return the path that the module of ``module:function`` has in ``folder``."""
    return folder.joinpath(*name.partition(":")[0].split(".")).with_suffix(".py")


def cut_block(source: str, path: Path) -> SpecBlock | None:
    """Return the specification inside a source, or ``None``."""
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
            f"the specification that begins with {OPENING!r} has no end",
            where=f"{path}:{start + 1}",
            hint=f"end the specification with {CLOSING!r} on a line of its own",
        )
    if len(openings) > 1:
        raise InputError(
            f"the file has a second specification; the first one is on line {start + 1}",
            where=f"{path}:{openings[1] + 1}",
            hint="keep one of them; use --size and --define to change values for one command",
        )
    text = "\n".join(
        _uncomment(lines[index], f"{path}:{index + 1}") for index in range(start + 1, end)
    )
    return SpecBlock(text, path, first_line=start + 2, start=start, end=end + 1)


def find_block(path: Path) -> SpecBlock | None:
    """Return the specification in a ``.cu``, the ``.toml`` beside it, or a named ``.toml``."""
    if path.suffix == ".toml":
        return _whole(path)
    inside = cut_block(read_source(path), path)
    sidecar_path = specification_path(path)
    if not files.is_plain(sidecar_path):
        return inside
    if inside is not None:
        raise InputError(
            "the kernel has two specifications",
            where=f"{inside.where(1)} and {sidecar_path}",
            hint=f"remove {sidecar_path.name} or the comment block",
        )
    return _whole(sidecar_path)


def _whole(path: Path) -> SpecBlock:
    return SpecBlock(read_source(path, files.LARGEST_TOML).removeprefix("\ufeff"), path)


def with_block(source: str, toml: str, old: SpecBlock | None) -> str:
    """Return the source with a specification at its top, or in place of the old one."""
    mark = "\ufeff" if source.startswith("\ufeff") else ""
    body = source.removeprefix(mark)
    newline = "\r\n" if "\r\n" in body else "\n"
    lines = [OPENING, *(f"// {line}".rstrip() for line in toml.splitlines()), CLOSING]
    block = "".join(line + newline for line in lines)
    if old is None:
        return mark + block + body
    lines_of_body = re.split(r"(?<=\n)", body)  # splitlines would also split at form feeds
    return mark + "".join(lines_of_body[: old.start]) + block + "".join(lines_of_body[old.end :])


def block_lines(toml: str) -> int:
    """Return how many lines a specification takes in a source."""
    return len(toml.splitlines()) + 2  # and the marks around it


def _uncomment(line: str, where: str) -> str:
    if line.startswith("// "):
        return line[3:]
    if line.startswith("//"):
        return line[2:]
    raise InputError(
        "a line inside the specification is not a // comment",
        where=where,
        hint=f"begin the line with '// ', or end the specification with {CLOSING!r} above the line",
    )


@dataclass(frozen=True, slots=True)
class LaunchHashes:
    """SHA-256 digests in hexadecimal; equal ones are the same kernel, launched alike."""

    source: str
    includes: tuple[tuple[str, str], ...]
    """Of the files that it includes in quotes, by their path relative to it, and of theirs."""
    specification: str
    """Of the specification with its defaults written out; its layout does not count."""
    compile: str
    """Of the options that ``nvcc`` gets, in their order."""

    def digest(self) -> str:
        """Return one digest of all of them."""
        return _json_digest([self.source, self.includes, self.specification, self.compile])


def changed_meanwhile(where: str) -> InputError:
    """Return the error for a source that changed after its check."""
    return InputError(
        "the source was changed while it was measured",
        where=where,
        hint="save the source, then run the command again",
    )


def launch_hashes(source: Path, spec: LaunchSpec) -> LaunchHashes:
    """Return the digests of a kernel's files and its specification."""
    return LaunchHashes(
        source=file_hash(source),
        includes=(*include_hashes(source, spec.compile.flags), *data_hashes(source, spec)),
        specification=_json_digest(spec.document()),
        compile=_json_digest(list(spec.compile.arguments())),
    )


def include_hashes(source: Path, flags: Iterable[str] = ()) -> tuple[tuple[str, str], ...]:
    """Return digests of the user's included files, by path from the source's folder.

    ``flags`` are those of ``nvcc``. An include whose name is a macro has an empty digest.
    """
    included, unknown = local_includes(source, flags)
    hashes = tuple((name, file_hash(file)) for name, file in sorted(included.items()))
    return (*hashes, *((f"#include {name}", "") for name in sorted(unknown)))


def local_includes(
    source: Path, flags: Iterable[str] = ()
) -> tuple[dict[str, Path], frozenset[str]]:
    """Return the included files that are not the toolkit's, and includes by macro.

    They are searched as by ``nvcc`` with these flags: quoted ones beside the including file and the
    source, all in the folders of ``-I``, beside the source, and in those of ``-isystem``.
    """
    home = source.parent.resolve()
    options = divide_options(split_options(flags))
    folders = [source.parent / each for each in options.folders]
    system = [source.parent / each for each in options.system]
    included_files: dict[str, Path] = {}
    unknown: set[str] = set()
    main = source.resolve()
    pending, seen = [main], {main}
    first = [f'"{name}"' for name in options.before]
    while pending:
        file = pending.pop()
        text = read_source(file) if file == main else read_header(file)
        for name in filter(None, (*first, *includes(text))):
            if name[0] not in '"<':
                unknown.add(name)
                continue
            quoted = [file.parent, home] if name[0] == '"' else []
            places = [*quoted, *folders, home, *system]
            candidates = [(folder / name[1:-1]).resolve() for folder in places]
            included = next((each for each in candidates if files.is_plain(each)), None)
            if included is None or included in seen:
                continue
            seen.add(included)
            included_files[os.path.relpath(included, home)] = included
            pending.append(included)
        first = []
    return included_files, frozenset(unknown)


def data_hashes(source: Path, spec: LaunchSpec) -> Iterator[tuple[str, str]]:
    """Yield digests of the files that arguments and the reference come from."""
    folder = (spec.path or source).parent
    functions = [("reference", spec.reference)]
    if is_version(spec.reference) and files.is_plain(folder / spec.reference):
        yield f"reference {spec.reference}", file_hash(folder / spec.reference)
    for argument in spec.arguments:
        if argument.file is not None and files.is_plain(folder / argument.file):
            yield f"fill of {argument.name}", file_hash(folder / argument.file)
        if argument.function is not None:
            functions.append((f"fill of {argument.name} by", argument.function))
    for use, name in functions:
        if ":" in name and files.is_plain(module_file := module_path(name, folder)):
            yield f"{use} {name.partition(':')[0]}", file_hash(module_file)


def file_hash(path: Path) -> str:
    """Return the digest of a file's bytes."""
    try:
        return files.sha256(path)
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror}", where=str(path)) from error


def _json_digest(document: object) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
