"""What a page gathers while its blocks are written, and what its script gets of that."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import compress
from operator import not_
from typing import TYPE_CHECKING

import msgspec

from kernelprof.report import charts
from kernelprof.report.charts.parts import CONFIG
from kernelprof.report.document import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.report.charts.parts import Row
    from kernelprof.report.document import Table, Text
    from kernelprof.report.writers.html.markup import Markup


@dataclass(slots=True)
class Page:
    """The page that is being written.

    A ``static`` one has no script: no charts, no links, and every row is there at once. ``cards``
    are the anchors of sections that are ``stored`` beside the page until they are opened.
    """

    static: bool = False
    cards: frozenset[str] = frozenset()
    stored: list[Markup] = field(default_factory=list)
    folds: int = 0
    """Folded sections around what is being written."""
    kinds: dict[str, None] = field(default_factory=dict)
    _charts: list[str] = field(default_factory=list)
    _tables: list[str] = field(default_factory=list)
    _tips: dict[str, int] = field(default_factory=dict)
    _texts: dict[tuple[Text, ...], int] = field(default_factory=dict)
    _labels: Counter[str] = field(default_factory=Counter)
    _ids: Counter[str] = field(default_factory=Counter)

    def next_id(self, name: str) -> str:
        """A name for an element that nothing else has."""
        self._ids[name] += 1
        return f"{name}-{self._ids[name]}"

    def label(self, text: str) -> str:
        """A name for a region that no other one has."""
        self._labels[text] += 1
        return text if self._labels[text] == 1 else f"{text}, {self._labels[text]}"

    def store_chart(self, kind: str, rows: Iterable[Row]) -> str:
        """Keep a chart's rows for the script; their number. Charts share the texts of tips."""
        self.kinds[kind] = None
        shared = [
            {**row, "tip": self._tips.setdefault(str(row["tip"]), len(self._tips))}
            if "tip" in row
            else row
            for row in rows
        ]
        self._charts.append(_to_json(shared))
        return str(len(self._charts) - 1)

    def store_table(self, table: Table) -> str:
        """Keep a table's rows for the script; their number.

        What is no number is the same in the tables of many kernels, and stands in a page once.
        """
        known = self._texts
        columns = [[row[at].text for row in table.rows] for at in range(len(table.columns))]
        numbers = [column.number for column in table.columns]
        others = zip(*compress(columns, map(not_, numbers)), strict=True)
        kept = zip(
            [known.setdefault(texts, len(known)) for texts in others],
            *[map(plain, column) for column in compress(columns, numbers)],
            strict=True,
        )
        self._tables.append(_to_json(list(kept)))
        return str(len(self._tables) - 1)

    def views(self) -> str:
        """The script's JSON. Rows are JSON already: a thousand kernels' are many objects."""
        found = {kind: charts.kind_of(kind).table for kind in self.kinds}
        shared = {
            "config": CONFIG,
            "specs": {kind: charts.spec_of(kind) for kind in self.kinds},
            "columns": {kind: columns for kind, columns in found.items() if columns},
            "tips": list(self._tips),
            "texts": [[plain(text) for text in texts] for texts in self._texts],
        }
        rows = f'"charts":[{",".join(self._charts)}],"tables":[{",".join(self._tables)}]'
        return f"{_to_json(shared)[:-1]},{rows}}}"


def _to_json(value: object) -> str:
    return msgspec.json.encode(value).decode()
