"""The HTML report of a climb: its results, and the captures of its rungs where they are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.cli.output import write_file, write_text
from kernelprof.cli.report import material

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.ladder.results import Climb, Climbed
    from kernelprof.report.html.view import KernelView
    from kernelprof.sources.contents import Contents

_OTHER_FILE = "The capture of this rung is of another version of its file, so it is not shown."
_OTHER_SIZE = "The capture of this rung is of another size, so it is not shown."
_NO_CAPTURE = "There is no capture of this rung, so this is all that is known."


def write_ladder_html(found: Climb, output: Path, captures: Path | None) -> None:
    """Render the page and put it in its place."""
    from kernelprof.ladder.registry import ladder
    from kernelprof.report.html.ladder import build_ladder
    from kernelprof.report.html.page import render_ladder
    from kernelprof.report.numbers import count

    cards: dict[str, KernelView] = {}
    notes: dict[str, str] = {}
    for rung in found.rungs:
        known = None if captures is None else _known(captures.expanduser(), rung)
        note = _NO_CAPTURE if known is None else _of_another(known, rung, found)
        if known is None or note:
            notes[rung.file] = note
        else:
            cards[rung.file] = _card(known)
    write_file(render_ladder(build_ladder(found, ladder(), cards, notes)), output)
    rungs = count(len(found.rungs), "rung")
    write_text(f"{output}: {rungs} on {found.surroundings.gpu}\n")


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


def _card(known: Contents) -> KernelView:
    """The card of the kernel that takes the time: a rung launches just one."""
    from kernelprof.analysis.verdict import diagnose
    from kernelprof.report.html.build import build_page
    from kernelprof.sources import read_capture

    capture = read_capture(str(known.place))
    extra = material(known)
    page = build_page(
        capture,
        diagnose(capture),
        manifest=extra.manifest,
        source_text=extra.source_text,
        hot_lines=extra.hot_lines,
    )
    return page.kernels[0]
