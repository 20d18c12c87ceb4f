"""The policy: what a change may cost, and what fails. TOML in a file or in ``pyproject.toml``.

Keys that are not known are errors: a misspelt budget would otherwise pass everything.
"""

from __future__ import annotations

import difflib
import fnmatch
import math
import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kernelprof.analysis.metrics.catalogue import catalogue
from kernelprof.comparison.counters import COUNTERS, DERIVED
from kernelprof.errors import UsageError
from kernelprof.model.gate import Outcome
from kernelprof.model.kernel_name import function_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PER_REQUEST: Final = {
    "load_sectors_per_request": ("global_load_sectors", "global_load_requests"),
    "store_sectors_per_request": ("global_store_sectors", "global_store_requests"),
}
"""Budgets that are worked out from two counters."""

_TABLE: Final = ("tool", "kernelprof", "gate")
_ACTIONS: Final = {
    "fail": Outcome.REGRESSION,
    "inconclusive": Outcome.INCONCLUSIVE,
    "allow": Outcome.PASS,
}


@dataclass(frozen=True, slots=True)
class Budget:
    """The most or the least that a metric of the candidate may be."""

    metric: str
    at_most: float | None = None
    at_least: float | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What counts for one kernel; every field can be given for all kernels and for some.

    ``max_slowdown`` and ``max_noise`` are fractions of the time, ``max_increase`` are fractions of
    counters, by name. Where the noise floor is above ``max_noise``, an equal time says nothing.
    """

    max_slowdown: float = 0.0
    max_noise: float = 0.25
    new_bottleneck: Outcome = Outcome.REGRESSION
    left_limit: Outcome = Outcome.REGRESSION
    counter_worse: Outcome = Outcome.REGRESSION
    max_increase: dict[str, float] = field(default_factory=lambda: {"instructions": 0.01})
    budgets: tuple[Budget, ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """A whole policy. ``overrides`` are patterns of kernel names with what differs for them."""

    limits: Limits = field(default_factory=Limits)
    inconclusive: Outcome = Outcome.INCONCLUSIVE
    vanished: Outcome = Outcome.INCONCLUSIVE
    appeared: Outcome = Outcome.PASS
    renamed: Outcome = Outcome.INCONCLUSIVE
    launched_more: Outcome = Outcome.INCONCLUSIVE
    ignore: tuple[str, ...] = ()
    overrides: tuple[tuple[str, dict[str, Any]], ...] = ()

    def ignores(self, kernel: str) -> bool:
        """Whether the gate does not look at a kernel."""
        return any(_matches(pattern, kernel) for pattern in self.ignore)

    def limits_of(self, kernel: str) -> Limits:
        """The limits of a kernel: the general ones with all that match put over them, in order."""
        limits = self.limits
        for pattern, changes in self.overrides:
            if _matches(pattern, kernel):
                merged = {**limits.max_increase, **changes.get("max_increase", {})}
                budgets = {each.metric: each for each in limits.budgets}
                budgets.update({each.metric: each for each in changes.get("budgets", ())})
                limits = replace(
                    limits,
                    **{**changes, "max_increase": merged, "budgets": tuple(budgets.values())},
                )
        return limits


def load_policy(path: Path | None) -> Policy:
    """The policy of a file, or of ``[tool.kernelprof.gate]`` if it is a ``pyproject.toml``.

    Without a file it is the default one. Raises :class:`UsageError` with file and key.
    """
    if path is None:
        return Policy()
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"the policy cannot be read: {error.strerror}", where=str(path), hint="see --policy"
        ) from error
    except ValueError as error:
        raise UsageError(f"the policy is not TOML: {error}", where=str(path)) from error
    if path.name == "pyproject.toml":
        for key in _TABLE:
            values = values.get(key, {})
            if not isinstance(values, dict):
                raise UsageError(f"{key} is not a table", where=f"{path}, {'.'.join(_TABLE)}")
    return _Reader(str(path)).policy(values)


def policy_of(values: Mapping[str, Any]) -> Policy:
    """The policy with these keys. Raises :class:`UsageError` with the key of a mistake."""
    return _Reader("the policy").policy(dict(values))


def policy_here() -> Path | None:
    """The ``pyproject.toml`` of this folder, if it says something about the gate.

    One that cannot be read is taken as well, so that its mistake is reported.
    """
    place = Path("pyproject.toml")
    try:
        values: Any = tomllib.loads(place.read_text(encoding="utf-8"))
    except OSError:
        return None
    except ValueError:
        return place
    for key in _TABLE:
        if not isinstance(values, dict):
            return place
        values = values.get(key)
        if values is None:
            return None
    return place


class _Reader:
    """Reads a policy, and names the place of every mistake."""

    def __init__(self, file: str) -> None:
        self.file = file

    def policy(self, values: dict[str, Any]) -> Policy:
        known = (*_ACTION_KEYS, "ignore", "kernel", *_LIMIT_KEYS)
        self._known(values, known, "")
        general = Policy()
        changes: dict[str, Any] = {}
        for name in _ACTION_KEYS:
            if name in values:
                changes[name] = self._action(values[name], name)
        if "ignore" in values:
            changes["ignore"] = self._names(values["ignore"], "ignore")
        kernels = values.get("kernel", [])
        if not isinstance(kernels, list) or not all(isinstance(each, dict) for each in kernels):
            raise self._wrong("kernel", "tables [[kernel]]", kernels)
        overrides = []
        for at, table in enumerate(kernels):
            place = f"kernel[{at}]"
            self._known(table, ("name", *_LIMIT_KEYS), place)
            if not isinstance(table.get("name"), str):
                raise self._wrong(
                    f"{place}.name", "a kernel's name or a pattern", table.get("name")
                )
            overrides.append((table["name"], self._limits(table, place)))
        limits = self._limits(values, "")
        if "max_increase" in limits:
            limits["max_increase"] = {**general.limits.max_increase, **limits["max_increase"]}
        return replace(
            general,
            limits=replace(general.limits, **limits),
            overrides=tuple(overrides),
            **changes,
        )

    def _limits(self, values: dict[str, Any], place: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        dot = f"{place}." if place else ""
        for name in ("new_bottleneck", "left_limit", "counter_worse"):
            if name in values:
                found[name] = self._action(values[name], dot + name)
        for name in ("max_slowdown", "max_noise"):
            if name in values:
                found[name] = self._fraction(values[name], dot + name)
        if "max_increase" in values:
            table = self._table(values["max_increase"], f"{dot}max_increase")
            self._known(table, (*COUNTERS, *DERIVED), f"{dot}max_increase")
            found["max_increase"] = {
                name: self._fraction(value, f"{dot}max_increase.{name}")
                for name, value in table.items()
            }
        if "budget" in values:
            table = self._table(values["budget"], f"{dot}budget")
            self._known(table, (*PER_REQUEST, *DERIVED, *catalogue()), f"{dot}budget")
            found["budgets"] = tuple(
                self._budget(name, value, f"{dot}budget.{name}") for name, value in table.items()
            )
        return found

    def _budget(self, name: str, value: Any, place: str) -> Budget:
        if _is_number(value):
            return Budget(name, at_most=float(value))
        table = self._table(value, place)
        self._known(table, ("at_most", "at_least"), place)
        for key, limit in table.items():
            if not _is_number(limit):
                raise self._wrong(f"{place}.{key}", "a number", limit)
        if not table:
            raise self._wrong(place, "at_most or at_least", value)
        return Budget(name, **{key: float(limit) for key, limit in table.items()})

    def _fraction(self, value: Any, place: str) -> float:
        """A number from 0 on, or a percentage as text: ``0.02`` is ``"2 %"``."""
        if isinstance(value, str) and value.strip().endswith("%"):
            try:
                value = float(value.strip()[:-1]) / 100
            except ValueError:
                raise self._wrong(
                    place, 'a fraction or a percentage such as "2 %"', value
                ) from None
        if not _is_number(value) or not value >= 0:
            raise self._wrong(place, 'a fraction or a percentage such as "2 %"', value)
        return float(value)

    def _action(self, value: Any, place: str) -> Outcome:
        if not isinstance(value, str) or value not in _ACTIONS:
            raise self._wrong(place, " or ".join(f'"{each}"' for each in _ACTIONS), value)
        return _ACTIONS[value]

    def _names(self, value: Any, place: str) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self._wrong(place, "a list of kernel names or patterns", value)
        return tuple(value)

    def _table(self, value: Any, place: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong(place, "a table", value)
        return value

    def _known(self, values: dict[str, Any], known: Iterable[str], place: str) -> None:
        names = list(known)
        for name in values:
            if name not in names:
                close = difflib.get_close_matches(name, names, n=2)
                raise UsageError(
                    f"the policy has an unknown key: {place + '.' if place else ''}{name}",
                    where=self.file,
                    hint=f"did you mean {' or '.join(close)}?"
                    if close
                    else f"known are {', '.join(sorted(names)[:20])}",
                )

    def _wrong(self, place: str, wanted: str, value: Any) -> UsageError:
        return UsageError(f"{place} has to be {wanted}, and is {value!r:.60}", where=self.file)


_ACTION_KEYS: Final = ("inconclusive", "vanished", "appeared", "renamed", "launched_more")
_LIMIT_KEYS: Final = tuple(
    "budget" if each.name == "budgets" else each.name for each in fields(Limits)
)


def _is_number(value: Any) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return math.isfinite(value)


def _matches(pattern: str, kernel: str) -> bool:
    """A pattern of the shell's kind, against the whole name or the bare function's."""
    return fnmatch.fnmatchcase(kernel, pattern) or fnmatch.fnmatchcase(
        function_name(kernel), pattern
    )
