"""The captures of a climb's rungs, for its page, where they are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.cli.report import material

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.ladder.results import Climb, Climbed
    from kernelprof.report.documents.ladder_parts import Card
    from kernelprof.sources.contents import Contents

_OTHER_FILE = "The capture of this rung is of another version of its file, so it is not shown."
_OTHER_SIZE = "The capture of this rung is of another size, so it is not shown."
_NO_CAPTURE = "There is no capture of this rung, so this is all that is known."


def cards(found: Climb, captures: Path | None) -> dict[str, Card]:
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
    from kernelprof.sources.capture_directory import is_capture
    from kernelprof.sources.contents import contents

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
    from kernelprof.report.documents.ladder_parts import card
    from kernelprof.sources import read_capture

    capture = read_capture(str(known.place))
    return card(capture, diagnose(capture), material(known), rung)
