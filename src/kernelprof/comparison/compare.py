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
    from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence

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
            time = TimeChange(
                TimeOutcome.NOT_MEASURED, reason="there is nothing to compare it with"
            )
            kernels.append(KernelComparison(kind, old, new, time))
        else:
            diff = source_diff(_text(old, before), _text(new, after))
            kernels.append(replace(_kernel(kind, old, new, apart), diff=diff))
    kernels.sort(key=_weight, reverse=True)
    notes = () if apart is None else (f"times are not compared: {apart}",)
    return Comparison(before, after, tuple(kernels), machine, apart is None, notes)


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
    old, new = dict(enumerate(before)), dict(enumerate(after))
    found: dict[int, tuple[Match, int]] = {}

    def take(kind: Match, scored: Iterable[Scored]) -> None:
        """Match pairs of what is left, the ones that are least apart first."""
        for _, i, j in sorted(scored):
            if i in old and j in new:
                found[j] = (kind, i)
                del old[i], new[j]

    for left, right in _alike(old, new, lambda kernel: kernel.key):
        take(Match.SAME, _in_order(left, right))
    for left, right in _alike(old, new, lambda kernel: kernel.name):
        take(Match.LAUNCH, [(_threads_apart(old[i], new[j]), i, j) for i in left for j in right])
    for left, right in _alike(old, new, lambda kernel: function_name(kernel.name)):
        apart = _unlike({old[i].name for i in left}, {new[j].name for j in right})
        scored = [(apart[old[i].name, new[j].name], i, j) for i in left for j in right if apart]
        # Too many instantiations to look at are paired in their order.
        take(Match.RENAMED, scored or _in_order(left, right))
    names: list[dict[str, list[int]]] = [defaultdict(list), defaultdict(list)]
    for side, kernels in zip(names, (old, new), strict=True):
        for at, kernel in kernels.items():
            side[function_name(kernel.name)].append(at)
    close = [each for each in _unlike(*names).items() if each[1] <= 1 - SIMILAR]
    take(
        Match.RENAMED,
        [(by, i, j) for (a, b), by in close for i in names[0][a] for j in names[1][b]],
    )
    pairs: list[Pair] = []
    for j, kernel in enumerate(after):
        kind, at = found.get(j, (Match.APPEARED, -1))
        pairs.append((kind, before[at] if at >= 0 else None, kernel))
    return pairs + [(Match.VANISHED, each, None) for each in old.values()]


def _alike(
    old: Mapping[int, KernelSnapshot],
    new: Mapping[int, KernelSnapshot],
    key: Callable[[KernelSnapshot], Hashable],
) -> list[tuple[list[int], list[int]]]:
    """Positions on both sides that share a key."""
    groups: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, kernels in enumerate((old, new)):
        for at, kernel in kernels.items():
            groups[key(kernel)][side].append(at)
    return [group for group in groups.values() if all(group)]


def _in_order(old: Sequence[int], new: Sequence[int]) -> list[Scored]:
    return [(0.0, i, j) for i, j in zip(old, new, strict=False)]


def _unlike(old: Collection[str], new: Collection[str]) -> dict[tuple[str, str], float]:
    """How unlike names are, from 0 to 1; nothing where they are too many to look at."""
    if len(old) * len(new) > MOST_COMPARED:
        return {}
    found = {}
    for b in new:
        # The matcher keeps what it knows of its second sequence.
        matcher = difflib.SequenceMatcher(None, "", b, autojunk=False)
        for a in old:
            matcher.set_seq1(a)
            found[a, b] = 1 - matcher.ratio()
    return found


def _threads_apart(a: KernelSnapshot, b: KernelSnapshot) -> float:
    """The logarithm of the factor between the numbers of threads."""
    threads = [math.prod((*(each.grid or (1,)), *(each.block or (1,)))) for each in (a, b)]
    return abs(math.log(max(threads[0], 1) / max(threads[1], 1)))
