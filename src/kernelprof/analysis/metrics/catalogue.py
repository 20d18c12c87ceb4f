"""The metrics and presets that kernelprof ships: TOML files of what to collect, where, and why.

A theme defines metrics of its own. A selection (``triage``, ``full``) has none: it names metrics
of themes (``metrics``) or whole themes (``include``). A canonical name is defined in one file only,
so that the name, its unit and its reason can be found there. ``samples = true`` asks for what tells
at which source lines warps spend their time; ``include`` does not bring it along.

Only :mod:`tomllib` and dataclasses are behind this, so that listing presets starts fast.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.architectures import CHIPS, chip_of
from kernelprof.errors import InputError, UsageError
from kernelprof.model.capture import DEVICE_NAME
from kernelprof.resources import data_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

SAMPLES: Final = "group:smsp__pcsamp_warp_stall_reasons"
"""What ``ncu`` is asked for to sample where warps are: no metric, but a list of counters, one a
reason for waiting. Its source page has their sum under this name, for each instruction and line."""

SAMPLES_SECTION: Final = "SourceCounters"
"""The section of ``ncu`` that is collected with them: samples by the state of the warp, and what
each instruction did."""

SPILLING_REQUESTS: Final = "derived__local_spilling_requests"
"""What rules of Nsight Compute count spills by; it is in no preset, and read where it is there."""
SPILLING_SHARE: Final = f"{SPILLING_REQUESTS}_pct"
"""The same in percent of all requests of local memory."""


SHOWN_ONLY: Final = (
    "cluster_shared_bytes",
    "l1_requests", "l1_writeback", "lsu_pipe",
    "memory_access_throughput", "memory_request_throughput",
    "shared_memory_per_block", "sm_cycles_active_max", "sm_cycles_active_min",
    "threads_per_instruction_predicated", "uniform_pipe",
)  # fmt: skip
"""Metrics that reports show and comparisons list, and no rule looks at."""

_CANONICAL_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PRESET_NAME = re.compile(r"[a-z][a-z0-9-]*")
_NCU_NAME = re.compile(r"[a-z][A-Za-z0-9_]*(\.[a-z_]+)*")
_SECTION_NAME = re.compile(r"[A-Za-z0-9_]+")
_ARCHITECTURE = re.compile("|".join((*CHIPS, r"[0-9]+\.[0-9]")))
_ARCHITECTURE_NAMES = f"{', '.join(CHIPS)} and compute capabilities such as 12.1"


def _keys(compute_capability: tuple[int, int] | None) -> tuple[str, ...]:
    """How a preset may call this architecture, the closest first."""
    if compute_capability is None:
        return ()
    exact = "{}.{}".format(*compute_capability)
    chip = chip_of(compute_capability)
    return (exact,) if chip is None else (exact, chip)


@dataclass(frozen=True, slots=True)
class Metric:
    """One quantity under its canonical name, and what ``ncu`` calls it.

    ``ncu`` holds names of the same quantity, the one to ask for first. ``architectures`` replaces
    them where they differ, by chip (``gb202``) or by compute capability (``12.1``), the latter
    first; no name means that ``ncu`` has no counter for it there. ``only_on`` and ``not_on`` tell
    where the hardware itself has or lacks the thing that is counted. ``section`` is the section to
    ask for where ``ncu`` does not give a metric by its name. ``preset`` is the theme that defines
    the metric.
    """

    name: str
    ncu: tuple[str, ...]
    unit: str
    why: str
    preset: str
    architectures: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: MappingProxyType({}), hash=False
    )
    only_on: tuple[str, ...] = ()
    not_on: tuple[str, ...] = ()
    section: str | None = None
    _all: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = dict.fromkeys(self.ncu)
        for special in self.architectures.values():
            names.update(dict.fromkeys(special))
        object.__setattr__(self, "_all", tuple(names))

    def ncu_names(self, compute_capability: tuple[int, int] | None) -> tuple[str, ...]:
        """Return the names on this architecture; empty where it has no such metric.

        An architecture that is not known is taken to have the default names.
        """
        if self.is_zero_on(compute_capability):
            return ()
        for key in _keys(compute_capability):
            if key in self.architectures:
                return self.architectures[key]
        return self.ncu

    def is_zero_on(self, compute_capability: tuple[int, int] | None) -> bool:
        """Return whether the hardware has no such unit, so that the value is zero."""
        keys = _keys(compute_capability)
        if self.only_on and chip_of(compute_capability) is not None:
            return not any(key in self.only_on for key in keys)
        return any(key in self.not_on for key in keys)

    def all_ncu_names(self) -> tuple[str, ...]:
        """Return every name that the metric has on any architecture, the default ones first."""
        return self._all


@dataclass(frozen=True, slots=True)
class Preset:
    """A named set of metrics; ``metrics`` includes those that it takes from other presets.

    ``samples`` says whether :data:`SAMPLES` are collected as well.
    """

    name: str
    title: str
    description: str
    metrics: tuple[Metric, ...]
    samples: bool = False


@cache
def presets() -> Mapping[str, Preset]:
    """Return all presets by name."""
    return MappingProxyType(load_presets(data_folder("metric_presets")))


@cache
def catalogue() -> Mapping[str, Metric]:
    """Return all metrics by canonical name."""
    metrics = {metric.name: metric for each in presets().values() for metric in each.metrics}
    return MappingProxyType(dict(sorted(metrics.items())))


def names_known() -> frozenset[str]:
    """Return every ``ncu`` name of a metric of a preset."""
    return _names(catalogue().values())


@cache
def names_read() -> frozenset[str]:
    """Return every ``ncu`` name under which a diagnosis may look at a raw page."""
    read = (each for each in catalogue().values() if each.name not in SHOWN_ONLY)
    return _names(read) | {SPILLING_REQUESTS, SPILLING_SHARE, DEVICE_NAME}


def _names(metrics: Iterable[Metric]) -> frozenset[str]:
    return frozenset(name for each in metrics for name in each.all_ncu_names())


def preset(name: str) -> Preset:
    """Return one preset; :class:`UsageError` where there is none of that name."""
    shipped = presets()
    if name not in shipped:
        raise UsageError(f"no preset is called {name!r}", hint=_suggestion(name, shipped))
    return shipped[name]


def metrics_for(
    names: Iterable[str], compute_capability: tuple[int, int] | None = None
) -> tuple[Metric, ...]:
    """Return metrics by canonical name, without those that the architecture lacks."""
    metrics = catalogue()
    existing: dict[str, Metric] = {}
    for name in names:
        if name not in metrics:
            raise UsageError(f"no metric is called {name!r}", hint=_suggestion(name, metrics))
        if metrics[name].ncu_names(compute_capability):
            existing[name] = metrics[name]
    return tuple(existing.values())


def _suggestion(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(names), n=3)
    return f"did you mean {' or '.join(close)}?" if close else f"known are {', '.join(names)}"


def load_presets(folder: Path) -> dict[str, Preset]:
    """Return all presets of a folder by name; :class:`InputError` names file and key."""
    drafts = [_Draft.read(path) for path in sorted(folder.glob("*.toml"))]
    homes: dict[str, Metric] = {}
    for draft in drafts:
        for metric in draft.own:
            if metric.name in homes:
                raise draft.table.error(
                    f"metric {metric.name!r} is already defined in {homes[metric.name].preset}.toml"
                )
            homes[metric.name] = metric
    by_name = {draft.name: draft for draft in drafts}
    return {draft.name: draft.resolve(by_name, homes) for draft in drafts}


@dataclass(frozen=True, slots=True)
class _Table:
    path: Path
    key_path: str
    values: Mapping[str, object]

    def error(self, what: str, key: str = "") -> InputError:
        position = ".".join(part for part in (self.key_path, key) if part)
        return InputError(
            f"preset {self.path.stem}: {what}",
            where=f"{self.path}: {position}" if position else str(self.path),
            hint="see the other files in that folder for the form of a preset",
        )

    def refuse_other_keys(self, *accepted: str) -> None:
        for key in self.values:
            if key not in accepted:
                raise self.error(f"unknown key {key!r}; known are {', '.join(accepted)}", key)

    def text(self, key: str) -> str:
        value = self.values.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"{key!r} must be a text that is not empty", key)
        return value

    def name(self, key: str, pattern: re.Pattern[str]) -> str:
        value = self.text(key)
        if not pattern.fullmatch(value):
            raise self.error(f"{value!r} is not a name of the form {pattern.pattern}", key)
        return value

    def names(self, key: str, pattern: re.Pattern[str], *, empty: bool) -> tuple[str, ...]:
        value = self.values.get(key, [])
        if not isinstance(value, list) or not (value or empty):
            raise self.error(f"{key!r} must be a list of names", key)
        for position, name in enumerate(value):
            if not isinstance(name, str) or not pattern.fullmatch(name):
                raise self.error(
                    f"{name!r} is not a name of the form {pattern.pattern}", f"{key}[{position}]"
                )
        if len(set(value)) != len(value):
            raise self.error(f"{key!r} has a name twice", key)
        return tuple(value)

    def flag(self, key: str) -> bool:
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            raise self.error(f"{key!r} must be true or false", key)
        return value

    def tables(self, key: str) -> tuple[_Table, ...]:
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            raise self.error(f"{key!r} must be written as [[{key}]] tables", key)
        return tuple(
            _Table(self.path, f"{key}[{position}]", entry) for position, entry in enumerate(value)
        )

    def table(self, key: str) -> _Table:
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self.error(f"{key!r} must be a table", key)
        return _Table(self.path, f"{self.key_path}.{key}", value)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A preset whose references to other presets are still names."""

    table: _Table
    title: str
    description: str
    own: tuple[Metric, ...]
    include: tuple[str, ...]
    chosen: tuple[str, ...]
    samples: bool

    @property
    def name(self) -> str:
        return self.table.path.stem

    @classmethod
    def read(cls, path: Path) -> _Draft:
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(
                f"preset {path.stem} is not valid TOML: {error}",
                where=str(path),
                hint="correct the file at the place that the message names",
            ) from error
        table = _Table(path, "", values)
        table.refuse_other_keys("title", "description", "samples", "include", "metrics", "metric")
        draft = cls(
            table=table,
            title=table.text("title"),
            description=table.text("description"),
            own=tuple(_metric(entry, path.stem) for entry in table.tables("metric")),
            include=table.names("include", _PRESET_NAME, empty=True),
            chosen=table.names("metrics", _CANONICAL_NAME, empty=True),
            samples=table.flag("samples"),
        )
        if not (draft.own or draft.include or draft.chosen):
            raise table.error("no metric: give [[metric]] tables, 'metrics' or 'include'")
        return draft

    def resolve(self, drafts: Mapping[str, _Draft], homes: Mapping[str, Metric]) -> Preset:
        metrics: dict[str, Metric] = {}
        for position, name in enumerate(self.include):
            if name not in drafts or drafts[name].include:
                raise self.table.error(
                    f"{name!r} is not a preset that can be included", f"include[{position}]"
                )
            metrics.update(_by_name(drafts[name].own))
            metrics.update(drafts[name]._chosen_from(homes))
        metrics.update(self._chosen_from(homes))
        metrics.update(_by_name(self.own))
        return Preset(
            self.name, self.title, self.description, tuple(metrics.values()), self.samples
        )

    def _chosen_from(self, homes: Mapping[str, Metric]) -> dict[str, Metric]:
        for position, name in enumerate(self.chosen):
            if name not in homes:
                raise self.table.error(
                    f"no preset defines the metric {name!r}", f"metrics[{position}]"
                )
        return {name: homes[name] for name in self.chosen}


def _by_name(metrics: Iterable[Metric]) -> dict[str, Metric]:
    return {metric.name: metric for metric in metrics}


def _metric(table: _Table, preset: str) -> Metric:
    table.refuse_other_keys(
        "name", "ncu", "unit", "why", "architectures", "only_on", "not_on", "section"
    )
    if "only_on" in table.values and "not_on" in table.values:
        raise table.error("'only_on' and 'not_on' exclude each other", "not_on")
    special = table.table("architectures")
    for key in special.values:
        if not _ARCHITECTURE.fullmatch(key):
            raise special.error(
                f"unknown architecture {key!r}; known are {_ARCHITECTURE_NAMES}", key
            )
    return Metric(
        name=table.name("name", _CANONICAL_NAME),
        ncu=table.names("ncu", _NCU_NAME, empty=False),
        unit=table.text("unit"),
        why=table.text("why"),
        preset=preset,
        architectures=MappingProxyType(
            {key: special.names(key, _NCU_NAME, empty=True) for key in special.values}
        ),
        only_on=table.names("only_on", _ARCHITECTURE, empty="only_on" not in table.values),
        not_on=table.names("not_on", _ARCHITECTURE, empty=True),
        section=table.name("section", _SECTION_NAME) if "section" in table.values else None,
    )
