"""The corpus: a folder a pair, found without being listed anywhere.

Kernels are below ``cuda/pairs``, operations of PyTorch and Triton below ``benchmarks/frameworks``.
"""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from benchmarks import frameworks
from kernelprof.analysis.rules import load_rules
from kernelprof.errors import InputError, UsageError
from kernelprof.resources import data_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FILE: Final = "pair.toml"


class Kind(StrEnum):
    """What a folder of the corpus is to show."""

    PAIR = "pair"
    """One bottleneck was planted; ``after`` is without it."""
    TWO = "two"
    """Two bottlenecks of like size; ``after`` is without the first, ``after_second`` without the
    other."""
    DECOY = "decoy"
    """Something looks bad and is not the limit; ``after`` is without it and no faster."""
    HEALTHY = "healthy"
    """A unit is at its limit with work that is needed; there is no ``after``."""


class Side(StrEnum):
    """A side of a pair: a file with ``.cu`` after its name, or a function of the pair's script."""

    BEFORE = "before"
    AFTER = "after"
    AFTER_SECOND = "after_second"


class Form(StrEnum):
    """What the sides of a pair are."""

    KERNEL = "kernel"
    """Kernels in CUDA, each launched as its specification says."""
    SCRIPT = "script"
    """Operations of PyTorch or kernels of Triton, launched by a script in Python."""


_PLACES: Final = {Form.KERNEL: "cuda/pairs", Form.SCRIPT: "benchmarks/frameworks"}
"""Where the folders of each lie, from the root of the repository."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One folder; the keys of its ``pair.toml`` say what each field is.

    ``bottleneck`` is what was planted, in a healthy kernel the unit that is full, and ``None`` in a
    decoy of which nothing is claimed but what it is not (``never``).
    """

    name: str
    folder: Path
    kind: Kind
    field: str
    bottleneck: str | None
    change: str = ""
    second: str | None = None
    second_change: str = ""
    never: tuple[str, ...] = ()
    form: Form = Form.KERNEL

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that it has."""
        if self.form is Form.SCRIPT:
            defined = _defined(self.source(Side.BEFORE))
            return tuple(side for side in Side if side in defined)
        return tuple(side for side in Side if self.source(side).is_file())

    def source(self, side: Side) -> Path:
        """The file that a side is in."""
        return self.folder / (frameworks.SCRIPT if self.form is Form.SCRIPT else f"{side}.cu")

    def target(self, side: Side) -> str:
        """The same from the root of the repository, as captures name it."""
        return f"{_PLACES[self.form]}/{self.name}/{self.source(side).name}"

    def part(self, side: Side) -> str:
        """What a side is within the folder, in words."""
        return f"function {side}" if self.form is Form.SCRIPT else f"{side}.cu"


def corpus(folder: Path | None = None) -> tuple[Pair, ...]:
    """All pairs of kernels by name, of this installation or of another folder."""
    return _pairs(folder or data_folder("cuda") / "pairs", Form.KERNEL)


def scripts(folder: Path | None = None) -> tuple[Pair, ...]:
    """All pairs of PyTorch and Triton by name, of this checkout or of another folder."""
    return _pairs(folder or frameworks.FOLDER, Form.SCRIPT)


def all_pairs() -> tuple[Pair, ...]:
    """All pairs of both forms by name."""
    return tuple(sorted((*corpus(), *scripts()), key=lambda pair: pair.name))


def _pairs(root: Path, form: Form) -> tuple[Pair, ...]:
    return tuple(read_pair(path.parent, form) for path in sorted(root.glob(f"*/{FILE}")))


def _defined(script: Path) -> frozenset[str]:
    """The functions that a script defines; it is not run for that."""
    try:
        body = ast.parse(script.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    return frozenset(each.name for each in body if isinstance(each, ast.FunctionDef))


def choose(pairs: Sequence[Pair], wanted: Sequence[str]) -> tuple[Pair, ...]:
    """The pairs that somebody named by their folder; all for none."""
    names = {Path(each).name for each in wanted}
    unknown = names - {pair.name for pair in pairs}
    if unknown:
        raise UsageError(
            f"the corpus has no pair {min(unknown)!r}",
            hint="name a folder that 'python -m benchmarks.corpus list' shows",
        )
    return tuple(pair for pair in pairs if not names or pair.name in names)


def read_pair(folder: Path, form: Form = Form.KERNEL) -> Pair:
    """A pair's folder; :class:`InputError` names the key of a mistake."""
    path = folder / FILE
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"it cannot be read: {error}", where=str(path)) from error
    table = _Table(path, values)
    table.only("kind", "field", "bottleneck", "change", "second", "second_change", "not")
    kind = table.text("kind")
    if kind not in tuple(Kind):
        table.refuse("kind", f"{kind!r} is none of {', '.join(Kind)}")
    pair = Pair(
        name=folder.name,
        folder=folder,
        kind=Kind(kind),
        field=table.text("field"),
        bottleneck=table.slug("bottleneck", required=kind != Kind.DECOY),
        change=table.text("change", required=kind != Kind.HEALTHY),
        second=table.slug("second", required=kind == Kind.TWO),
        second_change=table.text("second_change", required=kind == Kind.TWO),
        never=table.slugs("not", required=kind == Kind.DECOY),
        form=form,
    )
    _check_files(pair, table)
    return pair


def _check_files(pair: Pair, table: _Table) -> None:
    """Each kind has its sides, a decoy perhaps no second one."""
    expected = {Side.BEFORE}
    if pair.kind in {Kind.PAIR, Kind.TWO}:
        expected.add(Side.AFTER)
    if pair.kind is Kind.TWO:
        expected.add(Side.AFTER_SECOND)
    allowed = expected | ({Side.AFTER} if pair.kind is Kind.DECOY else set())
    for side in Side:
        if side in expected and side not in pair.sides:
            table.refuse("kind", f"a folder of kind {pair.kind} needs a {pair.part(side)}")
        if side in pair.sides and side not in allowed:
            table.refuse("kind", f"a folder of kind {pair.kind} has no {pair.part(side)}")


@dataclass(frozen=True, slots=True)
class _Table:
    path: Path
    values: Mapping[str, Any]

    def refuse(self, key: str, what: str) -> NoReturn:
        raise InputError(
            what, where=f"{self.path}: {key}", hint="docs/corpus.md says what each key means"
        )

    def only(self, *known: str) -> None:
        for key in self.values:
            if key not in known:
                self.refuse(key, f"unknown key; available: {', '.join(known)}")

    def text(self, key: str, *, required: bool = True) -> str:
        value = self.values.get(key)
        if value is None and not required:
            return ""
        if not isinstance(value, str) or not value.strip():
            self.refuse(key, "it has to be a text that is not empty")
        return value

    def slug(self, key: str, *, required: bool) -> str | None:
        value = self.text(key, required=required)
        if value and value not in load_rules():
            self.refuse(key, f"no bottleneck is called {value!r}")
        return value or None

    def slugs(self, key: str, *, required: bool) -> tuple[str, ...]:
        values = self.values.get(key)
        if values is None and not required:
            return ()
        if not isinstance(values, list) or not values:
            self.refuse(key, "it has to be a list of bottlenecks")
        for value in values:
            if not isinstance(value, str) or value not in load_rules():
                self.refuse(key, f"no bottleneck is called {value!r}")
        return tuple(values)
