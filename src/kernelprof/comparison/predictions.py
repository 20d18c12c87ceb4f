"""Predictions as sides of a comparison."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kernelprof.comparison.inputs import same_code
from kernelprof.comparison.snapshots import inputs_of
from kernelprof.errors import InputError
from kernelprof.model.diagnosis import Confidence, Status, Verdict
from kernelprof.model.snapshot import KernelSnapshot, Snapshot

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from kernelprof.model.prediction import PredictionFacts
    from kernelprof.model.snapshot import Extent

_NOT_RUN: Final = Verdict(
    Status.INCONCLUSIVE, None, Confidence.LOW, why="Only its machine code was looked at."
)


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
