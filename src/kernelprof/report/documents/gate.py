"""What the gate says: its outcome, the kernels that decide it, and a card for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.comparison import words
from kernelprof.model.gate import GateFinding, GateResult, Outcome
from kernelprof.model.names import sentence
from kernelprof.model.numbers import count
from kernelprof.report.document import (
    Block,
    Bullets,
    Document,
    Note,
    Paragraph,
    Span,
    Text,
    Tone,
    answer,
)
from kernelprof.report.documents.change_tables import (
    OUTCOME_TONES,
    Judged,
    clip_text,
    judged_kernels,
)
from kernelprof.report.documents.comparison import Detail, brief, page, without_folders

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


MOST_GENERAL = 3
MOST_PROPOSED = 10


_PROPOSED: Final = (
    "This change alters the policy or baseline, but was judged by the previous policy and "
    "baseline. A maintainer must accept these differences:"
)
_ACCEPTED: Final = (
    "This change was judged by its own policy and baseline. These differences were accepted:"
)


def document(result: GateResult, detail: Detail = Detail.BRIEF, *, command: str = "") -> Document:
    """What the gate says of a candidate; ``command`` is what was typed, for a page."""
    full = detail is Detail.FULL
    if full:
        result = without_folders(result)
    kernels = judged_kernels([each.kernel for each in result.kernels], result.kernels)
    tone, deciding = OUTCOME_TONES[result.outcome], Paragraph(_first(result, kernels))
    first = [] if result.deciding else result.general[:1]  # it is the answer
    first = [each for each in first if each.outcome is not Outcome.PASS]
    general = [each for each in result.general if each not in (*result.proposed, *first)]
    general = general if full else general[:MOST_GENERAL]
    blocks: list[Block] = [answer(words.gate_line(result), deciding, tone=tone)]
    blocks += _proposed(result.proposed, len(result.proposed) if full else MOST_PROPOSED)
    blocks += [
        Note(Span(clip_text(each.text)), warning=each.outcome is not Outcome.PASS)
        for each in general
    ]
    if full:
        return page("Gate", result, kernels, command, blocks)
    blocks += brief(result.comparison, kernels, detail)
    return Document(f"kernelprof gate: {result.outcome.value}", tuple(blocks))


def _proposed(findings: Sequence[GateFinding], most: int) -> Iterator[Block]:
    """What the change would put in place of policy and baseline, and what follows from that.

    No section: those are what a comment leaves out first.
    """
    if not findings:
        return
    if findings[0].outcome is Outcome.PASS:
        yield Paragraph(_ACCEPTED, Tone.STRONG)
    else:
        yield Paragraph(_PROPOSED, Tone.OPEN)
    items: list[Text] = [Span(sentence(clip_text(each.text))) for each in findings[:most]]
    if len(findings) > most:
        items.append(
            f"And {count(len(findings) - most, 'more difference')}: `--format json` lists all."
        )
    yield Bullets(tuple(items))


def _first(result: GateResult, kernels: Sequence[Judged]) -> Text:
    deciding = result.deciding
    if deciding:
        worst = next(each for each in kernels if each.result is deciding[0])
        more = len(deciding) - 1
        also = f"; {count(more, 'more kernel')} with this outcome" if more else ""
        note = words.policy_text(result)
        note = f" ({note})" if note else ""
        return (worst.code, ": ", Span(clip_text(worst.gist)), f"{also}{note}.")
    if result.outcome is not Outcome.PASS and result.general:
        return Span(sentence(clip_text(result.general[0].text)))
    text = Span(clip_text(words.passed_text(result)))
    return (kernels[0].code, ": ", text, ".") if len(kernels) == 1 else (text, ".")
