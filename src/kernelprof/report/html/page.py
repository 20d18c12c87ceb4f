"""A report as one HTML file: templates, style, script, charts and data put together."""

from __future__ import annotations

import json
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kernelprof.model.numbers import factor, share
from kernelprof.report.html import charts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelprof.report.html.view import KernelView, Metric, Page, SourceText

_HERE = Path(__file__).parent
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
"""Nothing is fetched: the page is whole. The JSON is offered as a blob."""

MOST_OPEN = 12
"""Kernels whose cards are part of the page from the start; more are put in when they are opened."""


def render_page(page: Page) -> str:
    """The report of a capture; every text of the page is escaped."""
    cards = [_card(kernel, index) for index, kernel in enumerate(page.kernels)]
    stored = cards if len(cards) > MOST_OPEN else []
    return fill(
        "page.html.j2",
        page=SimpleNamespace(**{**_values(page), "kernels": cards}),
        stored=stored,
        views=views_of(page.kernels, {"overview": charts.overview.rows(page.kernels)}),
    )


def fill(
    template: str,
    *,
    card_from: str = "card.html.j2",
    styles: Sequence[str] = ("report.css",),
    **content: object,
) -> str:
    """A template with what every page needs."""
    environment = _environment()
    card_template = environment.get_template(card_from)

    def card(kernel: SimpleNamespace) -> Markup:
        return Markup(card_template.render(kernel=kernel))

    return environment.get_template(template).render(
        card=card,
        policy=POLICY,
        css=Markup("\n").join(_asset(name) for name in styles),
        script=_asset("report.js"),
        vendor=_library(),
        **content,
    )


def views_of(kernels: Sequence[KernelView], drawn: Mapping[str, Sequence[charts.Row]]) -> str:
    """What the script needs: specifications once, then rows and metrics by kernel.

    ``drawn`` are the rows of the charts that belong to no single kernel.
    """
    numbers: dict[Metric, int] = {}
    tips: dict[str, str] = {}
    kinds = set(drawn)
    found: list[str] = []
    for kernel in kernels:
        tips |= charts.tips(kernel)
        rows = charts.rows(kernel)
        kinds |= rows.keys()
        places = [numbers.setdefault(metric, len(numbers)) for metric in kernel.metrics.about]
        metrics = list(zip(places, kernel.metrics.values, strict=True))
        # As text at once: the rows of a thousand kernels are half a million objects.
        found.append(_json({"charts": rows, "metrics": metrics}))
    shared = {
        "config": charts.CONFIG,
        "specs": charts.specs(kinds),
        "tables": charts.TABLES,
        "tips": tips,
        "page": drawn,
        "metrics": list(numbers),
    }
    return f'{_json(shared)[:-1]},"kernels":[{",".join(found)}]}}'


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _values(view: Page | KernelView) -> dict[str, object]:
    return {each.name: getattr(view, each.name) for each in fields(view)}


def _card(kernel: KernelView, index: int) -> SimpleNamespace:
    """A kernel as the templates see it."""
    return SimpleNamespace(**_values(kernel), index=index)


def _code_lines(source: SourceText) -> list[SimpleNamespace]:
    """A source line by line as a compiler counts them, with the share of those to mark."""
    shares = dict(source.hot)
    texts = (source.text or "").removesuffix("\n").split("\n")
    return [
        SimpleNamespace(number=number, text=text.rstrip("\r"), share=shares.get(number))
        for number, text in enumerate(texts, start=1)
    ]


def _percent(value: float | None) -> str:
    return "-" if value is None else share(value)


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _times(value: float | None) -> str:
    return "-" if value is None else factor(value)


def _for_script(markup: str) -> Markup:
    """HTML inside a script element of another type: only its own end tag would end it."""
    return Markup(str(markup).replace("</", "<\\/"))


def _json_for_script(text: str) -> Markup:
    """JSON inside a script element: no tag can begin or end in it."""
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "code_lines": _code_lines,
        "percent": _percent,
        "times": _times,
        "whole": _whole,
        "for_script": _for_script,
        "json_for_script": _json_for_script,
    }
    return environment


@cache
def _library() -> Markup:
    """Vega, Vega-Lite and their embedding, in the order in which they need each other."""
    folder = _HERE.parent / "writers" / "html" / "vendor"
    listed = json.loads((folder / "versions.json").read_text(encoding="utf-8"))
    parts = [(folder / each["file"]).read_text(encoding="utf-8") for each in listed]
    return Markup("\n".join(parts).replace("</script", "<\\/script"))


@cache
def _asset(name: str) -> Markup:
    return Markup((_HERE / "assets" / name).read_text(encoding="utf-8"))
