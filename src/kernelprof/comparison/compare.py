"""Two snapshots side by side: which kernel of one is which of the other, and what changed."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from kernelprof.comparison.counters import COUNTERS, counter_changes, metric_changes
from kernelprof.comparison.inputs import (
    compiled_alike,
    input_changes,
    kinds_of_change,
    machine_changes,
    other_work,
    same_code,
    source_diff,
)
from kernelprof.comparison.pairs import MOST_COMPARED, explain_match, match_kernels
from kernelprof.comparison.times import predicted_time_change, time_change
from kernelprof.comparison.words import launches_text, other_verdicts_text
from kernelprof.model.comparison import (
    Comparison,
    KernelComparison,
    Match,
    TimeChange,
    TimeOutcome,
)
from kernelprof.model.specification import NO_REFERENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.comparison.pairs import Pair
    from kernelprof.model.snapshot import KernelSnapshot, Snapshot


def compare_snapshots(
    before: Snapshot, after: Snapshot, renamed: Sequence[tuple[str, str]] = ()
) -> Comparison:
    """What happened between two snapshots; ``renamed`` are old and new names of kernels."""
    differences, apart = machine_changes(before.machine, after.machine)
    pairs = match_kernels(before.kernels, after.kernels, renamed)
    alike = _suggest_renames(pairs)
    kernels = []
    for kind, old, new in pairs:
        if old is None or new is None:
            time = TimeChange(
                TimeOutcome.NOT_MEASURED, reason="only one of the inputs contains this kernel"
            )
            kernels.append(
                KernelComparison(kind, old, new, time, notes=alike.get(id(old or new), ()))
            )
        else:
            diff = source_diff(_source_text(old, before), _source_text(new, after))
            is_confirmed = (old.name, new.name) in renamed
            comparison = _compare_kernel(kind, old, new, apart, is_confirmed=is_confirmed)
            kernels.append(replace(comparison, diff=diff))
    kernels.sort(key=_total_time_ns, reverse=True)
    notes = [] if apart is None else [f"times are not compared: {apart}"]
    for when, side in (("before", before), ("after", after)):
        notes += [f"{when}: {sentence}" for sentence in side.warnings]
    return Comparison(before, after, tuple(kernels), differences, apart is None, tuple(notes))


def _suggest_renames(pairs: Sequence[Pair]) -> dict[int, tuple[str, ...]]:
    # What looks renamed: one that vanished and one that appeared, launched alike, doing the same.
    # Notes for either, by the identity of the kernel; none where several fit
    gone = [old for kind, old, _ in pairs if kind is Match.VANISHED and old is not None]
    come = [new for kind, _, new in pairs if kind is Match.APPEARED and new is not None]
    if len(gone) * len(come) > MOST_COMPARED:
        return {}
    fits = [(old, new) for old in gone for new in come if _has_same_counters(old, new)]
    notes: dict[int, tuple[str, ...]] = {}
    for old, new in fits:
        if sum(old is a or new is b for a, b in fits) == 1:
            say = f"use --rename {shlex.quote(f'{old.name}={new.name}')}"
            text = (
                f"{new.name} has the same grid, block and counters; if it is the same kernel, {say}"
            )
            notes[id(old)] = (text,)
            notes[id(new)] = (text.replace(new.name, old.name, 1),)
    return notes


def _has_same_counters(old: KernelSnapshot, new: KernelSnapshot) -> bool:
    shared = [name for name in COUNTERS if name in old.metrics and name in new.metrics]
    if (old.grid, old.block) != (new.grid, new.block) or "instructions" not in shared:
        return False
    return all(old.metrics[name] == new.metrics[name] for name in shared)


def _compare_kernel(
    kind: Match,
    before: KernelSnapshot,
    after: KernelSnapshot,
    apart: str | None,
    *,
    is_confirmed: bool,
) -> KernelComparison:
    other = other_work(before, after)
    counters, lacking = counter_changes(before, after)
    if after.predicted is not None and after.predicted.mistake is not None:
        counters, lacking = (), ()  # nothing was counted
    inputs = input_changes(before, after)
    notes = [launches_text(before, after), other_verdicts_text(before, after)]
    if _is_unchecked(after):
        notes.append(f'Result not checked: reference = "{NO_REFERENCE}"')
    if kind is Match.RENAMED:
        why = explain_match(before, after, is_confirmed=is_confirmed)
        notes.insert(0, f"matched {why}; previously named {before.name}")
    return KernelComparison(
        match=kind,
        before=before,
        after=after,
        time=_compare_times(before, after, apart or other),
        verdict_changed=before.verdict.answer != after.verdict.answer,
        counters=counters,
        lacking=lacking,
        metrics=metric_changes(before, after),
        inputs=inputs,
        other_work=other is not None,
        same_code=same_code(before, after),
        kinds=kinds_of_change(inputs, same_code=compiled_alike(before, after)),
        notes=tuple(filter(None, notes)),
        confirmed=is_confirmed,
    )


def _is_unchecked(kernel: KernelSnapshot) -> bool:
    if kernel.predicted is None or not kernel.predicted.blocks_run or kernel.inputs is None:
        return False
    return (kernel.specification or {}).get("reference") == NO_REFERENCE


def _compare_times(before: KernelSnapshot, after: KernelSnapshot, apart: str | None) -> TimeChange:
    if before.predicted is None or after.predicted is None:
        return time_change(before, after, apart)
    return predicted_time_change(before, after, apart)


def _source_text(kernel: KernelSnapshot, side: Snapshot) -> str | None:
    return None if kernel.inputs is None else side.sources.get(kernel.inputs.source_sha256)


def _total_time_ns(kernel: KernelComparison) -> float:
    return max(side.total_ns or 0.0 for side in (kernel.before, kernel.after) if side is not None)
