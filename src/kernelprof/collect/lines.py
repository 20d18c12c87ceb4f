"""Samples by source line and instruction: out of the report, into a capture directory.

The source page of ``ncu`` repeats the whole source with all instructions; ``lines.csv.gz`` has a
row for each line: file, function, line and samples, and ``code.json.gz`` the instructions.
"""

from __future__ import annotations

import csv
import io
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kernelprof.collect.commands import source_page_command
from kernelprof.errors import MissingToolError
from kernelprof.launch import processes
from kernelprof.launch.nvcc import real_names
from kernelprof.model.capture import SourceLine, summed
from kernelprof.sources.capture_directory import LINES_HEADER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from kernelprof.launch.processes import Interrupts
    from kernelprof.model.sampled import SampledCode

_LIMIT_S: Final = 300.0
"""A page holds every instruction of every launch: of a program with thousands it has no end."""


class NoLinesError(Exception):
    """There are no samples by source line; the message is a sentence for the manifest."""


def same_name(path: str) -> str:
    """Leave a file's name as it is."""
    return path


def names_for(
    source: Path, shown: str, others: Callable[[str], str] = same_name
) -> Callable[[str], str]:
    """How the files of a page are called: the kernel's own source as the manifest calls it.

    A file that only a link of ours could name is called by its own name.
    """
    own = {os.path.normpath(source.absolute()), str(source.resolve())}

    def name(path: str) -> str:
        real = real_names(path)
        return shown if os.path.normpath(real) in own else others(real)

    return name


def export(
    ncu: str, report: Path, interrupts: Interrupts, name: Callable[[str], str]
) -> tuple[tuple[SourceLine, ...], tuple[SampledCode, ...]]:
    """The samples by source line in a report, and its instructions with theirs.

    Files are called what ``name`` makes of their path. None where nothing in it was compiled with
    ``-lineinfo``, and no instructions where there are too many. Raises :class:`NoLinesError` for
    everything that can go wrong: a capture is worth keeping without them.
    """
    page = report.with_suffix(".source.csv")
    try:
        found, code = _printed(ncu, report, page, interrupts, "cuda,sass")
        if not found:
            _, code = _printed(ncu, report, page, interrupts, "sass")
    except processes.TimeLimitError as error:
        raise _none(f"ncu was not done with it after {_LIMIT_S:g} s") from error
    except MissingToolError as error:
        raise _none(error.what) from error
    except OSError as error:
        raise _none(error.strerror or str(error)) from error
    finally:
        page.unlink(missing_ok=True)
    named = summed(replace(each, file=name(each.file)) for each in found)
    return named, tuple(each.with_files(name) for each in code)


def _printed(
    ncu: str, report: Path, page: Path, interrupts: Interrupts, what: str
) -> tuple[tuple[SourceLine, ...], tuple[SampledCode, ...]]:
    """The lines and the instructions of a source page, which goes by way of a file."""
    from kernelprof.sources.ncu.instructions import read_instructions
    from kernelprof.sources.ncu_report import LARGEST_PAGE, read_source_page

    command = source_page_command(ncu, str(report), what)
    ended = processes.run(command, interrupts, time_limit=_LIMIT_S, into=page, folder=report.parent)
    with page.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        if ended.code != 0:
            words = " ".join(lines.read(1000).split())
            raise _none(f"ncu ended with exit code {ended.code}: {words}".rstrip(": "))
        found = read_source_page(lines)
        if page.stat().st_size > LARGEST_PAGE:
            return found, ()
        lines.seek(0)
        sampled = (each for each in read_instructions(lines) if each.samples)
        return found, tuple(sampled)


def to_csv(lines: Iterable[SourceLine]) -> bytes:
    """Lines as their file holds them."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(LINES_HEADER)
    writer.writerows((each.file, each.function, each.line, each.samples) for each in lines)
    return text.getvalue().encode("utf-8", "replace")


def _none(why: str) -> NoLinesError:
    return NoLinesError(f"There are no samples by source line: {why}.")
