"""Which kernels of two sides are compared, where somebody says so: by name, and under two names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelprof.errors import InputError, UsageError
from kernelprof.model.kernel_name import function_name, listed, name_pattern

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kernelprof.model.snapshot import Snapshot


def only(snapshot: Snapshot, kernels: Sequence[str]) -> Snapshot:
    """The kernels whose name one of these regular expressions matches; all without one.

    Raises :class:`InputError` where there is none.
    """
    if not kernels:
        return snapshot
    patterns = [name_pattern(each) for each in kernels]
    found = tuple(
        kernel for kernel in snapshot.kernels if any(each.search(kernel.name) for each in patterns)
    )
    if not found:
        raise InputError(
            f"no kernel's name matches {' or '.join(map(repr, kernels))}",
            where=snapshot.origin,
            hint=_there(snapshot),
        )
    return replace(snapshot, kernels=found)


def only_of_both(
    before: Snapshot, after: Snapshot, kernels: Sequence[str]
) -> tuple[Snapshot, Snapshot]:
    """The same of two sides; one of them may have none."""
    try:
        return only(before, kernels), only(after, kernels)
    except InputError:
        both = replace(after, kernels=(*before.kernels, *after.kernels))
        names = {kernel.key for kernel in only(both, kernels).kernels}
    first, second = (
        replace(side, kernels=tuple(each for each in side.kernels if each.key in names))
        for side in (before, after)
    )
    return first, second


def renames(texts: Sequence[str], before: Snapshot, after: Snapshot) -> tuple[tuple[str, str], ...]:
    """Old and new names out of ``OLD=NEW``; either may be the bare name of the function.

    Raises :class:`UsageError` for one that no kernel has.
    """
    return tuple(pair for text in texts for pair in _renamed(text, before, after))


def _renamed(text: str, before: Snapshot, after: Snapshot) -> list[tuple[str, str]]:
    if "=" not in text:
        raise UsageError(
            f"--rename {text!r} has no =",
            hint="write the name in the baseline, =, and the name in the candidate",
        )
    # A name can hold one itself, such as operator=.
    splits = [(text[:at], text[at + 1 :]) for at, mark in enumerate(text) if mark == "="]
    found = [(_named(was, before), _named(now, after)) for was, now in splits]
    for old, new in found:
        if old and new:
            alike = [(was, now) for was in old for now in new if _rest(was) == _rest(now)]
            return alike or [(was, now) for was in old for now in new]
    side, name = next(
        ((after, now) for (was, now), (old, _) in zip(splits, found, strict=True) if old),
        (before, splits[0][0]),
    )
    raise UsageError(
        f"--rename {text!r}: there is no kernel {name!r}", where=side.origin, hint=_there(side)
    )


def _rest(name: str) -> str:
    """A whole name without that of the function: what tells instances of a template apart."""
    return name.replace(function_name(name), "", 1)


def _named(name: str, side: Snapshot) -> Collection[str]:
    names = dict.fromkeys(kernel.name for kernel in side.kernels)
    return [each for each in names if name in (each, function_name(each))]


def _there(snapshot: Snapshot) -> str:
    return listed(kernel.name for kernel in snapshot.kernels)
