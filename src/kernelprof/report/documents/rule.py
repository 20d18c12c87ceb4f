"""The pages of the rules: meaning of a verdict, why it matters, what to do, when it is wrong.

``python -m kernelprof.report.documents.rule > reports/rules.md`` writes all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from inspect import cleandoc
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.advice import group_by_situation
from kernelprof.analysis.advice.lines import CALLER
from kernelprof.analysis.metrics.catalogue import Metric, load_metrics
from kernelprof.model.numbers import count, number
from kernelprof.report.document import (
    Block,
    Bullets,
    Cell,
    CodeBlock,
    Column,
    Document,
    Layout,
    Paragraph,
    Section,
    Span,
    Table,
    Text,
    Tone,
)

if TYPE_CHECKING:
    from kernelprof.analysis.advice import Advice
    from kernelprof.analysis.rules import Rule, Threshold

LIBRARIES: Final = "kernels-of-libraries"
SEE_ALSO: Final = Paragraph(("For any bottleneck: ", Span(LIBRARIES, target=LIBRARIES), "."))
COMMAND = "python -m kernelprof.report.documents.rule > reports/rules.md"
_ABOUT: Final = (
    "What each verdict means, why it matters, what to do, and when it is wrong. `kernelprof "
    f"explain NAME` prints one of these pages. `{COMMAND}` generates this file from the rules: "
    "edit the rules, not this file."
)
_LIBRARIES: Final = (
    "What the caller of a library kernel can try for any bottleneck, if no unit is at its limit."
)


def document(
    shown: Rule | Mapping[str, Rule], metrics: Mapping[str, Metric] | None = None
) -> Document:
    """One rule's page, or a line for each of several. ``metrics`` is the catalogue."""
    if isinstance(shown, Mapping):
        return index(shown)
    return Document(
        f"{shown.slug}: {shown.title}", tuple(_page(shown, metrics or load_metrics(), alone=True))
    )


def index(rules: Mapping[str, Rule]) -> Document:
    """All rules, a line each."""
    rows = tuple(
        (Cell(Span(slug, code=True)), Cell(Span(rule.title))) for slug, rule in rules.items()
    )
    columns = (Column("bottleneck"), Column("what it is"))
    return Document("Bottlenecks", (Table(columns, rows, label="Bottlenecks"),))


def all_pages(rules: Mapping[str, Rule], metrics: Mapping[str, Metric]) -> Document:
    """The whole of ``reports/rules.md``."""
    contents: list[Text] = []
    pages: list[Section] = []
    for slug, rule in rules.items():
        contents.append((Span(slug, target=slug), f": {rule.title}"))
        page = (Paragraph(rule.title, Tone.STRONG), *_page(rule, metrics, alone=False))
        pages.append(Section(slug, page, anchor=slug))
    contents.append((Span(LIBRARIES, target=LIBRARIES), ": advice for callers of libraries"))
    callers = (Paragraph(_LIBRARIES), *_advice(CALLER))
    pages.append(Section(LIBRARIES, callers, anchor=LIBRARIES))
    return Document("Bottlenecks", (Paragraph(_ABOUT), Bullets(tuple(contents)), *pages))


def _page(rule: Rule, metrics: Mapping[str, Metric], *, alone: bool) -> Iterable[Block]:
    """``alone`` if the page has no other section for kernels of libraries."""
    yield from _prose(rule.detects)
    yield Section("Why it matters", _prose(rule.matters))
    yield Section("Example", _prose(rule.example))
    yield Section("What to do", _advice(rule.fixes))
    lines = (*rule.caller, *(CALLER if alone else ()))
    if lines:
        more = () if alone else (SEE_ALSO,)
        yield Section("If the kernel belongs to a library", (*_advice(lines), *more))
    yield Section("When it is wrong", _prose(rule.wrong_when))
    if rule.thresholds:
        thresholds = tuple(
            f"{each.name}: {_threshold(each)} ({_line(each.source)})" for each in rule.thresholds
        )
        yield Section("Thresholds", (Bullets(thresholds),))
    required = tuple(
        f"`{name}`{_unit(metrics[name].unit, brackets=True)}, `{metrics[name].ncu[0]}`: "
        f"{_line(metrics[name].why)}"
        for name in rule.requires
    )
    yield Section("Required metrics", (Bullets(required),))
    optional = len(rule.metrics) - len(rule.requires)
    if optional:
        text = f"{count(optional, 'more metric')} of the preset `full`, used if present."
        yield Section("Optional metrics", (Paragraph(text),))
    if rule.references:
        yield Section("References", (_list(rule.references),))


def _advice(lines: Iterable[Advice]) -> tuple[Block, ...]:
    """Lines of advice under a heading for each situation."""
    return tuple(
        Section(heading, (_list(texts),), layout=Layout.DENSE) if heading else _list(texts)
        for heading, texts in group_by_situation(lines).items()
    )


def _threshold(threshold: Threshold) -> str:
    """The value with its unit, a share in percent: ``25 % of sectors``."""
    if threshold.unit.startswith("share"):
        return f"{number(100 * threshold.value)} %{threshold.unit.removeprefix('share')}"
    return f"{number(threshold.value)}{_unit(threshold.unit)}"


def _list(items: Iterable[str]) -> Bullets:
    lines: tuple[Text, ...] = tuple(_line(each) for each in items)
    return Bullets(lines)


def _line(text: str) -> str:
    return " ".join(text.split())


def _prose(text: str) -> tuple[Block, ...]:
    """Paragraphs, with fenced text as code."""
    blocks: list[Block] = []
    for position, part in enumerate(cleandoc(text).split("```")):
        if position % 2:
            language, _, code = part.partition("\n")
            blocks.append(CodeBlock(code.rstrip("\n"), language=language))
        else:
            blocks += [Paragraph(_line(each)) for each in part.split("\n\n") if each.strip()]
    return tuple(blocks)


def _unit(unit: str, *, brackets: bool = False) -> str:
    if unit in {"", "1"}:
        return ""
    return f" ({unit})" if brackets else f" {unit}"


def main() -> None:
    """Write all pages to stdout."""
    from kernelprof.analysis.metrics.catalogue import load_metrics
    from kernelprof.analysis.rules import load_rules
    from kernelprof.report.writers import markdown

    pages = all_pages(load_rules(), load_metrics())
    sys.stdout.write(markdown.write(pages, largest=None, level=1))


if __name__ == "__main__":
    main()
