"""What differs between two policies, key by key, and whether a difference lets more pass."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from kernelprof.comparison.gate.policy import ACTIONS, Budget, Limits, Policy
from kernelprof.model.gate import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_WORDS: Final = {outcome: word for word, outcome in ACTIONS.items()}
_STRICTNESS: Final = (Outcome.PASS, Outcome.INCONCLUSIVE, Outcome.REGRESSION)
_MOST: Final = "max_"
"""Keys of fractions that say how much worse something may get."""


@dataclass(frozen=True, slots=True)
class Change:
    """One difference in a few words. ``looser`` where it can let pass what was stopped before."""

    text: str
    looser: bool


_APART: Final = frozenset({"limits", "ignore", "overrides"})
"""Fields of a policy that are compared by their parts."""


def policy_changes(old: Policy, new: Policy) -> tuple[Change, ...]:
    """Everything that judges otherwise, in the order of the keys."""
    return (*_general(old, new), *_ignored(old, new), *_overridden(old, new))


def _general(old: Policy, new: Policy) -> Iterator[Change]:
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


def _ignored(old: Policy, new: Policy) -> Iterator[Change]:
    for name in new.ignore:
        if name not in old.ignore:
            yield Change(f"ignore gains {name!r}", looser=True)
    for name in old.ignore:
        if name not in new.ignore:
            yield Change(f"ignore loses {name!r}", looser=False)


def _overridden(old: Policy, new: Policy) -> Iterator[Change]:
    """The tables of single kernels, by pattern: the first of one pattern with the first of it."""
    before, after = (_numbered(policy) for policy in (old, new))
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
        yield Change("the order of the tables [[kernel]], of which the last counts", looser=True)


def _numbered(policy: Policy) -> dict[tuple[str, int], Mapping[str, Any]]:
    seen: Counter[str] = Counter()
    found: dict[tuple[str, int], Mapping[str, Any]] = {}
    for pattern, changes in policy.overrides:
        found[pattern, seen[pattern]] = changes
        seen[pattern] += 1
    return found


def _limits(policy: Policy) -> dict[str, object]:
    return _flat({each.name: getattr(policy.limits, each.name) for each in fields(Limits)})


def _flat(values: Mapping[str, Any]) -> dict[str, object]:
    """Limits with the entries of their tables as keys of their own."""
    found: dict[str, object] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            found.update({f"{name}.{entry}": each for entry, each in value.items()})
        else:
            found[name] = value
    return found


def _absent(key: str) -> object:
    """What counts where a table lacks a key: no increase at all, and no budget."""
    return 0.0 if key.startswith(_MOST) else None


def _changed(name: str, old: object, new: object, where: str = "") -> Iterator[Change]:
    if old != new:
        text = f"{where}{name} {_shown(name, old)} to {_shown(name, new)}"
        yield Change(text, _looser(name, old, new))


def _looser(name: str, old: object, new: object) -> bool:
    if isinstance(old, Outcome) and isinstance(new, Outcome):
        return _STRICTNESS.index(new) < _STRICTNESS.index(old)
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
