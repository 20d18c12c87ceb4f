"""The sides of a comparison: captures, exports, reports, baselines, diagnoses as JSON, sources."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kernelprof import files
from kernelprof.analysis.verdict import diagnose
from kernelprof.comparison.gate.baseline import KIND, from_text, read_text
from kernelprof.comparison.inputs import machine_changes
from kernelprof.comparison.snapshots import joined, snapshot_of, snapshot_of_json
from kernelprof.errors import InputError, UsageError
from kernelprof.launch.source import MAX_BYTES
from kernelprof.model.records import RecordError, read_object

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from kernelprof.collect.progress import Progress
    from kernelprof.collect.session import ProfileResult
    from kernelprof.launch.overrides import LaunchOverrides
    from kernelprof.model.capture import Capture
    from kernelprof.model.manifest import Manifest
    from kernelprof.model.prediction import PredictionFacts
    from kernelprof.model.snapshot import Snapshot

ROUNDS: Final = 2
"""How often each of two sources is built, checked, timed and profiled."""

SOURCES: Final = (".cu", ".cuh")


def are_sources(before: str, after: str) -> bool:
    """Whether both sides are sources. Raises :class:`UsageError` where just one of them is."""
    found = [target.endswith(SOURCES) for target in (before, after)]
    if any(found) and not all(found):
        source = before if found[0] else after
        raise UsageError(
            "one is a source and the other is not",
            where=source,
            hint="compare two sources, which are measured in turn, or profile this one first: "
            f"kernelprof profile {source} -o DIR",
        )
    return all(found)


def pooled(runs: Sequence[Snapshot]) -> Snapshot:
    """Runs of the same code as one side. Raises :class:`InputError` if measured differently."""
    first, *others = runs
    for each in others:
        if apart := machine_changes(first.machine, each.machine)[1]:
            raise InputError(
                f"these runs are taken together, and were not measured alike: {apart}",
                where=each.origin,
                hint=f"leave one of them out, or measure all as {first.origin} was",
            )
        other = {kernel.key: kernel.inputs for kernel in each.kernels}
        for kernel in first.kernels:
            inputs = other.get(kernel.key)
            if kernel.inputs and inputs and kernel.inputs != inputs:
                raise InputError(
                    f"these runs are taken together, and {kernel.name} was built or launched from "
                    "something else",
                    where=each.origin,
                    hint=f"name runs of the code that {first.origin} is of",
                )
    return joined(runs)


def snapshot(
    capture: Capture,
    manifest: Manifest | None,
    text: str | None,
    prediction: PredictionFacts | None = None,
) -> Snapshot:
    """The snapshot of a capture, with the text of its source where that is known."""
    taken = snapshot_of(capture, diagnose(capture), manifest, prediction)
    source = prediction.source if prediction else manifest.source if manifest else None
    if text is None or source is None:
        return taken
    return replace(taken, sources={source.sha256: text})


def measure(
    before: Path,
    after: Path,
    overrides: LaunchOverrides,
    *,
    rounds: int = ROUNDS,
    progress: Progress | None = None,
    measured: Callable[[Path, ProfileResult], object] = lambda _source, _result: None,
) -> tuple[Snapshot, Snapshot]:
    """Two sources, built and measured in turn: A B A B, so that a drift of the GPU hits both.

    Where they cannot be measured, their recorded captures are taken. ``progress`` shows what is
    being done, and ``measured`` is called with the result of each run.
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
            found = session.measure(request, progress=progress)
            recorded |= found.recorded
            measured(source, found)
            text = files.read_bytes(source, MAX_BYTES).decode("utf-8", "replace")
            side.append(snapshot(found.capture, found.manifest, text))
    return joined(runs[0]), joined(runs[1])


def of_json(path: Path) -> Snapshot:
    """A baseline, or a diagnosis that was written as JSON."""
    text = read_text(path)
    try:
        values = read_object(text, finite=True)
    except RecordError as error:
        raise InputError(
            f"this cannot be compared: {error}",
            where=str(path),
            hint="expected a baseline, or what 'kernelprof diagnose --format json' writes",
        ) from error
    if values.get("kind") == KIND:
        return from_text(text, str(path)).snapshot(str(path))
    return snapshot_of_json(values, str(path))
