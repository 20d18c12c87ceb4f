"""The details page: one row a metric or a rule's result, its labels translated to raw names."""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.model.capture import SECTIONS_COLUMN, SPOKEN_COLUMN, MetricColumn, Origin
from kernelprof.sources import identity
from kernelprof.sources.details_labels import SECTIONS, is_left_out, raw_name
from kernelprof.sources.numbers import parse_numbers
from kernelprof.sources.page import Page, source_of, table_decimal
from kernelprof.sources.rule_sentences import Number, Sentence, read_sentence
from kernelprof.sources.stream import split_cells
from kernelprof.sources.units import scale_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kernelprof.sources.stream import Header, Table

    Cells = tuple[str, ...]

_BODY: Final = (
    "Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name", "Rule Description",
)  # fmt: skip
_BUSY: Final = {
    "sm__inst_issued.avg.pct_of_peak_sustained_elapsed",
    "sm__instruction_throughput.avg.pct_of_peak_sustained_elapsed",
}
_IPC: Final = ("sm__inst_issued.avg.per_cycle_active", "sm__inst_executed.avg.per_cycle_elapsed")


def read_details(tables: Sequence[Table], *, cut: bool = False, broken: bool = False) -> Page:
    """All launches of all tables, in the order of their first rows.

    ``cut``: the input ended within a row, so that the last launch may lack rows; ``broken``: other
    rows were lost. Such launches get no :data:`SECTIONS_COLUMN`: whether a rule kept silent or its
    row is gone cannot be told.
    """
    rows = _Rows()
    for table in tables:
        rows.add(table)
    page = Page(identity.launches(rows.identities(), rows.count))
    filler = _Filler(page, rows.count)
    filler.metrics(rows.metrics)
    filler.sentences(rows.sentences)
    filler.sections(rows.sections)
    if broken:
        filler.doubt(range(rows.count))
    elif cut:
        filler.doubt([rows.last])
    elif rows.end_early():
        page.warn("The last launch has fewer metrics than others: is the input cut off?")
        filler.doubt([rows.last])
    filler.finish()
    return page


def _split(row: bytes, delimiter: str) -> list[str]:
    """The cells of a row.

    Nearly all are as ``ncu`` writes them, each cell in quotes and no other quote anywhere, and
    need no parser; nor do cells that are longer than :mod:`csv` takes.
    """
    text = row.decode("utf-8", "replace").removesuffix(delimiter)
    cells = text[1:-1].split(f'"{delimiter}"')
    if text.count('"') == 2 * len(cells) and text[0] == text[-1] == '"':
        return cells
    return split_cells(row, delimiter) or cells


class _Rows:
    """What the rows of all tables say, and about which launch, gathered in one pass."""

    def __init__(self) -> None:
        self.metrics: dict[Cells, tuple[list[int], list[str]]] = {}
        """Launches and values by label, unit and decimal mark."""
        self.sentences: list[tuple[int, Sentence]] = []
        self.sections: list[dict[str, None]] = []
        """Identifiers of the sections and rules that have rows, launch by launch."""
        self.last = 0
        """The launch of the last row."""
        self._metric_rows: list[int] = []
        self._identities: list[dict[str, str]] = []
        self._header: Header | None = None
        self._decimal = "."
        self._who: Cells = ()
        self._pick: itemgetter[Any] = itemgetter(0)
        self._launch_of: dict[Cells, int] = {}
        self._lead_of: dict[Cells, Cells] = {}

    @property
    def count(self) -> int:
        """How many launches there are."""
        return len(self._identities)

    def add(self, table: Table) -> None:
        """Read the rows of a table, or of one more part of it: those share the header object."""
        header = table.header
        if header is not self._header:
            self._begin(header, table_decimal(header, table.rows))
        width, who = len(header.names), len(self._who)
        # Rows of metrics end after the value; the last of these stands for columns that are absent.
        blank = [""] * (width + 1)
        for row in table.rows:
            picked = self._pick(_split(row, header.delimiter)[:width] + blank)
            self._add_row(picked[:who], picked[who:])

    def _begin(self, header: Header, decimal: str) -> None:
        """Begin another table, whose launches are others even if they are called the same."""
        names = header.names
        self._header = header
        self._decimal = decimal
        self._who = tuple(name for name in dict.fromkeys(names) if identity.is_identity(name))
        self._pick = itemgetter(
            *(names.index(name) if name in names else len(names) for name in (*self._who, *_BODY))
        )
        self._launch_of = {}
        self._lead_of = {}

    def _add_row(self, who: Cells, body: Cells) -> None:
        section, label, unit, value, rule, text = body
        launch = self._launch(who, (section, label, unit) if label else None)
        self.last = launch
        if label:
            self._metric_rows[launch] += 1
            group = self.metrics.get((label, unit, self._decimal))
            if group is None:
                group = self.metrics[label, unit, self._decimal] = ([], [])
            group[0].append(launch)
            group[1].append(value)
        if section:
            self.sections[launch][SECTIONS.get(section, section)] = None
        if rule:
            self.sections[launch][rule] = None
            self.sentences.append((launch, read_sentence(rule, text)))

    def _launch(self, who: Cells, metric: Cells | None) -> int:
        """The launch of a row, numbered by first appearance.

        Where the first metric of an identity comes again, another export without a header of its
        own was appended, and another launch of the same identity begins.
        """
        launch = self._launch_of.get(who)
        lead = self._lead_of.get(who)
        if metric is not None and lead is None:
            self._lead_of[who] = metric
        if launch is None or (metric is not None and metric == lead):
            launch = self._launch_of[who] = self.count
            self._identities.append(dict(zip(self._who, who, strict=True)))
            self._metric_rows.append(0)
            self.sections.append({})
        return launch

    def identities(self) -> dict[str, list[str]]:
        """Who was launched: the identity columns of all tables, with one cell a launch."""
        names = dict.fromkeys(name for each in self._identities for name in each)
        return {name: [each.get(name, "") for each in self._identities] for name in names}

    def end_early(self) -> bool:
        """Whether the last launch has fewer metrics than the others: cut between two rows?"""
        counts = self._metric_rows
        # Rows of rules alone, with no metric behind them, are no sign of a cut.
        return any(counts[self.last :]) and counts[self.last] < max(counts)


class _Filler:
    """Puts what rows say into columns of one value a launch."""

    def __init__(self, page: Page, count: int) -> None:
        self._page = page
        self._count = count
        self._values: dict[str, MetricColumn] = {}
        self._text: dict[str, list[str | None]] = {}

    def metrics(self, groups: Mapping[Cells, tuple[list[int], list[str]]]) -> None:
        """Add what was measured, from launches and values by label, unit and decimal mark."""
        unknown: dict[str, None] = {}
        for (label, unit, decimal), (launches, cells) in groups.items():
            name = raw_name(label.strip(), scale_of(unit).unit)
            if name is not None:
                self._metric(name, unit, decimal, launches, cells)
            elif not is_left_out(label.strip()):
                unknown[label] = None
        if unknown:
            names = ", ".join(f'"{label}"' for label in list(unknown)[:8])
            more = f" and {len(unknown) - 8} more" if len(unknown) > 8 else ""
            self._page.warn(
                f"Labels of the details page that are not known were left out: {names}{more}."
            )

    def _metric(
        self, name: str, unit: str, decimal: str, launches: list[int], cells: list[str]
    ) -> None:
        values, texts = parse_numbers(cells, decimal=decimal)
        if texts and not unit:
            for launch, cell in zip(launches, cells, strict=True):
                self._say(name, launch, cell)
            return
        self._page.note_unavailable(name, cells)
        self._put(name, unit, source_of(name), np.array(launches, dtype=np.intp), values)

    def _put(self, name: str, unit: str, source: Origin, at: Any, values: Any) -> None:
        """Values in ``unit`` for the launches ``at``; what is already there stays."""
        column = self._column(name, unit, source)
        if column.unit != scale_of(unit).unit:
            return
        fresh = np.isnan(column.values[at])
        column.values[at[fresh]] = scale_of(unit).apply(values)[fresh]

    def _column(self, name: str, unit: str, source: Origin) -> MetricColumn:
        if name not in self._values:
            blank = np.full(self._count, np.nan)
            self._values[name] = MetricColumn(name, blank, scale_of(unit).unit, unit, source)
        return self._values[name]

    def _say(self, name: str, launch: int, words: str) -> None:
        column = self._text.setdefault(name, [None] * self._count)
        if words and column[launch] is None:
            column[launch] = words

    def sentences(self, sentences: Iterable[tuple[int, Sentence]]) -> None:
        """Add what the rules say in sentences; measured columns stay as they are."""
        measured = set(self._values)
        spoken: list[dict[str, None]] = [{} for _ in range(self._count)]
        for launch, sentence in sentences:
            for name, words in sentence.words:
                self._say(name, launch, words)
            for number in sentence.numbers:
                spoken[launch][number.metric] = None
                if number.metric not in measured:
                    self._report(number, launch)
        self._text[SPOKEN_COLUMN] = [";".join(names) or None for names in spoken]

    def _report(self, number: Number, launch: int) -> None:
        value = number.value
        if number.share_of is not None:
            whole = self._values.get(number.share_of)
            if whole is None or whole.source is Origin.REPORTED:
                return
            value *= float(whole.values[launch])
        self._put(
            number.metric, number.unit, Origin.REPORTED, np.array([launch]), np.array([value])
        )

    def sections(self, seen: Iterable[Iterable[str]]) -> None:
        """Note which sections and rules have rows, launch by launch."""
        self._text[SECTIONS_COLUMN] = [";".join(names) or None for names in seen]

    def doubt(self, launches: Iterable[int]) -> None:
        """Say nothing about which sections these launches have."""
        for column in (SECTIONS_COLUMN, SPOKEN_COLUMN):
            for launch in launches:
                self._text[column][launch] = None

    def finish(self) -> None:
        """Hand everything over to the page."""
        if self._busy_is_of_active_cycles():
            for name in _BUSY & set(self._values):
                column = self._values.pop(name)
                active = name.replace("_elapsed", "_active")
                self._values[active] = replace(column, name=active)
        self._page.columns = self._values
        self._page.text = {name: tuple(cells) for name, cells in self._text.items()}

    def _busy_is_of_active_cycles(self) -> bool:
        """Whether "Issue Slots Busy" is of active cycles: earlier versions meant those.

        An SM issues at most four instructions a cycle, so the percentage is 25 times one of the
        two IPC values beside it. It counts where it is far from the one of elapsed cycles, more
        than the rounding and the replayed instructions explain.
        """
        columns = [self._values.get(name) for name in (*sorted(_BUSY)[:1], *_IPC)]
        if any(column is None for column in columns):
            return False
        busy, active, elapsed = (column.values for column in columns if column is not None)
        far = np.abs(busy - 25.0 * elapsed) > 0.3 + 0.03 * busy
        return bool(far.any() and (np.abs(busy - 25.0 * active)[far] <= 0.15).all())
