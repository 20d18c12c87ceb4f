"""Which measurements are of one series, and which of them a question is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeVar

_Row = TypeVar("_Row")

COLUMNS: Final = ("gpu", "name", "kernel", "sizes", "defines", "side", "recorded")


def series(called: str) -> str:
    """The SQL of what is the same in all measurements of a series, under a name."""
    config = "case when kind = 'source' then null else concat_ws(' ', grid, block) end"
    return f"struct_pack({', '.join(COLUMNS)}, config := {config}) as {called}"


@dataclass(frozen=True, slots=True)
class Filters:
    """``kernel`` is a regular expression, ``gpu`` a part of a name, ``since`` a day in UTC.

    ``limit`` is how many rows are kept, 0 for all.
    """

    kernel: str | None = None
    gpu: str | None = None
    since: str | None = None
    limit: int = 20

    def sql(self, *, dated: bool = True) -> tuple[str, list[Any]]:
        """More conditions for a query over kernels, and their values."""
        conditions, values = [], []
        if self.kernel is not None:
            conditions.append("and regexp_matches(kernel, ?)")
            values.append(self.kernel)
        if self.gpu is not None:
            conditions.append("and contains(lower(gpu), lower(?))")
            values.append(self.gpu)
        if self.since is not None and dated:
            conditions.append("and created >= ?::timestamp")
            values.append(f"{self.since}")
        return " ".join(conditions), values

    def first(self, rows: list[_Row]) -> list[_Row]:
        """As many rows as are wanted."""
        return rows[: self.limit] if self.limit else rows

    def note(self, rows: int, what: str) -> list[str]:
        """What is said where not all rows are shown."""
        if not self.limit or rows <= self.limit:
            return []
        return [f"The first {self.limit:,} of {rows:,} {what}; --limit 0 shows all."]
