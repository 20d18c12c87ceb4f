"""The ladders and their rungs: each ``ladder.toml`` beside its kernels, read and checked.

``cuda/ladder/ladder.toml`` is the first ladder; every folder below with a ``ladder.toml`` is one
more, of the folder's name.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, NoReturn

import msgspec
from msgspec import Meta, Struct

from kernelprof.errors import InputError, UsageError
from kernelprof.ladder.product import Fill, Layout, PrecisionName, Product
from kernelprof.launch.specification.tables import Define  # noqa: TC001 (msgspec reads the annotations)
from kernelprof.model.toml_text import split_mistake
from kernelprof.resources import data_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FILE: Final = "ladder.toml"
DEFAULT: Final = "sgemm"
"""The ladder that is meant where none is named."""
PLACE: Final = "cuda/ladder"
"""Where the ladders are, from the root of the repository."""

_Text = Annotated[str, Meta(pattern=r"\S")]
_Slug = Annotated[str, Meta(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
_Macro = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class _Entry(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
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
    ladder: str
    folder: str

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
        return f"{self.folder}/{self.file}"

    @property
    def stem(self) -> str:
        """The file's name without its suffix: what its capture directory is called."""
        return self.file.removesuffix(".cu")


class LadderCeiling(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The ``[ceiling]`` of a ladder: which product of cuBLAS its rungs are held against."""

    precision: PrecisionName
    layout: Layout
    fill: Fill


class _LadderFile(Struct, forbid_unknown_fields=True, kw_only=True):
    schema_version: Literal["1"]
    name: _Slug
    title: _Text
    about: _Text
    sizes: Annotated[list[Annotated[int, Meta(ge=1)]], Meta(min_length=1)]
    ceiling: LadderCeiling
    rung: Annotated[list[_Entry], Meta(min_length=1)]


class Ladder(Struct, frozen=True, kw_only=True):
    """Kernels for one problem, each of which changes one thing; the last size is profiled."""

    name: str
    title: str
    about: str
    sizes: tuple[int, ...]
    product: Product
    rungs: tuple[Rung, ...]


def load_ladders() -> tuple[Ladder, ...]:
    """The ladders that this installation has: the default one, and the others by their names."""
    folder = data_folder("cuda") / "ladder"
    all_ladders = (read_ladder(path) for path in (folder / FILE, *sorted(folder.glob(f"*/{FILE}"))))
    return tuple(all_ladders)


def find_ladder(name: str = DEFAULT) -> Ladder:
    """The ladder of a name; :class:`UsageError` where there is none."""
    available = load_ladders()
    for each in available:
        if each.name == name:
            return each
    raise _no_ladder(name, available)


def _no_ladder(name: str, available: Sequence[Ladder]) -> UsageError:
    names = ", ".join(each.name for each in available)
    return UsageError(f"there is no ladder {name!r}", hint=f"the ladders are {names}")


def read_ladder(path: Path) -> Ladder:
    """The ladder of a registry file; :class:`InputError` names the key of a mistake."""
    try:
        document = msgspec.toml.decode(path.read_bytes(), type=_LadderFile)
    except OSError as error:
        _refuse(f"it cannot be read ({error.strerror})", path)
    except msgspec.ValidationError as error:
        what, key = split_mistake(error)
        _refuse(what, path, key)
    except ValueError as error:
        _refuse(f"it is not valid TOML: {error}", path)
    if document.name != (DEFAULT if path.parent.name == Path(PLACE).name else path.parent.name):
        _refuse(f"the name {document.name!r} does not match the folder's name", path, "name")
    if document.sizes != sorted(set(document.sizes)):
        _refuse("the sizes are not in ascending order", path, "sizes")
    home = PLACE if document.name == DEFAULT else f"{PLACE}/{document.name}"
    rungs: list[Rung] = []
    for position, entry in enumerate(document.rung):
        key, mistake = _mistake(entry, path.parent, rungs)
        if mistake:
            _refuse(mistake, path, f"rung[{position}].{key}")
        keys = msgspec.structs.asdict(entry)
        file = path.with_name(entry.file)
        rungs.append(Rung(path=file, ladder=document.name, folder=home, **keys))
    return Ladder(
        name=document.name,
        title=document.title,
        about=document.about,
        sizes=tuple(document.sizes),
        product=Product(**msgspec.structs.asdict(document.ceiling)),
        rungs=tuple(rungs),
    )


def _mistake(entry: _Entry, folder: Path, above: Sequence[Rung]) -> tuple[str, str]:
    if above and entry.file <= above[-1].file:
        return "file", f"{entry.file!r} does not sort after {above[-1].file!r}"
    if not (folder / entry.file).is_file():
        return "file", f"there is no file {entry.file!r} beside the registry"
    if entry.after is not None and entry.after not in {rung.file for rung in above}:
        return "after", f"no earlier rung is named {entry.after!r}"
    if (entry.after is None) != (entry.before is None):
        return "before" if entry.after else "after", "'after' and 'before' must be given together"
    return "", ""


def choose(available: Sequence[Ladder], wanted: Sequence[str]) -> tuple[Ladder, tuple[Rung, ...]]:
    """Return the ladder of these names, and the rungs that were named, in its order.

    A name is a number or file of the first ladder, a ladder, or both: ``bf16/4``, also as a
    path. Raises :class:`UsageError` for rungs of two ladders.
    """
    matches = [_find_rungs(available, each) for each in wanted] or [
        (available[0], available[0].rungs)
    ]
    names = list(dict.fromkeys(chosen_ladder.name for chosen_ladder, _ in matches))
    if len(names) > 1:
        other = next(each for each in names if each != available[0].name)
        raise UsageError(
            f"these are rungs of different ladders: {' and '.join(names)}",
            hint="run one ladder at a time (each has its own problem, sizes and ceiling), and "
            f"prefix rungs of {other} with its name, as in {other}/1",
        )
    chosen_ladder, chosen = matches[0][0], {rung.file for _, rungs in matches for rung in rungs}
    return chosen_ladder, tuple(rung for rung in chosen_ladder.rungs if rung.file in chosen)


def singly_chosen_files(available: Sequence[Ladder], wanted: Sequence[str]) -> frozenset[str]:
    """The files of the rungs that somebody named themselves, and not by their ladder alone."""
    whole = {each.name for each in available}
    singly = [_find_rungs(available, each) for each in wanted if each not in whole]
    return frozenset(rung.file for _, rungs in singly for rung in rungs)


def _find_rungs(available: Sequence[Ladder], wanted: str) -> tuple[Ladder, tuple[Rung, ...]]:
    by_name = {each.name: each for each in available}
    if wanted in by_name:
        return by_name[wanted], by_name[wanted].rungs
    for each in available:
        for rung in each.rungs:
            if Path(wanted).suffix and Path(wanted).resolve() == rung.path.resolve():
                return each, (rung,)
    folders, _, name = wanted.replace("\\", "/").rstrip("/").rpartition("/")
    if name in by_name:
        hint = f"give only the name of a ladder, without a folder: {name}"
        raise UsageError(f"{wanted!r} is neither a ladder nor a rung", hint=hint)
    folder = folders.rpartition("/")[2]
    if name.isdecimal() and folder and folder not in by_name:
        raise _no_ladder(folder, available)
    chosen = by_name.get(folder, available[0])
    return chosen, (_find(chosen, name, wanted),)


def _find(ladder: Ladder, name: str, wanted: str) -> Rung:
    listed = "kernelprof ladder list" + (f" {ladder.name}" if ladder.name != DEFAULT else "")
    for rung in ladder.rungs:
        if name in (rung.file, rung.stem) or (name.isdecimal() and int(name) == rung.number):
            return rung
    raise UsageError(
        f"the ladder {ladder.name} has no rung {wanted!r}",
        hint=f"give a number from {ladder.rungs[0].number} to {ladder.rungs[-1].number}, or a file "
        f"that '{listed}' shows; put the ladder's name before a rung of any ladder but sgemm, "
        "as in bf16/1",
    )


def to_json(chosen: Ladder, available: Iterable[Ladder]) -> str:
    """Write all that the registry says, with paths for ``kernelprof diagnose``."""
    entries = [
        {
            "ladder": rung.ladder,
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
        for rung in chosen.rungs
    ]
    document = {
        "schema_version": "1",
        "ladder": {key: getattr(chosen, key) for key in ("name", "title", "about", "sizes")}
        | {"ceiling": asdict(chosen.product)},
        "ladders": [each.name for each in available],
        "rungs": entries,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _refuse(what: str, path: Path, position: str = "") -> NoReturn:
    raise InputError(
        f"the ladder's registry cannot be used: {what}",
        where=f"{path}: {position}" if position else str(path),
        hint="the first lines of the file describe each key",
    )
