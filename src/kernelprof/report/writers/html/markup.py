"""Elements and texts of HTML. Whatever is not markup already is escaped on its way in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

from kernelprof.report.document import Tone, spans
from kernelprof.report.names import printable

if TYPE_CHECKING:
    from kernelprof.report.document import Span, Text

_PILLS: Final = frozenset({Tone.GOOD, Tone.BAD, Tone.OPEN})


def element(name: str, *children: str, **attributes: str | float | bool | None) -> Markup:
    """An element with its children.

    Attributes are named as in HTML, with ``_`` for ``-`` and ``class_`` for ``class``; those that
    are ``None``, false or empty are left out.
    """
    given = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False and value != ""
    )
    return Markup(f"<{name}{given}>{''.join(map(escape, children))}</{name}>")


def joined(parts: list[Markup], between: str = "\n") -> Markup:
    """Pieces of markup one after the other."""
    return Markup(between).join(parts)


def inline(text: Text, *, links: bool = True) -> Markup:
    """A text: words between backticks are code, a toned span is a status."""
    if isinstance(text, str) and "`" not in text:
        return escape(text)
    return Markup("").join(_span(each, links=links) for each in spans(text))


def classes(*names: str) -> str:
    """The value of a ``class`` attribute."""
    return " ".join(name for name in names if name)


def for_script(markup: str) -> Markup:
    """HTML inside a script element of another type: only its own end tag would end it."""
    return Markup(str(markup).replace("</", "<\\/"))


def json_for_script(text: str) -> Markup:
    """JSON inside a script element: no tag can begin or end in it."""
    safe = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return Markup(safe)


def _span(span: Span, *, links: bool) -> Markup:
    shown = escape(printable(span.text))
    if span.code:
        shown = element("code", shown)
    if span.target and links:
        shown = element("a", shown, href=f"#{span.target}")
    if span.tone in _PILLS:
        return element("span", shown, class_=f"status {span.tone.value}")
    if span.tone is Tone.STRONG:
        return element("strong", shown)
    return element("span", shown, class_="muted") if span.tone is Tone.MUTED else shown
