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

_OTHER_FILE = "The capture of this rung is of another version of its file, so it is not shown."
_OTHER_SIZE = "The capture of this rung is of another size, so it is not shown."
_NO_CAPTURE = "There is no capture of this rung, so this is all that is known."


def listing(name: str, output_format: str, width: int, *, changes: bool) -> str:
    """A ladder's rungs as text for so many columns, or as JSON; with ``changes`` what each changes.

    ``name`` is the ladder's, the first one for an empty name; the others are named as well.
    """
    from kernelprof.ladder import registry

    known = registry.ladders()
    of = registry.ladder(name or registry.DEFAULT)
    if output_format == "json":
        return registry.to_json(of, known)
    from kernelprof.report.documents.ladder import listing as document
    from kernelprof.report.writers import Screen, terminal

    others = [each for each in known if each.name != of.name]
    return terminal.write(document(of, others, changes=changes), Screen(width))


def climb(
    names: Sequence[str],
    command: str,
    *,
    size: int | None,
    captures: Path | None,
    profile: bool,
    known: Climb | None,
    display: Callable[[], Progress],
    step: Callable[[str], None],
    warn: Callable[[str], None],
    save: Callable[[Climb], None],
) -> Climb:
    """Check, time and profile rungs of a ladder on this machine's GPU, one after the other.

    ``names`` are those of :func:`kernelprof.ladder.registry.choose`; rungs that are named are
    measured even where ``known`` results are complete. ``command`` is what was typed. ``step`` gets
    a line after each rung, ``save`` the results so far. A rung that fails is among the results with
    its error.
    """
    from kernelprof.ladder.climb import Callbacks, Plan
    from kernelprof.ladder.climb import climb as run
    from kernelprof.ladder.registry import choose, ladders, named

    known_ladders = ladders()
    of, chosen = choose(known_ladders, names)
    plan = Plan(
        ladder=of,
        rungs=chosen,
        command=command,
        anew=named(known_ladders, names),
        size=size,
        captures=captures,
        profile=profile,
        display=display,
    )
    return run(plan, Callbacks(lambda *done: step(_line(*done)), warn, save), known)


def _line(position: int, of: int, rung: Climbed, seconds: float) -> str:
    """A rung in a line: ``1 of 2: 01_naive.cu: 275 ms, uncoalesced-global-access (9 s)``."""
    from kernelprof.report.documents.ladder_parts import time_cell, verdict_name

    parts = [] if rung.timing is None else [time_cell(rung.timing)]
    if rung.full is not None:
        parts.append(verdict_name(rung.full.said))
    if rung.error is not None:
        parts.append(f"failed: {rung.error.what}")
    return f"{position} of {of}: {rung.file}: {', '.join(parts)} ({seconds:.0f} s)"


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


def results_text(found: Climb) -> str:
    """The results as their file holds them."""
    from kernelprof.ladder.results import to_json

    return to_json(found)


def _rungs_of(found: Climb) -> tuple[Rung, ...]:
    """What the registry says of a climb's rungs; nothing of a ladder that is not here."""
    from kernelprof.ladder.registry import ladders

    return next((each.rungs for each in ladders() if each.name == found.ladder), ())


def report(found: Climb) -> str:
    """The Markdown report of a climb."""
    from kernelprof.report.documents.ladder import document
    from kernelprof.report.writers import markdown

    return markdown.write(document(found, _rungs_of(found)), largest=None, level=1)


def page(found: Climb, captures: Path | None = None) -> str:
    """The page of a climb; ``captures`` has the capture directories of its rungs."""
    from kernelprof.report.documents.ladder import document
    from kernelprof.report.writers import html

    return html.write(document(found, _rungs_of(found), _cards(found, captures)))


def _cards(found: Climb, captures: Path | None) -> dict[str, Card]:
    """What the captures of the rungs add to the page, by file."""
    from kernelprof.report.documents.ladder_parts import Card

    cards = {}
    for rung in found.rungs:
        known = None if captures is None else _known(captures.expanduser(), rung)
        note = _NO_CAPTURE if known is None else _of_another(known, rung, found)
        cards[rung.file] = Card(note=note) if known is None or note else _card(known, rung)
    return cards


def _known(captures: Path, rung: Climbed) -> Contents | None:
    """The capture directory of a rung, if there is one."""
    from kernelprof.sources.capture_directory import contents, is_capture

    folder = captures / rung.file.removesuffix(".cu")
    return contents(str(folder)) if is_capture(folder) else None


def _of_another(known: Contents, rung: Climbed, found: Climb) -> str:
    """Why a capture is not of what the results are of; empty where it is."""
    source = None if known.manifest is None else known.manifest.source
    if source is None:
        return ""
    if rung.source_sha256 is not None and source.sha256 != rung.source_sha256:
        return _OTHER_FILE
    sizes = (source.specification or {}).get("sizes")
    return _OTHER_SIZE if isinstance(sizes, dict) and sizes != found.sizes else ""


def _card(known: Contents, rung: Climbed) -> Card:
    from kernelprof.analysis.verdict import diagnose
    from kernelprof.report.documents.capture_page import beside
    from kernelprof.report.documents.ladder_parts import card
    from kernelprof.sources import read_capture

    capture = read_capture(str(known.place))
    return card(capture, diagnose(capture), beside(known), rung)
