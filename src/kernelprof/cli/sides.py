"""The sides of a comparison: captures, exports, reports, baselines, and diagnoses as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernelprof.compare.gate.baseline import Baseline
    from kernelprof.launch.overrides import LaunchOverrides
    from kernelprof.model.snapshot import Snapshot

    Side = tuple[Snapshot, dict[str, str]]

ROUNDS = 2
"""How often each of two sources is built, checked, timed and profiled."""


def load(target: str) -> Side:
    """A snapshot, and the texts of its sources by their hash."""
    from kernelprof.analysis.verdict import diagnose
    from kernelprof.cli.report import beside, source_text
    from kernelprof.compare.take import snapshot_of
    from kernelprof.sources import read_capture

    if Path(target).suffix.lower() == ".json":
        return _of_json(Path(target)), {}
    capture = read_capture(target)
    known = beside(target)
    snapshot = snapshot_of(capture, diagnose(capture), known.manifest)
    text = source_text(known.manifest, known.place)
    if text is None or known.manifest is None or known.manifest.source is None:
        return snapshot, {}
    return snapshot, {known.manifest.source.sha256: text}


def measure(
    before: Path, after: Path, overrides: LaunchOverrides, *, rounds: int = ROUNDS
) -> tuple[Side, Side]:
    """Two sources, built and measured in turn: A B A B, so that a drift of the GPU hits both.

    Where they cannot be measured, their recorded captures are taken.
    """
    from kernelprof.analysis.verdict import diagnose
    from kernelprof.cli.remarks import remark
    from kernelprof.collect import session
    from kernelprof.collect.request import ProfileRequest
    from kernelprof.compare.take import joined, snapshot_of
    from kernelprof.report.measurement import summary
    from kernelprof.report.progress import ProgressLine

    runs: dict[int, list[Snapshot]] = {0: [], 1: []}
    texts: list[dict[str, str]] = [{}, {}]
    recorded = False
    for _ in range(rounds):
        if recorded:
            break  # it would be the same again
        for side, source in enumerate((before, after)):
            request = ProfileRequest(source=source, overrides=overrides)
            found = session.measure(request, progress=ProgressLine())
            recorded |= found.recorded
            remark(f"{source.name}: {line}" for line in summary(found))
            capture = found.capture
            runs[side].append(snapshot_of(capture, diagnose(capture), found.manifest))
            facts = found.manifest.source
            if facts is not None:
                texts[side] = {facts.sha256: source.read_text("utf-8", "replace")}
    return (joined(runs[0]), texts[0]), (joined(runs[1]), texts[1])


def load_baseline(path: Path, *, migrate: bool = False) -> Baseline:
    """The baseline in a file."""
    from kernelprof.compare.gate.baseline import from_text

    return from_text(_read(path), str(path), migrate=migrate)


def _of_json(path: Path) -> Snapshot:
    """A baseline, or a diagnosis that was written as JSON."""
    from kernelprof.compare.gate.baseline import KIND, from_text
    from kernelprof.compare.take import snapshot_of_json
    from kernelprof.errors import InputError
    from kernelprof.model.records import RecordError, read_object

    text = _read(path)
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


def _read(path: Path) -> str:
    from kernelprof.errors import InputError

    try:
        return path.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"the file cannot be read: {reason}", where=str(path)) from error
