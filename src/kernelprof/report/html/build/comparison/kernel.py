"""The card of a kernel that is on both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.compare.words import headline, several_text, verdict_text
from kernelprof.model.comparison import TimeOutcome
from kernelprof.report.html.build.comparison import diff, tables
from kernelprof.report.html.build.comparison.medians import Medians
from kernelprof.report.html.build.comparison.roofline import both_sides
from kernelprof.report.html.build.comparison.times import (
    figures,
    median_text,
    short,
    sign,
    times,
    why,
)
from kernelprof.report.html.build.measured import finite
from kernelprof.report.html.build.private import shown
from kernelprof.report.html.comparison_view import ChangedKernel, LoneKernel, Side
from kernelprof.report.html.view import Fact
from kernelprof.report.names import short_name
from kernelprof.report.numbers import count, dimensions, factor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.comparison import InputChange, KernelComparison
    from kernelprof.model.diagnosis import Verdict
    from kernelprof.model.snapshot import KernelSnapshot, Machine

_NO_CHANGE = (
    "Nothing differs in what is known of the source, its options, its sizes and its launch."
)
_UNKNOWN = (
    "What the kernels were built from is not known on both sides, so only the launch is compared."
)
_NO_TEXT = "The sources differ, and their texts are not kept with both captures."


def changed(
    kernel: KernelComparison,
    sides: tuple[KernelSnapshot, KernelSnapshot],
    label: str,
    anchor: str,
    machine: tuple[tuple[Machine, Machine], tuple[InputChange, ...]],
) -> ChangedKernel:
    """Everything about a kernel before and after.

    ``machine`` are the machines of both sides, and what differs between them.
    """
    before, after = sides
    numbers = Medians(before, machine[0][0]), Medians(after, machine[0][1])
    chart, chart_note = both_sides(sides, numbers, machine[1])
    pairs, pairs_note = tables.states(*numbers)
    metrics = tuple(tables.metric_row(each) for each in kernel.metrics)
    lines = diff.diff_lines(kernel.diff)
    time = kernel.time
    # The note that says so begins with their number.
    several = several_text(kernel)
    return ChangedKernel(
        anchor=anchor,
        name=shown(label),
        sign=sign(time),
        headline=sentence(shown(headline(kernel))),
        short=short(time),
        ratio=finite(time.ratio),
        low=finite(time.low),
        high=finite(time.high),
        before_ns=finite(time.before_ns if time.before_ns is not None else before.median_ns),
        after_ns=finite(time.after_ns if time.after_ns is not None else after.median_ns),
        full_name=shown(after.name),
        before=_side("Before", before, time.before_ns),
        after=_side("After", after, time.after_ns),
        verdict_changed=kernel.verdict_changed,
        verdict_words=sentence(shown(verdict_text(before.verdict, after.verdict))),
        worse=sum(each.worse is True for each in kernel.counters),
        better=sum(each.worse is False for each in kernel.counters),
        facts=tuple(figures(time)),
        why_no_times=_why_no_times(kernel),
        warnings=(sentence(shown(several)),) if several else (),
        notes=tuple(sentence(shown(each)) for each in kernel.notes),
        times=times(kernel),
        time_note=why(time),
        counters=tuple(tables.counter_row(each) for each in kernel.counters),
        counters_note=_lacking(kernel),
        metrics=metrics,
        most=tables.most(metrics),
        roofline=chart,
        roofline_note=chart_note,
        states=pairs,
        states_note=pairs_note,
        inputs=tables.input_rows(kernel.inputs),
        inputs_note=_inputs_note(kernel, before, after),
        diff=lines,
        diff_title=diff.title(lines),
    )


def lone(kernel: KernelSnapshot) -> LoneKernel:
    """A kernel that only one side has."""
    return LoneKernel(
        name=shown(short_name(kernel.name)),
        launch=_launch(kernel),
        time=median_text(kernel, None),
        verdict=_verdict(kernel.verdict),
    )


def sentence(text: str) -> str:
    """With a capital and a full stop; what begins with a name stays as it is."""
    if not text:
        return ""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def _side(name: str, kernel: KernelSnapshot, compared_ns: float | None) -> Side:
    said = kernel.verdict
    return Side(
        name=name,
        kernel=shown(short_name(kernel.name)),
        time=median_text(kernel, compared_ns),
        verdict=_verdict(said),
        status=said.status,
        confidence=shown(said.confidence),
        facts=tuple(_facts(kernel)),
    )


def _verdict(said: Verdict) -> str:
    return shown(said.bottleneck or said.status)


def _facts(kernel: KernelSnapshot) -> Iterable[Fact]:
    size = _size(kernel)
    if size:
        yield Fact("launch", size)
    gain = finite(kernel.verdict.gain)
    if gain is not None and gain > 1:
        yield Fact("gain at most", factor(gain), "What removing the bottleneck can bring.")
    if kernel.passed is not None:
        yield Fact("result check", "passed" if kernel.passed else "failed")


def _launch(kernel: KernelSnapshot) -> str:
    return ", ".join(filter(None, (_size(kernel), count(kernel.launches, "launch"))))


def _size(kernel: KernelSnapshot) -> str:
    return ", ".join(
        f"{name} {dimensions(size)}"
        for name, size in (("grid", kernel.grid), ("block", kernel.block))
        if size is not None
    )


def _why_no_times(kernel: KernelComparison) -> str:
    compared = {
        TimeOutcome.FASTER,
        TimeOutcome.SLOWER,
        TimeOutcome.SAME,
        TimeOutcome.UNDECIDED,
    }
    if kernel.time.outcome in compared:
        return ""
    reason = shown(kernel.time.reason) or "no reason is given"
    if kernel.time.outcome is TimeOutcome.NOT_ENOUGH_SAMPLES:
        return f"There are too few launches to compare times: {reason}."
    return f"Times are not compared: {reason}."


def _lacking(kernel: KernelComparison) -> str:
    if not kernel.lacking:
        return ""
    return f"Only one side has {', '.join(shown(each) for each in kernel.lacking)}."


def _inputs_note(kernel: KernelComparison, before: KernelSnapshot, after: KernelSnapshot) -> str:
    if before.inputs is None or after.inputs is None:
        return _UNKNOWN
    if not kernel.inputs:
        return _NO_CHANGE
    if before.inputs.source_sha256 != after.inputs.source_sha256 and not kernel.diff:
        return _NO_TEXT
    return ""
