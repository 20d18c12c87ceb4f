"""Two snapshots side by side: which kernel of one is which of the other, and what changed."""

from __future__ import annotations

import difflib
import math
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kernelprof.comparison.counters import counter_changes, metric_changes
from kernelprof.comparison.inputs import (
    input_changes,
    kinds_of_change,
    machine_changes,
    other_work,
    source_diff,
)
from kernelprof.comparison.times import time_change
from kernelprof.comparison.words import launches_text, other_verdicts_text
from kernelprof.model.comparison import (
    Comparison,
    KernelComparison,
    Match,
    TimeChange,
    TimeOutcome,
)
from kernelprof.model.kernel_name import function_name

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from kernelprof.model.snapshot import KernelSnapshot, Snapshot

    Pair = tuple[Match, KernelSnapshot | None, KernelSnapshot | None]
    Scored = tuple[float, int, int]

SIMILAR: Final = 0.6
"""``difflib`` calls a ratio over 0.6 a close match (its documentation), and so does this."""

MOST_COMPARED: Final = 20_000
"""Pairs of names that are looked at for likeness, which takes a second or two; of more kernels that
changed their names at once, they count as vanished and new."""


def compare(before: Snapshot, after: Snapshot) -> Comparison:
    """What happened between two snapshots."""
    machine, apart = machine_changes(before.machine, after.machine)
    kernels = []
    for kind, old, new in match(before.kernels, after.kernels):
        if old is None or new is None:
            kernels.append(_alone(kind, old, new))
        else:
            found = _kernel(kind, old, new, apart)
            diff = source_diff(_text(old, before), _text(new, after))
            kernels.append(replace(found, diff=diff))
    kernels.sort(key=_weight, reverse=True)
    return Comparison(
        before=before,
        after=after,
        kernels=tuple(kernels),
        machine=machine,
        times_comparable=apart is None,
        notes=() if apart is None else (f"times are not compared: {apart}",),
    )


def _alone(
    kind: Match, before: KernelSnapshot | None, after: KernelSnapshot | None
) -> KernelComparison:
    time = TimeChange(TimeOutcome.NOT_MEASURED, reason="there is nothing to compare it with")
    return KernelComparison(kind, before, after, time)


def _kernel(
    kind: Match, before: KernelSnapshot, after: KernelSnapshot, apart: str | None
) -> KernelComparison:
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
        kinds=kinds_of_change(inputs),
        notes=tuple(filter(None, notes)),
    )


def _text(kernel: KernelSnapshot, side: Snapshot) -> str | None:
    return None if kernel.inputs is None else side.sources.get(kernel.inputs.source_sha256)


def _weight(kernel: KernelComparison) -> float:
    """How much time the kernel takes, on whichever side it takes more."""
    return max(side.total_ns or 0.0 for side in (kernel.before, kernel.after) if side is not None)


def match(before: Sequence[KernelSnapshot], after: Sequence[KernelSnapshot]) -> list[Pair]:
    """Pairs in the order of ``after``, then what vanished.

    First kernels with the same name, grid and block; then, among those that are left, the same name
    with the nearest number of threads; then the most similar names. Each is taken once.
    """
    matching = _Matching(before, after)
    for old, new in matching.alike(lambda kernel: kernel.key):
        matching.take(Match.SAME, [(0.0, i, j) for i, j in zip(old, new, strict=False)])
    for old, new in matching.alike(lambda kernel: kernel.name):
        nearest = [(_threads_apart(before[i], after[j]), i, j) for i in old for j in new]
        matching.take(Match.LAUNCH, nearest)
    for old, new in matching.alike(lambda kernel: function_name(kernel.name)):
        apart = _unlike([before[i].name for i in old], [after[j].name for j in new])
        # Too many instantiations to look at are paired in their order.
        if apart:
            matching.take(
                Match.RENAMED,
                [(apart[before[i].name, after[j].name], i, j) for i in old for j in new],
            )
        else:
            matching.take(Match.RENAMED, [(0.0, *pair) for pair in zip(old, new, strict=False)])
    matching.take(Match.RENAMED, matching.similar())
    return matching.pairs()


class _Matching:
    """What has been matched so far, by positions."""

    def __init__(self, before: Sequence[KernelSnapshot], after: Sequence[KernelSnapshot]) -> None:
        self.before = before
        self.after = after
        self.found: dict[int, tuple[Match, int]] = {}
        self.old = dict.fromkeys(range(len(before)))
        self.new = dict.fromkeys(range(len(after)))

    def alike(
        self, key: Callable[[KernelSnapshot], Hashable]
    ) -> Iterable[tuple[list[int], list[int]]]:
        """Positions on both sides that share a key and are not matched yet."""
        groups: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for i in self.old:
            groups[key(self.before[i])][0].append(i)
        for j in self.new:
            groups[key(self.after[j])][1].append(j)
        return [group for group in groups.values() if group[0] and group[1]]

    def take(self, kind: Match, scored: Iterable[Scored]) -> None:
        """Match the pairs, the ones that are least apart first."""
        for _, i, j in sorted(scored):
            if i in self.old and j in self.new:
                self.found[j] = (kind, i)
                del self.old[i], self.new[j]

    def similar(self) -> list[Scored]:
        """Pairs whose function names are similar, with how unlike they are."""
        old, new = defaultdict(list), defaultdict(list)
        for i in self.old:
            old[function_name(self.before[i].name)].append(i)
        for j in self.new:
            new[function_name(self.after[j].name)].append(j)
        apart = _unlike(list(old), list(new))
        return [
            (unlike, i, j)
            for (a, b), unlike in apart.items()
            if unlike <= 1 - SIMILAR
            for i in old[a]
            for j in new[b]
        ]

    def pairs(self) -> list[Pair]:
        """Everything, once."""
        pairs: list[Pair] = []
        for j, kernel in enumerate(self.after):
            kind, i = self.found.get(j, (Match.APPEARED, -1))
            pairs.append((kind, self.before[i] if i >= 0 else None, kernel))
        return pairs + [(Match.VANISHED, self.before[i], None) for i in self.old]


def _unlike(old: Sequence[str], new: Sequence[str]) -> dict[tuple[str, str], float]:
    """How unlike names are, from 0 to 1; nothing where they are too many to look at."""
    left, right = dict.fromkeys(old), dict.fromkeys(new)
    if len(left) * len(right) > MOST_COMPARED:
        return {}
    found = {}
    for b in right:
        # The matcher keeps what it knows of its second sequence.
        matcher = difflib.SequenceMatcher(None, "", b, autojunk=False)
        for a in left:
            matcher.set_seq1(a)
            found[a, b] = 1 - matcher.ratio()
    return found


def _threads_apart(a: KernelSnapshot, b: KernelSnapshot) -> float:
    """The logarithm of the factor between the numbers of threads."""
    return abs(math.log(_threads(a) / _threads(b)))


def _threads(kernel: KernelSnapshot) -> float:
    return float(max(math.prod((*(kernel.grid or (1,)), *(kernel.block or (1,)))), 1))
