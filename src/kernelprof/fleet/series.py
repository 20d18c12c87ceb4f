"""Which measurements are of one series, which is its newest, and which a question is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from kernelprof.fleet.ask import Questions

_Row = TypeVar("_Row")

COLUMNS: Final = ("gpu", "name", "kernel", "sizes", "defines", "side", "recorded")


def series(called: str) -> str:
    """The SQL of what is the same in all measurements of a series, under a name."""
    config = "case when kind = 'source' then null else concat_ws(' ', grid, block) end"
    return f"struct_pack({', '.join(COLUMNS)}, config := {config}) as {called}"


def outdated(found: Questions) -> frozenset[str]:
    """Files whose code or launch is not that of the newest measurement of their series.

    Of a capture nothing newer can be measured, and a recorded one stands for itself.
    """
    rows = found.rows(
        f"""
        with stored as (
          select {series("series")}, file, max(struct_pack(created, round)) as moment,
            struct_pack(code := any_value(code),
              launches := list_sort(list(distinct concat_ws(' ', grid, block)))) as what
          from kernels where kind <> 'capture' and not recorded group by series, file),
        compared as (
          select file, what, arg_max(what, moment) over (partition by series) as newest
          from stored)
        select distinct file from compared where what is distinct from newest
        """
    )
    return frozenset(file for (file,) in rows)


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
