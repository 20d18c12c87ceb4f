"""Predictions as sides of a comparison."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from kernelprof.comparison.inputs import same_code
from kernelprof.comparison.snapshots import inputs_of
from kernelprof.errors import InputError
from kernelprof.model.diagnosis import Confidence, Status, Verdict
from kernelprof.model.gate import Code, Finding, Outcome
from kernelprof.model.kernel_name import function_name
from kernelprof.model.names import short_name
from kernelprof.model.snapshot import KernelSnapshot, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from kernelprof.model.prediction import PredictionFacts
    from kernelprof.model.snapshot import Extent

_NOT_RUN: Final = Verdict(
    Status.INCONCLUSIVE, None, Confidence.LOW, why="Only its machine code was looked at."
)


_MOST_NAMED: Final = 3


def of_code(name: str, grid: Extent, block: Extent, known: PredictionFacts) -> KernelSnapshot:
    """A kernel that was compiled and not run: it has machine code and no counts."""
    return KernelSnapshot(
        name=name,
        grid=grid,
        block=block,
        launches=1,
        verdict=_NOT_RUN,
        inputs=inputs_of(known.source),
        predicted=known.counted,
    )


def held(baseline: Snapshot, kernel: KernelSnapshot) -> KernelSnapshot | None:
    """A kernel with the counts that a baseline has for the same machine code, if it has them."""
    found = next((each for each in baseline.kernels if same_code(each, kernel)), None)
    return None if found is None else replace(found, inputs=kernel.inputs)


def together(sides: Sequence[Snapshot]) -> Snapshot:
    """Predictions of several kernels, or for several architectures, as one side."""
    return replace(
        sides[0],
        origin=", ".join(dict.fromkeys(each.origin for each in sides)),
        kernels=tuple(kernel for each in sides for kernel in each.kernels),
        sources={digest: text for each in sides for digest, text in each.sources.items()},
        warnings=tuple(dict.fromkeys(text for each in sides for text in each.warnings)),
        damage=tuple(dict.fromkeys(text for each in sides for text in each.damage)),
    )


def architectures(kernels: Iterable[KernelSnapshot]) -> tuple[str, ...]:
    """What kernels were predicted for; none where all were measured."""
    return tuple(dict.fromkeys(each.arch for each in kernels if each.arch is not None))


def only(snapshot: Snapshot, archs: Collection[str]) -> Snapshot:
    """Without predictions for other architectures than these."""
    kept = tuple(each for each in snapshot.kernels if each.arch is None or each.arch in archs)
    return replace(snapshot, kernels=kept)


def of_sources(
    baseline: Snapshot,
    candidate: Snapshot,
    *,
    renamed: Collection[str] = (),
    is_gone: Callable[[str], bool] = lambda _: False,
) -> tuple[Snapshot, tuple[KernelSnapshot, ...]]:
    """What a baseline has of a candidate's sources, and its kernels of other sources.

    Those sources are not named, so nothing is known of them: their kernels did not vanish, unless
    the source itself ``is_gone``. A kernel belongs to a source by its path or by its name, also by
    an old one of ``OLD=NEW``.
    """
    paths = [PurePath(each.inputs.path) for each in candidate.kernels if each.inputs]
    names = {each.name for each in candidate.kernels}

    def named(kernel: KernelSnapshot) -> bool:
        if kernel.inputs is None or kernel.name in names:
            return True
        old = kernel.name, function_name(kernel.name)
        if any(text.startswith(f"{name}=") for text in renamed for name in old):
            return True
        path = PurePath(kernel.inputs.path)
        same = any(ends_with(path, each) or ends_with(each, path) for each in paths)
        return same or is_gone(kernel.inputs.path)

    kept = tuple(each for each in baseline.kernels if named(each))
    return replace(baseline, kernels=kept), tuple(e for e in baseline.kernels if e not in kept)


def ends_with(path: PurePath, end: PurePath) -> bool:
    """Whether a path may name the same file as another one, seen from a folder further up."""
    size = len(end.parts)
    return bool(size) and len(path.parts) >= size and path.parts[-size:] == end.parts


def left_out(kernels: Sequence[KernelSnapshot]) -> tuple[Finding, ...]:
    """That kernels of a baseline are not judged, as their sources are not named."""
    if not kernels:
        return ()
    names = list(dict.fromkeys(short_name(each.name) for each in kernels))
    shown = ", ".join(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        shown += f" and {len(names) - _MOST_NAMED} more"
    text = f"not judged, as their sources are not named: {shown}"
    return (Finding(Code.IGNORED, Outcome.PASS, text),)


def check_alike(before: Snapshot, after: Snapshot) -> None:
    """Refuse to compare what was predicted with what was measured.

    A prediction has no time, and counters of the hardware that it does not have are missing in it.
    """
    predicted = [bool(architectures(each.kernels)) for each in (before, after)]
    if before.kernels and after.kernels and predicted[0] != predicted[1]:
        side, other = (before, after) if predicted[0] else (after, before)
        raise InputError(
            "one side was predicted and the other was measured",
            where=f"{side.origin}, {other.origin}",
            hint="predict both (kernelprof gate BEFORE.cu AFTER.cu --predict), or measure both",
        )
