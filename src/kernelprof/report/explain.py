"""A rule's page as plain text; the standard library is enough, so that it appears at once."""

from __future__ import annotations

import textwrap
from inspect import cleandoc
from typing import TYPE_CHECKING

from kernelprof.report.numbers import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelprof.analysis.metrics.catalogue import Metric
    from kernelprof.analysis.rules import Rule

WIDEST = 100
_INDENT = "  "


def explain_text(rule: Rule, metrics: Mapping[str, Metric], *, width: int = 80) -> str:
    """One rule's page."""
    page = _Page(min(width, WIDEST))
    docs = rule.docs
    page.lines.append(f"{rule.slug}: {rule.title}")
    page.prose("", docs.detects)
    page.prose("Why it matters", docs.matters)
    page.prose("Example", docs.example)
    page.listing("What to do", docs.fixes)
    page.prose("When it is wrong", docs.wrong_when)
    page.listing(
        "Thresholds",
        (
            f"{each.name} = {number(each.value)} {_unit(each.unit)}".rstrip() + f": {each.source}"
            for each in rule.thresholds
        ),
    )
    page.listing(
        "Needs", (f"{name} ({metrics[name].ncu[0]}): {metrics[name].why}" for name in rule.requires)
    )
    optional = ", ".join(name for name in rule.metrics if name not in rule.requires)
    if optional:
        page.prose("Uses where the capture has them (kernelprof presets full)", optional)
    page.listing("References", docs.references)
    return "\n".join(page.lines) + "\n"


def index_text(rules: Mapping[str, Rule], *, width: int = 80) -> str:
    """All rules, a line each."""
    widest = max((len(slug) for slug in rules), default=0)
    return "".join(
        textwrap.fill(
            f"{slug:<{widest}}  {rule.title}", width, subsequent_indent=" " * (widest + 2)
        )
        + "\n"
        for slug, rule in rules.items()
    )


class _Page:
    def __init__(self, width: int) -> None:
        self.width = width
        self.lines: list[str] = []

    def prose(self, title: str, text: str) -> None:
        """Wrapped paragraphs; what is indented or fenced stays as it is."""
        self._title(title)
        indent = _INDENT if title else ""
        fenced = False
        for paragraph in cleandoc(text).split("\n\n"):
            verbatim = fenced or paragraph.startswith(("    ", "```"))
            fenced ^= paragraph.count("```") % 2 == 1
            if verbatim:
                self.lines += textwrap.indent(paragraph, indent).split("\n")
            else:
                self._wrap(paragraph, indent, indent)

    def listing(self, title: str, items: Iterable[str]) -> None:
        items = list(items)
        if items:
            self._title(title)
        for item in items:
            self._wrap(item, f"{_INDENT}- ", f"{_INDENT}  ")

    def _title(self, title: str) -> None:
        self.lines.append("")
        if title:
            self.lines.append(title)

    def _wrap(self, text: str, first: str, following: str) -> None:
        self.lines += textwrap.wrap(
            " ".join(text.split()),
            self.width,
            initial_indent=first,
            subsequent_indent=following,
            break_long_words=False,
            break_on_hyphens=False,
        )


def _unit(unit: str) -> str:
    return "" if unit == "1" else unit
