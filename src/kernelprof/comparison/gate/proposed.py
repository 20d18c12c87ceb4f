"""What a change under review would put in place of the policy and the baseline that judge it.

Neither of the proposed two judges anything: whoever opens a pull request could otherwise bring the
measure along that it is held against. They are compared with the trusted ones, and each difference
is a finding that stops the change until somebody accepts it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from kernelprof.comparison.counters import COUNTERS
from kernelprof.comparison.gate.policy import ACTIONS, Budget, Limits, Policy
from kernelprof.errors import KernelprofError
from kernelprof.model.gate import Code, GateFinding, Outcome
from kernelprof.model.names import labels, printable
from kernelprof.model.numbers import count, number, quantity
from kernelprof.model.snapshot import Acceptance, KernelSnapshot, MeasurementSetup, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kernelprof.model.gate import GateResult
    from kernelprof.model.snapshot import Key

    Read = TypeVar("Read")
    T = TypeVar("T")
    Entry = TypeVar("Entry")

_WORDS: Final = {outcome: word for word, outcome in ACTIONS.items()}
_MOST: Final = "max_"
"""Keys of fractions that say how much worse something may get."""


class ProposedChange(NamedTuple):
    """One difference in a few words. ``looser`` where it can let pass what was stopped before."""

    text: str
    looser: bool = True


def policy_changes(old: Policy, new: Policy) -> tuple[ProposedChange, ...]:
    """Everything that judges otherwise, in the order of the keys."""
    gained = [each for each in new.ignore if each not in old.ignore]
    lost = [each for each in old.ignore if each not in new.ignore]
    ignored = [
        *(ProposedChange(f"{name!r} added to ignore") for name in gained),
        *(ProposedChange(f"{name!r} removed from ignore", looser=False) for name in lost),
    ]
    general = _changed_keys(_general_keys(old), _general_keys(new))
    return (*general, *ignored, *_override_changes(old, new))


def _general_keys(policy: Policy) -> dict[str, object]:
    by_parts = {"limits", "ignore", "overrides"}
    whole = [each.name for each in fields(Policy) if each.name not in by_parts]
    return {**_flatten_limits(policy), **{name: getattr(policy, name) for name in whole}}


def _override_changes(old: Policy, new: Policy) -> Iterator[ProposedChange]:
    # The tables of single kernels, by pattern: the first of one pattern with the first of it
    before, after = _number_entries(old.overrides), _number_entries(new.overrides)
    for key in dict.fromkeys((*before, *after)):
        tables = _flatten_tables(before.get(key, {})), _flatten_tables(after.get(key, {}))
        keys = dict.fromkeys((*tables[0], *tables[1]))
        # A table that lacks a key leaves what is said of all kernels.
        general = [_flatten_limits(policy) for policy in (old, new)]
        sides = [
            {name: table.get(name, limits.get(name, _value_if_absent(name))) for name in keys}
            for table, limits in zip(tables, general, strict=True)
        ]
        yield from _changed_keys(sides[0], sides[1], f"[[kernel]] {key[0]!r}, ")
    orders = [[key for key in table if key in before and key in after] for table in (before, after)]
    if orders[0] != orders[1]:
        yield ProposedChange("the order of the [[kernel]] tables (the last match applies)")


def _number_entries(entries: Iterable[tuple[T, Entry]]) -> dict[tuple[T, int], Entry]:
    # By key and number: a second one of the same key must not hide the first
    seen: Counter[T] = Counter()
    numbered = {}
    for key, entry in entries:
        numbered[key, seen[key]] = entry
        seen[key] += 1
    return numbered


def _flatten_limits(policy: Policy) -> dict[str, object]:
    return _flatten_tables(
        {each.name: getattr(policy.limits, each.name) for each in fields(Limits)}
    )


def _flatten_tables(values: Mapping[str, Any]) -> dict[str, object]:
    tables: dict[str, object] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            tables.update({f"{name}.{entry}": each for entry, each in value.items()})
        else:
            tables[name] = value
    return tables


def _value_if_absent(key: str) -> object:
    # What counts where a table lacks a key: no increase at all, and no budget
    return 0.0 if key.startswith(_MOST) else None


def _changed_keys(
    before: Mapping[str, object], after: Mapping[str, object], where: str = ""
) -> Iterator[ProposedChange]:
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name, _value_if_absent(name)), after.get(name, _value_if_absent(name))
        if old != new:
            text = f"{where}{name} {_format_value(name, old)} to {_format_value(name, new)}"
            yield ProposedChange(text, _is_looser(name, old, new))


def _is_looser(name: str, old: object, new: object) -> bool:
    if isinstance(old, Outcome) and isinstance(new, Outcome):
        return new.severity < old.severity
    if isinstance(old, Budget) or isinstance(new, Budget):
        was = old if isinstance(old, Budget) else Budget()
        now = new if isinstance(new, Budget) else Budget()
        if was.at_most is not None and (now.at_most is None or now.at_most > was.at_most):
            return True
        return was.at_least is not None and (now.at_least is None or now.at_least < was.at_least)
    if name.startswith(_MOST) and isinstance(old, float) and isinstance(new, float):
        return new > old
    return True


def _format_value(name: str, value: object) -> str:
    if isinstance(value, Outcome):
        return f'"{_WORDS[value]}"'
    if isinstance(value, Budget):
        return " and ".join(f"{side} {by:g}" for side, by in value.sides)
    if isinstance(value, float):
        return f"{100 * value:g} %" if name.startswith(_MOST) else f"{value:g}"
    return "none" if value is None else str(value)


MOST: Final = 50
"""Differences of one file that are named; the others are counted."""

_MOST_COUNTERS: Final = 3
_REASON_WIDTH: Final = 200
_NAME_WIDTH: Final = 100
_OF_FILES: Final = {Code.POLICY_CHANGED: "policy", Code.BASELINE_CHANGED: "baseline"}
_OWN_WORDS: Final = frozenset(
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


def try_read(read: Callable[[], Read]) -> Read | KernelprofError:
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
    changes: Iterable[ProposedChange]
    if isinstance(proposed, Policy):
        changes = policy_changes(trusted, proposed)
    else:
        changes = (_describe_unreadable(proposed),)
    return _make_findings(Code.POLICY_CHANGED, changes, accepted=accepted)


def baseline_findings(
    trusted: Snapshot, proposed: Snapshot | Missing | KernelprofError, *, accepted: bool = False
) -> tuple[GateFinding, ...]:
    """A finding for each kernel that would be held against something else."""
    changes: Iterable[ProposedChange]
    if not isinstance(proposed, Snapshot):
        changes = (_describe_unreadable(proposed),)
    elif not trusted.kernels:
        text = f"there was none; the new one has {count(len(proposed.kernels), 'kernel')}"
        changes = (ProposedChange(text),)
    else:
        changes = _baseline_changes(trusted, proposed)
    return _make_findings(Code.BASELINE_CHANGED, changes, accepted=accepted)


def _describe_unreadable(proposed: Missing | KernelprofError) -> ProposedChange:
    if isinstance(proposed, Missing):
        return ProposedChange("the file would be deleted")
    return ProposedChange(f"the file cannot be read: {proposed.what}")


def _make_findings(
    code: Code, changes: Iterable[ProposedChange], *, accepted: bool
) -> tuple[GateFinding, ...]:
    ordered = sorted(changes, key=lambda each: not each.looser)
    outcome = Outcome.PASS if accepted else Outcome.INCONCLUSIVE
    head = f"the {_OF_FILES[code]} {'changes (accepted)' if accepted else 'would change'}"
    texts = [printable(each.text) for each in ordered[:MOST]]
    if len(ordered) > MOST:
        texts.append(count(len(ordered) - MOST, "more difference"))
    return tuple(GateFinding(code, outcome, f"{head}: {text}") for text in texts)


def _baseline_changes(old: Snapshot, new: Snapshot) -> Iterator[ProposedChange]:
    names = _label_kernels(old, new)
    before, after = (
        _number_entries((each.key, each) for each in side.kernels) for side in (old, new)
    )
    fresh = [each for each in new.accepted if each not in old.accepted]
    reported_names: set[str] = set()
    for key in dict.fromkeys((*before, *after)):
        one, other = before.get(key), after.get(key)
        if one == other:
            continue
        name = key[0][0]
        reported_names.add(name)
        parts = tuple(_kernel_changes(one, other))
        consents = (_format_consent(each) for each in fresh if each.kernel == name)
        text = f"{names[key[0]]}: {'; '.join(each.text for each in parts)}{''.join(consents)}"
        yield ProposedChange(text, any(each.looser for each in parts))
    yield from _machine_changes(old.machine, new.machine)
    for each in fresh:
        if each.kernel not in reported_names:
            yield ProposedChange(
                f"{_shorten(each.kernel)}: unchanged{_format_consent(each)}", looser=False
            )
    for each in old.accepted:
        if each not in new.accepted:
            who = _shorten(each.who)
            text = f"{_shorten(each.kernel)}: {who}'s recorded acceptance of a change is removed"
            yield ProposedChange(text)


def _label_kernels(old: Snapshot, new: Snapshot) -> dict[Key, str]:
    kernels = list({each.key: each for side in (old, new) for each in side.kernels}.values())
    labelled = zip(kernels, labels(kernels), strict=True)
    return {each.key: _shorten(" ".join(filter(None, label))) for each, label in labelled}


def _shorten(text: str, width: int = _NAME_WIDTH) -> str:
    line = printable(text)
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _format_consent(record: Acceptance) -> str:
    # What the change itself says of it: whoever wrote the file wrote that too
    reason = _shorten(record.reason, _REASON_WIDTH)
    return f"; recorded as accepted by {_shorten(record.who)}: {reason}"


def _kernel_changes(
    old: KernelSnapshot | None, new: KernelSnapshot | None
) -> Iterator[ProposedChange]:
    if old is None or new is None:
        yield ProposedChange("new" if old is None else "gone", looser=new is None)
        return
    yield from _time_changes(old, new)
    yield from _noise_changes(old, new)
    yield from _counter_changes(old, new)
    if old.verdict != new.verdict:
        sides = [
            _shorten(each.verdict.bottleneck or each.verdict.status.value) for each in (old, new)
        ]
        what = (
            f"{sides[0]} to {sides[1]}"
            if sides[0] != sides[1]
            else "differs in status, confidence, gain or other bottlenecks"
        )
        yield ProposedChange(f"verdict {what}")
    if old.launches != new.launches:
        more = new.launches > old.launches
        yield ProposedChange(f"launches {old.launches:,} to {new.launches:,}", looser=more)
    if old.predicted != new.predicted:
        yield ProposedChange("different machine code, or different per-line counts")
    others = [
        each.name.removesuffix("_bytes").replace("_", " ")
        for each in fields(KernelSnapshot)
        if each.name not in _OWN_WORDS and getattr(old, each.name) != getattr(new, each.name)
    ]
    if others:
        yield ProposedChange(f"different {', '.join(others)}")


def _time_changes(old: KernelSnapshot, new: KernelSnapshot) -> Iterator[ProposedChange]:
    was, now = old.median_ns, new.median_ns
    if was != now:
        sides = ["unknown time" if each is None else quantity(each, "ns") for each in (was, now)]
        if sides[0] == sides[1]:
            sides = [f"{each:,} ns" for each in (was, now)]
        yield ProposedChange(f"{sides[0]} to {sides[1]}", not (was and now) or now > was)
    elif (old.events_ns, old.profiled_ns) != (new.events_ns, new.profiled_ns):
        yield ProposedChange("individual launch times differ")


def _noise_changes(old: KernelSnapshot, new: KernelSnapshot) -> Iterator[ProposedChange]:
    if old.noise == new.noise:
        return
    sides = [
        "uncalibrated" if each.noise is None else f"{100 * each.noise.floor:.3g} %"
        for each in (old, new)
    ]
    is_other_floor = sides[0] != sides[1]
    other = "noise calibration differs: number of captures, timing method or noisy counters"
    yield ProposedChange(f"noise {sides[0]} to {sides[1]}" if is_other_floor else other)


def _counter_changes(old: KernelSnapshot, new: KernelSnapshot) -> Iterator[ProposedChange]:
    # Exact counters decide; other metrics only explain
    before, after = old.metrics, new.metrics
    names = [
        name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)
    ]
    exact = [name for name in names if name in COUNTERS]
    for name in exact[:_MOST_COUNTERS]:
        sides = [number(each[name]) if name in each else "none" for each in (before, after)]
        yield ProposedChange(f"{COUNTERS[name].label} {sides[0]} to {sides[1]}")
    if len(exact) > _MOST_COUNTERS:
        yield ProposedChange(count(len(exact) - _MOST_COUNTERS, "more exact counter"))
    if others := len(names) - len(exact):
        yield ProposedChange(count(others, "other metric"), looser=False)


def _machine_changes(old: MeasurementSetup, new: MeasurementSetup) -> Iterator[ProposedChange]:
    for name in MeasurementSetup.__struct_fields__:
        before, after = (getattr(side, name) for side in (old, new))
        if before != after:
            label, unit = _MACHINE.get(name, (name.replace("_", " "), ""))
            sides = (_format_fact(before, unit), _format_fact(after, unit))
            # Clocks scatter from run to run: what does not show in three digits decides nothing.
            if sides[0] != sides[1]:
                yield ProposedChange(f"{label} {sides[0]} to {sides[1]}")


def _format_fact(value: object, unit: str) -> str:
    if isinstance(value, int | float):
        return quantity(value, unit)
    return "not known" if value is None else _shorten(str(value))
