"""Sources: whatever holds evidence becomes a :class:`kernelprof.model.capture.Capture`.

Each source is a file of this folder with a ``SOURCE``, found without being listed. Nothing right of
a capture knows which one it came from. ``ncu/`` holds what several of them need.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import IO, TYPE_CHECKING

from kernelprof.sources.source import EvidenceSource, FileSource, Input, TableSource, opened

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Container

    from kernelprof.model.capture import Capture


@cache
def registry() -> tuple[EvidenceSource, ...]:
    """All sources, in their order."""
    modules = [import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__)]
    found = [getattr(module, "SOURCE", None) for module in modules]
    sources = [source for source in found if isinstance(source, EvidenceSource)]
    return tuple(sorted(sources, key=lambda source: source.order))


def read_capture(
    target: str | os.PathLike[str],
    *,
    stdin: IO[bytes] | None = None,
    only: Container[str] | None = None,
    progress: Callable[[int], object] | None = None,
) -> Capture:
    """The capture at a path, or on standard input if ``target`` is ``-``.

    Takes whatever a source of the :func:`registry` recognises; text may be compressed by gzip.
    ``stdin`` stands in for the process's own. ``only`` names the metrics to read of a raw page, for
    whoever needs no others; ``progress`` is called with the bytes of each piece that was read of a
    file. Raises InputError for anything that is not a capture, MissingToolError for a report where
    neither ``ncu`` nor the package ncu-report is installed.
    """
    try:
        with opened(target, stdin, progress) as found:
            return read_input(found, only)
    except (OSError, ValueError) as error:
        from kernelprof.sources.ncu.unrecognised import not_a_capture

        reason = getattr(error, "strerror", None) or str(error)
        missing = isinstance(error, FileNotFoundError)
        what = "there is no such file" if missing else f"the file cannot be read ({reason})"
        raise not_a_capture(what, str(target)) from error


def read_bytes(data: bytes, origin: str) -> Capture:
    """The capture in the bytes of a CSV export, plain or gzip; a pure function.

    ``origin`` names the bytes in messages. Raises InputError, and nothing else, for bytes that hold
    no launch; a report (.ncu-rep) is one of those, because only other programs can read it.
    """
    return read_input(Input.of_bytes(data, origin))


def read_input(found: Input, only: Container[str] | None = None) -> Capture:
    """The capture in an input: of the source that recognises it, else of the tables in its text."""
    from kernelprof.sources.ncu import read_export

    for source in registry():
        if isinstance(source, FileSource) and source.recognises(found):
            return source.read(found, only)
    tables = [source for source in registry() if isinstance(source, TableSource)]
    return read_export(found, only, tables)
