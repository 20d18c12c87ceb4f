"""The details page: one row a metric or a rule's result, its labels translated to raw names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from kernelprof.model.capture import MetricColumn, Source
from kernelprof.tables import identity
from kernelprof.tables.details_labels import SECTIONS, is_left_out, raw_name
from kernelprof.tables.numbers import parse_numbers
from kernelprof.tables.page import Page, read_frame, source_of, table_decimal
from kernelprof.tables.rule_sentences import Number, read_sentence
from kernelprof.tables.units import scale_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.tables.stream import Table

SECTIONS_COLUMN: Final = "kernelprof__sections"
"""Text column: identifiers of the sections and rules that have rows for a launch, ``;`` between."""

SPOKEN_COLUMN: Final = "kernelprof__spoken"
"""Text column: names of the metrics that sentences about a launch give, ``;`` between."""

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
    rows = pd.concat([_frame(table, scope) for scope, table in enumerate(tables)])
    rows = rows.reset_index(drop=True).fillna("")
    who = [name for name in rows.columns if identity.is_identity(name)]
    launch_of, first_rows = _launch_numbers(rows, ["scope", *who])
    firsts = rows.loc[first_rows, who]
    launches = identity.launches({name: firsts[name].tolist() for name in who}, len(first_rows))
    page = Page(launches)
    filler = _Filler(page, len(launches))
    filler.metrics(rows, launch_of)
    filler.rules(rows, launch_of)
    filler.sections(rows, launch_of)
    if broken:
        filler.doubt(range(len(launches)))
    elif cut or filler.ends_early(rows, launch_of):
        filler.doubt([int(launch_of[-1])])
    filler.finish()
    return page


def _frame(table: Table, scope: int) -> pd.DataFrame:
    frame = read_frame(table.header, table.rows, text=None, decimal=".")
    frame.columns = pd.Index(table.header.names)
    frame = frame.loc[:, ~frame.columns.duplicated()]
    for name in _BODY:
        if name not in frame.columns:
            frame[name] = ""
    frame["decimal"] = table_decimal(table.header, table.rows)
    frame["scope"] = scope
    return frame


def _launch_numbers(rows: pd.DataFrame, key: list[str]) -> tuple[Any, Any]:
    """The launch of each row, numbered by first appearance, and the first row of each launch.

    Where one key's first metric comes again, another export without a header of its own was
    appended, and another launch of the same identity begins.
    """
    code, _ = pd.factorize(pd.MultiIndex.from_frame(rows[key]))
    label = rows["Section Name"] + "\0" + rows["Metric Name"] + "\0" + rows["Metric Unit"]
    is_metric = (rows["Metric Name"] != "").to_numpy()
    keyed = pd.DataFrame({"code": code, "label": label.where(is_metric, "")})
    lead = keyed[is_metric].groupby("code")["label"].first()
    leads = is_metric & (keyed["label"] == keyed["code"].map(lead)).to_numpy()
    turn = pd.Series(leads).groupby(code).cumsum().clip(lower=1)
    numbers, _ = pd.factorize(pd.MultiIndex.from_arrays([code, turn]))
    _, first_rows = np.unique(numbers, return_index=True)
    return numbers, first_rows


class _Filler:
    """Puts rows into columns of one value a launch."""

    def __init__(self, page: Page, count: int) -> None:
        self._page = page
        self._count = count
        self._values: dict[str, MetricColumn] = {}
        self._text: dict[str, list[str | None]] = {}

    def metrics(self, rows: pd.DataFrame, launch_of: Any) -> None:
        mask = (rows["Metric Name"] != "").to_numpy()
        unknown: dict[str, None] = {}
        part = rows.loc[mask, ["Metric Name", "Metric Unit", "Metric Value", "decimal"]]
        part = part.assign(launch=launch_of[mask])
        for (label, unit, decimal), group in part.groupby(
            ["Metric Name", "Metric Unit", "decimal"], sort=False
        ):
            name = raw_name(str(label).strip(), scale_of(str(unit)).unit)
            if name is None:
                if not is_left_out(str(label).strip()):
                    unknown[str(label)] = None
                continue
            self._metric(name, str(unit), str(decimal), group)
        if unknown:
            names = ", ".join(f'"{label}"' for label in list(unknown)[:8])
            more = f" and {len(unknown) - 8} more" if len(unknown) > 8 else ""
            self._page.warn(
                f"Labels of the details page that are not known were left out: {names}{more}."
            )

    def _metric(self, name: str, unit: str, decimal: str, group: pd.DataFrame) -> None:
        cells = group["Metric Value"].tolist()
        values, texts = parse_numbers(cells, decimal=decimal)
        at = group["launch"].to_numpy()
        if texts and not unit:
            for launch, cell in zip(at.tolist(), cells, strict=True):
                self._say(name, launch, cell)
            return
        self._page.note_unavailable(name, cells)
        self._put(name, unit, source_of(name), at, values)

    def _put(self, name: str, unit: str, source: Source, at: Any, values: Any) -> None:
        """Values in ``unit`` for the launches ``at``; what is already there stays."""
        column = self._column(name, unit, source)
        if column.unit != scale_of(unit).unit:
            return
        fresh = np.isnan(column.values[at])
        column.values[at[fresh]] = scale_of(unit).apply(values)[fresh]

    def _column(self, name: str, unit: str, source: Source) -> MetricColumn:
        if name not in self._values:
            blank = np.full(self._count, np.nan)
            self._values[name] = MetricColumn(name, blank, scale_of(unit).unit, unit, source)
        return self._values[name]

    def _say(self, name: str, launch: int, words: str) -> None:
        column = self._text.setdefault(name, [None] * self._count)
        if words and column[launch] is None:
            column[launch] = words

    def rules(self, rows: pd.DataFrame, launch_of: Any) -> None:
        """Add what the rules say in sentences; measured columns stay as they are."""
        measured = set(self._values)
        spoken: list[dict[str, None]] = [{} for _ in range(self._count)]
        mask = (rows["Rule Name"] != "").to_numpy()
        for rule, text, launch in zip(
            rows.loc[mask, "Rule Name"].tolist(),
            rows.loc[mask, "Rule Description"].tolist(),
            launch_of[mask].tolist(),
            strict=True,
        ):
            sentence = read_sentence(rule, text)
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
            if whole is None or whole.source is Source.REPORTED:
                return
            value *= float(whole.values[launch])
        self._put(
            number.metric, number.unit, Source.REPORTED, np.array([launch]), np.array([value])
        )

    def sections(self, rows: pd.DataFrame, launch_of: Any) -> None:
        """Note which sections and rules have rows, launch by launch."""
        seen: list[dict[str, None]] = [{} for _ in range(self._count)]
        marks = pd.DataFrame(
            {
                "launch": launch_of,
                "section": rows["Section Name"],
                "rule": rows["Rule Name"],
            }
        ).drop_duplicates()
        for launch, section, rule in marks.itertuples(index=False):
            if section:
                seen[launch][SECTIONS.get(section, section)] = None
            if rule:
                seen[launch][rule] = None
        self._text[SECTIONS_COLUMN] = [";".join(names) or None for names in seen]

    def ends_early(self, rows: pd.DataFrame, launch_of: Any) -> bool:
        """Whether the last launch has fewer metrics than the others: cut between two rows?"""
        metrics = np.bincount(launch_of[(rows["Metric Name"] != "").to_numpy()])
        last = int(launch_of[-1])
        early = len(metrics) > last and metrics[last] < metrics.max()
        if early:
            self._page.warn("The last launch has fewer metrics than others: is the input cut off?")
        return bool(early)

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
