"""A report as one HTML file: templates, style, script, charts and data put together."""

from __future__ import annotations

import json
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kernelprof.render.html import charts
from kernelprof.render.numbers import factor, share

if TYPE_CHECKING:
    from kernelprof.render.html.view import KernelView, Page

_HERE = Path(__file__).parent
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
"""Nothing is fetched: the page is whole. The JSON is offered as a blob."""

MOST_OPEN = 12
"""Kernels whose cards are part of the page from the start; more are put in when they are opened."""


def render_page(page: Page) -> str:
    """The report; every text of the page is escaped."""
    lazy = len(page.kernels) > MOST_OPEN
    environment = _environment()
    template = environment.get_template("card.html.j2")

    def card(kernel: SimpleNamespace) -> Markup:
        return Markup(template.render(kernel=kernel))

    cards = [_card(kernel, index) for index, kernel in enumerate(page.kernels)]
    shown = {each.name: getattr(page, each.name) for each in fields(page)}
    return environment.get_template("page.html.j2").render(
        page=SimpleNamespace(**{**shown, "kernels": cards}),
        lazy=lazy,
        card=card,
        policy=POLICY,
        css=_asset("report.css"),
        script=_asset("report.js"),
        vendor=_library(),
        views=_views(page),
    )


def _views(page: Page) -> str:
    """What the script needs: specifications once, then rows and metrics by kernel."""
    names: dict[tuple[str, str, str], int] = {}
    tips: dict[str, str] = {}
    kernels = []
    for kernel in page.kernels:
        tips |= charts.tips(kernel)
        metrics = [
            [names.setdefault((each.name, each.unit, each.meaning), len(names)), each.value]
            for each in kernel.metrics
        ]
        kernels.append({"charts": charts.rows(kernel), "metrics": metrics})
    found = {
        "specs": charts.specs(),
        "tables": charts.TABLES,
        "tips": tips,
        "overview": charts.overview_rows(page.kernels),
        "metrics": list(names),
        "kernels": kernels,
    }
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _card(kernel: KernelView, index: int) -> SimpleNamespace:
    """A kernel as the templates see it."""
    shown = {each.name: getattr(kernel, each.name) for each in fields(kernel)}
    return SimpleNamespace(**shown, index=index)


def _percent(value: float | None) -> str:
    return "-" if value is None else share(value)


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
        "percent": _percent,
        "times": _times,
        "for_script": _for_script,
        "json_for_script": _json_for_script,
    }
    return environment


@cache
def _library() -> Markup:
    """Vega, Vega-Lite and their embedding, in the order in which they need each other."""
    folder = _HERE / "vendor"
    listed = json.loads((folder / "versions.json").read_text(encoding="utf-8"))
    parts = [(folder / each["file"]).read_text(encoding="utf-8") for each in listed]
    return Markup("\n".join(parts).replace("</script", "<\\/script"))


@cache
def _asset(name: str) -> Markup:
    return Markup((_HERE / "assets" / name).read_text(encoding="utf-8"))
