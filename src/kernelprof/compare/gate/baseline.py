"""The baseline: what a repository's kernels were like when somebody last agreed to it.

One small JSON file that lives in the repository. Kernels and keys are sorted and a list of times
stands on one line, so that a diff shows what changed. Regressions that were accepted are recorded
in it with who, when and why.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import kernelprof
from kernelprof.compare.counters import COUNTERS
from kernelprof.compare.machines import machine_changes
from kernelprof.compare.match import match
from kernelprof.compare.times import time_change
from kernelprof.errors import InputError
from kernelprof.model.comparison import Match, TimeOutcome
from kernelprof.model.diagnosis import Status
from kernelprof.model.records import RecordError, build, read_object
from kernelprof.model.snapshot import KernelSnapshot, Machine, Said, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SCHEMA_VERSION: Final = "1"
KIND: Final = "kernelprof-baseline"

MIGRATIONS: Final[Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {}
"""What makes a baseline of the next schema version of one of this version. Version 1 is the first:
there is nothing to migrate yet."""

_DIGITS: Final = 7
_NUMBERS: Final = re.compile(r"\[\n\s+(-?[0-9][^\]\[{}\"]*?)\n\s+\]")


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A regression that somebody accepted; times are UTC in ISO 8601."""

    kernel: str
    when: str
    who: str
    reason: str
    before: Said | None
    after: Said | None
    before_ns: float | None = None
    after_ns: float | None = None


@dataclass(frozen=True, slots=True)
class Consent:
    """Who accepts something, why, and when."""

    who: str
    reason: str
    when: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """The kernels as they were agreed to, and what was accepted on the way."""

    created: str
    kernelprof: str
    origin: str
    machine: Machine
    kernels: tuple[KernelSnapshot, ...]
    accepted: tuple[Acceptance, ...] = ()
    kind: str = KIND
    schema_version: str = SCHEMA_VERSION

    def snapshot(self, origin: str) -> Snapshot:
        """The baseline as a side of a comparison, under the name of its file."""
        return Snapshot(origin, self.created, self.machine, self.kernels)


def baseline_of(snapshot: Snapshot, now: str) -> Baseline:
    """A new baseline. Raises :class:`InputError` where a kernel must not be one."""
    refuse(snapshot)
    return Baseline(
        created=snapshot.created or now,
        kernelprof=kernelprof.__version__,
        origin=snapshot.origin,
        machine=snapshot.machine,
        kernels=_sorted(snapshot.kernels),
    )


def updated(baseline: Baseline, candidate: Snapshot, now: str) -> Baseline:
    """The candidate in place of the baseline; what was accepted stays on record.

    Noise that was calibrated stays with kernels that are still the same on the same machine, and so
    do their times where the new ones are the same: many small slowdowns would otherwise add up.
    """
    fresh = baseline_of(candidate, now)
    if machine_changes(baseline.machine, fresh.machine)[1] is not None:
        return replace(fresh, accepted=baseline.accepted)
    old = {each.key: each for each in baseline.kernels}
    kernels = tuple(_held(old.get(each.key), each) for each in fresh.kernels)
    return replace(fresh, kernels=kernels, accepted=baseline.accepted)


def _held(old: KernelSnapshot | None, new: KernelSnapshot) -> KernelSnapshot:
    """A kernel with the noise, and where they are the same the times, that it had."""
    if old is None:
        return new
    if time_change(old, new, None).outcome is not TimeOutcome.SAME:
        return replace(new, noise=old.noise)
    return replace(
        new,
        noise=old.noise,
        events_ns=old.events_ns,
        profiled_ns=old.profiled_ns,
        median_ns=old.median_ns,
    )


def accepted(
    baseline: Baseline, candidate: Snapshot, kernels: Sequence[str], consent: Consent
) -> Baseline:
    """The baseline with kernels of the candidate in place of its own, and why.

    ``kernels`` are names, empty for all. Kernels that are not named stay as they are; those that
    are and that the candidate does not have any more leave the baseline.
    """
    known = {each.name for each in (*baseline.kernels, *candidate.kernels)}
    missing = set(kernels) - known
    if missing or not candidate.kernels:
        raise InputError(
            f"there is no kernel {', '.join(sorted(missing)) or 'at all'}",
            where=candidate.origin,
            hint="there are: " + "; ".join(sorted(known)[:10]),
        )
    chosen = set(kernels) or known
    pairs = [
        (kind, old, new)
        for kind, old, new in match(baseline.kernels, candidate.kernels)
        if {side.name for side in (old, new) if side is not None} & chosen
    ]
    taken = tuple(new for _, _, new in pairs if new is not None)
    if taken:
        refuse(replace(candidate, kernels=taken))
    apart = machine_changes(baseline.machine, candidate.machine)[1]
    left = [each for each in baseline.kernels if all(each is not old for _, old, _ in pairs)]
    if apart is not None and left:
        raise InputError(
            f"the candidate was not measured as the baseline was: {apart}",
            where=candidate.origin,
            hint="accept all of its kernels, which takes its machine along, or measure it alike",
        )
    fresh = [
        replace(new, noise=old.noise if kind is Match.SAME and old and not apart else None)
        for kind, old, new in pairs
        if new is not None
    ]
    records = [_record(old, new, consent) for _, old, new in pairs]
    return replace(
        baseline,
        created=consent.when,
        machine=baseline.machine if left else candidate.machine,
        kernels=_sorted([*left, *fresh]),
        accepted=(*baseline.accepted, *records),
    )


def _record(old: KernelSnapshot | None, new: KernelSnapshot | None, consent: Consent) -> Acceptance:
    """What was accepted: a change, a new kernel, or that one is gone."""
    named = new or old
    assert named is not None  # a pair has a side
    return Acceptance(
        kernel=named.name,
        when=consent.when,
        who=consent.who,
        reason=consent.reason,
        before=old.verdict if old is not None else None,
        after=new.verdict if new is not None else None,
        before_ns=old.median_ns if old is not None else None,
        after_ns=new.median_ns if new is not None else None,
    )


def refuse(snapshot: Snapshot) -> None:
    """Refuse what is no measure for others: no kernel, an inconclusive or a wrong one."""
    if not snapshot.kernels:
        raise InputError("there is no kernel to record", where=snapshot.origin)
    for kernel in snapshot.kernels:
        if kernel.passed is False:
            raise InputError(
                f"the result of {kernel.name} is wrong, and a wrong kernel is no baseline",
                where=snapshot.origin,
                hint="correct it, and capture it again",
            )
        if kernel.verdict.status == Status.INCONCLUSIVE:
            raise InputError(
                f"the verdict on {kernel.name} is inconclusive, and nothing can be held against it",
                where=snapshot.origin,
                hint="capture it with more metrics: kernelprof profile --preset full",
            )


def to_text(baseline: Baseline) -> str:
    """The baseline as its file holds it."""
    values = asdict(baseline)
    for kernel in values["kernels"]:
        kernel["metrics"] = {
            name: value if name in COUNTERS else _rounded(value)
            for name, value in sorted(kernel["metrics"].items())
        }
        for name in ("events_ns", "profiled_ns"):
            kernel[name] = [_rounded(each) for each in kernel[name]]
    head = {key: values.pop(key) for key in ("schema_version", "kind")}
    text = json.dumps({**head, **values}, indent=1, ensure_ascii=False, allow_nan=False)
    return (
        _NUMBERS.sub(lambda found: f"[{', '.join(found[1].split())}]".replace(",,", ","), text)
        + "\n"
    )


def from_text(text: str, where: str, *, migrate: bool = False) -> Baseline:
    """The baseline in a text. One of an older schema is read only to ``migrate`` it.

    Raises :class:`InputError` for a newer schema, and with the key for any mistake.
    """
    try:
        values = read_object(text, finite=True)
        if values.get("kind") != KIND:
            raise RecordError("it is not a baseline")
        values = _current(values, where, migrate=migrate)
        found = build(Baseline, values)
        for kernel in found.kernels:
            _check(kernel)
    except RecordError as error:
        raise InputError(
            f"the baseline cannot be read: {error}",
            where=where,
            hint="make one with 'kernelprof baseline save CAPTURE -o FILE'",
        ) from error
    return found


def _check(kernel: KernelSnapshot) -> None:
    """Refuse what no command writes."""
    if kernel.verdict.status not in {Status.BOTTLENECK, Status.AT_LIMIT}:
        raise RecordError(f"{kernel.name!r} has the status {kernel.verdict.status!r}")
    numbers = (*kernel.events_ns, *kernel.profiled_ns, *kernel.metrics.values())
    if any(abs(each) > sys.float_info.max for each in numbers):
        raise RecordError(f"{kernel.name!r} has a number that no measurement gives")
    if kernel.verdict.bottleneck is None or kernel.passed is False:
        raise RecordError(f"{kernel.name!r} is no kernel to hold anything against")


def _current(values: dict[str, Any], where: str, *, migrate: bool) -> dict[str, Any]:
    """The values in the schema of today."""
    version = values.get("schema_version")
    if version == SCHEMA_VERSION:
        return values
    if not isinstance(version, str) or version not in MIGRATIONS:
        raise InputError(
            f"the baseline has schema version {version!r}, and this kernelprof knows "
            f"{SCHEMA_VERSION!r} at most",
            where=where,
            hint="install a newer kernelprof",
        )
    if not migrate:
        raise InputError(
            f"the baseline has schema version {version!r}, which is older than {SCHEMA_VERSION!r}",
            where=where,
            hint=f"kernelprof baseline migrate {where}",
        )
    while version in MIGRATIONS:
        values = MIGRATIONS[version](values)
        version = str(values.get("schema_version"))
    return values


def _sorted(kernels: Sequence[KernelSnapshot]) -> tuple[KernelSnapshot, ...]:
    return tuple(sorted(kernels, key=lambda each: (each.name, each.grid or (), each.block or ())))


def _rounded(value: float) -> float:
    """Enough digits for any comparison, and not the noise of the last ones."""
    rounded = float(f"{value:.{_DIGITS}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded
