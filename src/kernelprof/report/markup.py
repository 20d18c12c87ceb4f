"""The environment of ``templates/``, and elements of HTML for charts, which are functions.

Whatever is not :class:`Markup` is escaped where it becomes HTML; templates of Markdown escape by
their filters. jinja2 is loaded where the first template is.
"""

from __future__ import annotations

from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

from kernelprof.model.names import printable
from kernelprof.report.document import Span, Text, Tone, spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jinja2 import Environment


Attribute = str | float | bool | None

_FOLDER: Final = Path(__file__).parent / "templates"
_STATUS: Final = frozenset({Tone.GOOD, Tone.BAD, Tone.OPEN})


# A page of many kernels says the same again and again.
_escaped: Final = lru_cache(maxsize=1 << 15, typed=True)(escape)


@cache
def template_environment(*, links: bool = True) -> Environment:
    """Return the environment that loads the templates, each of which is compiled once.

    Without ``links`` texts do not link to sections.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    templates = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    templates.globals.update(zip=zip)
    templates.filters.update(
        attributes=attributes, classes=_class_names, markup=partial(inline, links=links)
    )
    return templates


@cache
def asset(name: str) -> Markup:
    """Return a stylesheet or a script that stands beside the templates."""
    return Markup((_FOLDER / name).read_text(encoding="utf-8"))


def attributes(values: Mapping[str, Attribute]) -> Markup:
    """Return HTML attributes, with a space before each, without those that are none or empty."""
    text = ""
    for name, value in values.items():
        if value is True:
            text += f" {name}"
        elif value is not None and value is not False and value != "":
            text += f' {name}="{_escaped(value)}"'
    return Markup(text)


def element(name: str, *children: str, **values: Attribute) -> Markup:
    """Return an element; children that are no markup are escaped.

    Attributes are named as in HTML, with ``_`` for ``-``; ``class_`` is ``class``.
    """
    rendered = _named_attributes(**values) if values else ""
    parts = [each if each.__class__ is Markup else _escaped(each) for each in children]
    return Markup(f"<{name}{rendered}>{''.join(parts)}</{name}>")


@lru_cache(maxsize=1 << 12, typed=True)
def _named_attributes(**values: Attribute) -> str:
    return attributes({name.rstrip("_").replace("_", "-"): each for name, each in values.items()})


def joined(parts: Iterable[Markup], between: str = "\n") -> Markup:
    """Return pieces of markup one after the other."""
    return Markup(between.join(parts))


def _class_names(conditions: Mapping[str, object]) -> str:
    return classes(*(name for name, holds in conditions.items() if holds))


def classes(*names: str) -> str:
    """Return the value of a ``class`` attribute."""
    return " ".join(filter(None, names))


def inline(text: Text, *, links: bool = True) -> str:
    """Return a text as markup: words between backticks are code, a toned span is a status."""
    if isinstance(text, str) and "`" not in text:
        return text
    return Markup("".join(_span(each, links=links) for each in spans(text)))


def _span(span: Span, *, links: bool) -> Markup:
    shown = _escaped(printable(span.text))
    if span.code:
        shown = Markup(f"<code>{shown}</code>")
    if span.target and links:
        shown = element("a", shown, href=f"#{span.target}")
    if span.tone in _STATUS:
        return Markup(f'<span class="status {span.tone.value}">{shown}</span>')
    if span.tone is Tone.STRONG:
        return Markup(f"<strong>{shown}</strong>")
    return Markup(f'<span class="muted">{shown}</span>') if span.tone is Tone.MUTED else shown
