"""What a diagnosis says: the kernels in a table, and a card for each that matters."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.rules import registry
from kernelprof.model.capture import Origin
from kernelprof.model.diagnosis import Status, Verdict
from kernelprof.model.names import labels, middle, printable
from kernelprof.model.numbers import comparison, count, dimensions, factor, quantity, share
from kernelprof.report.document import (
    Cell,
    Code,
    Column,
    Document,
    Fact,
    Facts,
    Layout,
    Note,
    Paragraph,
    Section,
    Span,
    Table,
    Tone,
)
from kernelprof.report.documents import TONES
from kernelprof.report.figures.measured import finite
from kernelprof.report.private import shown, without_homes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.diagnosis import Candidate, Diagnosis, Evidence, KernelDiagnosis
    from kernelprof.report.document import Block

SHARE_OF_CARDS: Final = 0.9
MOST_CARDS: Final = 5
MOST_ROWS: Final = 30
MOST_WARNINGS: Final = 10
MOST_MISSING: Final = 12
MOST_HELPFUL: Final = 4
_NAME_WIDTH: Final = 400
_EXPORTS: Final = (".csv", ".gz", ".txt", ".ncu-rep")
NO_GAIN_BELOW: Final = 1.005
NO_BOUND_FROM: Final = 100.0
"""A candidate's gain from here on is what remains of an unknown, not an estimate."""

_COLUMNS: Final = (
    Column("#", number=True),
    Column("kernel", yielding=True),
    Column("launches", brief="n", number=True, optional=True),
    Column("time", number=True, optional=True),
    Column("share", number=True),
    Column("verdict"),
    Column("confidence", brief="conf", optional=True),
    Column("gain", number=True),
)
_CONFIDENCE: Final = ("low", "medium", "high")
_EVIDENCE: Final = (Column("evidence"), Column("what"), Column("metric"))


def document(diagnosis: Diagnosis, top: int | None = None) -> Document:
    """All that a diagnosis says; ``top`` is the number of cards instead of :func:`cards`."""
    kernels = diagnosis.kernels
    most = cards(kernels, top)
    rows = kernels[: max(MOST_ROWS, most)]
    names = [label_text(label) for label in labels(rows)]
    blocks: list[Block] = []
    if len(kernels) > 1 and most:
        blocks.append(_answer(kernels[0], names[0]))
    blocks += [Paragraph(Span(f"{overview(diagnosis)}.")), *_warnings(diagnosis.warnings)]
    blocks.append(table(rows, names))
    if left := rest(kernels, len(rows)):
        blocks.append(Paragraph(left, Tone.MUTED))
    for number, (kernel, name) in enumerate(zip(kernels[:most], names, strict=False), 1):
        tone = TONES[kernel.verdict.status]
        confidence = f" Confidence: {kernel.verdict.confidence.value}."
        blocks.append(
            Section(
                (f"{number} ", *name),
                tuple(_card(kernel, diagnosis.origin)),
                tone=tone,
                folded=len(kernels) > 1,
                summary=(Span(headline(kernel.verdict), tone), confidence),
            )
        )
    left = rest(kernels, most)
    if left and most:
        blocks.append(Paragraph(f"{left}: `--top {len(kernels)}` shows them", Tone.MUTED))
    return Document("kernelprof", tuple(blocks), origin=diagnosis.origin)


def label_text(label: tuple[str, str], target: str = "") -> tuple[Span, ...]:
    """A kernel's short name and what tells it from others of that name."""
    name, detail = label
    last = (Span(f" {detail}", code=True, target=target),) if detail else ()
    return (Span(name, code=True, target=target), *last)


def _answer(kernel: KernelDiagnosis, name: tuple[Span, ...]) -> Section:
    """The costliest kernel's verdict, for those who read no further."""
    verdict, brings = kernel.verdict, gain_cell(kernel.verdict)
    text = f"Confidence: {verdict.confidence.value}."
    if brings.endswith("x"):
        text += f" Gain: {brings}."
    return Section(
        name,
        (Paragraph(text),),
        tone=TONES[verdict.status],
        layout=Layout.HERO,
        summary=Span(headline(verdict)),
    )


def _warnings(warnings: Sequence[str]) -> list[Note]:
    notes = [Note(Span(each), warning=True) for each in warnings[:MOST_WARNINGS]]
    if len(warnings) > MOST_WARNINGS:
        more = len(warnings) - MOST_WARNINGS
        notes.append(Note(f"and {more:,} more like these", warning=True))
    return notes


def table(
    kernels: Sequence[KernelDiagnosis], names: Sequence[tuple[Span, ...]], *, on_page: bool = False
) -> Table:
    """The kernels, costliest first; on a page with links to their cards in place of numbers."""
    rows = []
    for number, (kernel, name) in enumerate(zip(kernels, names, strict=True), 1):
        verdict, duration = kernel.verdict, kernel.duration_ns
        time = None if duration is None else finite(duration.median)
        row = (
            Cell(str(number)),
            Cell(name, tip=shown(kernel.name) if on_page else ""),
            Cell(f"{kernel.launches:,}", sort=kernel.launches),
            Cell("-" if duration is None else quantity(duration.median, "ns"), sort=time or -1.0),
            Cell(share(kernel.share), sort=finite(kernel.share) or 0.0),
            Cell(Span(verdict_cell(verdict), TONES[verdict.status], code=True)),
            Cell(verdict.confidence.value, sort=_CONFIDENCE.index(verdict.confidence.value)),
            Cell(gain_cell(verdict), sort=finite(verdict.gain) or 0.0),
        )
        rows.append(row[on_page:])
    return Table(_COLUMNS[on_page:], tuple(rows), label="Kernels, costliest first", long=on_page)


def _card(kernel: KernelDiagnosis, origin: str) -> Iterable[Block]:
    verdict = kernel.verdict
    yield Paragraph(Span(middle(printable(kernel.name), _NAME_WIDTH), code=True), Tone.MUTED)
    yield Paragraph(Span(summary(kernel)), Tone.MUTED)
    yield Table(
        _EVIDENCE,
        tuple(_evidence(each) for each in verdict.evidence),
        label="Evidence",
        headings=False,
    )
    yield from guidance(verdict, origin)


def guidance(verdict: Verdict, origin: str, *, on_page: bool = False) -> Iterable[Block]:
    """What to do about a verdict, and the command that collects what it lacks.

    On a page nothing is left out but the folders of users.
    """
    hidden = without_homes if on_page else str
    told = parts(verdict, everything=on_page)
    yield Facts(tuple(Fact(title, tuple(map(hidden, lines))) for title, lines in told))
    if verdict.command is None:
        return
    undecided = verdict.status is Status.INCONCLUSIVE
    what = "decide" if undecided else "raise the confidence"
    yield Paragraph(f"This command collects what would {what}:")
    yield Code(hidden(verdict.command), language="sh", copy=True)
    if following := next_step(verdict.command, origin):
        yield Paragraph("Then diagnose both captures as one:")
        yield Code(hidden(following), language="sh", copy=True)


def _evidence(each: Evidence) -> tuple[Cell, ...]:
    origin = "" if each.source is Origin.MEASURED else f", {each.source.value}"
    metric = (Span(each.metric, Tone.MUTED, code=True), Span(origin, Tone.MUTED))
    return Cell(Span(comparison(each), Tone.STRONG, code=True)), Cell(each.label), Cell(metric)


def headline(verdict: Verdict) -> str:
    """The verdict in one plain sentence."""
    if verdict.status is Status.BOTTLENECK:
        return f"Limited by {verdict.bottleneck}."
    if verdict.status is Status.AT_LIMIT:
        return f"At its limit: {verdict.bottleneck}. The work that fills this unit is needed."
    if verdict.also:
        names = alternatives([candidate.bottleneck for candidate in verdict.also])
        return f"Inconclusive: the capture does not decide between {names}."
    return "Inconclusive: the capture lacks what would decide."


def launch_parts(kernel: KernelDiagnosis) -> list[str]:
    """Where and how often the kernel ran, in parts of a sentence."""
    parts = []
    if kernel.grid is not None:
        parts.append(f"grid {dimensions(kernel.grid)}")
    if kernel.block is not None:
        parts.append(f"block {dimensions(kernel.block)}")
    ids = ", ".join((*map(printable, kernel.ids[:4]), *(["..."] if kernel.ids[4:] else [])))
    return [*parts, f"{count(kernel.launches, 'launch')} (ID {ids})"]


def summary(kernel: KernelDiagnosis) -> str:
    """Where and how often the kernel ran and how long that took."""
    parts = launch_parts(kernel)
    if kernel.duration_ns is not None:
        spread = kernel.duration_ns
        parts.append(time_text(spread.median, spread.low, spread.high, kernel.launches))
    if kernel.share is not None:
        parts.append(f"{share(kernel.share)} of the time")
    return ", ".join(parts)


def time_text(median: float, low: float, high: float, launches: int) -> str:
    """A median, with the shortest and the longest launch where there are several."""
    text = quantity(median, "ns")
    if launches == 1:
        return text
    return f"median {text} ({quantity(low, 'ns')} to {quantity(high, 'ns')})"


def gain(verdict: Verdict) -> str:
    """What removing the bottleneck can bring, and how that was worked out; empty where unknown."""
    reason = verdict.gain_reason
    if verdict.status is Status.AT_LIMIT:
        half, most = verdict.gain_if_halved, verdict.next_limit
        if half is None or most is None or half < NO_GAIN_BELOW:
            return ""
        text = f"half of it would bring up to {factor(half)}"
        if factor(most) != factor(half) and most < NO_BOUND_FROM:
            text += f", and no cut more than {factor(most)}"
    elif verdict.gain is None or verdict.gain < NO_GAIN_BELOW:
        return reason
    else:
        text = f"up to {factor(verdict.gain)}"
    return f"{text}: {reason}" if reason else text


def gain_cell(verdict: Verdict) -> str:
    """The gain in a table."""
    if verdict.gain is not None and verdict.gain >= NO_GAIN_BELOW:
        return factor(verdict.gain)
    return "limit" if verdict.status is Status.AT_LIMIT else "-"


def verdict_cell(verdict: Verdict) -> str:
    """The verdict in a table."""
    return verdict.bottleneck or verdict.status.value


def _candidate(candidate: Candidate) -> str:
    """A bottleneck that the evidence does not tell apart from the first, and what it would gain."""
    low, high = candidate.gain_at_least, candidate.gain_at_most
    if not NO_GAIN_BELOW <= high < NO_BOUND_FROM:
        return candidate.bottleneck
    close = factor(low) == factor(high) or low < NO_GAIN_BELOW
    brings = f"up to {factor(high)}" if close else f"{factor(low)} to {factor(high)}"
    return f"{candidate.bottleneck} ({brings})"


def parts(verdict: Verdict, *, everything: bool = False) -> list[tuple[str, list[str]]]:
    """What a card says below the evidence: titles with their lines."""
    undecided = verdict.status is Status.INCONCLUSIVE
    at_limit = verdict.status is Status.AT_LIMIT
    named = [_candidate(candidate) for candidate in verdict.also]
    # The headline of an open verdict already names the candidates, and that something is missing.
    listed = undecided and bool(verdict.missing)
    if everything:
        rules = [registry().get(each.bottleneck) for each in verdict.also]
        named = [
            f"{name}: {rule.docs.detects}" if rule else name
            for name, rule in zip(named, rules, strict=True)
        ]
    elif undecided and named == [each.bottleneck for each in verdict.also]:
        named = []
    else:
        named = [", ".join(named)] if named else []
    found = [
        ("Why", [verdict.why] if verdict.why and not listed else []),
        ("What to do", list(verdict.advice)),
        ("Less work" if at_limit else "Gain", [gain(verdict)]),
        ("Candidates" if undecided else "Runner-up", named),
        ("Note", list(verdict.notes)),
        ("Missing" if undecided else "Would help", _missing(verdict, everything=everything)),
    ]
    return [(title, lines) for title, lines in found if any(lines)]


def next_step(command: str, capture: str) -> str:
    """What to do with the file that a verdict's command writes; empty where it writes none."""
    words = command.split()
    if "--log-file" not in words[:-1]:
        return ""
    written = words[words.index("--log-file") + 1]
    read = (
        shlex.quote(capture) if capture.endswith(_EXPORTS) and " + " not in capture else "CAPTURE"
    )
    return f"kernelprof diagnose {read} {written} --merge"


def alternatives(names: Iterable[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def overview(diagnosis: Diagnosis) -> str:
    """The capture in one line: how many kernels and launches, on what."""
    text = f"{count(len(diagnosis.kernels), 'kernel')} in {count(diagnosis.launches, 'launch')}"
    devices = dict.fromkeys(device(kernel) for kernel in diagnosis.kernels)
    named = [each for each in devices if each]
    return f"{text} on {alternatives(named)}" if named else text


def cards(kernels: tuple[KernelDiagnosis, ...], top: int | None) -> int:
    """How many kernels matter: those that cover 90 % of the time, at most five."""
    if top is not None:
        return min(top, len(kernels))
    covered = 0.0
    for position, kernel in enumerate(kernels[:MOST_CARDS]):
        covered += kernel.share or 0.0
        if covered >= SHARE_OF_CARDS:
            return position + 1
    return min(MOST_CARDS, len(kernels))


def rest(kernels: tuple[KernelDiagnosis, ...], told: int) -> str:
    """The kernels that are not shown and how to see them; empty where there are none."""
    left = kernels[told:]
    if not left:
        return ""
    text = f"and {count(len(left), 'more kernel')}"
    shares = [kernel.share for kernel in left if kernel.share is not None]
    if shares:
        text += f" ({share(sum(shares))} of the time)"
    undecided = sum(kernel.verdict.status is Status.INCONCLUSIVE for kernel in left)
    if undecided == len(left):
        text += ", inconclusive" if undecided == 1 else ", all of them inconclusive"
    elif undecided:
        text += f", {undecided:,} of them inconclusive"
    return text


def _missing(verdict: Verdict, *, everything: bool) -> list[str]:
    most = MOST_MISSING if verdict.status is Status.INCONCLUSIVE else MOST_HELPFUL
    most = len(verdict.missing) if everything else most
    lines = [f"{each.ncu_name}: {each.why}" for each in verdict.missing[:most]]
    if len(verdict.missing) > most:
        lines.append(f"and {len(verdict.missing) - most} more, in the command below")
    return lines


def device(kernel: KernelDiagnosis) -> str:
    """``NVIDIA H200 (compute capability 9.0)``; empty where the capture does not say."""
    capability = kernel.compute_capability
    version = f"compute capability {capability[0]}.{capability[1]}" if capability else ""
    if kernel.device is None or kernel.device.isdigit():
        return version
    return f"{printable(kernel.device)} ({version})" if version else printable(kernel.device)
