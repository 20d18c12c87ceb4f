"""The plan of a fleet's run: a TOML file, read, checked, and spread out into jobs."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NoReturn

import msgspec
from msgspec import Meta, Struct

from kernelprof import files
from kernelprof.errors import InputError, UsageError
from kernelprof.launch.tables import Define
from kernelprof.model.toml_text import TomlError, read_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_JOBS: Final = 100_000
_LARGEST: Final = files.MEGABYTE
_PLACE: Final = re.compile(r" - at (?:`key` in )?`\$\.?(?P<key>[^`]*)`$")

_Name = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
_Text = Annotated[str, Meta(min_length=1)]
_Positive = Annotated[int, Meta(ge=1)]
_Seconds = Annotated[float, Meta(gt=0)]
_Some = Meta(min_length=1)
"""A list of nothing would leave its entry out without a word."""
_Sizes = dict[_Name, _Positive | Annotated[list[_Positive], _Some]]
_Defines = dict[_Name, Define | Annotated[list[Define], _Some]]


class _How(Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Keys that every kind of job has."""

    preset: str | None = None
    repeat: _Positive = 1
    time_limit: _Seconds | None = None


class _Kernel(_How, frozen=True, kw_only=True):
    """``[[kernel]]``: sources with a launch specification."""

    source: _Text
    against: _Text | None = None
    sizes: _Sizes | Annotated[list[_Sizes], _Some] = msgspec.field(default_factory=dict)
    defines: _Defines | Annotated[list[_Defines], _Some] = msgspec.field(default_factory=dict)


class _Ladder(_How, frozen=True, kw_only=True):
    """``[[ladder]]``: rungs of a ladder that kernelprof ships."""

    name: _Text
    rungs: Annotated[list[_Text], _Some] = msgspec.field(default_factory=list)
    size: Annotated[list[_Positive], _Some] = msgspec.field(default_factory=list)
    variants: bool = False


class _Program(_How, frozen=True, kw_only=True):
    """``[[program]]``: any program, as ``kernelprof diagnose -- APP`` takes it."""

    command: Annotated[list[_Text], Meta(min_length=1)]
    kernel: str | None = None
    launch_skip: Annotated[int, Meta(ge=0)] | None = None
    launch_count: _Positive | None = None


class _Captures(Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """``[[captures]]``: a folder of captures that exist already; they are diagnosed and stored."""

    folder: _Text


class _File(Struct, forbid_unknown_fields=True, kw_only=True):
    schema_version: Literal["1"]
    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    store: _Text | None = None
    gpus: list[_Text] = msgspec.field(default_factory=list)
    preset: str | None = None
    retries: Annotated[int, Meta(ge=0)] = 2
    kernel: list[_Kernel] = msgspec.field(default_factory=list)
    ladder: list[_Ladder] = msgspec.field(default_factory=list)
    program: list[_Program] = msgspec.field(default_factory=list)
    captures: list[_Captures] = msgspec.field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Job:
    """One measurement, as plain values that travel to whoever makes it.

    ``name`` is what people call it, ``path`` the source or the capture, ``command`` a program.
    ``against`` is the path of the other kernel of a comparison, which is measured on the same
    device.
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
class Plan:
    """What is to be measured, and on which GPUs.

    ``jobs`` are in groups: those of one group are measured one after the other on one device.
    ``gpus`` are parts of names of GPUs, none for all that there are; every job is done on each.
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


def read_plan(path: Path) -> Plan:
    """The plan in a file; :class:`InputError` names the key of a mistake.

    Paths in it are relative to its folder.
    """
    try:
        values = read_toml(files.read_text(path.expanduser(), _LARGEST, typed=True))
        found = msgspec.convert(values, _File)
    except OSError as error:
        _refuse(f"it cannot be read ({error.strerror})", path)
    except TomlError as error:
        where = "" if error.line is None else f"line {error.line}"
        _refuse(f"it is not valid TOML: {error}", path, where)
    except msgspec.ValidationError as error:
        place = _PLACE.search(str(error))
        _refuse(_PLACE.sub("", str(error)), path, "" if place is None else place["key"])
    except ValueError as error:
        _refuse(f"it is no text ({error})", path)
    home = path.expanduser().absolute().parent
    groups: list[tuple[Job, ...]] = []
    total = 0
    for part in (found.kernel, found.ladder, found.program, found.captures):
        for at, entry in enumerate(part):
            key, repeat = f"{_KEYS[type(entry)]}[{at}]", getattr(entry, "repeat", 1)
            for jobs in _groups(entry, found, home, path, key):
                total += len(jobs) * repeat
                if total > MOST_JOBS:
                    _refuse(f"with this entry it has more than {MOST_JOBS:,} jobs", path, key)
                rounds = range(1, repeat + 1)
                groups.append(tuple(replace(job, round=each) for each in rounds for job in jobs))
    if not groups:
        _refuse("there is nothing to measure", path)
    store = found.store
    if store is not None and "://" not in store:
        store = str(home / Path(store).expanduser())
    return Plan(found.name, path, store, tuple(found.gpus), found.retries, tuple(groups))


_KEYS: Final[dict[type, str]] = {
    _Kernel: "kernel",
    _Ladder: "ladder",
    _Program: "program",
    _Captures: "captures",
}


def _groups(entry: Any, of: _File, home: Path, path: Path, key: str) -> Iterator[tuple[Job, ...]]:
    """The jobs of an entry's first round, those together that stay on one device."""
    if isinstance(entry, _Captures):
        yield from _captures(entry, home, path, key)
        return
    how = {"preset": entry.preset or of.preset, "time_limit": entry.time_limit}
    if how["preset"] is not None:
        from kernelprof.analysis.metrics.catalogue import preset

        place = "preset" if entry.preset is None else f"{key}.preset"
        with _explained(path, place):
            preset(how["preset"])
    yield from _KINDS[type(entry)](entry, how, home, path, key)


def _kernels(
    entry: _Kernel, how: Mapping[str, Any], home: Path, path: Path, key: str
) -> Iterator[tuple[Job, ...]]:
    given = {"source": entry.source, "against": entry.against}
    named = [name for name in given.values() if name is not None]
    for where, name in given.items():
        if name is not None and not (home / name).is_file():
            _refuse(f"there is no file {name!r}", path, f"{key}.{where}")
    points = ((each, also) for each in _points(entry.sizes) for also in _points(entry.defines))
    for sizes, defines in points:
        whole = tuple((name, int(value)) for name, value in sizes.items())
        made = [
            Job("source", name, str(home / name), (), whole, tuple(defines.items()), **how)
            for name in named
        ]
        if entry.against is None:
            yield tuple(made)
        else:
            before, after = made
            yield (
                replace(before, side="before", against=after.path),
                replace(after, side="after", against=before.path),
            )


def _rungs(
    entry: _Ladder, how: Mapping[str, Any], home: Path, path: Path, key: str
) -> Iterator[tuple[Job, ...]]:
    from kernelprof.ladder.registry import choose, ladders

    del home
    with _explained(path, f"{key}.name"):
        of, rungs = choose(ladders(), [entry.name])
    if entry.rungs:
        with _explained(path, f"{key}.rungs"):
            of, rungs = choose(ladders(), [f"{entry.name}/{each}" for each in entry.rungs])
    for rung in rungs:
        for size in entry.size or (of.sizes[-1],):
            square = tuple((axis, size) for axis in "MNK")
            for variant in ({}, *(rung.variants if entry.variants else ())):
                defines = tuple(variant.items())
                yield (Job("source", rung.target, str(rung.path), (), square, defines, **how),)


def _programs(
    entry: _Program, how: Mapping[str, Any], home: Path, path: Path, key: str
) -> Iterator[tuple[Job, ...]]:
    del path, key
    yield (
        Job(
            "program",
            " ".join(entry.command),
            command=tuple(entry.command),
            kernel=entry.kernel,
            launch_skip=entry.launch_skip,
            launch_count=entry.launch_count,
            folder=str(home),
            **how,
        ),
    )


def _captures(entry: _Captures, home: Path, path: Path, key: str) -> Iterator[tuple[Job, ...]]:
    from kernelprof.sources.ncu.folder import entries, is_folder, may_be_capture

    folder = home / Path(entry.folder).expanduser()
    if not folder.exists():
        _refuse(f"there is no folder {entry.folder!r}", path, f"{key}.folder")
    found = entries(folder) if is_folder(str(folder)) else [folder]
    for each in found:
        if each.is_dir() or may_be_capture(each.name):
            inner = each.relative_to(folder).as_posix()
            name = entry.folder if inner == "." else f"{entry.folder}/{inner}"
            yield (Job("capture", name, str(each)),)


_KINDS: Final[dict[type, Any]] = {_Kernel: _kernels, _Ladder: _rungs, _Program: _programs}


def _points(given: Any) -> Iterator[dict[str, Any]]:
    """The values of a sweep: all combinations of the lists in a table, of each table in a list."""
    for table in given if isinstance(given, list) else [given]:
        names = sorted(table)
        lists = [table[name] if isinstance(table[name], list) else [table[name]] for name in names]
        for values in product(*lists):
            yield dict(zip(names, values, strict=True))


@contextmanager
def _explained(path: Path, place: str) -> Iterator[None]:
    """What a value is refused for, with the place that it stands in."""
    try:
        yield
    except UsageError as error:
        _refuse(error.what, path, place, error.hint)


def _refuse(what: str, path: Path, place: str = "", hint: str | None = None) -> NoReturn:
    raise InputError(
        f"the plan cannot be used: {what}",
        where=f"{path}: {place}" if place else str(path),
        hint=hint or "docs/fleet.md says what each key means",
    )
