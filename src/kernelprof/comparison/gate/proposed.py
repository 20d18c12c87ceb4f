"""What a change under review would put in place of the policy and the baseline that judge it.

Neither of the proposed two judges anything: whoever opens a pull request could otherwise bring the
measure along that it is held against. They are compared with the trusted ones, and each difference
is a finding that stops the change until somebody accepts it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kernelprof.comparison.counters import COUNTERS
from kernelprof.comparison.gate.policy import ACTIONS, Budget, Limits, Policy
from kernelprof.errors import KernelprofError
from kernelprof.model.gate import Code, GateFinding, Outcome
from kernelprof.model.names import labels, printable
from kernelprof.model.numbers import count, number, quantity
from kernelprof.model.snapshot import Acceptance, KernelSnapshot, MeasurementSetup, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kernelprof.model.diagnosis import Verdict
    from kernelprof.model.gate import GateResult
    from kernelprof.model.snapshot import Key

    Read = TypeVar("Read")

_WORDS: Final = {outcome: word for word, outcome in ACTIONS.items()}
_MOST: Final = "max_"
"""Keys of fractions that say how much worse something may get."""


@dataclass(frozen=True, slots=True)
class ProposedChange:
    """One difference in a few words. ``looser`` where it can let pass what was stopped before."""

    text: str
    looser: bool


_APART: Final = frozenset({"limits", "ignore", "overrides"})
"""Fields of a policy that are compared by their parts."""


def policy_changes(old: Policy, new: Policy) -> tuple[ProposedChange, ...]:
    """Everything that judges otherwise, in the order of the keys."""
    return (*_general(old, new), *_ignored(old, new), *_overridden(old, new))


def _general(old: Policy, new: Policy) -> Iterator[ProposedChange]:
    whole = [each.name for each in fields(Policy) if each.name not in _APART]
    before, after = (
        {
            **_limits(policy),
            **{name: getattr(policy, name) for name in whole},
        }
        for policy in (old, new)
    )
    for key in dict.fromkeys((*before, *after)):
        yield from _changed(key, before.get(key, _absent(key)), after.get(key, _absent(key)))


def _ignored(old: Policy, new: Policy) -> Iterator[ProposedChange]:
    for name in new.ignore:
        if name not in old.ignore:
            yield ProposedChange(f"ignore gains {name!r}", looser=True)
    for name in old.ignore:
        if name not in new.ignore:
            yield ProposedChange(f"ignore loses {name!r}", looser=False)


def _overridden(old: Policy, new: Policy) -> Iterator[ProposedChange]:
    # The tables of single kernels, by pattern: the first of one pattern with the first of it
    before, after = (_numbered_overrides(policy) for policy in (old, new))
    for key in dict.fromkeys((*before, *after)):
        limits = [_flat(table.get(key, {})) for table in (before, after)]
        pattern = f"[[kernel]] {key[0]!r}, "
        for name in dict.fromkeys((*limits[0], *limits[1])):
            # A table that lacks the key leaves what is said of all kernels.
            old_value, new_value = (
                side.get(name, _limits(policy).get(name, _absent(name)))
                for side, policy in zip(limits, (old, new), strict=True)
            )
            yield from _changed(name, old_value, new_value, pattern)
    orders = [[key for key in table if key in before and key in after] for table in (before, after)]
    if orders[0] != orders[1]:
        yield ProposedChange(
            "the order of the tables [[kernel]], of which the last counts", looser=True
        )


def _numbered_overrides(policy: Policy) -> dict[tuple[str, int], Mapping[str, Any]]:
    seen: Counter[str] = Counter()
    tables: dict[tuple[str, int], Mapping[str, Any]] = {}
    for pattern, changes in policy.overrides:
        tables[pattern, seen[pattern]] = changes
        seen[pattern] += 1
    return tables


def _limits(policy: Policy) -> dict[str, object]:
    return _flat({each.name: getattr(policy.limits, each.name) for each in fields(Limits)})


def _flat(values: Mapping[str, Any]) -> dict[str, object]:
    tables: dict[str, object] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            tables.update({f"{name}.{entry}": each for entry, each in value.items()})
        else:
            tables[name] = value
    return tables


def _absent(key: str) -> object:
    # What counts where a table lacks a key: no increase at all, and no budget
    return 0.0 if key.startswith(_MOST) else None


def _changed(name: str, old: object, new: object, where: str = "") -> Iterator[ProposedChange]:
    if old != new:
        text = f"{where}{name} {_shown(name, old)} to {_shown(name, new)}"
        yield ProposedChange(text, _looser(name, old, new))


def _looser(name: str, old: object, new: object) -> bool:
    if isinstance(old, Outcome) and isinstance(new, Outcome):
        return new.severity < old.severity
    if isinstance(old, Budget) or isinstance(new, Budget):
        return _looser_budget(
            old if isinstance(old, Budget) else Budget(),
            new if isinstance(new, Budget) else Budget(),
        )
    if name.startswith(_MOST) and isinstance(old, float) and isinstance(new, float):
        return new > old
    return True


def _looser_budget(old: Budget, new: Budget) -> bool:
    if old.at_most is not None and (new.at_most is None or new.at_most > old.at_most):
        return True
    return old.at_least is not None and (new.at_least is None or new.at_least < old.at_least)


def _shown(name: str, value: object) -> str:
    if isinstance(value, Outcome):
        return f'"{_WORDS[value]}"'
    if isinstance(value, Budget):
        sides = (("at most", value.at_most), ("at least", value.at_least))
        return " and ".join(f"{side} {by:g}" for side, by in sides if by is not None)
    if isinstance(value, float):
        return f"{100 * value:g} %" if name.startswith(_MOST) else f"{value:g}"
    return "none" if value is None else str(value)


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
    findings: Iterable[GateFinding],
) -> GateResult:
    """The result with findings of what was proposed, which ``policy`` may count as failures."""
    proposed = tuple(findings)
    worst = Outcome.PASS
    if any(each.outcome is not Outcome.PASS for each in proposed):
        fails = policy.inconclusive is Outcome.REGRESSION
        worst = Outcome.REGRESSION if fails else Outcome.INCONCLUSIVE
    outcome = max(result.outcome, worst, key=lambda each: each.severity)
    # The first of them is the reason that is given.
    stopping = worst is not Outcome.PASS
    general = (*proposed, *result.general) if stopping else (*result.general, *proposed)
    return replace(result, outcome=outcome, general=general)


def policy_findings(
    trusted: Policy, proposed: Policy | Missing | KernelprofError, *, accepted: bool = False
) -> tuple[GateFinding, ...]:
    """A finding for each key that would judge otherwise, those that let more pass first."""
    if isinstance(proposed, Policy):
        changes: Sequence[ProposedChange] = policy_changes(trusted, proposed)
    else:
        changes = _not_there(proposed)
    return _findings(Code.POLICY_CHANGED, changes, accepted=accepted)


def baseline_findings(
    trusted: Snapshot, proposed: Snapshot | Missing | KernelprofError, *, accepted: bool = False
) -> tuple[GateFinding, ...]:
    """A finding for each kernel that would be held against something else."""
    if isinstance(proposed, Snapshot) and not trusted.kernels:
        text = f"it is the first one, of {count(len(proposed.kernels), 'kernel')}"
        changes: Sequence[ProposedChange] = (ProposedChange(text, looser=True),)
    elif isinstance(proposed, Snapshot):
        changes = tuple(_baseline(trusted, proposed))
    else:
        changes = _not_there(proposed)
    return _findings(Code.BASELINE_CHANGED, changes, accepted=accepted)


def _not_there(proposed: Missing | KernelprofError) -> tuple[ProposedChange, ...]:
    if isinstance(proposed, Missing):
        return (ProposedChange("the file would be gone", looser=True),)
    return (ProposedChange(f"the file cannot be read: {proposed.what}", looser=True),)


def _findings(
    code: Code, changes: Sequence[ProposedChange], *, accepted: bool
) -> tuple[GateFinding, ...]:
    ordered = sorted(changes, key=lambda each: not each.looser)
    outcome = Outcome.PASS if accepted else Outcome.INCONCLUSIVE
    head = f"the {_OF_FILES[code]} {'changes, as accepted' if accepted else 'would change'}"
    texts = [printable(each.text) for each in ordered[:MOST]]
    if len(ordered) > MOST:
        texts.append(count(len(ordered) - MOST, "more difference"))
    return tuple(GateFinding(code, outcome, f"{head}: {text}") for text in texts)


def _baseline(old: Snapshot, new: Snapshot) -> Iterator[ProposedChange]:
    names = _labels(old, new)
    before, after = _numbered_kernels(old), _numbered_kernels(new)
    fresh = [each for each in new.accepted if each not in old.accepted]
    reported_names: set[str] = set()
    for key in dict.fromkeys((*before, *after)):
        one, other = before.get(key), after.get(key)
        if one == other:
            continue
        name = key[0][0]
        reasons = [each for each in fresh if each.kernel == name]
        reported_names.add(name)
        parts = tuple(_kernel(one, other))
        text = "; ".join(each.text for each in parts)
        text = f"{names[key[0]]}: {text}{''.join(map(_consent, reasons))}"
        yield ProposedChange(text, any(each.looser for each in parts))
    yield from _machine_of(old.machine, new.machine)
    for each in fresh:
        if each.kernel not in reported_names:
            yield ProposedChange(f"{_short(each.kernel)}: as it was{_consent(each)}", looser=False)
    for each in old.accepted:
        if each not in new.accepted:
            text = f"{_short(each.kernel)}: the record of what {_short(each.who)} accepted is gone"
            yield ProposedChange(text, looser=True)


def _numbered_kernels(side: Snapshot) -> dict[tuple[Key, int], KernelSnapshot]:
    # The kernels by name and launch; a second one of the same must not hide the first
    seen: Counter[Key] = Counter()
    numbered = {}
    for each in side.kernels:
        numbered[each.key, seen[each.key]] = each
        seen[each.key] += 1
    return numbered


def _labels(old: Snapshot, new: Snapshot) -> dict[Key, str]:
    kernels = list({each.key: each for side in (old, new) for each in side.kernels}.values())
    labelled = zip(kernels, labels(kernels), strict=True)
    return {each.key: _short(" ".join(filter(None, label))) for each, label in labelled}


def _short(text: str, width: int = _NAME_WIDTH) -> str:
    line = printable(text)
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _consent(record: Acceptance) -> str:
    # What the change itself says of it: whoever wrote the file wrote that too
    reason = _short(record.reason, _REASON_WIDTH)
    return f"; recorded as accepted by {_short(record.who)}: {reason}"


def _kernel(old: KernelSnapshot | None, new: KernelSnapshot | None) -> Iterator[ProposedChange]:
    if old is None or new is None:
        yield ProposedChange("new" if old is None else "gone", looser=new is None)
        return
    yield from _time(old, new)
    yield from _noise(old, new)
    yield from _counters(old, new)
    if old.verdict != new.verdict:
        sides = (_verdict(old.verdict), _verdict(new.verdict))
        what = f"{sides[0]} to {sides[1]}" if sides[0] != sides[1] else "other gain or runners-up"
        yield ProposedChange(f"verdict {what}", looser=True)
    if old.launches != new.launches:
        more = new.launches > old.launches
        yield ProposedChange(f"launches {old.launches:,} to {new.launches:,}", looser=more)
    if old.predicted != new.predicted:
        yield ProposedChange("other machine code, or counts of its lines", looser=True)
    others = [
        each.name.removesuffix("_bytes").replace("_", " ")
        for each in fields(KernelSnapshot)
        if each.name not in _TOLD_APART and getattr(old, each.name) != getattr(new, each.name)
    ]
    if others:
        yield ProposedChange(f"other {', '.join(others)}", looser=True)


def _time(old: KernelSnapshot, new: KernelSnapshot) -> Iterator[ProposedChange]:
    if old.median_ns != new.median_ns:
        sides = [
            "no time" if each.median_ns is None else quantity(each.median_ns, "ns")
            for each in (old, new)
        ]
        if sides[0] == sides[1]:
            sides = [f"{each.median_ns:,} ns" for each in (old, new)]
        slower = not (old.median_ns and new.median_ns) or new.median_ns > old.median_ns
        yield ProposedChange(f"{sides[0]} to {sides[1]}", looser=slower)
    elif (old.events_ns, old.profiled_ns) != (new.events_ns, new.profiled_ns):
        yield ProposedChange("other times of single launches", looser=True)


def _noise(old: KernelSnapshot, new: KernelSnapshot) -> Iterator[ProposedChange]:
    if old.noise == new.noise:
        return
    sides = [
        "not calibrated" if each.noise is None else f"{100 * each.noise.floor:.3g} %"
        for each in (old, new)
    ]
    if sides[0] != sides[1]:
        yield ProposedChange(f"noise {sides[0]} to {sides[1]}", looser=True)
    else:
        yield ProposedChange("other noise of counters or captures", looser=True)


def _counters(old: KernelSnapshot, new: KernelSnapshot) -> Iterator[ProposedChange]:
    # Exact counters decide; other metrics only explain
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
    yield from (ProposedChange(text, looser=True) for text in texts)
    if others := len(names) - len(exact):
        yield ProposedChange(count(others, "other metric"), looser=False)


def _value(kernel: KernelSnapshot, name: str) -> str:
    metric = kernel.metrics.get(name)
    return "none" if metric is None else number(metric)


def _verdict(verdict: Verdict) -> str:
    return _short(verdict.bottleneck or verdict.status.value)


def _machine_of(old: MeasurementSetup, new: MeasurementSetup) -> Iterator[ProposedChange]:
    for name in MeasurementSetup.__struct_fields__:
        before, after = (getattr(side, name) for side in (old, new))
        if before != after:
            label, unit = _MACHINE.get(name, (name.replace("_", " "), ""))
            sides = (_fact(before, unit), _fact(after, unit))
            # Clocks scatter from run to run: what does not show in three digits decides nothing.
            if sides[0] != sides[1]:
                yield ProposedChange(f"{label} {sides[0]} to {sides[1]}", looser=True)


def _fact(value: object, unit: str) -> str:
    if isinstance(value, int | float):
        return quantity(value, unit)
    return "not known" if value is None else _short(str(value))
