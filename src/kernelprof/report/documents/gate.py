"""What the gate says: its outcome, the kernels that decide it, and a card for each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelprof.comparison import words
from kernelprof.model.gate import Outcome
from kernelprof.model.numbers import count
from kernelprof.report.document import Document, Layout, Note, Paragraph, Section, Span
from kernelprof.report.documents.change_tables import OUTCOME_TONES, Judged, clip, judged
from kernelprof.report.documents.comparison import Detail, brief
from kernelprof.report.private import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.model.gate import GateResult
    from kernelprof.report.document import Block, Text

MOST_GENERAL = 3


def document(result: GateResult, detail: Detail = Detail.BRIEF, *, command: str = "") -> Document:
    """What the gate says of a candidate; ``command`` is what was typed, for a page."""
    if detail is Detail.FULL:
        return _page(result, command)
    kernels = judged([each.kernel for each in result.kernels], result.kernels)
    blocks: list[Block] = [answer(result, kernels)]
    blocks += [Note(Span(clip(each.text)), warning=True) for each in result.general[:MOST_GENERAL]]
    blocks += brief(result.comparison, kernels, detail)
    return Document(f"kernelprof gate: {result.outcome.value}", tuple(blocks))


def _page(result: GateResult, command: str) -> Document:
    """The page of a comparison with what the gate says of each kernel."""
    from kernelprof.report.documents import comparison_page as pages
    from kernelprof.report.writers import json

    found = tuple(
        replace(each, kernel=pages.kernel_without_folders(each.kernel)) for each in result.kernels
    )
    comparison = pages.without_folders(result.comparison)
    result = replace(result, comparison=comparison, kernels=found)
    kernels = judged([each.kernel for each in found], found)
    top: list[Block] = [answer(result, kernels)]
    top += [Note(Span(shown(each.text)), warning=True) for each in result.general]
    return pages.page("Gate", comparison, kernels, (json.write(result), command), top)


def answer(result: GateResult, kernels: Sequence[Judged]) -> Section:
    """The outcome, and the one line that matters most."""
    return Section(
        "",
        (Paragraph(_first(result, kernels)),),
        tone=OUTCOME_TONES[result.outcome],
        layout=Layout.HERO,
        summary=words.gate_line(result),
    )


def _first(result: GateResult, kernels: Sequence[Judged]) -> Text:
    """The worst kernel and how many more there are, or what passed."""
    deciding = result.deciding
    if deciding:
        worst = next(each for each in kernels if each.result is deciding[0])
        more = len(deciding) - 1
        also = f"; and {count(more, 'more kernel')}" if more else ""
        note = words.policy_text(result)
        note = f" ({note})" if note else ""
        return (*worst.name, ": ", Span(clip(worst.gist)), f"{also}{note}.")
    if result.outcome is not Outcome.PASS and result.general:
        return Span(words.sentence(clip(result.general[0].text)))
    text = Span(clip(words.passed_text(result)))
    return (*kernels[0].name, ": ", text, ".") if len(kernels) == 1 else (text, ".")
