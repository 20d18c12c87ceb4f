"""The sides of a comparison: captures, exports, reports, baselines, JSON, sources, predictions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from kernelprof import files
from kernelprof.comparison.gate.baseline import KIND, from_text, read_text
from kernelprof.comparison.inputs import machine_changes, same_code
from kernelprof.comparison.snapshots import (
    join_runs,
    make_inputs,
    make_snapshot,
    merge_sides,
    read_diagnosis,
)
from kernelprof.errors import InputError, UsageError
from kernelprof.files import SOURCES
from kernelprof.launch.source import MAX_BYTES
from kernelprof.model.diagnosis import Confidence, Status, Verdict
from kernelprof.model.gate import Code, GateFinding, Outcome
from kernelprof.model.kernel_name import function_name
from kernelprof.model.names import short_name
from kernelprof.model.records import RecordError, read_object
from kernelprof.model.snapshot import KernelSnapshot, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from kernelprof.collect.progress import Progress
    from kernelprof.collect.request import ProfileResult
    from kernelprof.launch.specification.overrides import LaunchOverrides
    from kernelprof.model.json_types import Extent
    from kernelprof.model.prediction import PredictionFacts

_NOT_RUN: Final = Verdict(
    Status.INCONCLUSIVE, None, Confidence.LOW, why="Only the kernel's machine code was compared."
)
_MOST_NAMED: Final = 3


def make_code_snapshot(
    name: str, grid: Extent, block: Extent, facts: PredictionFacts
) -> KernelSnapshot:
    """A kernel that was compiled and not run: it has machine code and no counts."""
    return KernelSnapshot(
        name=name,
        grid=grid,
        block=block,
        launches=1,
        verdict=_NOT_RUN,
        inputs=make_inputs(facts.source),
        predicted=facts.counts,
    )


def find_stored_counts(baseline: Snapshot, kernel: KernelSnapshot) -> KernelSnapshot | None:
    """A kernel with the counts that a baseline has for the same machine code, if it has them."""
    stored = next((each for each in baseline.kernels if same_code(each, kernel)), None)
    return None if stored is None else replace(stored, inputs=kernel.inputs)


def merge_predictions(sides: Sequence[Snapshot]) -> Snapshot:
    """Predictions of several kernels, or for several architectures, as one side."""
    return merge_sides(sides, (kernel for each in sides for kernel in each.kernels))


def predicted_architectures(kernels: Iterable[KernelSnapshot]) -> tuple[str, ...]:
    """What kernels were predicted for; none where all were measured."""
    return tuple(dict.fromkeys(each.arch for each in kernels if each.arch is not None))


def select_architectures(snapshot: Snapshot, archs: Collection[str]) -> Snapshot:
    """Without predictions for other architectures than these."""
    selected = tuple(each for each in snapshot.kernels if each.arch is None or each.arch in archs)
    return replace(snapshot, kernels=selected)


def split_by_sources(
    baseline: Snapshot,
    candidate: Snapshot,
    *,
    renamed: Collection[str] = (),
    is_gone: Callable[[str], bool] = lambda _: False,
) -> tuple[Snapshot, tuple[KernelSnapshot, ...]]:
    """Split a baseline into kernels of a candidate's sources, by path or name, and the others.

    Kernels of other sources did not vanish, unless the source ``is_gone``.
    """
    paths = [PurePath(each.inputs.path) for each in candidate.kernels if each.inputs]
    names = {each.name for each in candidate.kernels}

    def is_of_candidate(kernel: KernelSnapshot) -> bool:
        if kernel.inputs is None or kernel.name in names:
            return True
        old = kernel.name, function_name(kernel.name)
        if any(text.startswith(f"{name}=") for text in renamed for name in old):
            return True
        path = PurePath(kernel.inputs.path)
        same = any(ends_with(path, each) or ends_with(each, path) for each in paths)
        return same or is_gone(kernel.inputs.path)

    selected = tuple(each for each in baseline.kernels if is_of_candidate(each))
    return replace(baseline, kernels=selected), tuple(
        e for e in baseline.kernels if e not in selected
    )


def ends_with(path: PurePath, end: PurePath) -> bool:
    """Whether a path may name the same file as another one, seen from a folder further up."""
    size = len(end.parts)
    return bool(size) and len(path.parts) >= size and path.parts[-size:] == end.parts


def report_unjudged(kernels: Sequence[KernelSnapshot]) -> tuple[GateFinding, ...]:
    """That kernels of a baseline are not judged, as their sources are not named."""
    if not kernels:
        return ()
    names = list(dict.fromkeys(short_name(each.name) for each in kernels))
    shown = ", ".join(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        shown += f" and {len(names) - _MOST_NAMED} more"
    text = f"kernels not judged, because their sources were not named: {shown}"
    return (GateFinding(Code.IGNORED, Outcome.PASS, text),)


def check_alike(before: Snapshot, after: Snapshot) -> None:
    """Refuse to compare predictions, which have no time, with measurements."""
    predicted = [bool(predicted_architectures(each.kernels)) for each in (before, after)]
    if before.kernels and after.kernels and predicted[0] != predicted[1]:
        side, other = (before, after) if predicted[0] else (after, before)
        raise InputError(
            "one input was predicted and the other was measured",
            where=f"{side.origin}, {other.origin}",
            hint="predict both (kernelprof gate BEFORE.cu AFTER.cu --predict), or measure both",
        )


ROUNDS: Final = 2
"""How often each of two sources is built, checked, timed and profiled."""


def are_sources(before: str, after: str) -> bool:
    """Whether both sides are sources. Raises :class:`UsageError` where just one of them is."""
    cuda = [target.endswith(SOURCES) for target in (before, after)]
    if any(cuda) and not all(cuda):
        source = before if cuda[0] else after
        raise UsageError(
            "one input is a .cu file, but the other is not",
            where=source,
            hint="compare two sources (measured in alternating rounds), or profile this source "
            f"first: kernelprof profile {source} -o DIR",
        )
    return all(cuda)


def pool_runs(runs: Sequence[Snapshot]) -> Snapshot:
    """Runs of the same code as one side. Raises :class:`InputError` if measured differently."""
    first, *others = runs
    for each in others:
        if apart := machine_changes(first.machine, each.machine)[1]:
            raise InputError(
                f"runs that were measured differently cannot be pooled: {apart}",
                where=each.origin,
                hint=f"leave this run out, or measure it in the same way as {first.origin}",
            )
        other = {kernel.key: kernel.inputs for kernel in each.kernels}
        for kernel in first.kernels:
            inputs = other.get(kernel.key)
            if kernel.inputs and inputs and kernel.inputs != inputs:
                raise InputError(
                    f"runs cannot be pooled: {kernel.name} was built or launched differently",
                    where=each.origin,
                    hint=f"name runs of the same code as {first.origin}",
                )
    return join_runs(runs)


def measure(
    before: Path,
    after: Path,
    overrides: LaunchOverrides,
    *,
    rounds: int = ROUNDS,
    progress: Progress | None = None,
    measured: Callable[[Path, ProfileResult], object] = lambda _source, _result: None,
) -> tuple[Snapshot, Snapshot]:
    """Build and measure two sources in turn, A B A B: a drift of the GPU then affects both.

    Recorded captures stand in where there is no GPU. ``measured`` gets each result.
    """
    from kernelprof.collect import session
    from kernelprof.collect.request import ProfileRequest

    runs: tuple[list[Snapshot], list[Snapshot]] = ([], [])
    recorded = False
    for _ in range(rounds):
        if recorded:
            break  # it would be the same again
        for side, source in zip(runs, (before, after), strict=True):
            request = ProfileRequest(source=source, overrides=overrides)
            result = session.measure_for_diagnosis(request, progress=progress)
            recorded |= result.recorded
            measured(source, result)
            text = files.read_bytes(source, MAX_BYTES).decode("utf-8", "replace")
            side.append(make_snapshot(result.capture, result.manifest, text=text))
    return join_runs(runs[0]), join_runs(runs[1])


def read_json_snapshot(path: Path) -> Snapshot:
    """A baseline, or a diagnosis that was written as JSON."""
    text = read_text(path)
    try:
        values = read_object(text, finite=True)
    except RecordError as error:
        raise InputError(
            f"the file cannot be compared: {error}",
            where=str(path),
            hint="name a baseline, or JSON from 'kernelprof diagnose --format json'",
        ) from error
    if values.get("kind") == KIND:
        return from_text(text, str(path)).snapshot(str(path))
    return read_diagnosis(values, str(path))
