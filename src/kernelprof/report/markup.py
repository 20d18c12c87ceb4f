"""Elements and texts of HTML. Whatever is not markup already is escaped on its way in."""

from __future__ import annotations

import html
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from kernelprof.model.names import printable
from kernelprof.report.document import Span, Tone, spans

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.report.document import Text

Value = str | float | bool | None
"""What an attribute can be."""

_PILLS: Final = frozenset({Tone.GOOD, Tone.BAD, Tone.OPEN})


escape = lru_cache(maxsize=1 << 15)(html.escape)
"""A page of many kernels says the same again and again."""


class Markup(str):
    """HTML. A ``str`` of another class is text, and is escaped where it becomes HTML."""

    __slots__ = ()


def markup(text: str) -> Markup:
    """A text as HTML."""
    return text if isinstance(text, Markup) else Markup(escape(text))


def element(name: str, *children: str, **attributes: Value) -> Markup:
    """An element with its children.

    Attributes are named as in HTML, with ``_`` for ``-`` and ``class_`` for ``class``; those that
    are ``None``, false or empty are left out.
    """
    given = _given(**attributes) if attributes else ""
    parts = [each if each.__class__ is Markup else escape(each) for each in children]
    return Markup(f"<{name}{given}>{''.join(parts)}</{name}>")


@lru_cache(maxsize=1 << 12, typed=True)
def _given(**attributes: Value) -> str:
    given = ""
    for key, value in attributes.items():
        if value is not None and value is not False and value != "":
            given += f" {key.rstrip('_').replace('_', '-')}"
            given += "" if value is True else f'="{html.escape(str(value))}"'
    return given


def joined(parts: Iterable[Markup], between: str = "\n") -> Markup:
    """Pieces of markup one after the other."""
    return Markup(between.join(parts))


def inline(text: Text, *, links: bool = True) -> Markup:
    """A text: words between backticks are code, a toned span is a status."""
    if isinstance(text, str) and "`" not in text:
        return markup(text)
    if isinstance(text, Span):
        return _span(text, links=links)
    return joined([_span(each, links=links) for each in spans(text)], "")


def classes(*names: str) -> str:
    """The value of a ``class`` attribute."""
    return " ".join(name for name in names if name)


def json_for_script(text: str) -> Markup:
    """JSON inside a script element: no tag can begin or end in it."""
    safe = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return Markup(safe)


def markup_for_script(text: str) -> Markup:
    """JSON of our own markup inside a script element: nothing ends that or begins a comment."""
    return Markup(text.replace("</", "<\\/").replace("<!--", "\\u003c!--"))


def _span(span: Span, *, links: bool) -> Markup:
    shown = markup(printable(span.text))
    if span.code:
        shown = element("code", shown)
    if span.target and links:
        shown = element("a", shown, href=f"#{span.target}")
    if span.tone in _PILLS:
        return element("span", shown, class_=f"status {span.tone.value}")
    if span.tone is Tone.STRONG:
        return element("strong", shown)
    return element("span", shown, class_="muted") if span.tone is Tone.MUTED else shown
