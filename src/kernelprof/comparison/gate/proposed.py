"""What a change under review would put in place of the policy and the baseline that judge it.

Neither of the proposed two judges anything: whoever opens a pull request could otherwise bring the
measure along that it is held against. They are compared with the trusted ones, and each difference
is a finding that stops the change until somebody accepts it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final, TypeVar

from kernelprof.comparison.counters import COUNTERS
from kernelprof.comparison.gate.policy import Policy
from kernelprof.comparison.gate.policy_changes import Change, policy_changes
from kernelprof.errors import KernelprofError
from kernelprof.model.gate import Code, Finding, Outcome
from kernelprof.model.names import labels, printable
from kernelprof.model.numbers import count, number, quantity
from kernelprof.model.snapshot import Acceptance, KernelSnapshot, Machine, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kernelprof.model.diagnosis import Verdict
    from kernelprof.model.gate import GateResult
    from kernelprof.model.snapshot import Key

    Read = TypeVar("Read")

MOST: Final = 50
"""Differences of one file that are named; the others are counted."""

_MOST_COUNTERS: Final = 3
_REASON_WIDTH: Final = 200
_NAME_WIDTH: Final = 100
_OF_FILES: Final = {Code.POLICY_CHANGED: "policy", Code.BASELINE_CHANGED: "baseline"}
_TOLD_APART: Final = frozenset(
    {"name", "grid", "block", "median_ns", "events_ns", "profiled_ns", "metrics", "verdict"}
    | {"noise", "launches", "predicted"}
)
"""Fields of a kernel that have words of their own, or make it another kernel."""

_MACHINE: Final = {
    "gpu": ("GPU", ""),
    "cuda": ("CUDA", ""),
    "ncu": ("Nsight Compute", ""),
    "sm_hz": ("SM clock", "hz"),
    "rough_sm_hz": ("SM clock of short launches", "hz"),
}


@dataclass(frozen=True, slots=True)
class Missing:
    """A file that the change would remove."""


def attempt(read: Callable[[], Read]) -> Read | KernelprofError:
    """What a reader gives, or its error: a file that strangers wrote must not end the gate."""
    try:
        return read()
    except KernelprofError as error:
        return error
    except (RecursionError, ValueError, OSError) as error:
        return KernelprofError(f"{type(error).__name__}: {error}")


def with_proposed(
    result: GateResult,
    policy: Policy,
    findings: Iterable[Finding],
) -> GateResult:
    """The result with findings of what was proposed, which ``policy`` may count as failures."""
    found = tuple(findings)
    worst = Outcome.PASS
    if any(each.outcome is not Outcome.PASS for each in found):
        fails = policy.inconclusive is Outcome.REGRESSION
        worst = Outcome.REGRESSION if fails else Outcome.INCONCLUSIVE
    outcome = max(result.outcome, worst, key=list(Outcome).index)
    # The first of them is the reason that is given.
    stopping = worst is not Outcome.PASS
    general = (*found, *result.general) if stopping else (*result.general, *found)
    return replace(result, outcome=outcome, general=general)


def policy_findings(
    trusted: Policy, proposed: Policy | Missing | KernelprofError, *, accepted: bool = False
) -> tuple[Finding, ...]:
    """A finding for each key that would judge otherwise, those that let more pass first."""
    if isinstance(proposed, Policy):
        changes: Sequence[Change] = policy_changes(trusted, proposed)
    else:
        changes = _not_there(proposed)
    return _findings(Code.POLICY_CHANGED, changes, accepted=accepted)


def baseline_findings(
    trusted: Snapshot, proposed: Snapshot | Missing | KernelprofError, *, accepted: bool = False
) -> tuple[Finding, ...]:
    """A finding for each kernel that would be held against something else."""
    if isinstance(proposed, Snapshot) and not trusted.kernels:
        text = f"it is the first one, of {count(len(proposed.kernels), 'kernel')}"
        changes: Sequence[Change] = (Change(text, looser=True),)
    elif isinstance(proposed, Snapshot):
        changes = tuple(_baseline(trusted, proposed))
    else:
        changes = _not_there(proposed)
    return _findings(Code.BASELINE_CHANGED, changes, accepted=accepted)


def _not_there(proposed: Missing | KernelprofError) -> tuple[Change, ...]:
    if isinstance(proposed, Missing):
        return (Change("the file would be gone", looser=True),)
    return (Change(f"the file cannot be read: {proposed.what}", looser=True),)


def _findings(code: Code, changes: Sequence[Change], *, accepted: bool) -> tuple[Finding, ...]:
    ordered = sorted(changes, key=lambda each: not each.looser)
    outcome = Outcome.PASS if accepted else Outcome.INCONCLUSIVE
    head = f"the {_OF_FILES[code]} {'changes, as accepted' if accepted else 'would change'}"
    texts = [printable(each.text) for each in ordered[:MOST]]
    if len(ordered) > MOST:
        texts.append(count(len(ordered) - MOST, "more difference"))
    return tuple(Finding(code, outcome, f"{head}: {text}") for text in texts)


def _baseline(old: Snapshot, new: Snapshot) -> Iterator[Change]:
    names = _labels(old, new)
    before, after = _numbered(old), _numbered(new)
    fresh = [each for each in new.accepted if each not in old.accepted]
    told: set[str] = set()
    for key in dict.fromkeys((*before, *after)):
        one, other = before.get(key), after.get(key)
        if one == other:
            continue
        name = key[0][0]
        reasons = [each for each in fresh if each.kernel == name]
        told.add(name)
        parts = tuple(_kernel(one, other))
        text = "; ".join(each.text for each in parts)
        text = f"{names[key[0]]}: {text}{''.join(map(_consent, reasons))}"
        yield Change(text, any(each.looser for each in parts))
    yield from _machine(old.machine, new.machine)
    for each in fresh:
        if each.kernel not in told:
            yield Change(f"{_short(each.kernel)}: as it was{_consent(each)}", looser=False)
    for each in old.accepted:
        if each not in new.accepted:
            text = f"{_short(each.kernel)}: the record of what {_short(each.who)} accepted is gone"
            yield Change(text, looser=True)


def _numbered(side: Snapshot) -> dict[tuple[Key, int], KernelSnapshot]:
    """The kernels by name and launch; a second one of the same must not hide the first."""
    seen: Counter[Key] = Counter()
    found = {}
    for each in side.kernels:
        found[each.key, seen[each.key]] = each
        seen[each.key] += 1
    return found


def _labels(old: Snapshot, new: Snapshot) -> dict[Key, str]:
    """Names of kernels, with the launch where one name has several."""
    kernels = list({each.key: each for side in (old, new) for each in side.kernels}.values())
    named = zip(kernels, labels(kernels), strict=True)
    return {each.key: _short(" ".join(filter(None, label))) for each, label in named}


def _short(text: str, width: int = _NAME_WIDTH) -> str:
    line = printable(text)
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _consent(record: Acceptance) -> str:
    """What the change itself says of it: whoever wrote the file wrote that too."""
    reason = _short(record.reason, _REASON_WIDTH)
    return f"; recorded as accepted by {_short(record.who)}: {reason}"


def _kernel(old: KernelSnapshot | None, new: KernelSnapshot | None) -> Iterator[Change]:
    if old is None or new is None:
        yield Change("new" if old is None else "gone", looser=new is None)
        return
    yield from _time(old, new)
    yield from _noise(old, new)
    yield from _counters(old, new)
    if old.verdict != new.verdict:
        sides = (_verdict(old.verdict), _verdict(new.verdict))
        what = f"{sides[0]} to {sides[1]}" if sides[0] != sides[1] else "other gain or runners-up"
        yield Change(f"verdict {what}", looser=True)
    if old.launches != new.launches:
        more = new.launches > old.launches
        yield Change(f"launches {old.launches:,} to {new.launches:,}", looser=more)
    if old.predicted != new.predicted:
        yield Change("other machine code, or counts of its lines", looser=True)
    rest = [
        each.name.removesuffix("_bytes").replace("_", " ")
        for each in fields(KernelSnapshot)
        if each.name not in _TOLD_APART and getattr(old, each.name) != getattr(new, each.name)
    ]
    if rest:
        yield Change(f"other {', '.join(rest)}", looser=True)


def _time(old: KernelSnapshot, new: KernelSnapshot) -> Iterator[Change]:
    if old.median_ns != new.median_ns:
        sides = [
            "no time" if each.median_ns is None else quantity(each.median_ns, "ns")
            for each in (old, new)
        ]
        if sides[0] == sides[1]:
            sides = [f"{each.median_ns:,} ns" for each in (old, new)]
        slower = not (old.median_ns and new.median_ns) or new.median_ns > old.median_ns
        yield Change(f"{sides[0]} to {sides[1]}", looser=slower)
    elif (old.events_ns, old.profiled_ns) != (new.events_ns, new.profiled_ns):
        yield Change("other times of single launches", looser=True)


def _noise(old: KernelSnapshot, new: KernelSnapshot) -> Iterator[Change]:
    if old.noise == new.noise:
        return
    sides = [
        "not calibrated" if each.noise is None else f"{100 * each.noise.floor:.3g} %"
        for each in (old, new)
    ]
    if sides[0] != sides[1]:
        yield Change(f"noise {sides[0]} to {sides[1]}", looser=True)
    else:
        yield Change("other noise of counters or captures", looser=True)


def _counters(old: KernelSnapshot, new: KernelSnapshot) -> Iterator[Change]:
    """Exact counters decide; other metrics only explain."""
    names = [
        name
        for name in dict.fromkeys((*old.metrics, *new.metrics))
        if old.metrics.get(name) != new.metrics.get(name)
    ]
    exact = [name for name in names if name in COUNTERS]
    texts = [
        f"{COUNTERS[name].label} {_value(old, name)} to {_value(new, name)}"
        for name in exact[:_MOST_COUNTERS]
    ]
    if len(exact) > _MOST_COUNTERS:
        texts.append(count(len(exact) - _MOST_COUNTERS, "more exact counter"))
    yield from (Change(text, looser=True) for text in texts)
    if others := len(names) - len(exact):
        yield Change(count(others, "other metric"), looser=False)


def _value(kernel: KernelSnapshot, name: str) -> str:
    found = kernel.metrics.get(name)
    return "none" if found is None else number(found)


def _verdict(verdict: Verdict) -> str:
    return _short(verdict.bottleneck or verdict.status.value)


def _machine(old: Machine, new: Machine) -> Iterator[Change]:
    for each in fields(Machine):
        before, after = (getattr(side, each.name) for side in (old, new))
        if before != after:
            label, unit = _MACHINE.get(each.name, (each.name.replace("_", " "), ""))
            sides = (_fact(before, unit), _fact(after, unit))
            # Clocks scatter from run to run: what does not show in three digits decides nothing.
            if sides[0] != sides[1]:
                yield Change(f"{label} {sides[0]} to {sides[1]}", looser=True)


def _fact(value: object, unit: str) -> str:
    if isinstance(value, int | float):
        return quantity(value, unit)
    return "not known" if value is None else _short(str(value))
