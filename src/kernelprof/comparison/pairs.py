"""Which kernel of one side is compared with which of the other: by name, launch and likeness."""

from __future__ import annotations

import difflib
import math
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kernelprof.errors import InputError, UsageError
from kernelprof.model.comparison import Match
from kernelprof.model.kernel_name import function_name, list_names, name_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence

    from kernelprof.model.snapshot import KernelSnapshot, Snapshot

    Pair = tuple[Match, KernelSnapshot | None, KernelSnapshot | None]
    Scored = tuple[float, int, int]


def select_kernels(snapshot: Snapshot, kernels: Sequence[str]) -> Snapshot:
    """Keep kernels whose name matches one of these patterns; :class:`InputError` without any."""
    if not kernels:
        return snapshot
    patterns = [name_pattern(each) for each in kernels]
    matches = tuple(
        kernel for kernel in snapshot.kernels if any(each.search(kernel.name) for each in patterns)
    )
    if not matches:
        raise InputError(
            f"no kernel's name matches {' or '.join(map(repr, kernels))}",
            where=snapshot.origin,
            hint=_list_kernels(snapshot),
        )
    return replace(snapshot, kernels=matches)


def select_in_both(
    before: Snapshot, after: Snapshot, kernels: Sequence[str]
) -> tuple[Snapshot, Snapshot]:
    """The same of two sides; one of them may have none."""
    try:
        return select_kernels(before, kernels), select_kernels(after, kernels)
    except InputError:
        both = replace(after, kernels=(*before.kernels, *after.kernels))
        names = {kernel.key for kernel in select_kernels(both, kernels).kernels}
    first, second = (
        replace(side, kernels=tuple(each for each in side.kernels if each.key in names))
        for side in (before, after)
    )
    return first, second


def parse_renames(
    texts: Sequence[str], before: Snapshot, after: Snapshot
) -> tuple[tuple[str, str], ...]:
    """Parse ``OLD=NEW``, full names or functions; :class:`UsageError` for one of no kernel."""
    return tuple(pair for text in texts for pair in _parse_rename(text, before, after))


def _parse_rename(text: str, before: Snapshot, after: Snapshot) -> list[tuple[str, str]]:
    if "=" not in text:
        raise UsageError(
            f"--rename {text!r} has no =",
            hint="write OLD=NEW: the name in the baseline, then the name in the candidate",
        )
    # A name can hold one itself, such as operator=.
    splits = [(text[:at], text[at + 1 :]) for at, mark in enumerate(text) if mark == "="]
    matches = [(_find_names(was, before), _find_names(now, after)) for was, now in splits]
    for old, new in matches:
        if old and new:
            alike = [
                (was, now)
                for was in old
                for now in new
                if _template_arguments(was) == _template_arguments(now)
            ]
            return alike or [(was, now) for was in old for now in new]
    side, name = next(
        ((after, now) for (was, now), (old, _) in zip(splits, matches, strict=True) if old),
        (before, splits[0][0]),
    )
    raise UsageError(
        f"--rename {text!r}: there is no kernel {name!r}",
        where=side.origin,
        hint=_list_kernels(side),
    )


def _template_arguments(name: str) -> str:
    # A whole name without that of the function: what tells instances of a template apart
    return name.replace(function_name(name), "", 1)


def _find_names(name: str, side: Snapshot) -> Collection[str]:
    names = dict.fromkeys(kernel.name for kernel in side.kernels)
    return [each for each in names if name in (each, function_name(each))]


def _list_kernels(snapshot: Snapshot) -> str:
    return list_names(kernel.name for kernel in snapshot.kernels)


SIMILAR: Final = 0.6
"""``difflib`` calls a ratio over 0.6 a close match (its documentation), and so does this."""
_FARTHEST: Final = 1 - SIMILAR

MOST_COMPARED: Final = 20_000
"""Pairs of names that are looked at for likeness, which takes a second or two; of more kernels that
changed their names at once, they count as vanished and new."""


def match_kernels(
    before: Sequence[KernelSnapshot],
    after: Sequence[KernelSnapshot],
    renamed: Sequence[tuple[str, str]],
) -> list[Pair]:
    """Pairs of kernels, each for one architecture: code for another one is another code.

    The only kernel of one side is compared with the only one of the other, whatever their names.
    """
    pairs: list[Pair] = []
    for arch in dict.fromkeys(each.arch for each in (*after, *before)):
        old, new = ([each for each in side if each.arch == arch] for side in (before, after))
        if len(old) == len(new) == 1 and old[0].name != new[0].name:
            pairs.append((Match.RENAMED, old[0], new[0]))
        else:
            pairs += pair_kernels(old, new, renamed)
    return pairs


def pair_kernels(
    before: Sequence[KernelSnapshot],
    after: Sequence[KernelSnapshot],
    renamed: Sequence[tuple[str, str]] = (),
) -> list[Pair]:
    """Return pairs in the order of ``after``, then what vanished; each kernel is used once.

    Pairs are first what was ``renamed``, then the same name, grid and block, then the same name
    with the nearest number of threads, then the most similar names.
    """
    old, new = dict(enumerate(before)), dict(enumerate(after))
    matches: dict[int, tuple[Match, int]] = {}

    def take(kind: Match, scored: Iterable[Scored]) -> None:
        for _, i, j in sorted(scored):
            if i in old and j in new:
                matches[j] = (kind, i)
                del old[i], new[j]

    for was, now in renamed:
        left = [at for at, kernel in old.items() if kernel.name == was]
        right = [at for at, kernel in new.items() if kernel.name == now]
        take(Match.RENAMED, _score_by_threads(old, new, left, right))
    for left, right in _group_by_key(old, new, lambda kernel: kernel.key):
        take(Match.SAME, _score_in_order(left, right))
    for left, right in _group_by_key(old, new, lambda kernel: kernel.name):
        take(Match.LAUNCH, _score_by_threads(old, new, left, right))
    for left, right in _group_by_key(old, new, lambda kernel: function_name(kernel.name)):
        apart = _name_distances({old[i].name for i in left}, {new[j].name for j in right})
        scored = [(apart[old[i].name, new[j].name], i, j) for i in left for j in right if apart]
        # Too many instantiations to look at are paired in their order.
        take(Match.RENAMED, scored or _score_in_order(left, right))
    names: list[dict[str, list[int]]] = [defaultdict(list), defaultdict(list)]
    for side, kernels in zip(names, (old, new), strict=True):
        for at, kernel in kernels.items():
            side[function_name(kernel.name)].append(at)
    close = [each for each in _name_distances(*names).items() if each[1] <= _FARTHEST]
    take(
        Match.RENAMED,
        [(by, i, j) for (a, b), by in close for i in names[0][a] for j in names[1][b]],
    )
    pairs: list[Pair] = []
    for j, kernel in enumerate(after):
        kind, at = matches.get(j, (Match.APPEARED, -1))
        pairs.append((kind, before[at] if at >= 0 else None, kernel))
    return pairs + [(Match.VANISHED, each, None) for each in old.values()]


def explain_match(before: KernelSnapshot, after: KernelSnapshot, *, is_confirmed: bool) -> str:
    """Return why two kernels of different names were paired."""
    if is_confirmed:
        return "as given by --rename"
    names = ({function_name(each.name)} for each in (before, after))
    (distance,) = _name_distances(*names).values()
    return "by similar name" if distance <= _FARTHEST else "because each input has only one kernel"


def _group_by_key(
    old: Mapping[int, KernelSnapshot],
    new: Mapping[int, KernelSnapshot],
    key: Callable[[KernelSnapshot], Hashable],
) -> list[tuple[list[int], list[int]]]:
    groups: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, kernels in enumerate((old, new)):
        for at, kernel in kernels.items():
            groups[key(kernel)][side].append(at)
    return [group for group in groups.values() if all(group)]


def _score_by_threads(
    old: Mapping[int, KernelSnapshot],
    new: Mapping[int, KernelSnapshot],
    left: Iterable[int],
    right: Collection[int],
) -> list[Scored]:
    return [
        (_thread_distance(old[i], new[j]), i, j)
        for i in left
        for j in right
        if i in old and j in new
    ]


def _score_in_order(old: Sequence[int], new: Sequence[int]) -> list[Scored]:
    return [(0.0, i, j) for i, j in zip(old, new, strict=False)]


def _name_distances(old: Collection[str], new: Collection[str]) -> dict[tuple[str, str], float]:
    if len(old) * len(new) > MOST_COMPARED:
        return {}
    distances = {}
    for b in new:
        # The matcher keeps what it knows of its second sequence.
        matcher = difflib.SequenceMatcher(None, "", b, autojunk=False)
        for a in old:
            matcher.set_seq1(a)
            distances[a, b] = 1 - matcher.ratio()
    return distances


def _thread_distance(a: KernelSnapshot, b: KernelSnapshot) -> float:
    threads = [math.prod((*(each.grid or (1,)), *(each.block or (1,)))) for each in (a, b)]
    return abs(math.log(max(threads[0], 1) / max(threads[1], 1)))
