"""The baseline: a repository's kernels as they were when somebody last agreed to them.

One small JSON file that lives in the repository. Kernels and keys are sorted and a list of times is
on one line, so that a diff shows what changed. Regressions that were accepted are recorded in it
with who, when and why. All but reading is pure functions: a baseline is made, updated, accepted
into, and calibrated.
"""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof import files
from kernelprof.comparison.counters import COUNTERS, counter_changes
from kernelprof.comparison.gate.policy import Policy
from kernelprof.comparison.inputs import machine_changes
from kernelprof.comparison.pairs import pair_kernels
from kernelprof.comparison.snapshots import from_values, to_values
from kernelprof.comparison.times import time_change
from kernelprof.errors import InputError
from kernelprof.model.comparison import Match, TimeOutcome
from kernelprof.model.diagnosis import Status
from kernelprof.model.gate import Outcome
from kernelprof.model.records import RecordError, read_object
from kernelprof.model.snapshot import (
    EVENTS,
    PROFILER,
    Acceptance,
    KernelSnapshot,
    MeasurementSetup,
    Noise,
    Snapshot,
)
from kernelprof.model.specification import check_shape
from kernelprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SCHEMA_VERSION: Final = "1"
KIND: Final = "kernelprof-baseline"

_DIGITS: Final = 7
_ON_A_LINE: Final = re.compile(r'"\\u0000(\d+)"')
"""What stands for a record that is written on one line."""
_NUMBERS: Final = re.compile(r"\[\n\s+(-?[0-9][^\]\[{}\"]*?)\n\s+\]")


@dataclass(frozen=True, slots=True)
class Baseline:
    """The kernels as they were agreed to, and what was accepted on the way."""

    created: str
    kernelprof: str
    origin: str
    machine: MeasurementSetup
    kernels: tuple[KernelSnapshot, ...]
    accepted: tuple[Acceptance, ...] = ()
    kind: str = KIND
    schema_version: str = SCHEMA_VERSION

    def snapshot(self, origin: str) -> Snapshot:
        """The baseline as a side of a comparison, under the name of its file."""
        return Snapshot(origin, self.created, self.machine, self.kernels, accepted=self.accepted)


def to_text(baseline: Baseline) -> str:
    """The baseline as its file holds it."""
    values = to_values(baseline)
    lines: list[str] = []
    for kernel in values["kernels"]:
        if kernel["predicted"] is not None:
            _set_aside(kernel["predicted"], lines)
        kernel["metrics"] = {
            name: value if name in COUNTERS else _round_value(value)
            for name, value in sorted(kernel["metrics"].items())
        }
        for name in ("events_ns", "profiled_ns"):
            kernel[name] = [_round_value(each) for each in kernel[name]]
    head = {key: values.pop(key) for key in ("schema_version", "kind")}
    text = json.dumps({**head, **values}, indent=1, ensure_ascii=False, allow_nan=False)
    text = _NUMBERS.sub(lambda match: f"[{', '.join(match[1].split())}]".replace(",,", ","), text)
    return _ON_A_LINE.sub(lambda match: lines[int(match[1])], text) + "\n"


def _set_aside(predicted: dict[str, Any], lines: list[str]) -> None:
    # Put a mark in place of each access, line and output, and the text that it stands for aside
    for name in ("accesses", "lines", "outputs"):
        records = predicted[name]
        predicted[name] = [f"\0{len(lines) + at}" for at in range(len(records))]
        lines += (json.dumps(each, ensure_ascii=False, allow_nan=False) for each in records)
    lines.append(json.dumps(predicted["text"]))
    predicted["text"] = f"\0{len(lines) - 1}"


def read_text(path: Path) -> str:
    """The text of a file. Raises :class:`InputError`."""
    try:
        return files.read_text(path.expanduser(), files.LARGEST_JSON, typed=True)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"the file cannot be read: {reason}", where=str(path)) from error


def read_baseline(path: Path) -> Baseline:
    """The baseline in a file, as :func:`from_text`."""
    return from_text(read_text(path), str(path))


def from_text(text: str, where: str) -> Baseline:
    """Parse a baseline; :class:`InputError` for another schema, and with the key of a mistake."""
    try:
        values = read_object(text, finite=True)
        if values.get("kind") != KIND:
            raise RecordError("the file is not a baseline")
        if (version := values.get("schema_version")) != SCHEMA_VERSION:
            raise InputError(
                f"the baseline has schema version {version!r}, but this kernelprof supports only "
                f"version {SCHEMA_VERSION!r}",
                where=where,
                hint="install a newer kernelprof",
            )
        baseline = from_values(Baseline, values)
        for kernel in baseline.kernels:
            _check_kernel(kernel)
    except RecordError as error:
        raise InputError(
            f"the baseline cannot be read: {error}",
            where=where,
            hint="make a baseline with 'kernelprof baseline save CAPTURE -o FILE'",
        ) from error
    return baseline


def _check_kernel(kernel: KernelSnapshot) -> None:
    check_shape(kernel.specification)
    decided = kernel.verdict.status is not Status.INCONCLUSIVE
    numbers = (*kernel.events_ns, *kernel.profiled_ns, *kernel.metrics.values())
    if any(abs(each) > sys.float_info.max for each in numbers):
        raise RecordError(f"{kernel.name!r} has a value too large for a measurement")
    if decided == (kernel.verdict.bottleneck is None) or kernel.passed is False:
        raise RecordError(
            f"{kernel.name!r} has a wrong result, or its verdict status contradicts the bottleneck"
        )


def _round_value(value: float) -> float:
    # Enough digits for any comparison, and not the noise of the last ones
    rounded = float(f"{value:.{_DIGITS}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


FEWEST_CAPTURES: Final = 3
"""With the baseline's own; two give a single difference, which may be small by chance."""


MOST_UNDECIDED: Final = 0.5
"""Part of the time that undecided kernels may take of a new baseline: one of many is held by its
time and counters, and a capture that decides little is one to be made again."""


def make_baseline(snapshot: Snapshot, now: str, policy: Policy | None = None) -> Baseline:
    """Make a baseline of kernels that the policy does not ignore; may raise :class:`InputError`."""
    rules = policy or Policy()
    kernels = tuple(each for each in snapshot.kernels if not rules.ignores(each.name))
    snapshot = replace(snapshot, kernels=kernels)
    _refuse_unusable(snapshot, rules)
    if undecided := _find_undecided(kernels, rules):
        share = _time_share(undecided, kernels)
        if share is None or share > MOST_UNDECIDED:
            much = "" if share is None else f" ({100 * share:.0f} % of the kernel time)"
            raise InputError(
                f"the verdict is inconclusive for {len(undecided)} of {len(kernels)} "
                f"kernels{much}, the first: "
                f"{undecided[0].name}",
                where=snapshot.origin,
                hint="capture more metrics (kernelprof profile --preset full), or judge these "
                'kernels only by time and counters: set inconclusive = "allow" in the policy',
            )
    return Baseline(
        created=snapshot.created or now,
        kernelprof=__version__,
        origin=snapshot.origin,
        machine=snapshot.machine,
        kernels=_sort_kernels(snapshot.kernels),
    )


def _find_undecided(kernels: Sequence[KernelSnapshot], policy: Policy) -> list[KernelSnapshot]:
    if policy.inconclusive is Outcome.PASS:
        return []
    return [
        each
        for each in kernels
        if each.verdict.status is Status.INCONCLUSIVE
        # Of a prediction counts are held, whatever its verdict.
        and each.predicted is None
        and policy.inconclusive_of(each.name) is not Outcome.PASS
    ]


def _time_share(some: Sequence[KernelSnapshot], kernels: Sequence[KernelSnapshot]) -> float | None:
    times = [each.total_ns for each in kernels]
    if any(each is None for each in times):
        return None
    return sum(each.total_ns or 0.0 for each in some) / sum(each or 0.0 for each in times)


def update(
    baseline: Baseline, candidate: Snapshot, now: str, policy: Policy | None = None
) -> Baseline:
    """Replace the baseline by the candidate; acceptances stay on record.

    On the same machine unchanged kernels keep noise and times: small slowdowns would add up.
    """
    fresh = make_baseline(candidate, now, policy)
    if machine_changes(baseline.machine, fresh.machine)[1] is not None:
        return replace(fresh, accepted=baseline.accepted)
    old = {each.key: each for each in baseline.kernels}
    kernels = tuple(_keep_times(old.get(each.key), each) for each in fresh.kernels)
    return replace(fresh, kernels=kernels, accepted=baseline.accepted)


def add_kernels(baseline: Baseline, kernels: Sequence[KernelSnapshot]) -> Baseline:
    """A baseline with kernels that the candidate says nothing of, as they were."""
    return replace(baseline, kernels=_sort_kernels([*baseline.kernels, *kernels]))


def _keep_times(old: KernelSnapshot | None, new: KernelSnapshot) -> KernelSnapshot:
    # A kernel with the noise, and where they are the same the times, that it had
    if old is None:
        return new
    fields = ["noise"]
    if time_change(old, new, None).outcome is TimeOutcome.SAME:
        fields += ["events_ns", "profiled_ns", "median_ns"]
    return replace(new, **{name: getattr(old, name) for name in fields})


def accept(
    baseline: Baseline, candidate: Snapshot, kernels: Sequence[str], consent: Acceptance
) -> Baseline:
    """Put kernels of the candidate into the baseline, all without names; ``consent`` says why.

    Named kernels that the candidate lacks leave the baseline.
    """
    names = {each.name for each in (*baseline.kernels, *candidate.kernels)}
    missing = set(kernels) - names
    if missing or not candidate.kernels:
        raise InputError(
            f"no kernel is named {', '.join(sorted(missing))}"
            if missing
            else "the candidate has no kernels",
            where=candidate.origin,
            hint="available: " + "; ".join(sorted(names)[:10]),
        )
    chosen = set(kernels) or names
    pairs = [
        (kind, old, new)
        for kind, old, new in pair_kernels(baseline.kernels, candidate.kernels)
        if {side.name for side in (old, new) if side is not None} & chosen
    ]
    replacements = tuple(new for _, _, new in pairs if new is not None)
    if replacements:
        _refuse_unusable(replace(candidate, kernels=replacements), Policy())
    apart = machine_changes(baseline.machine, candidate.machine)[1]
    left = [each for each in baseline.kernels if all(each is not old for _, old, _ in pairs)]
    if apart is not None and left:
        raise InputError(
            f"the candidate was measured differently from the baseline: {apart}",
            where=candidate.origin,
            hint="accept the whole candidate (without --kernel), or measure it in the same way as "
            "the baseline",
        )
    fresh = [
        replace(new, noise=old.noise if kind is Match.SAME and old and not apart else None)
        for kind, old, new in pairs
        if new is not None
    ]
    records = [
        replace(
            consent,
            kernel=side.name,
            before=old.verdict if old else None,
            after=new.verdict if new else None,
            before_ns=old.median_ns if old else None,
            after_ns=new.median_ns if new else None,
        )
        for _, old, new in pairs
        if (side := new or old) is not None
    ]
    return replace(
        baseline,
        created=consent.when,
        machine=baseline.machine if left else candidate.machine,
        kernels=_sort_kernels([*left, *fresh]),
        accepted=(*baseline.accepted, *records),
    )


def _refuse_unusable(snapshot: Snapshot, policy: Policy) -> None:
    if not snapshot.kernels:
        raise InputError(
            "the input has no kernels, or the policy ignores all of them", where=snapshot.origin
        )
    if snapshot.damage and policy.damaged is not Outcome.PASS:
        raise InputError(
            f"the capture is incomplete and cannot be a baseline: {snapshot.damage[0]}",
            where=snapshot.origin,
            hint='capture again, or allow incomplete captures: set damaged = "allow" in the policy',
        )
    for kernel in snapshot.kernels:
        if kernel.passed is False:
            raise InputError(
                f"{kernel.name} computes a wrong result and cannot be stored in a baseline",
                where=snapshot.origin,
                hint="correct the kernel, and capture it again",
            )
        nothing = kernel.median_ns is None and not set(kernel.metrics) & set(COUNTERS)
        if kernel.verdict.status is Status.INCONCLUSIVE and nothing:
            raise InputError(
                f"the capture has no verdict, time or exact counter for {kernel.name}",
                where=snapshot.origin,
                hint="capture more metrics: kernelprof profile --preset full",
            )


def _sort_kernels(kernels: Sequence[KernelSnapshot]) -> tuple[KernelSnapshot, ...]:
    return tuple(sorted(kernels, key=lambda each: (each.name, each.grid or (), each.block or ())))


def calibrate_noise(
    baseline: Baseline, repeats: Sequence[Snapshot]
) -> tuple[Baseline, tuple[str, ...]]:
    """Measure the noise of kernels over captures; also return the names of those without any.

    The floor is the largest difference of two median times.
    """
    if len(repeats) + 1 < FEWEST_CAPTURES:
        raise InputError(
            "one capture is not enough to calibrate the noise"
            if len(repeats) == 1
            else "there is no capture to calibrate with",
            hint=f"name at least {FEWEST_CAPTURES - 1} captures, each a separate run of the same "
            "code",
        )
    for each in repeats:
        if apart := machine_changes(baseline.machine, each.machine)[1]:
            raise InputError(
                f"this capture was measured differently from the baseline: {apart}",
                where=each.origin,
            )
    kernels, without = [], []
    for kernel in baseline.kernels:
        runs = [replace(kernel, noise=None), *_find_repeats(kernel, repeats)]
        noise = _measure_noise(runs) if len(runs) >= FEWEST_CAPTURES else None
        if noise is None:
            without.append(kernel.name)
        kernels.append(replace(kernel, noise=noise or kernel.noise))
    if len(without) == len(kernels):
        raise InputError(
            f"no kernel has times in the baseline and in at least {FEWEST_CAPTURES - 1} of "
            "these captures",
            where=repeats[0].origin,
            hint=f"name captures of the same code as {baseline.origin}",
        )
    return replace(baseline, kernels=tuple(kernels)), tuple(without)


def _find_repeats(kernel: KernelSnapshot, repeats: Sequence[Snapshot]) -> list[KernelSnapshot]:
    repeated = []
    for repeat in repeats:
        for other in (each for each in repeat.kernels if each.key == kernel.key):
            if kernel.inputs and other.inputs and kernel.inputs != other.inputs:
                raise InputError(
                    f"{kernel.name} was built from another source or with other options",
                    where=repeat.origin,
                    hint="calibrate with captures of the baseline's code",
                )
            repeated.append(other)
    return repeated


def _measure_noise(runs: Sequence[KernelSnapshot]) -> Noise | None:
    varying: dict[str, float] = {}
    for one, other in combinations(runs, 2):
        for change in counter_changes(one, other)[0]:
            low, high = sorted((change.before, change.after))
            apart = high / low - 1 if low else math.inf
            varying[change.metric] = max(varying.get(change.metric, 0.0), apart)
    finite = {name: _round_noise(by) for name, by in sorted(varying.items()) if by < math.inf}
    for how, times in (
        (EVENTS, [each.events_ns for each in runs]),
        (PROFILER, [each.profiled_ns for each in runs]),
    ):
        if all(each and min(each) > 0 for each in times):
            medians = [float(np.median(each)) for each in times]
            return Noise(_round_noise(max(medians) / min(medians) - 1), len(runs), how, finite)
    return None


def _round_noise(value: float) -> float:
    return float(f"{value:.3g}")
