"""Two snapshots side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.compare.counters import counter_changes
from kernelprof.compare.inputs import input_changes, kinds_of_change, other_work, source_diff
from kernelprof.compare.machines import machine_changes
from kernelprof.compare.match import match
from kernelprof.compare.metrics import metric_changes
from kernelprof.compare.times import time_change
from kernelprof.compare.words import launches_text, other_verdicts_text
from kernelprof.model.comparison import (
    Comparison,
    KernelComparison,
    Match,
    TimeChange,
    TimeOutcome,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.model.snapshot import KernelSnapshot, Snapshot


def compare(
    before: Snapshot,
    after: Snapshot,
    sources: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {}),
) -> Comparison:
    """What happened between two snapshots.

    ``sources`` are the texts of both sides' sources, by the SHA-256 that the inputs name.
    """
    machine, apart = machine_changes(before.machine, after.machine)
    kernels = [
        _kernel(kind, old, new, apart, sources)
        for kind, old, new in match(before.kernels, after.kernels)
    ]
    kernels.sort(key=_weight, reverse=True)
    return Comparison(
        before=before.origin,
        after=after.origin,
        kernels=tuple(kernels),
        machine=machine,
        times_comparable=apart is None,
        notes=() if apart is None else (f"times are not compared: {apart}",),
    )


def _kernel(
    kind: Match,
    before: KernelSnapshot | None,
    after: KernelSnapshot | None,
    apart: str | None,
    sources: tuple[Mapping[str, str], Mapping[str, str]],
) -> KernelComparison:
    if before is None or after is None:
        reason = "there is nothing to compare it with"
        return KernelComparison(
            kind, before, after, TimeChange(TimeOutcome.NOT_MEASURED, reason=reason)
        )
    work = other_work(before, after)
    counters, lacking = counter_changes(before, after)
    inputs = input_changes(before, after)
    notes = [launches_text(before, after), other_verdicts_text(before, after)]
    if kind is Match.RENAMED:
        notes.insert(0, f"taken for the same kernel by its name; before it was {before.name}")
    return KernelComparison(
        match=kind,
        before=before,
        after=after,
        time=time_change(before, after, apart or work),
        verdict_changed=before.verdict.answer != after.verdict.answer,
        counters=counters,
        lacking=lacking,
        metrics=metric_changes(before, after),
        inputs=inputs,
        other_work=work is not None,
        diff=source_diff(
            *(_text(side, texts) for side, texts in zip((before, after), sources, strict=True))
        ),
        kinds=kinds_of_change(inputs),
        notes=tuple(filter(None, notes)),
    )


def _text(kernel: KernelSnapshot, texts: Mapping[str, str]) -> str | None:
    return None if kernel.inputs is None else texts.get(kernel.inputs.source_sha256)


def _weight(kernel: KernelComparison) -> float:
    """How much time the kernel takes, on whichever side it takes more."""
    return max(side.total_ns or 0.0 for side in (kernel.before, kernel.after) if side is not None)
