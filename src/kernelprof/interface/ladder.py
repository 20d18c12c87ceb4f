"""The ladders: their rungs, climbing one on a GPU, and the reports of a climb."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kernelprof import files
from kernelprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kernelprof.collect.progress import Progress
    from kernelprof.ladder.registry import Rung
    from kernelprof.ladder.results import Climb, Climbed
    from kernelprof.report.documents.ladder_parts import Card
    from kernelprof.results import PathLike
    from kernelprof.sources.source import Contents

_OTHER_FILE = (
    "The capture of this rung was made from another version of its file, so it is not shown."
)
_OTHER_SIZE = "The capture of this rung was made at another size, so it is not shown."
_NO_CAPTURE = "No capture of this rung was found."


def listing(name: str, output_format: str, width: int, *, changes: bool) -> str:
    """A ladder's rungs as text for so many columns, or as JSON; with ``changes`` what each changes.

    ``name`` is the ladder's, the first one for an empty name; the others are named as well.
    """
    from kernelprof.ladder import registry

    every_ladder = registry.load_ladders()
    chosen = registry.find_ladder(name or registry.DEFAULT)
    if output_format == "json":
        return registry.to_json(chosen, every_ladder)
    from kernelprof.report.documents.ladder import listing as document
    from kernelprof.report.writers import Screen, terminal

    others = [each for each in every_ladder if each.name != chosen.name]
    return terminal.write(document(chosen, others, changes=changes), Screen(width))


def climb(
    names: Sequence[str],
    command: str,
    *,
    size: int | None,
    captures: Path | None,
    profile: bool,
    earlier: Climb | None,
    display: Callable[[], Progress],
    step: Callable[[str], None],
    warn: Callable[[str], None],
    save: Callable[[Climb], None],
) -> Climb:
    """Check, time and profile rungs of a ladder on this machine's GPU, one after the other.

    ``names`` are those of :func:`kernelprof.ladder.registry.choose`; rungs that are named are
    measured even where ``earlier`` results are complete. ``command`` is what was typed. ``step``
    gets a line after each rung, ``save`` the results so far. A rung that fails is among the results
    with its error.
    """
    from kernelprof.ladder.climb import ClimbPlan, climb_ladder
    from kernelprof.ladder.registry import choose, load_ladders, singly_chosen_files

    every_ladder = load_ladders()
    chosen_ladder, chosen = choose(every_ladder, names)
    plan = ClimbPlan(
        ladder=chosen_ladder,
        rungs=chosen,
        command=command,
        anew=singly_chosen_files(every_ladder, names),
        size=size,
        captures=captures,
        profile=profile,
        display=display,
    )
    return climb_ladder(
        plan,
        progress=lambda *done: step(_line(*done)),
        warn=warn,
        save=save,
        earlier=earlier,
    )


def _line(position: int, total: int, rung: Climbed, seconds: float) -> str:
    """A rung in a line: ``1 of 2: 01_naive.cu: 275 ms, uncoalesced-global-access (9 s)``."""
    from kernelprof.report.documents.ladder_parts import time_cell, verdict_name

    parts = [] if rung.timing is None else [time_cell(rung.timing)]
    if rung.full is not None:
        parts.append(verdict_name(rung.full.said))
    if rung.error is not None:
        parts.append(f"failed: {rung.error.what}")
    return f"{position} of {total}: {rung.file}: {', '.join(parts)} ({seconds:.0f} s)"


def read_results(path: PathLike) -> Climb:
    """The results that a climb kept."""
    from kernelprof.ladder.results import from_json

    try:
        text = files.read_text(Path(path).expanduser(), files.LARGEST_JSON, typed=True)
    except (OSError, ValueError) as error:
        raise InputError(
            f"the results cannot be read: {getattr(error, 'strerror', None) or error}",
            where=os.fspath(path),
            hint="name the JSON file that 'kernelprof ladder run' wrote beside its report",
        ) from error
    return from_json(text, os.fspath(path))


def results_text(results: Climb) -> str:
    """The results as their file holds them."""
    from kernelprof.ladder.results import to_json

    return to_json(results)


def _registered_rungs(results: Climb) -> tuple[Rung, ...]:
    from kernelprof.ladder.registry import load_ladders

    return next((each.rungs for each in load_ladders() if each.name == results.ladder), ())


def report(results: Climb) -> str:
    """The Markdown report of a climb."""
    from kernelprof.report.documents.ladder import document
    from kernelprof.report.writers import markdown

    return markdown.write(document(results, _registered_rungs(results)), largest=None, level=1)


def page(results: Climb, captures: Path | None = None) -> str:
    """The page of a climb; ``captures`` has the capture directories of its rungs."""
    from kernelprof.report.documents.ladder import document
    from kernelprof.report.writers import html

    return html.write(document(results, _registered_rungs(results), _cards(results, captures)))


def _cards(results: Climb, captures: Path | None) -> dict[str, Card]:
    from kernelprof.report.documents.ladder_parts import Card

    cards = {}
    for rung in results.rungs:
        contents = None if captures is None else _contents_of_rung(captures.expanduser(), rung)
        note = _NO_CAPTURE if contents is None else _why_not_shown(contents, rung, results)
        cards[rung.file] = Card(note=note) if contents is None or note else _card(contents, rung)
    return cards


def _contents_of_rung(captures: Path, rung: Climbed) -> Contents | None:
    from kernelprof.sources.capture_directory import is_capture, read_contents

    folder = captures / rung.file.removesuffix(".cu")
    return read_contents(str(folder)) if is_capture(folder) else None


def _why_not_shown(contents: Contents, rung: Climbed, results: Climb) -> str:
    """Why a capture is not of what the results are of; empty where it is."""
    source = None if contents.manifest is None else contents.manifest.source
    if source is None:
        return ""
    if rung.source_sha256 is not None and source.sha256 != rung.source_sha256:
        return _OTHER_FILE
    sizes = (source.specification or {}).get("sizes")
    return _OTHER_SIZE if isinstance(sizes, dict) and sizes != results.sizes else ""


def _card(contents: Contents, rung: Climbed) -> Card:
    from kernelprof.analysis.verdict import diagnose
    from kernelprof.report.documents.capture_page import read_attachments
    from kernelprof.report.documents.ladder_parts import rung_card
    from kernelprof.sources import read_capture

    capture = read_capture(str(contents.folder))
    return rung_card(capture, diagnose(capture), read_attachments(contents), rung)
