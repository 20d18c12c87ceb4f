"""The one list of the ladder's rungs: ``ladder.toml`` beside the kernels, read and checked."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from kernelprof.errors import InputError, UsageError
from kernelprof.resources import data_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Define = int | float | str

FILE: Final = "ladder.toml"
SCHEMA_VERSION: Final = "1"

_KEYS = ("file", "title", "after", "changes", "before", "expected", "variants")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KERNEL = re.compile(r"\d\d_[a-z0-9_]+\.cu")
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Rung:
    """One kernel of the ladder; the keys of ``ladder.toml`` say what each field is."""

    file: str
    title: str
    changes: str
    path: Path
    after: str | None = None
    before: str | None = None
    expected: str | None = None
    variants: tuple[Mapping[str, Define], ...] = ()

    @property
    def number(self) -> int:
        """The number that the file's name begins with."""
        return int(self.file[:2])

    @property
    def shown(self) -> Path:
        """Its path as somebody here would write it: from the current folder on if it is below."""
        here = Path.cwd()
        return self.path.relative_to(here) if self.path.is_relative_to(here) else self.path

    @property
    def target(self) -> str:
        """Its path from the root of the repository, which captures that are kept name."""
        return f"cuda/ladder/{self.file}"

    @property
    def stem(self) -> str:
        """The file's name without its suffix: what its capture directory is called."""
        return self.file.removesuffix(".cu")


def ladder() -> tuple[Rung, ...]:
    """The rungs that this installation has, in order."""
    return read_ladder(data_folder("cuda") / "ladder" / FILE)


def read_ladder(path: Path) -> tuple[Rung, ...]:
    """The rungs of a registry file; :class:`InputError` names the key of a mistake."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        _refuse(f"it cannot be read ({error.strerror})", path, "")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        _refuse(f"it is not valid TOML: {error}", path, "")
    top = _Table(path, "", values)
    top.only("schema_version", "rung")
    if values.get("schema_version") != SCHEMA_VERSION:
        top.refuse(f"this kernelprof reads version {SCHEMA_VERSION!r}", "schema_version")
    entries = values.get("rung")
    if not isinstance(entries, list) or not entries:
        top.refuse("there has to be at least one [[rung]]", "rung")
    rungs: list[Rung] = []
    for position, entry in enumerate(entries):
        rungs.append(_rung(_Table(path, f"rung[{position}]", entry), rungs))
    return tuple(rungs)


def choose(rungs: Sequence[Rung], wanted: Sequence[str]) -> tuple[Rung, ...]:
    """The rungs that somebody named by number or file, in the ladder's order; all for none."""
    if not wanted:
        return tuple(rungs)
    chosen = {_find(rungs, each).file for each in wanted}
    return tuple(rung for rung in rungs if rung.file in chosen)


def _find(rungs: Sequence[Rung], wanted: str) -> Rung:
    name = wanted.replace("\\", "/").rpartition("/")[2]
    for rung in rungs:
        if name in (rung.file, rung.stem) or (name.isdigit() and int(name) == rung.number):
            return rung
    raise UsageError(
        f"the ladder has no rung {wanted!r}",
        hint=f"give a number from {rungs[0].number} to {rungs[-1].number}, or a file that "
        "'kernelprof ladder list' shows",
    )


def _rung(table: _Table, before: Sequence[Rung]) -> Rung:
    """One entry; ``before`` are those that stand above it."""
    table.only(*_KEYS)
    file = table.text("file", _KERNEL)
    if before and file <= before[-1].file:
        table.refuse(f"{file!r} does not come after {before[-1].file!r}", "file")
    kernel = table.path.with_name(file)
    if not kernel.is_file():
        table.refuse(f"there is no file {file!r} beside it", "file")
    after = table.optional("after")
    if after is not None and after not in {rung.file for rung in before}:
        table.refuse(f"no rung above is {after!r}", "after")
    led_here = table.optional("before")
    if (after is None) != (led_here is None):
        table.refuse("'after' and 'before' come together", "before" if after else "after")
    return Rung(
        file=file,
        title=table.text("title"),
        changes=table.text("changes"),
        path=kernel,
        after=after,
        before=led_here,
        expected=table.optional("expected", _SLUG),
        variants=table.variants("variants"),
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """A TOML table that knows where it stands, so that a mistake in it can be found."""

    path: Path
    place: str
    values: Mapping[str, object]

    def refuse(self, what: str, key: str) -> NoReturn:
        place = ".".join(part for part in (self.place, key) if part)
        _refuse(f"{what}", self.path, place)

    def only(self, *known: str) -> None:
        if not isinstance(self.values, dict):
            self.refuse("rungs are written as [[rung]] tables", "")
        for key in self.values:
            if key not in known:
                self.refuse(f"unknown key {key!r}; known are {', '.join(known)}", key)

    def text(self, key: str, form: re.Pattern[str] | None = None) -> str:
        value = self.values.get(key)
        if not isinstance(value, str) or not value.strip():
            self.refuse(f"{key!r} has to be a text that is not empty", key)
        if form is not None and not form.fullmatch(value):
            self.refuse(f"{value!r} is not of the form {form.pattern}", key)
        return value

    def optional(self, key: str, form: re.Pattern[str] | None = None) -> str | None:
        return self.text(key, form) if key in self.values else None

    def variants(self, key: str) -> tuple[Mapping[str, Define], ...]:
        entries = self.values.get(key, [])
        if not isinstance(entries, list):
            self.refuse(f"{key!r} has to be a list of tables of defines", key)
        for position, entry in enumerate(entries):
            place = f"{key}[{position}]"
            if not isinstance(entry, dict) or not entry:
                self.refuse("a variant is a table of defines", place)
            for name, value in entry.items():
                if not _NAME.fullmatch(name):
                    self.refuse(f"{name!r} is not a name of a macro", place)
                if not isinstance(value, int | float | str) or isinstance(value, bool):
                    self.refuse(f"{name} has to be a number or a text", f"{place}.{name}")
        return tuple(dict(entry) for entry in entries)


def _refuse(what: str, path: Path, place: str) -> NoReturn:
    raise InputError(
        f"the ladder's registry cannot be used: {what}",
        where=f"{path}: {place}" if place else str(path),
        hint="its first lines say what each key means",
    )
