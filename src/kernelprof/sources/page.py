"""What both pages share: where values come from, and what a page holds in the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kernelprof.model.capture import Launch, MetricColumn, Origin
from kernelprof.sources.numbers import decimal_mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.sources.stream import Header

_LAUNCH_PREFIXES: Final = ("launch__", "device__", "numa__", "c2clink__", "nvlink__")
_SAMPLE_BYTES: Final = 1 << 18
_UNAVAILABLE: Final = frozenset({"(!) n/a", "n/a", "N/A"})


def source_of(metric: str) -> Origin:
    """Where the values of a metric come from, by its name."""
    if metric.startswith(_LAUNCH_PREFIXES):
        return Origin.LAUNCH
    if metric.startswith("derived_"):
        return Origin.DERIVED
    return Origin.MEASURED


@dataclass(slots=True)
class Page:
    """What a page holds, before it becomes a capture."""

    launches: Sequence[Launch]
    columns: dict[str, MetricColumn] = field(default_factory=dict)
    text: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    unavailable: set[str] = field(default_factory=set)

    def warn(self, sentence: str) -> None:
        """Tell the user something, once."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def note_unavailable(self, metric: str, cells: Iterable[str]) -> None:
        """Remember a metric that was asked for and that ncu gave for no launch."""
        if {cell.strip() for cell in cells} <= _UNAVAILABLE:
            self.unavailable.add(metric)


def table_decimal(header: Header, rows: Sequence[bytes]) -> str:
    """The decimal mark of a table, judged by its first rows."""
    if header.delimiter == "," and not rows[0].startswith(b'"'):
        return "."
    taken: list[bytes] = []
    size = 0
    for row in rows:
        taken.append(row)
        size += len(row)
        if size > _SAMPLE_BYTES:
            break
    return decimal_mark(b"\n".join([*taken, b""]))
