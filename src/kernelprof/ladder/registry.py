"""The one list of the ladder's rungs: ``ladder.toml`` beside the kernels, read and checked."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, NoReturn

import msgspec
from msgspec import Meta, Struct

from kernelprof.errors import InputError, UsageError
from kernelprof.resources import data_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

Define = int | float | str

FILE: Final = "ladder.toml"

_Text = Annotated[str, Meta(pattern=r"\S")]
_Slug = Annotated[str, Meta(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
_Macro = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
_PLACE: Final = re.compile(r" - at (?:`key` in )?`\$\.?(?P<key>[^`]*)`$")
"""Where ``msgspec`` says that a mistake is."""


class _Entry(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A ``[[rung]]`` as the file has it."""

    file: Annotated[str, Meta(pattern=r"^\d\d_[a-z0-9_]+\.cu$")]
    title: _Text
    changes: _Text
    after: _Text | None = None
    before: _Text | None = None
    expected: _Slug | None = None
    variants: tuple[Annotated[dict[_Macro, Define], Meta(min_length=1)], ...] = ()


class Rung(_Entry, frozen=True, kw_only=True):
    """One kernel of the ladder; the keys of ``ladder.toml`` say what each field is."""

    path: Path

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


class _File(Struct, forbid_unknown_fields=True):
    schema_version: Literal["1"]
    rung: Annotated[list[_Entry], Meta(min_length=1)]


def ladder() -> tuple[Rung, ...]:
    """The rungs that this installation has, in order."""
    return read_ladder(data_folder("cuda") / "ladder" / FILE)


def read_ladder(path: Path) -> tuple[Rung, ...]:
    """The rungs of a registry file; :class:`InputError` names the key of a mistake."""
    try:
        found = msgspec.toml.decode(path.read_bytes(), type=_File)
    except OSError as error:
        _refuse(f"it cannot be read ({error.strerror})", path)
    except msgspec.ValidationError as error:
        place = _PLACE.search(str(error))
        _refuse(_PLACE.sub("", str(error)), path, "" if place is None else place["key"])
    except ValueError as error:
        _refuse(f"it is not valid TOML: {error}", path)
    rungs: list[Rung] = []
    for position, entry in enumerate(found.rung):
        key, mistake = _mistake(entry, path.parent, rungs)
        if mistake:
            _refuse(mistake, path, f"rung[{position}].{key}")
        rungs.append(Rung(path=path.with_name(entry.file), **msgspec.structs.asdict(entry)))
    return tuple(rungs)


def _mistake(entry: _Entry, folder: Path, above: Sequence[Rung]) -> tuple[str, str]:
    """A key and what is wrong with it beside its form; empty where nothing is."""
    if above and entry.file <= above[-1].file:
        return "file", f"{entry.file!r} does not come after {above[-1].file!r}"
    if not (folder / entry.file).is_file():
        return "file", f"there is no file {entry.file!r} beside it"
    if entry.after is not None and entry.after not in {rung.file for rung in above}:
        return "after", f"no rung above is {entry.after!r}"
    if (entry.after is None) != (entry.before is None):
        return "before" if entry.after else "after", "'after' and 'before' come together"
    return "", ""


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


def to_json(rungs: Sequence[Rung]) -> str:
    """All that the registry says, with a path that can be given to ``kernelprof diagnose``."""
    entries = [
        {
            "number": rung.number,
            "file": rung.file,
            "path": str(rung.shown),
            "title": rung.title,
            "after": rung.after,
            "changes": rung.changes,
            "before": rung.before,
            "expected": rung.expected,
            "variants": rung.variants,
        }
        for rung in rungs
    ]
    document = {"schema_version": "1", "rungs": entries}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _refuse(what: str, path: Path, place: str = "") -> NoReturn:
    raise InputError(
        f"the ladder's registry cannot be used: {what}",
        where=f"{path}: {place}" if place else str(path),
        hint="its first lines say what each key means",
    )
