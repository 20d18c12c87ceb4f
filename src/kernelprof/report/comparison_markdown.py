"""Comparisons and the gate's answer as Markdown: a pull-request comment, the verdict first."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from kernelprof.compare.gate.answer import deciding, passed_words, remark, why
from kernelprof.compare.words import counter_text, headline, remarks, summary, time_text
from kernelprof.model.comparison import TimeOutcome
from kernelprof.model.diagnosis import Status
from kernelprof.model.gate import Code, Outcome
from kernelprof.report.comparison_labels import comparison_labels
from kernelprof.report.names import fit, middle, printable
from kernelprof.report.numbers import count, dimensions, factor, number, quantity, share
from kernelprof.report.writers.markdown import code, fenced, prose

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jinja2 import Template

    from kernelprof.model.comparison import (
        Comparison,
        CounterChange,
        InputChange,
        KernelComparison,
        MetricChange,
    )
    from kernelprof.model.gate import Finding, GateResult, KernelResult
    from kernelprof.model.snapshot import KernelSnapshot, Said

LARGEST: Final = 65_000
"""GitHub takes comments of up to 65,536 characters; these are bytes, and some are left for a mark
that whoever posts the comment puts before it."""

MOST_ROWS: Final = 30
MOST_CARDS: Final = 20
DIFF_LINES: Final = 200
_DIFF_WIDTH: Final = 200
_MOST_ENTRIES: Final = 20
_MOST_METRICS: Final = 10
_MOST_REMARKS: Final = 8
_REMARK_WIDTH: Final = 100
_LABEL_WIDTH: Final = 64
_NAME_WIDTH: Final = 400
_TEXT_WIDTH: Final = 500
_TAIL: Final = 300
"""Bytes for the line that says what was left out."""

_TIME_CODES: Final = frozenset(
    {Code.SLOWER, Code.FASTER, Code.TIME_UNDECIDED, Code.TIME_UNKNOWN, Code.OTHER_WORK}
)
_CHANGES: Final = {
    TimeOutcome.SAME: "as fast",
    TimeOutcome.UNDECIDED: "undecided",
    TimeOutcome.NOT_ENOUGH_SAMPLES: "too few samples",
    TimeOutcome.NOT_COMPARABLE: "not comparable",
    TimeOutcome.NOT_MEASURED: "not measured",
}


def render_comparison_markdown(comparison: Comparison) -> str:
    """What happened between two captures, as Markdown of at most :data:`LARGEST` bytes."""
    kernels = [(kernel, None) for kernel in comparison.kernels]
    answer: dict[str, Any] = {"label": "", "text": _clip(summary(comparison))}
    if len(kernels) == 1:
        answer["label"] = fit(comparison_labels(comparison.kernels)[0], _LABEL_WIDTH)
    return _assemble(comparison, kernels, {"title": "compare", "answer": answer, "general": ()})


def render_gate_markdown(result: GateResult) -> str:
    """What the gate says, as Markdown of at most :data:`LARGEST` bytes."""
    head = {
        "title": f"gate: {result.outcome.value}",
        "answer": _answer(result),
        "general": [_clip(each.text) for each in result.general[:3]],
    }
    return _assemble(result.comparison, [(each.kernel, each) for each in result.kernels], head)


def markdown_environment() -> Environment:
    """Templates with filters for all that comes from outside."""
    # The output is Markdown, where HTML escapes alone do not do: every value goes through a filter.
    environment = Environment(
        loader=PackageLoader("kernelprof.report", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    environment.filters |= {
        "code": code,
        "prose": prose,
        "fenced": lambda text: fenced(text, "sh"),
        "html": lambda text: html.escape(printable(text)),
    }
    return environment


def diff_block(diff: str) -> str:
    """A unified diff in a block that it cannot end, with at most :data:`DIFF_LINES` lines."""
    lines = diff.split("\n")
    shown = [printable(_clip(line.expandtabs(4), _DIFF_WIDTH)) for line in lines[:DIFF_LINES]]
    if len(lines) > DIFF_LINES:
        shown.append(f"... {count(len(lines) - DIFF_LINES, 'more line')}")
    longest = max((len(run) for line in shown for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}diff", *shown, fence])


def _answer(result: GateResult) -> dict[str, Any]:
    """The one line that matters most: the worst kernel, and how many more there are."""
    kernels = deciding(result)
    note = remark(result)
    if kernels:
        labels = comparison_labels([each.kernel for each in result.kernels])
        label = labels[result.kernels.index(kernels[0])]
        more = f"; and {count(len(kernels) - 1, 'more kernel')}" if len(kernels) > 1 else ""
        return {
            "label": fit(label, _LABEL_WIDTH),
            "text": _clip(why(kernels[0])) + more + (f" ({note})" if note else ""),
        }
    if result.outcome is not Outcome.PASS and result.general:
        return {"label": "", "text": _clip(result.general[0].text)}
    alone = comparison_labels([each.kernel for each in result.kernels[:1]])
    return {
        "label": fit(alone[0], _LABEL_WIDTH) if len(result.kernels) == 1 else "",
        "text": _clip(passed_words(result)),
    }


def _assemble(
    comparison: Comparison,
    kernels: Sequence[tuple[KernelComparison, KernelResult | None]],
    head: dict[str, Any],
) -> str:
    """The head with its table, then as many cards as there is room for."""
    environment = markdown_environment()
    environment.filters["diff"] = diff_block
    labels = comparison_labels([kernel for kernel, _ in kernels])
    names = [fit(label, _LABEL_WIDTH) for label in labels[:MOST_ROWS]]
    head |= {
        "before": middle(printable(comparison.before), _NAME_WIDTH),
        "after": middle(printable(comparison.after), _NAME_WIDTH),
        "notes": [_clip(each) for each in comparison.notes[:3]],
        "machine": [_change(each, _REMARK_WIDTH) for each in comparison.machine[:_MOST_REMARKS]],
        "gated": any(result is not None for _, result in kernels),
    }
    rows = [
        _row(kernel, result, name) for (kernel, result), name in zip(kernels, names, strict=False)
    ]
    template = environment.get_template("comparison.md.j2")
    text = template.render(**head, rows=rows, more=_more(kernels[len(rows) :]))
    while len(text.encode()) > LARGEST - _TAIL and rows:
        # Names of nothing but markup take six bytes a character.
        rows = rows[: len(rows) // 2]
        text = template.render(**head, rows=rows, more=_more(kernels[len(rows) :]))
    return _with_cards(text.strip() + "\n", environment, kernels, names)


def _with_cards(
    text: str,
    environment: Environment,
    kernels: Sequence[tuple[KernelComparison, KernelResult | None]],
    names: Sequence[str],
) -> str:
    template = environment.get_template("comparison_card.md.j2")
    room = LARGEST - _TAIL - len(text.encode())
    telling = [
        (kernel, result, name)
        for (kernel, result), name in zip(kernels, names, strict=False)
        if _tells(kernel, result)
    ]
    untold = sum(_tells(kernel, result) for kernel, result in kernels) - len(telling)
    cards: list[str] = []
    for kernel, result, name in telling:
        values = _card(kernel, result, name)
        card = _render(template, values)
        if len(card.encode()) > room and kernel.diff:
            card = _render(template, values | {"diff": "", "long_diff": True})
        if len(cards) == MOST_CARDS or len(card.encode()) > room:
            untold += 1
            continue
        cards.append(card)
        room -= len(card.encode())
    if untold:
        cards.append(
            f"\nThe details of {count(untold, 'more kernel')} are left out: "
            "`--format json` has all.\n"
        )
    return text + "".join(cards)


def _render(template: Template, values: dict[str, Any]) -> str:
    return f"\n{template.render(values).strip()}\n"


def _more(kernels: Sequence[tuple[KernelComparison, KernelResult | None]]) -> str:
    """The line under a table that does not show all kernels."""
    if not kernels:
        return ""
    text = f"and {count(len(kernels), 'more kernel')}"
    outcomes = [result.outcome for _, result in kernels if result is not None]
    found = [
        f"{outcomes.count(each)} {each.value}"
        for each in (Outcome.REGRESSION, Outcome.INCONCLUSIVE, Outcome.PASS)
        if each in outcomes
    ]
    return f"{text}: {', '.join(found)}" if found else text


def _tells(kernel: KernelComparison, result: KernelResult | None) -> bool:
    """Whether there is anything to say beyond the row of the table."""
    if result is not None and _ignored(result):
        return False
    if result is not None and result.outcome is not Outcome.PASS:
        return True
    return bool(
        kernel.counters
        or kernel.lacking
        or kernel.inputs
        or remarks(kernel)
        or kernel.diff
        or kernel.verdict_changed
        or kernel.time.outcome not in {TimeOutcome.SAME, TimeOutcome.NOT_MEASURED}
    )


def _row(kernel: KernelComparison, result: KernelResult | None, name: str) -> dict[str, str]:
    before, after = kernel.before, kernel.after
    return {
        "label": name,
        "before": _time(kernel.time.before_ns, before),
        "after": _time(kernel.time.after_ns, after),
        "change": _changed(kernel),
        "verdict_before": "" if before is None else _verdict(before.verdict),
        "verdict_after": "" if after is None else _verdict(after.verdict),
        "outcome": "" if result is None else _outcome(result),
    }


def _time(compared: float | None, side: KernelSnapshot | None) -> str:
    """The time that was compared; where none was, the one that the side has."""
    shown = compared if compared is not None or side is None else side.median_ns
    return "-" if shown is None else quantity(shown, "ns")


def _outcome(result: KernelResult) -> str:
    return "ignored" if _ignored(result) else result.outcome.value


def _ignored(result: KernelResult) -> bool:
    return any(each.code is Code.IGNORED for each in result.findings)


def _verdict(said: Said) -> str:
    if said.status == Status.INCONCLUSIVE or said.bottleneck is None:
        return "inconclusive"
    limit = " (at limit)" if said.status == Status.AT_LIMIT else ""
    return f"{_clip(said.bottleneck, _LABEL_WIDTH)}{limit}"


def _changed(kernel: KernelComparison) -> str:
    """The time's change in a cell."""
    if kernel.before is None or kernel.after is None:
        return kernel.match.value
    outcome = kernel.time.outcome
    if outcome in _CHANGES:
        return _CHANGES[outcome]
    return _clip(time_text(kernel.time).partition(": ")[0], _LABEL_WIDTH)


def _card(kernel: KernelComparison, result: KernelResult | None, name: str) -> dict[str, Any]:
    findings: tuple[Finding, ...] = () if result is None else result.findings
    # A finding on the time has all of it in its text.
    timed = any(each.code in _TIME_CODES for each in findings)
    return {
        "label": name,
        "headline": _clip(headline(kernel) if result is None else why(result)),
        "name": middle(printable(kernel.name), _NAME_WIDTH),
        "launch": _launch(kernel),
        "findings": [
            (each.outcome.value, each.code.value, _clip(each.text))
            for each in findings[:_MOST_ENTRIES]
        ],
        "time": "" if timed else _clip(time_text(kernel.time)),
        "counters": [_counter(each) for each in kernel.counters[:_MOST_ENTRIES]],
        "metrics": [_metric(each) for each in kernel.metrics[:_MOST_METRICS]],
        "inputs": [_change(each) for each in kernel.inputs[:_MOST_ENTRIES]],
        "notes": [_clip(each) for each in remarks(kernel)[:_MOST_ENTRIES]],
        "lacking": _clip(", ".join(kernel.lacking)),
        "diff": kernel.diff,
        "long_diff": False,
        "left_out": _left_out(kernel, findings),
    }


def _left_out(kernel: KernelComparison, findings: Iterable[Finding]) -> str:
    """How many entries of a card are not in it."""
    beyond = {
        "finding": len(tuple(findings)) - _MOST_ENTRIES,
        "counter": len(kernel.counters) - _MOST_ENTRIES,
        "metric": len(kernel.metrics) - _MOST_METRICS,
        "changed input": len(kernel.inputs) - _MOST_ENTRIES,
        "note": len(remarks(kernel)) - _MOST_ENTRIES,
    }
    return ", ".join(count(more, f"more {noun}") for noun, more in beyond.items() if more > 0)


def _launch(kernel: KernelComparison) -> str:
    """How often and how the kernel was launched, on both sides where that differs."""
    sides = [side for side in (kernel.before, kernel.after) if side is not None]
    parts = []
    for label, sizes in (("grid", [s.grid for s in sides]), ("block", [s.block for s in sides])):
        shown = list(dict.fromkeys(dimensions(size) for size in sizes if size))
        if shown:
            parts.append(f"{label} {' → '.join(shown)}")
    launches = dict.fromkeys(f"{side.launches:,}" for side in sides)
    noun = "launch" if [side.launches for side in sides] == [1] * len(sides) else "launches"
    return ", ".join([*parts, f"{' → '.join(launches)} {noun}"])


def _counter(change: CounterChange) -> tuple[str, str, str, str, str]:
    """Label, before, after, change, and whether that costs something."""
    each = ""
    if change.before_each is not None and change.after_each is not None:
        each = counter_text(change).partition(": ")[2]
    return (
        _clip(change.label),
        _clip(f"{number(change.before)} {change.unit}".strip()),
        _clip(f"{number(change.after)} {change.unit}".strip()),
        _clip(each) or _relative(change.before, change.after),
        {True: "worse", False: "better", None: ""}[change.worse],
    )


def _relative(before: float, after: float) -> str:
    if not before:
        return "new"
    if after / before >= 2:
        return factor(after / before)
    return f"{100 * (after / before - 1):+.2f} %"


def _metric(change: MetricChange) -> tuple[str, str, str, str]:
    return (
        _clip(change.metric),
        _clip(quantity(change.before, change.unit)),
        _clip(quantity(change.after, change.unit)),
        "" if change.explains is None else share(change.explains),
    )


def _change(change: InputChange, width: int = _TEXT_WIDTH) -> tuple[str, str, str]:
    return _clip(change.what, width), _clip(change.before, width), _clip(change.after, width)


def _clip(text: str, width: int = _TEXT_WIDTH) -> str:
    """Not longer than that: a text of strangers must not fill the comment."""
    return text if len(text) <= width else text[: width - 1] + "…"
