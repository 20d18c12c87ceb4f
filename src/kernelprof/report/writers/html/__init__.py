"""A document as one HTML file, or as a part of a page for notebooks."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from kernelprof.report.markup import (
    Markup,
    element,
    joined,
    json_for_script,
    markup,
    markup_for_script,
)
from kernelprof.report.writers.html.blocks import MOST_OPEN, Blocks, cards, is_list
from kernelprof.report.writers.html.page import Page
from kernelprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.report.document import Document

_HERE: Final = Path(__file__).parent
POLICY: Final = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
"""Nothing is fetched: the page is whole, and no script runs but the one whose digest stands here.
Its data is offered as a blob."""


MOST_PLAIN: Final = 60
"""Cards up to which everything stands in the page as it is; those of more are packed."""

PACK: Final = 20
"""Cards that are packed together: they are alike, and one is unpacked with its neighbours."""


def write(document: Document) -> str:
    """A page that needs no network and no other file; every text in it is escaped."""
    found = list(cards(document.blocks))
    beside = is_list(document.blocks)
    page = Page(cards=frozenset(found if beside or len(found) > MOST_OPEN else ()))
    content = Blocks(page).write(document.blocks)
    packed = len(page.stored) > MOST_PLAIN
    link = {"id": "download-json", "href": "#data", "download": document.file}
    parts = {
        "policy": Markup(POLICY.format(script=_digest(_asset("page.js")))),
        "title": document.title,
        "css": joined([_asset("page.css"), _asset("charts.css")]),
        "machine": element("p", document.machine, class_="muted") if document.machine else "",
        "download": element("a", "JSON", class_="button", **link) if document.data else "",
        "steps": _asset("steps.html") if beside else "",
        "look": "list" if beside else "",
        "content": content,
        "made": " · ".join(filter(None, (f"Made by kernelprof {__version__}", document.origin))),
        "cards": joined(_cards(page, packed=packed)),
        "data": _script(document.data or "{}", "data", packed=packed),
        "views": _script(page.views(), "views", packed=packed),
        "script": _asset("page.js"),
    }
    # Not with str.format, which copies all that is there as often as it takes to hold more.
    pieces = re.split(r"\{(\w+)\}", _asset("page.html"))
    pieces[1::2] = [markup(parts[name]) for name in pieces[1::2]]
    return "".join(pieces)


def _cards(page: Page, *, packed: bool) -> Iterable[Markup]:
    """The cards that are not in the page until they are opened, by themselves or in packs."""
    kept = list(page.stored.items())
    size = PACK if packed else 1
    for at in range(0, len(kept), size):
        own = {anchor: str(card) for anchor, card in kept[at : at + size]}
        text = msgspec.json.encode(own).decode()
        given = {"type": "application/json", "data_cards": " ".join(own)}
        if packed:
            yield element("script", _packed(text), **given, data_packed="gzip")
        else:
            yield element("script", markup_for_script(text), **given)


def _script(text: str, name: str, *, packed: bool) -> Markup:
    """JSON that the script reads."""
    given = {"type": "application/json", "id": name}
    if packed:
        return element("script", _packed(text), **given, data_packed="gzip")
    return element("script", json_for_script(text), **given)


def _packed(text: str) -> Markup:
    """Text of gzip in base64."""
    return Markup(base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode())


def fragment(document: Document) -> str:
    """A part of somebody else's page: without scripts and links."""
    content = Blocks(Page(static=True)).write(document.blocks)
    return str(
        element(
            "div",
            element("style", _asset("charts.css"), _asset("fragment.css")),
            content,
            class_="kernelprof",
        )
    )


@cache
def _asset(name: str) -> Markup:
    return Markup((_HERE / name).read_text(encoding="utf-8"))


def _digest(script: str) -> str:
    """What a policy calls a script by."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
