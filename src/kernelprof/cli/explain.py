"""``kernelprof explain``: a bottleneck's page, from its rule."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from kernelprof.cli import screen
from kernelprof.cli.output import write_text
from kernelprof.errors import UsageError


class PageFormat(StrEnum):
    TEXT = "text"
    MARKDOWN = "markdown"


def explain(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A bottleneck's name, as in a verdict.")
    ] = None,
    page_format: Annotated[
        PageFormat, typer.Option("--format", help="How to write the page.")
    ] = PageFormat.TEXT,
) -> None:
    """Explain a bottleneck: what it is, why it matters, what to do, when the verdict is wrong.

    Without a name, list all bottlenecks.
    """
    from kernelprof.analysis.metrics.catalogue import catalogue
    from kernelprof.analysis.rules import registry
    from kernelprof.report import writers
    from kernelprof.report.documents import rule

    rules = registry()
    if name is None:
        document = rule.index(rules)
    elif name in rules:
        document = rule.document(rules[name], catalogue())
    else:
        raise UsageError(f"no bottleneck is called {name!r}", hint=_suggestion(name, list(rules)))
    shown_on = screen.of(None, no_color=False)
    write_text(writers.render("rule", page_format.value, None, lambda: [document], shown_on))


def _suggestion(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=3, cutoff=0.5)
    listing = "'kernelprof explain' lists all"
    return f"did you mean {' or '.join(close)}? {listing}" if close else listing
