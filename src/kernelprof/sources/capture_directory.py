"""A capture directory, as ``kernelprof profile`` writes it.

``raw.csv.gz`` (the raw page in base units), ``capture.ncu-rep`` and ``manifest.json``; follow-up
runs of a drill-down are beside it as ``raw.1.csv.gz`` and ``capture.1.ncu-rep``. A run that sampled
where warps are has ``lines.csv.gz``, a row for each line: file, function, line and samples, and
``code.json.gz``, the machine instructions with their samples, counters and lines. A program that
was surveyed has ``survey.json.gz``.
"""

from __future__ import annotations

import csv
import hashlib
import io
from dataclasses import replace
from functools import reduce
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from kernelprof import files
from kernelprof.errors import InputError
from kernelprof.model.capture import SampledLine, sum_samples
from kernelprof.model.inferred import describe_assumptions
from kernelprof.model.sampled import from_bytes, sum_launches
from kernelprof.resources import data_folder
from kernelprof.sources.source import Contents, NoCaptureError, gunzip

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from kernelprof.model.capture import Capture
    from kernelprof.model.manifest import Manifest, RunFacts, SourceFacts
    from kernelprof.model.sampled import SampledCode
    from kernelprof.sources.source import Input

    Parsed = TypeVar("Parsed")

MANIFEST: Final = "manifest.json"
SOURCE_FILE: Final = "source.cu"
MOST_RUNS: Final = 100
"""Runs of a drill-down that are read; the longest that is known has seven."""
_MOST_LINES_BYTES: Final = 32 * files.MEGABYTE
_MOST_CODE_BYTES: Final = 128 * files.MEGABYTE
"""Of the instructions of a run; the largest kernel of the corpus has 2 MB."""
_MOST_SURVEY_BYTES: Final = 64 * files.MEGABYTE
"""Of a survey; one of 81 kernels has 200 kB."""
_MOST_LINES: Final = 200_000
"""Source lines with samples: the largest kernels of libraries have some thousands."""
_LARGEST_SOURCE: Final = 16 * files.MEGABYTE
_MOST_SAMPLES: Final = 2**53
LINES_HEADER: Final = ("file", "function", "line", "samples")


def is_capture(directory: Path) -> bool:
    """Return whether a directory is a capture."""
    return files.is_plain(directory / MANIFEST)


def read_manifest(directory: Path) -> Manifest:
    """Read the manifest of a capture directory."""
    from kernelprof.model.manifest import from_json

    path = directory / MANIFEST
    try:
        text = files.read_text(path, files.LARGEST_JSON, inside=directory)
    except (OSError, ValueError) as error:
        raise InputError(
            f"the capture's manifest cannot be read: {getattr(error, 'strerror', None) or error}",
            where=str(path),
            hint="name a directory that 'kernelprof profile' wrote",
        ) from error
    return from_json(text, str(path))


def read_stored(directory: Path) -> Capture:
    """Read the capture in a directory: its runs merged as they were when it was made."""
    from kernelprof.model.merge import merge_metrics

    manifest = read_manifest(directory)
    if not manifest.runs:
        raise _damaged("its manifest lists no runs", directory / MANIFEST)
    if len(manifest.runs) > MOST_RUNS:
        raise _damaged(f"its manifest lists more than {MOST_RUNS} runs", directory / MANIFEST)
    captures = (
        capture_of_run(
            _read_checked(directory, run.raw, run.raw_sha256),
            str(directory),
            run,
            manifest.clock_control,
        )
        for run in manifest.runs
    )
    first = next(captures)
    launched = _launch_keys(first)
    # A follow-up that shares no launch with the first was not used when it was made either.
    merged = reduce(
        merge_metrics, (capture for capture in captures if launched & _launch_keys(capture)), first
    )
    merged = replace(merged, warnings=(*merged.warnings, *describe_assumptions(manifest.source)))
    merged = replace(merged, origin=str(directory), code=_read_code(directory, manifest))
    return with_command_line(merged, manifest)


def with_command_line(capture: Capture, manifest: Manifest) -> Capture:
    """Return the capture with the command line that its manifest describes.

    That is of the source where there is one, and not of the process that launched its kernel.
    """
    source = manifest.source
    if source is None:
        return replace(capture, program=manifest.target)
    return replace(
        capture,
        application=source.path,
        options=source.options,
        program=manifest.target[1:],
    )


def _launch_keys(capture: Capture) -> set[tuple[object, ...]]:
    return {(each.kernel, each.grid, each.block) for each in capture.launches}


def _read_checked(directory: Path, name: str, sha256: str | None) -> bytes:
    path = directory / name
    if Path(name).name != name:
        raise _damaged("its manifest names a file outside the directory", path)
    try:
        packed = files.read_bytes(path, files.LARGEST_CAPTURE_FILE, inside=directory)
    except OSError as error:
        raise _damaged(f"{name} cannot be read ({error.strerror})", path) from error
    if hashlib.sha256(packed).hexdigest() != sha256:
        raise _damaged(f"{name} does not match its hash in the manifest", path)
    return packed


def capture_of_run(page: bytes, origin: str, run: RunFacts, clock_control: str) -> Capture:
    """Read the capture of one run: its raw page, and facts that only ``ncu``'s log had."""
    from kernelprof.sources import is_failure, read_bytes

    capture = read_bytes(page, origin)
    failures = [each for each in run.warnings if is_failure(each)]
    if run.program_exit_code:
        failures.append(f"The program ended with exit code {run.program_exit_code}.")
    return replace(
        capture,
        application=run.application or capture.application,
        clock_control=clock_control,
        warnings=(*capture.warnings, *run.warnings),
        damage=(*capture.damage, *failures),
        unavailable=capture.unavailable | (frozenset(run.unavailable) - set(capture.columns)),
    )


def _damaged(what: str, path: Path) -> InputError:
    return InputError(
        f"the capture is damaged: {what}",
        where=str(path),
        hint="copy the whole directory again, or repeat the capture",
    )


def _lines_from_csv(data: bytes) -> tuple[SampledLine, ...]:
    rows = csv.reader(io.StringIO(data.decode("utf-8"), newline=""))
    try:
        if tuple(next(rows, ())) != LINES_HEADER:
            raise ValueError("it has an unexpected header")
        lines = tuple(
            SampledLine(file, function, _parse_count(line), _parse_count(samples))
            for file, function, line, samples in islice(rows, _MOST_LINES + 1)
        )
    except csv.Error as error:
        raise ValueError(str(error)) from error
    if len(lines) > _MOST_LINES:
        raise ValueError(f"it has more than {_MOST_LINES:,} lines")
    return lines


def _parse_count(cell: str) -> int:
    count = int(cell)
    if not 0 <= count <= _MOST_SAMPLES:
        raise ValueError(f"{cell:.20} is not a count")
    return count


def read_lines(directory: Path, manifest: Manifest) -> tuple[SampledLine, ...] | None:
    """Read the samples by source line of all runs; ``None`` where the directory has none.

    Raises :class:`InputError` for a file that does not have the hash that the manifest gives.
    """
    stored = [
        _read_packed(directory, run.lines, run.lines_sha256, _MOST_LINES_BYTES, _lines_from_csv)
        for run in manifest.runs
        if run.lines is not None
    ]
    return sum_samples(chain.from_iterable(stored)) if stored else None


def _read_code(directory: Path, manifest: Manifest) -> tuple[SampledCode, ...]:
    stored = (
        _read_packed(directory, run.code, run.code_sha256, _MOST_CODE_BYTES, from_bytes)
        for run in manifest.runs
        if run.code is not None
    )
    return with_source(sum_launches(chain.from_iterable(stored)), directory, manifest.source)


def _read_packed(
    directory: Path, name: str, sha256: str | None, most: int, parse: Callable[[bytes], Parsed]
) -> Parsed:
    packed = _read_checked(directory, name, sha256)
    try:
        return parse(gunzip(packed, most))
    except ValueError as error:
        raise _damaged(f"{name} cannot be read ({error})", directory / name) from error


def with_source(
    codes: tuple[SampledCode, ...], folder: Path, source: SourceFacts | None
) -> tuple[SampledCode, ...]:
    """Add the text of the kernel's own source to its instructions, where that is known."""
    text = _source_text(folder, source) if codes and source is not None else None
    if text is None or source is None:
        return codes
    return tuple(replace(each, whole=text) if each.file == source.path else each for each in codes)


def read_contents(target: str) -> Contents:
    """Read what a capture directory holds beside the counters; nothing for any other capture.

    Raises :class:`InputError` for a file that does not have the hash that the manifest gives.
    """
    folder = Path(target)
    if not is_capture(folder):
        return Contents(folder)
    manifest = read_manifest(folder)
    counters = make_contents(folder, manifest, read_lines(folder, manifest))
    if manifest.survey is None:
        return counters
    from kernelprof.model.survey import from_bytes as survey_from_bytes

    digest = manifest.survey_sha256
    survey = _read_packed(folder, manifest.survey, digest, _MOST_SURVEY_BYTES, survey_from_bytes)
    return replace(counters, survey=survey)


def make_contents(
    folder: Path, manifest: Manifest | None, lines: tuple[SampledLine, ...] | None
) -> Contents:
    """Return what is beside the counters of a capture that was kept at, or measured of, a place."""
    source = None if manifest is None else manifest.source
    return Contents(
        folder, manifest, lines, None if source is None else _source_text(folder, source)
    )


def _source_text(capture_folder: Path, source: SourceFacts) -> str | None:
    """Read the kernel's source as it was measured: kept with the capture, or still in its place."""
    path = Path(source.path)
    stored = capture_folder / SOURCE_FILE
    candidates: list[tuple[Path, Path | None]] = [(stored, capture_folder), (path, None)]
    if path.parts[:1] == ("cuda",):
        candidates.append((data_folder("cuda").joinpath(*path.parts[1:]), None))
    for each, folder in candidates:
        try:
            data = files.read_bytes(each, _LARGEST_SOURCE, inside=folder)
        except OSError:
            continue
        if hashlib.sha256(data).hexdigest() == source.sha256:
            return data.decode("utf-8", "replace")
    return None


def read(target: Input, _only: Container[str] | None) -> Capture:
    """Read the capture in a directory that is a whole input."""
    assert target.path is not None
    if not is_capture(target.path):
        next(target.path.iterdir(), None)  # one that may not be read raises OSError
        raise NoCaptureError(
            f"this directory is not a capture (it has no {MANIFEST})",
            "If the directory contains captures, name one of them.",
        )
    return read_stored(target.path)
