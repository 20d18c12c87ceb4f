"""A document as one HTML file, or as a part of a page for notebooks."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof.report.writers.html.blocks import MOST_OPEN, Blocks, cards
from kernelprof.report.writers.html.markup import Markup, element, joined, json_for_script, markup
from kernelprof.report.writers.html.page import Page
from kernelprof.version import __version__

if TYPE_CHECKING:
    from kernelprof.report.document import Document

_HERE: Final = Path(__file__).parent
POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
"""Nothing is fetched: the page is whole. Its data is offered as a blob."""


def write(document: Document) -> str:
    """A page that needs no network and no other file; every text in it is escaped."""
    found = frozenset(cards(document.blocks))
    page = Page(cards=found if len(found) > MOST_OPEN else frozenset())
    content = Blocks(page).write(document.blocks)
    link = {"id": "download-json", "href": "#data", "download": document.file}
    parts = {
        "policy": Markup(POLICY),
        "title": document.title,
        "css": _asset("page.css"),
        "origin": element("p", document.origin, class_="muted break") if document.origin else "",
        "download": element("a", "JSON", class_="button", **link) if document.data else "",
        "content": content,
        "made": f"Made by kernelprof {__version__}",
        "cards": joined(page.stored),
        "data": json_for_script(document.data or "{}"),
        "views": json_for_script(page.views()),
        "vendor": _library() if page.kinds else Markup(""),
        "script": _asset("page.js"),
    }
    # Not with str.format, which copies all that is there as often as it takes to hold more.
    pieces = re.split(r"\{(\w+)\}", _asset("page.html"))
    pieces[1::2] = [markup(parts[name]) for name in pieces[1::2]]
    return "".join(pieces)


def fragment(document: Document) -> str:
    """A part of somebody else's page: without scripts, charts and links."""
    content = Blocks(Page(static=True)).write(document.blocks)
    return str(
        element("div", element("style", _asset("fragment.css")), content, class_="kernelprof")
    )


@cache
def _library() -> Markup:
    """Vega, Vega-Lite and their embedding, in the order in which they need each other."""
    folder = _HERE / "vendor"
    listed = json.loads((folder / "versions.json").read_text(encoding="utf-8"))
    parts = [(folder / each["file"]).read_text(encoding="utf-8") for each in listed]
    return Markup("\n".join(parts).replace("</script", "<\\/script"))


@cache
def _asset(name: str) -> Markup:
    return Markup((_HERE / name).read_text(encoding="utf-8"))
