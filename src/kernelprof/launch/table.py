"""Reading a TOML table strictly: each key once, with its type, and none that nobody knows."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from kernelprof.launch.expressions import Expression
from kernelprof.launch.spec import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kernelprof.launch.toml_places import Path


class Table:
    """A table under inspection. ``where`` tells a path's place in the file."""

    def __init__(self, data: dict[str, Any], path: Path, where: Callable[[Path], str]) -> None:
        self.data = data
        self.path = path
        self._where = where
        self._taken: list[str] = []

    def where(self, *keys: str | int) -> str:
        """The place of a key of this table: file, line and key."""
        path = (*self.path, *keys)
        return f"{self._where(path)}: {dotted(path)}" if path else self._where(path)

    def take(self, key: str, kinds: tuple[type, ...], expected: str) -> Any:
        """The key's value, ``None`` if it is not there."""
        self._taken.append(key)
        value = self.data.get(key)
        if value is None:
            return None
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            self.refuse(key, f"{key} is {_described(value)}, and has to be {expected}")
        return value

    def need(self, key: str, kinds: tuple[type, ...], expected: str) -> Any:
        """The key's value, which has to be there."""
        value = self.take(key, kinds, expected)
        if value is None:
            table = f"[{dotted(self.path)}]" if self.path else "the specification"
            raise SpecError(
                f"{table} has no {key!r}", where=self.where(), hint=f"add {key} = {expected}"
            )
        return value

    def refuse(self, key: str | int, what: str, hint: str | None = None) -> NoReturn:
        """An error at a key of this table."""
        raise SpecError(what, where=self.where(key), hint=hint)

    def text(self, key: str) -> str | None:
        """A string that says something."""
        value: str | None = self.take(key, (str,), "a string")
        if value is not None and (not value.strip() or not value.isprintable()):
            self.refuse(key, f"{key} is empty or holds control characters")
        return value

    def expression(self, key: str) -> Expression | None:
        """An expression, or a number for one."""
        value = self.take(key, (str, int, float), 'an expression such as "ceil_div(N, 16)"')
        return None if value is None else Expression(str(value), self.where(key))

    def expressions(self, key: str, *, most: int, example: str) -> tuple[Expression, ...]:
        """One to ``most`` expressions or whole numbers."""
        values = self.need(key, (list,), example)
        if not 1 <= len(values) <= most:
            self.refuse(key, f"{key} has {len(values)} entries; 1 to {most} are possible")
        for index, value in enumerate(values):
            if isinstance(value, bool) or not isinstance(value, int | str):
                raise SpecError(
                    f"an entry of {key} is {_described(value)}, and has to be a whole number "
                    "or an expression",
                    where=self.where(key, index),
                    hint=f"for example {example}",
                )
        return tuple(Expression(str(v), self.where(key, i)) for i, v in enumerate(values))

    def integer(self, key: str, *, least: int, most: int, default: int) -> int:
        """A whole number within bounds."""
        value: int | None = self.take(key, (int,), "a whole number")
        if value is None:
            return default
        if not least <= value <= most:
            self.refuse(key, f"{key} is {value}; {least} to {most} are possible")
        return value

    def positive(self, key: str, default: float) -> float:
        """A number above zero and below infinity."""
        value = self.take(key, (int, float), "a number")
        if value is None:
            return default
        if not 0 < value < float("inf"):
            self.refuse(key, f"{key} is {value}; it has to be above zero")
        return float(value)

    def table(self, key: str) -> Table:
        """A table of this table; an empty one if it is not there."""
        value = self.take(key, (dict,), "a table")
        return Table(value or {}, (*self.path, key), self._where)

    def tables(self, key: str) -> Iterator[Table]:
        """The tables of an array of tables."""
        values = self.take(key, (list,), f"tables that each begin with [[{key}]]")
        for index, value in enumerate(values or []):
            if not isinstance(value, dict):
                raise SpecError(
                    f"an entry of {key} is {_described(value)}, and has to be a table",
                    where=self.where(key, index),
                    hint=f"begin each with [[{key}]]",
                )
            yield Table(value, (*self.path, key, index), self._where)

    def finish(self) -> None:
        """Refuse the first key that nobody asked for."""
        unknown = next((key for key in self.data if key not in self._taken), None)
        if unknown is None:
            return
        close = get_close_matches(unknown, self._taken, n=1)
        self.refuse(
            unknown,
            f"there is no key {unknown!r} here",
            hint=f"did you mean {close[0]!r}?" if close else f"known are {', '.join(self._taken)}",
        )


def dotted(path: Path) -> str:
    """A path as people write it: ``arguments[0].shape``."""
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def _described(value: object) -> str:
    names = {bool: "true or false", str: "a string", list: "a list", dict: "a table"}
    kind = names.get(type(value), "a number" if isinstance(value, int | float) else "a date")
    return f"{kind} ({value!r})" if isinstance(value, int | float | str) else kind
