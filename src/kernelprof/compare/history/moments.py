"""Captures and baselines as moments: a date, a machine, and what the kernels were like then."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kernelprof.compare.gate.baseline import from_text
from kernelprof.errors import InputError, KernelprofError
from kernelprof.model.history import Accepted, Kind, Moment

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.model.history import Commit

Unreadable = (KernelprofError, OSError, ValueError, RecursionError)
"""What a file that is no capture any more can make a reader raise."""


def of_capture(folder: Path, origin: str) -> Moment:
    """A capture directory, diagnosed. Raises one of :data:`Unreadable`."""
    from kernelprof.analysis.verdict import diagnose
    from kernelprof.compare.take import snapshot_of
    from kernelprof.sources.capture_directory import read_manifest, read_stored

    manifest = read_manifest(folder)
    date = utc(manifest.created, origin)
    capture = read_stored(folder)
    snapshot = snapshot_of(capture, diagnose(capture), manifest)
    return Moment(date, origin, Kind.CAPTURE.value, snapshot.machine, snapshot.kernels)


def of_baseline(
    text: str, origin: str, *, date: str | None = None, commit: Commit | None = None
) -> Moment:
    """A baseline, at its own date unless another one is given. Raises :class:`InputError`."""
    baseline = from_text(text, origin)
    return Moment(
        date=utc(baseline.created if date is None else date, origin),
        origin=origin,
        kind=Kind.BASELINE.value,
        machine=baseline.machine,
        kernels=baseline.kernels,
        accepted=tuple(
            Accepted(each.kernel, each.when, each.who, each.reason, each.after_ns)
            for each in baseline.accepted
        ),
        commit=commit,
    )


def utc(text: str, where: str | None = None) -> str:
    """A date of ISO 8601 as ``YYYY-MM-DDTHH:MM:SSZ``; without a zone it is UTC."""
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is None:
            found = found.replace(tzinfo=UTC)
        moved = found.astimezone(UTC).replace(tzinfo=None)
        return f"{moved.isoformat(timespec='seconds')}Z"
    except (ValueError, OverflowError) as error:
        raise InputError(f"{text!r:.40} is no date", where=where) from error
