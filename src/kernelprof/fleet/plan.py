"""The plan of a fleet's run: a TOML file, read, checked, and spread out into jobs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NoReturn

import msgspec
from msgspec import Meta, Struct

from kernelprof import files
from kernelprof.errors import InputError, UsageError
from kernelprof.launch.specification.tables import Define
from kernelprof.model.toml_text import TomlError, read_toml, split_mistake

if TYPE_CHECKING:
    from collections.abc import Iterator

    _How = dict[str, Any]

MOST_JOBS: Final = 100_000
_LARGEST: Final = files.MEGABYTE

_Name = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
_Text = Annotated[str, Meta(min_length=1)]
_Positive = Annotated[int, Meta(ge=1)]
_Seconds = Annotated[float, Meta(gt=0)]
_Some = Meta(min_length=1)
"""A list of nothing would leave its entry out without a word."""
_Sizes = dict[_Name, _Positive | Annotated[list[_Positive], _Some]]
_Defines = dict[_Name, Define | Annotated[list[Define], _Some]]


class _JobEntry(Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    preset: str | None = None
    repeat: _Positive = 1
    time_limit: _Seconds | None = None


class _Kernel(_JobEntry, frozen=True, kw_only=True):
    source: _Text
    against: _Text | None = None
    sizes: _Sizes | Annotated[list[_Sizes], _Some] = msgspec.field(default_factory=dict)
    defines: _Defines | Annotated[list[_Defines], _Some] = msgspec.field(default_factory=dict)


class _Ladder(_JobEntry, frozen=True, kw_only=True):
    name: _Text
    rungs: Annotated[list[_Text], _Some] = msgspec.field(default_factory=list)
    size: Annotated[list[_Positive], _Some] = msgspec.field(default_factory=list)
    variants: bool = False


class _ProgramEntry(_JobEntry, frozen=True, kw_only=True):
    command: Annotated[list[_Text], Meta(min_length=1)]
    kernel: str | None = None
    launch_skip: Annotated[int, Meta(ge=0)] | None = None
    launch_count: _Positive | None = None


class _Captures(Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    folder: _Text


class _PlanFile(Struct, forbid_unknown_fields=True, kw_only=True):
    schema_version: Literal["1"]
    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    store: _Text | None = None
    gpus: list[_Text] = msgspec.field(default_factory=list)
    preset: str | None = None
    retries: Annotated[int, Meta(ge=0)] = 2
    kernel: list[_Kernel] = msgspec.field(default_factory=list)
    ladder: list[_Ladder] = msgspec.field(default_factory=list)
    program: list[_ProgramEntry] = msgspec.field(default_factory=list)
    captures: list[_Captures] = msgspec.field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Job:
    """One measurement, as plain values that travel to a worker.

    ``path`` is the source or the capture, ``against`` that of the other kernel of a comparison.
    """

    kind: Literal["source", "program", "capture"]
    name: str
    path: str = ""
    command: tuple[str, ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()
    defines: tuple[tuple[str, Define], ...] = ()
    preset: str | None = None
    time_limit: float | None = None
    kernel: str | None = None
    launch_skip: int | None = None
    launch_count: int | None = None
    round: int = 1
    against: str | None = None
    side: Literal["before", "after"] | None = None
    folder: str = ""
    """Where a program is run."""

    def shown(self) -> str:
        """Its name with what distinguishes it in a sweep, in a line."""
        values = [f"{name}={value}" for name, value in (*self.sizes, *self.defines)]
        again = [f"round {self.round}"] if self.round > 1 else []
        return " ".join([self.name, *values, *again])


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """What to measure; ``gpus`` are parts of names of GPUs, none for all.

    Jobs of one group are measured one after the other on one device.
    """

    name: str
    path: Path
    store: str | None
    gpus: tuple[str, ...]
    retries: int
    groups: tuple[tuple[Job, ...], ...]

    @property
    def jobs(self) -> tuple[Job, ...]:
        """All jobs."""
        return tuple(job for group in self.groups for job in group)


def read_plan(path: Path) -> FleetPlan:
    """Read a plan; paths in it are relative to its folder. :class:`InputError` names the key."""
    plan = _PlanReader(path)
    try:
        values = read_toml(files.read_text(path.expanduser(), _LARGEST, typed=True))
        document = msgspec.convert(values, _PlanFile)
    except OSError as error:
        plan.refuse(f"it cannot be read ({error.strerror})")
    except TomlError as error:
        plan.refuse(
            f"it is not valid TOML: {error}", "" if error.line is None else f"line {error.line}"
        )
    except msgspec.ValidationError as error:
        plan.refuse(*split_mistake(error))
    except ValueError as error:
        plan.refuse(f"it is not UTF-8 text ({error})")
    groups: list[tuple[Job, ...]] = []
    total = 0
    for name in ("kernel", "ladder", "program", "captures"):
        for at, entry in enumerate(getattr(document, name)):
            key, repeat = f"{name}[{at}]", getattr(entry, "repeat", 1)
            for jobs in plan.expand(entry, key, document.preset):
                total += len(jobs) * repeat
                if total > MOST_JOBS:
                    plan.refuse(f"with this entry, the plan has more than {MOST_JOBS:,} jobs", key)
                rounds = range(1, repeat + 1)
                groups.append(tuple(replace(job, round=each) for each in rounds for job in jobs))
    if not groups:
        plan.refuse("there is nothing to measure")
    store = document.store
    if store is not None and "://" not in store:
        store = str(plan.home / Path(store).expanduser())
    return FleetPlan(
        document.name, path, store, tuple(document.gpus), document.retries, tuple(groups)
    )


class _PlanReader:
    """Expands entries into jobs of the first round, those together that stay on one device."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.home = path.expanduser().absolute().parent

    def expand(self, entry: Any, key: str, default: str | None) -> Iterator[tuple[Job, ...]]:
        if isinstance(entry, _Captures):
            yield from self._expand_captures(entry, key)
            return
        how = {"preset": entry.preset or default, "time_limit": entry.time_limit}
        if how["preset"] is not None:
            from kernelprof.analysis.metrics.catalogue import preset

            with self._explain("preset" if entry.preset is None else f"{key}.preset"):
                preset(how["preset"])
        if isinstance(entry, _Kernel):
            yield from self._expand_kernel(entry, how, key)
        elif isinstance(entry, _Ladder):
            yield from self._expand_ladder(entry, how, key)
        else:
            yield (self._program_job(entry, how),)

    def _expand_kernel(self, entry: _Kernel, how: _How, key: str) -> Iterator[tuple[Job, ...]]:
        given = {"source": entry.source, "against": entry.against}
        names = [name for name in given.values() if name is not None]
        for where, name in given.items():
            if name is not None and not (self.home / name).is_file():
                self.refuse(f"there is no file {name!r}", f"{key}.{where}")
        points = ((each, also) for each in _points(entry.sizes) for also in _points(entry.defines))
        for sizes, defines in points:
            whole = tuple((name, int(value)) for name, value in sizes.items())
            made = [
                Job("source", name, str(self.home / name), (), whole, tuple(defines.items()), **how)
                for name in names
            ]
            if entry.against is None:
                yield tuple(made)
            else:
                before, after = made
                yield (
                    replace(before, side="before", against=after.path),
                    replace(after, side="after", against=before.path),
                )

    def _expand_ladder(self, entry: _Ladder, how: _How, key: str) -> Iterator[tuple[Job, ...]]:
        from kernelprof.ladder.registry import choose, load_ladders

        with self._explain(f"{key}.name"):
            ladder, rungs = choose(load_ladders(), [entry.name])
        if entry.rungs:
            with self._explain(f"{key}.rungs"):
                ladder, rungs = choose(
                    load_ladders(), [f"{entry.name}/{each}" for each in entry.rungs]
                )
        for rung in rungs:
            for size in entry.size or (ladder.sizes[-1],):
                square = tuple((axis, size) for axis in "MNK")
                for variant in ({}, *(rung.variants if entry.variants else ())):
                    defines = tuple(variant.items())
                    yield (Job("source", rung.target, str(rung.path), (), square, defines, **how),)

    def _program_job(self, entry: _ProgramEntry, how: _How) -> Job:
        return Job(
            "program",
            " ".join(entry.command),
            command=tuple(entry.command),
            kernel=entry.kernel,
            launch_skip=entry.launch_skip,
            launch_count=entry.launch_count,
            folder=str(self.home),
            **how,
        )

    def _expand_captures(self, entry: _Captures, key: str) -> Iterator[tuple[Job, ...]]:
        from kernelprof.sources.ncu.folder import is_folder, list_entries, may_be_capture

        folder = self.home / Path(entry.folder).expanduser()
        if not folder.exists():
            self.refuse(f"there is no folder {entry.folder!r}", f"{key}.folder")
        for each in list_entries(folder) if is_folder(str(folder)) else [folder]:
            if each.is_dir() or may_be_capture(each.name):
                inner = each.relative_to(folder).as_posix()
                name = entry.folder if inner == "." else f"{entry.folder}/{inner}"
                yield (Job("capture", name, str(each)),)

    @contextmanager
    def _explain(self, key: str) -> Iterator[None]:
        try:
            yield
        except UsageError as error:
            self.refuse(error.what, key, error.hint)

    def refuse(self, what: str, key: str = "", hint: str | None = None) -> NoReturn:
        raise InputError(
            f"the plan cannot be used: {what}",
            where=f"{self._path}: {key}" if key else str(self._path),
            hint=hint or "docs/fleet.md describes each key",
        )


def _points(given: Any) -> Iterator[dict[str, Any]]:
    for table in given if isinstance(given, list) else [given]:
        names = sorted(table)
        lists = [table[name] if isinstance(table[name], list) else [table[name]] for name in names]
        for values in product(*lists):
            yield dict(zip(names, values, strict=True))
