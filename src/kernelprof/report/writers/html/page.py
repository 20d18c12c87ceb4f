"""What a page gathers while its blocks are written, and what its script gets of that."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import compress
from operator import not_
from typing import TYPE_CHECKING

import msgspec

from kernelprof.report.document import plain

if TYPE_CHECKING:
    from kernelprof.report.document import Table, Text
    from kernelprof.report.markup import Markup


@dataclass(slots=True)
class Page:
    """The page that is being written.

    A ``static`` one has no script: no links, and every row is there at once. ``cards``
    are the anchors of sections that are ``stored`` beside the page until they are opened.
    """

    static: bool = False
    cards: frozenset[str] = frozenset()
    stored: dict[str, Markup] = field(default_factory=dict)
    folds: int = 0
    """Folded sections around what is being written."""
    _tables: list[str] = field(default_factory=list)
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
        texts = [[plain(text) for text in texts] for texts in self._texts]
        return f'{{"texts":{_to_json(texts)},"tables":[{",".join(self._tables)}]}}'


def _to_json(value: object) -> str:
    return msgspec.json.encode(value).decode()
