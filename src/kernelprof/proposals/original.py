"""A kernel as it was when nobody had proposed anything: its source, and all files that it needs.

They are kept in memory and written anew for each proposal, so that no proposal is judged by files
that a command had its hands on.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof import files
from kernelprof.errors import InputError, UsageError
from kernelprof.launch.flags import divided, separate
from kernelprof.launch.read_spec import load_spec
from kernelprof.launch.source import MAX_BYTES, local_includes, read_source, sidecar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelprof.launch.spec import LaunchSpec

MOST_BYTES: Final = 256 * files.MEGABYTE
"""Of all files of a kernel together."""


@dataclass(frozen=True, slots=True)
class Original:
    """``files`` are the others that it needs, by their path from ``base``, a folder above all."""

    path: Path
    base: Path
    text: str
    spec: LaunchSpec
    files: Mapping[str, bytes]

    @property
    def name(self) -> str:
        """The source's path from the folder above all."""
        return self.path.relative_to(self.base).as_posix()

    def written(self, folder: Path, text: str) -> Path:
        """Write all of it into a folder that is not there yet, with this text as the source."""
        folder.mkdir(parents=True)
        place = folder / self.name
        for name, data in (*self.files.items(), (self.name, text.encode())):
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        return place

    def changed(self) -> tuple[str, ...]:
        """The files that are not, or no longer, as they were when this was read."""
        known = {self.name: self.text.encode(), **self.files}
        return tuple(name for name, data in known.items() if _now(self.base / name) != data)


def read_original(source: Path) -> Original:
    """A kernel with a launch specification, and all files beside it that its launch reads.

    Raises :class:`UsageError` where they are too large, and what reading them raises.
    """
    path = source.resolve()
    spec = load_spec(source)
    text = read_source(path)
    named = dict.fromkeys(each.resolve() for each in _needed(path, spec))
    base = Path(os.path.commonpath([path.parent, *(each.parent for each in named)]))
    found: dict[str, bytes] = {}
    room = MOST_BYTES
    for each in named:
        try:
            data = files.read_bytes(each, room)
        except OSError as error:
            raise UsageError(
                f"a file of the kernel cannot be copied: {error.strerror}",
                where=str(each),
                hint=f"all of them may have {files.size_in_words(MOST_BYTES)}",
            ) from error
        room -= len(data)
        found[each.relative_to(base).as_posix()] = data
    return Original(path, base, text, spec, found)


def proposal(place: Path, folder: Path) -> str:
    """The text that a command left at a place in its folder.

    Raises :class:`InputError` for anything but a plain file with text.
    """
    try:
        if place.is_symlink() or not files.is_plain(place):
            raise InputError("the source is no plain file any more")
        data = files.read_bytes(place, MAX_BYTES, inside=folder)
        return data.decode("utf-8")
    except OSError as error:
        raise InputError(f"the source cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError("the source is no text in UTF-8") from error


def _needed(path: Path, spec: LaunchSpec) -> Iterator[Path]:
    """The files that the launch of a source reads beside it."""
    if files.is_plain(beside := sidecar(path)):
        yield beside
    folder = path.parent
    options = divided(separate(spec.compile.flags))
    included, _ = local_includes(
        path,
        [folder / each for each in options.folders],
        [folder / each for each in options.system],
        options.before,
    )
    yield from included.values()
    functions = [spec.reference]
    for argument in spec.arguments:
        if argument.file is not None:
            yield folder / argument.file
        functions.append(argument.function or "")
    if any(":" in each for each in functions):
        # What such a module imports is looked for beside it.
        yield from sorted(each for each in folder.rglob("*.py") if files.is_plain(each))


def _now(file: Path) -> bytes | None:
    try:
        return files.read_bytes(file, MOST_BYTES)
    except OSError:
        return None
