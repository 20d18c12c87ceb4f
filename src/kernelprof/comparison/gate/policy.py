"""The policy: what a change may cost, and what fails. TOML in a file or in ``pyproject.toml``.

Keys that are not known are errors: a misspelt budget would otherwise pass everything.
"""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kernelprof import files
from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.comparison.counters import COUNTERS, DERIVED
from kernelprof.errors import UsageError
from kernelprof.model.gate import Outcome
from kernelprof.model.kernel_name import function_name
from kernelprof.model.toml_text import TomlError, read_toml

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    Reader = Callable[[Any, str], Any]

PER_REQUEST: Final = {
    "load_sectors_per_request": ("global_load_sectors", "global_load_requests"),
    "store_sectors_per_request": ("global_store_sectors", "global_store_requests"),
}
"""Budgets that are worked out from two counters."""

PROJECT: Final = "pyproject.toml"
_TABLE: Final = ("tool", "kernelprof", "gate")
_INCONCLUSIVE: Final = "inconclusive"
_ACTED_ON: Final = ("new_bottleneck", "left_limit", "counter_worse", "check_weakened")
ACTIONS: Final = {
    "fail": Outcome.REGRESSION,
    "inconclusive": Outcome.INCONCLUSIVE,
    "allow": Outcome.PASS,
}
"""What a policy calls the outcomes."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The most or the least that a metric of the candidate may be."""

    at_most: float | None = None
    at_least: float | None = None

    @property
    def sides(self) -> list[tuple[str, float]]:
        """The limits that there are, each with its name in words."""
        sides = (("at most", self.at_most), ("at least", self.at_least))
        return [(side, limit) for side, limit in sides if limit is not None]

    def allows(self, measured: float) -> bool:
        """Whether a value is within both limits."""
        if self.at_most is not None and measured > self.at_most:
            return False
        return self.at_least is None or measured >= self.at_least


@dataclass(frozen=True, slots=True)
class Limits:
    """What counts for one kernel; fractions of the time, and of counters by name.

    Where the noise floor is above ``max_noise``, an equal time is inconclusive.
    """

    max_slowdown: float = 0.0
    max_noise: float = 0.25
    new_bottleneck: Outcome = Outcome.REGRESSION
    left_limit: Outcome = Outcome.REGRESSION
    counter_worse: Outcome = Outcome.REGRESSION
    check_weakened: Outcome = Outcome.REGRESSION
    max_increase: dict[str, float] = field(default_factory=lambda: {"instructions": 0.01})
    budget: dict[str, Budget] = field(default_factory=dict)

    def judge_slowdown(self, ratio: float | None) -> Outcome:
        """Return what a significantly longer time means; ``ratio`` is after / before."""
        over = (ratio or math.inf) - 1 > self.max_slowdown
        return Outcome.REGRESSION if over else Outcome.PASS

    def with_changes(self, changes: Mapping[str, Any]) -> Limits:
        """These limits with others put over them, table by table."""
        tables = {
            name: {**getattr(self, name), **changes.get(name, {})}
            for name in ("max_increase", "budget")
        }
        return replace(self, **{**changes, **tables})


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy; ``appeared`` is ``None`` where the time of new kernels decides."""

    limits: Limits = field(default_factory=Limits)
    inconclusive: Outcome = Outcome.INCONCLUSIVE
    vanished: Outcome = Outcome.INCONCLUSIVE
    appeared: Outcome | None = None
    damaged: Outcome = Outcome.INCONCLUSIVE
    renamed: Outcome = Outcome.INCONCLUSIVE
    launched_more: Outcome = Outcome.INCONCLUSIVE
    ignore: tuple[str, ...] = ()
    overrides: tuple[tuple[str, dict[str, Any]], ...] = ()

    def ignores(self, kernel: str) -> bool:
        """Whether the gate does not look at a kernel."""
        return any(_matches(pattern, kernel) for pattern in self.ignore)

    @property
    def has_budgets(self) -> bool:
        """Whether it limits metrics of any kernel, which then have to be known."""
        return bool(self.limits.budget) or any("budget" in each for _, each in self.overrides)

    def limits_of(self, kernel: str) -> Limits:
        """The limits of a kernel: the general ones with all that match put over them, in order."""
        limits = self.limits
        for changes in self._overrides_of(kernel):
            limits = limits.with_changes(
                {name: each for name, each in changes.items() if name != _INCONCLUSIVE}
            )
        return limits

    def inconclusive_of(self, kernel: str) -> Outcome:
        """What an inconclusive finding about a kernel is, where it has a word of its own on it."""
        overrides = [
            each[_INCONCLUSIVE] for each in self._overrides_of(kernel) if _INCONCLUSIVE in each
        ]
        return overrides[-1] if overrides else Outcome.INCONCLUSIVE

    def _overrides_of(self, kernel: str) -> list[dict[str, Any]]:
        return [changes for pattern, changes in self.overrides if _matches(pattern, kernel)]


def load_policy(policy: str | os.PathLike[str] | Mapping[str, Any] | None = None) -> Policy:
    """Load a policy from keys or a file, else from ``pyproject.toml`` here, else the default one.

    Raises :class:`UsageError` with file and key.
    """
    if isinstance(policy, Mapping):
        return _policy(policy, "the policy")
    path = Path(PROJECT if policy is None else policy)
    if policy is None and not files.is_plain(path):
        return Policy()
    try:
        text = files.read_text(path, files.LARGEST_TOML, typed=True)
        values = read_toml(text.removeprefix("\ufeff"))
    except OSError as error:
        raise UsageError(
            f"the policy cannot be read: {error.strerror}", where=str(path), hint="see --policy"
        ) from error
    except TomlError as error:
        where = f"{path}:{error.line}" if error.line else str(path)
        raise UsageError(f"the policy is not TOML: {error}", where=where) from error
    except UnicodeDecodeError as error:
        raise UsageError("the policy is not UTF-8", where=str(path)) from error
    if path.name == PROJECT:
        for key in _TABLE:
            values = values.get(key, {})
            if not isinstance(values, dict):
                raise UsageError(f"{key} is not a table", where=f"{path}, {'.'.join(_TABLE)}")
    return _policy(values, str(path))


def _policy(values: Mapping[str, Any], where: str) -> Policy:
    try:
        settings = _read(dict(values), {**_whole(), **_limits()})
    except UsageError as error:
        error.where = where
        raise
    overrides = tuple((each.pop("name"), each) for each in settings.pop("kernel", ()))
    general = {name: settings.pop(name) for name in _limits() if name in settings}
    return Policy(limits=Limits().with_changes(general), overrides=overrides, **settings)


def _whole() -> dict[str, Reader]:
    actions = (_INCONCLUSIVE, "vanished", "appeared", "renamed", "launched_more", "damaged")
    return {**dict.fromkeys(actions, _action), "ignore": _names, "kernel": _kernels}


def _limits() -> dict[str, Reader]:
    return {
        **dict.fromkeys(("max_slowdown", "max_noise"), _fraction),
        **dict.fromkeys(_ACTED_ON, _action),
        "max_increase": _table((*COUNTERS, *DERIVED), _fraction),
        "budget": _table((*PER_REQUEST, *DERIVED, *load_metrics()), _budget),
    }


def _table(names: Iterable[str], reader: Reader) -> Reader:
    readers = dict.fromkeys(names, reader)
    return lambda values, key: _read(values, readers, key)


def _read(values: Any, readers: Mapping[str, Reader], key: str = "") -> dict[str, Any]:
    if not isinstance(values, dict):
        raise _wrong(key, "a table", values)
    dot = f"{key}." if key else ""
    for name in (each for each in values if each not in readers):
        close = difflib.get_close_matches(name, list(readers), n=2)
        raise UsageError(
            f"the policy has an unknown key: {dot}{name}",
            hint=f"did you mean {' or '.join(close)}?"
            if close
            else f"available keys: {', '.join(sorted(readers)[:20])}",
        )
    return {name: readers[name](value, dot + name) for name, value in values.items()}


def _kernels(tables: Any, key: str) -> list[dict[str, Any]]:
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise _wrong(key, "tables [[kernel]]", tables)
    readers = {"name": _name, _INCONCLUSIVE: _action, **_limits()}
    return [
        _read({"name": None, **each}, readers, f"{key}[{at}]") for at, each in enumerate(tables)
    ]


def _budget(value: Any, key: str) -> Budget:
    if _is_number(value):
        return Budget(at_most=float(value))
    limits = _read(value, {"at_most": _number, "at_least": _number}, key)
    if not limits:
        raise _wrong(key, "a number, or a table with at_most or at_least", value)
    return Budget(**limits)


def _fraction(value: Any, key: str) -> float:
    # A number from 0 on, or a percentage as text: `0.02` is `"2 %"`
    number = value
    if isinstance(value, str) and value.strip().endswith("%"):
        with contextlib.suppress(ValueError):
            number = float(value.strip()[:-1]) / 100
    if not _is_number(number) or number < 0:
        raise _wrong(key, 'a fraction or a percentage such as "2 %"', value)
    return float(number)


def _checked(wanted: str, check: Callable[[Any], bool], make: Callable[[Any], Any]) -> Reader:
    def read(value: Any, key: str) -> Any:
        if not check(value):
            raise _wrong(key, wanted, value)
        return make(value)

    return read


def _wrong(key: str, wanted: str, value: Any) -> UsageError:
    return UsageError(f"{key} must be {wanted}, but is {value!r:.60}")


def _is_number(value: Any) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return math.isfinite(value)


def _is_name(value: Any) -> bool:
    return isinstance(value, str)


_number: Final = _checked("a number", _is_number, float)
_name: Final = _checked("a kernel's name or a pattern", _is_name, str)
_names: Final = _checked(
    "a list of kernel names or patterns",
    lambda value: isinstance(value, list) and all(map(_is_name, value)),
    tuple,
)
_action: Final = _checked(
    " or ".join(f'"{each}"' for each in ACTIONS),
    lambda value: _is_name(value) and value in ACTIONS,
    ACTIONS.__getitem__,
)


def _matches(pattern: str, kernel: str) -> bool:
    # A pattern of the shell's kind, against the whole name or the bare function's
    return fnmatch.fnmatchcase(kernel, pattern) or fnmatch.fnmatchcase(
        function_name(kernel), pattern
    )
