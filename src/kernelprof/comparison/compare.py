"""Two snapshots side by side: which kernel of one is which of the other, and what changed."""

from __future__ import annotations

import difflib
import math
import shlex
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

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
from kernelprof.model.specification import NO_REFERENCE

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


def compare(
    before: Snapshot, after: Snapshot, renamed: Sequence[tuple[str, str]] = ()
) -> Comparison:
    """What happened between two snapshots; ``renamed`` are old and new names of kernels."""
    machine, apart = machine_changes(before.machine, after.machine)
    pairs = _match(before.kernels, after.kernels, renamed)
    alike = _alike_but_for_the_name(pairs)
    kernels = []
    for kind, old, new in pairs:
        if old is None or new is None:
            time = TimeChange(
                TimeOutcome.NOT_MEASURED, reason="there is nothing to compare it with"
            )
            kernels.append(
                KernelComparison(kind, old, new, time, notes=alike.get(id(old or new), ()))
            )
        else:
            diff = source_diff(_text(old, before), _text(new, after))
            said = (old.name, new.name) in renamed
            found = _kernel(kind, old, new, apart, said=said)
            kernels.append(replace(found, diff=diff))
    kernels.sort(key=_weight, reverse=True)
    notes = [] if apart is None else [f"times are not compared: {apart}"]
    for when, side in (("before", before), ("after", after)):
        notes += [f"{when}: {sentence}" for sentence in side.warnings]
    return Comparison(before, after, tuple(kernels), machine, apart is None, tuple(notes))


def _alike_but_for_the_name(pairs: Sequence[Pair]) -> dict[int, tuple[str, ...]]:
    """What looks renamed: one that vanished and one that appeared, launched alike, doing the same.

    Notes for either, by the identity of the kernel; none where several fit.
    """
    gone = [old for kind, old, _ in pairs if kind is Match.VANISHED and old is not None]
    come = [new for kind, _, new in pairs if kind is Match.APPEARED and new is not None]
    if len(gone) * len(come) > MOST_COMPARED:
        return {}
    fits = [(old, new) for old in gone for new in come if _does_the_same(old, new)]
    notes: dict[int, tuple[str, ...]] = {}
    for old, new in fits:
        if sum(old is a or new is b for a, b in fits) == 1:
            say = f"--rename {shlex.quote(f'{old.name}={new.name}')}"
            text = f"{new.name} is launched alike and has the same counters: if it is that, {say}"
            notes[id(old)] = (text,)
            notes[id(new)] = (text.replace(new.name, old.name, 1),)
    return notes


def _does_the_same(old: KernelSnapshot, new: KernelSnapshot) -> bool:
    known = [name for name in COUNTERS if name in old.metrics and name in new.metrics]
    if (old.grid, old.block) != (new.grid, new.block) or "instructions" not in known:
        return False
    return all(old.metrics[name] == new.metrics[name] for name in known)


def _kernel(
    kind: Match, before: KernelSnapshot, after: KernelSnapshot, apart: str | None, *, said: bool
) -> KernelComparison:
    work = other_work(before, after)
    counters, lacking = counter_changes(before, after)
    if after.predicted is not None and after.predicted.mistake is not None:
        counters, lacking = (), ()  # nothing was counted
    inputs = input_changes(before, after)
    notes = [launches_text(before, after), other_verdicts_text(before, after)]
    if _not_checked(after):
        notes.append(f'nothing checks the result: it has reference = "{NO_REFERENCE}"')
    if kind is Match.RENAMED:
        why = "as --rename says" if said else "by its name"
        notes.insert(0, f"taken for the same kernel {why}; before it was {before.name}")
    return KernelComparison(
        match=kind,
        before=before,
        after=after,
        time=_time(before, after, apart or work),
        verdict_changed=before.verdict.answer != after.verdict.answer,
        counters=counters,
        lacking=lacking,
        metrics=metric_changes(before, after),
        inputs=inputs,
        other_work=work is not None,
        same_code=same_code(before, after),
        kinds=kinds_of_change(inputs, same_code=compiled_alike(before, after)),
        notes=tuple(filter(None, notes)),
        confirmed=said,
    )


def _not_checked(kernel: KernelSnapshot) -> bool:
    """Whether a predicted kernel was run and has nothing that its result could be compared with."""
    if kernel.predicted is None or not kernel.predicted.blocks_run or kernel.inputs is None:
        return False
    return (kernel.inputs.specification or {}).get("reference") == NO_REFERENCE


def _time(before: KernelSnapshot, after: KernelSnapshot, apart: str | None) -> TimeChange:
    if before.predicted is None or after.predicted is None:
        return time_change(before, after, apart)
    return TimeChange(TimeOutcome.NOT_MEASURED, reason=apart or "predictions have no time")


def _text(kernel: KernelSnapshot, side: Snapshot) -> str | None:
    return None if kernel.inputs is None else side.sources.get(kernel.inputs.source_sha256)


def _weight(kernel: KernelComparison) -> float:
    """How much time the kernel takes, on whichever side it takes more."""
    return max(side.total_ns or 0.0 for side in (kernel.before, kernel.after) if side is not None)


def _match(
    before: Sequence[KernelSnapshot],
    after: Sequence[KernelSnapshot],
    renamed: Sequence[tuple[str, str]],
) -> list[Pair]:
    """Pairs of kernels, each for one architecture: code for another one is another code."""
    pairs = []
    for arch in dict.fromkeys(each.arch for each in (*after, *before)):
        old, new = ([each for each in side if each.arch == arch] for side in (before, after))
        pairs += match(old, new, renamed)
    return pairs


def match(
    before: Sequence[KernelSnapshot],
    after: Sequence[KernelSnapshot],
    renamed: Sequence[tuple[str, str]] = (),
) -> list[Pair]:
    """Pairs in the order of ``after``, then what vanished.

    First what somebody ``renamed``; then kernels with the same name, grid and block; then, among
    those that are left, the same name with the nearest number of threads; then the most similar
    names. Each is taken once.
    """
    old, new = dict(enumerate(before)), dict(enumerate(after))
    found: dict[int, tuple[Match, int]] = {}

    def take(kind: Match, scored: Iterable[Scored]) -> None:
        """Match pairs of what is left, the ones that are least apart first."""
        for _, i, j in sorted(scored):
            if i in old and j in new:
                found[j] = (kind, i)
                del old[i], new[j]

    for was, now in renamed:
        left = [at for at, kernel in old.items() if kernel.name == was]
        right = [at for at, kernel in new.items() if kernel.name == now]
        take(Match.RENAMED, _nearest(old, new, left, right))
    for left, right in _alike(old, new, lambda kernel: kernel.key):
        take(Match.SAME, _in_order(left, right))
    for left, right in _alike(old, new, lambda kernel: kernel.name):
        take(Match.LAUNCH, _nearest(old, new, left, right))
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


def _nearest(
    old: Mapping[int, KernelSnapshot],
    new: Mapping[int, KernelSnapshot],
    left: Iterable[int],
    right: Collection[int],
) -> list[Scored]:
    """Pairs of what is left of these, by how far their numbers of threads are apart."""
    return [
        (_threads_apart(old[i], new[j]), i, j) for i in left for j in right if i in old and j in new
    ]


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
