"""The details page: one row a metric or a rule's result, its labels translated to raw names."""

from __future__ import annotations

from collections import defaultdict
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.model.capture import SECTIONS_COLUMN, SPOKEN_COLUMN, Origin
from kernelprof.model.names import first_few
from kernelprof.sources.ncu.cells import is_identity, scale_of, split_cells
from kernelprof.sources.ncu.columns import CaptureBuilder, NumberColumn, TextColumn, table_decimal
from kernelprof.sources.ncu.metric_names import SECTIONS, is_left_out, raw_name
from kernelprof.sources.ncu.rule_messages import read_message
from kernelprof.sources.source import MOST_KINDS, NoCaptureError, too_many

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.capture import Capture
    from kernelprof.sources.ncu.cells import Header
    from kernelprof.sources.ncu.rule_messages import Message
    from kernelprof.sources.ncu.tables import CsvTable, Scan

    Cells = tuple[str, ...]

_BODY: Final = (
    "Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name", "Rule Description",
)  # fmt: skip
_BUSY: Final = (
    "sm__inst_issued.avg.pct_of_peak_sustained_elapsed",
    "sm__instruction_throughput.avg.pct_of_peak_sustained_elapsed",
)
_IPC: Final = ("sm__inst_issued.avg.per_cycle_active", "sm__inst_executed.avg.per_cycle_elapsed")
_LABELS_NAMED: Final = 8


class LabelledMetrics:
    """Launches whose metrics have labels, one a row; in the order of their first rows."""

    def __init__(self, identity: Cells = (), decimal: str = ".") -> None:
        self._metrics: dict[Cells, tuple[list[int], list[str]]] = defaultdict(lambda: ([], []))
        """Launches and values by label, unit and decimal mark."""
        self._messages: list[tuple[int, Message]] = []
        self._sections: list[dict[str, None]] = []
        """Identifiers of the sections and rules that have rows, launch by launch."""
        self._last = 0
        """The launch of the last row."""
        self._metric_rows: list[int] = []
        self._identities: list[dict[str, str]] = []
        self._decimal = decimal
        self._identity = identity
        """The names of the cells that tell launches apart."""
        self._launch_of: dict[Cells, int] = {}
        self._lead_of: dict[Cells, Cells] = {}

    def __len__(self) -> int:
        return len(self._identities)

    def check(self, _size: int = 0) -> None:
        """Raise :class:`NoCaptureError` for too many launches."""
        if len(self) > MOST_KINDS:
            raise too_many("launches", MOST_KINDS)

    def add_row(self, identity: Cells, body: Cells) -> None:
        """Add a row: a metric (section, label, unit, value) or a message of a rule (name, text)."""
        section, label, unit, value, rule, text = body
        launch = self._find_launch(identity, (section, label, unit) if label else None)
        self._last = launch
        if label:
            self._metric_rows[launch] += 1
            launches, values = self._metrics[label, unit, self._decimal]
            launches.append(launch)
            values.append(value)
        if section:
            self._sections[launch][SECTIONS.get(section, section)] = None
        if rule:
            self._sections[launch][rule] = None
            self._messages.append((launch, read_message(rule, text)))

    def _find_launch(self, identity: Cells, metric: Cells | None) -> int:
        """Return the launch of a row, numbered by first appearance.

        Where the first metric of an identity comes again, another export without a header of its
        own was appended, and another launch of the same identity begins.
        """
        launch = self._launch_of.get(identity)
        lead = self._lead_of.get(identity)
        if metric is not None and lead is None:
            self._lead_of[identity] = metric
        if launch is None or (metric is not None and metric == lead):
            launch = self._launch_of[identity] = len(self)
            self._identities.append(dict(zip(self._identity, identity, strict=True)))
            self._metric_rows.append(0)
            self._sections.append({})
        return launch

    def capture(self, origin: str, scan: Scan, *, silence_means_nothing: bool = False) -> Capture:
        """Return the capture of everything that was added.

        Launches that may lack rows get no :data:`SECTIONS_COLUMN`: a rule may have had nothing to
        say, or its row is gone. Where the input ended within a row, or early, that is
        the last launch, and all of them where other rows were lost, or where the page does not
        name the rules that spoke, so that ``silence_means_nothing``.
        """
        builder = CaptureBuilder()
        names = dict.fromkeys(name for each in self._identities for name in each)
        identity = {
            name: TextColumn.from_cells([each.get(name, "") for each in self._identities])
            for name in names
        }
        builder.add_launches(identity.pop("ID").cells(), identity)
        self._add_metrics(builder)
        spoken = self._add_messages(builder)
        in_doubt: Iterable[int] = ()
        if scan.broken > scan.cut or silence_means_nothing:
            in_doubt = range(len(self))
        elif scan.cut:
            in_doubt = [self._last]
        elif self._ends_early():
            builder.warn(
                "The last launch has fewer metrics than other launches: the input may be cut off.",
                damage=True,
            )
            in_doubt = [self._last]
        for name, names_of_launches in ((SECTIONS_COLUMN, self._sections), (SPOKEN_COLUMN, spoken)):
            cells = [";".join(each) for each in names_of_launches]
            for launch in in_doubt:
                cells[launch] = ""
            builder.add_texts(name, slice(0, len(self)), TextColumn.from_cells(cells))
        _name_busy_by_cycles(builder)
        capture = builder.capture(origin, scan.warnings("; the last launch may lack metrics"))
        if not capture.columns:
            raise NoCaptureError("the page has no row with a metric")
        return capture

    def _ends_early(self) -> bool:
        counts = self._metric_rows
        # Rows of rules alone, with no metric behind them, are no sign of a cut.
        return any(counts[self._last :]) and counts[self._last] < max(counts)

    def _add_metrics(self, builder: CaptureBuilder) -> None:
        unknown: dict[str, None] = {}
        for (label, unit, decimal), (launches, cells) in self._metrics.items():
            name = raw_name(label.strip(), scale_of(unit).unit)
            if name is not None:
                numbers = NumberColumn.from_texts(TextColumn.from_cells(cells), decimal)
                builder.add_numbers(name, np.array(launches, dtype=np.intp), unit, numbers)
            elif not is_left_out(label.strip()):
                unknown[label] = None
        if unknown:
            labels = first_few((f'"{label}"' for label in unknown), _LABELS_NAMED)
            builder.warn(f"Unknown labels of the details page were ignored: {labels}.")

    def _add_messages(self, builder: CaptureBuilder) -> list[dict[str, None]]:
        """Add the numbers in messages of rules; measured columns stay as they are.

        Return the names of the metrics that messages give, launch by launch.
        """
        measured = builder.metrics
        spoken: list[dict[str, None]] = [{} for _ in range(len(self))]
        texts: dict[str, dict[int, str]] = {}
        numbers: dict[tuple[str, str], dict[int, float]] = {}
        for launch, message in self._messages:
            for name, text in message.texts:
                texts.setdefault(name, {}).setdefault(launch, text)
            for number in message.numbers:
                spoken[launch][number.metric] = None
                value = number.value
                for other, power in ((number.share_of, 1), (number.share_by, -1)):
                    if other is None:
                        continue
                    whole = builder.values(other) if other in measured else None
                    factor = np.nan if whole is None else float(whole[launch])
                    value *= factor**power if 0 < factor < np.inf else np.nan
                if not np.isfinite(value):
                    continue
                if number.metric not in measured:
                    numbers.setdefault((number.metric, number.unit), {}).setdefault(launch, value)
        for name, by_launch in texts.items():
            at = np.array(list(by_launch), dtype=np.intp)
            builder.add_texts(name, at, TextColumn.from_cells(list(by_launch.values())))
        for (name, unit), values in numbers.items():
            at = np.array(list(values), dtype=np.intp)
            column = NumberColumn(np.array(list(values.values())))
            builder.add_numbers(name, at, unit, column, Origin.REPORTED)
        return spoken


class DetailsPage(LabelledMetrics):
    """Reads the rows of details pages."""

    def __init__(self) -> None:
        super().__init__()
        self._header: Header | None = None
        self._pick: itemgetter[Any] = itemgetter(0)

    def parse(self, table: CsvTable, block: bytes) -> None:
        """Parse no block as a whole."""

    def add(self, table: CsvTable) -> None:
        """Add the rows of a table, or of one more part of it: those share the header object."""
        header = table.header
        if header is not self._header:
            self._begin_table(header, table_decimal(header, table.rows))
        width, identity = len(header.names), len(self._identity)
        # Rows of metrics end after the value; the last blank is for columns that are absent.
        blank = [""] * (width + 1)
        for row in table.rows:
            picked = self._pick(_split_row(row, header.delimiter)[:width] + blank)
            self.add_row(picked[:identity], picked[identity:])

    def _begin_table(self, header: Header, decimal: str) -> None:
        """Begin another table, whose launches are others even if they are called the same."""
        names = header.names
        self._header = header
        self._decimal = decimal
        self._identity = tuple(name for name in dict.fromkeys(names) if is_identity(name))
        columns = (*self._identity, *_BODY)
        self._pick = itemgetter(
            *(names.index(name) if name in names else len(names) for name in columns)
        )
        self._launch_of = {}
        self._lead_of = {}


def _split_row(row: bytes, delimiter: str) -> list[str]:
    """Split a row into its cells.

    Nearly all are as ``ncu`` writes them, each cell in quotes and no other quote anywhere, and
    need no parser; nor do cells that are longer than :mod:`csv` takes.
    """
    text = row.decode("utf-8", "replace").removesuffix(delimiter)
    cells = text[1:-1].split(f'"{delimiter}"')
    if text.count('"') == 2 * len(cells) and text[0] == text[-1] == '"':
        return cells
    return split_cells(row, delimiter) or cells


def _name_busy_by_cycles(builder: CaptureBuilder) -> None:
    """Give "Issue Slots Busy" the name that it means: earlier versions meant active cycles.

    An SM issues at most four instructions a cycle, so the percentage is 25 times one of the two
    IPC values beside it. It counts where it is far from the one of elapsed cycles, more than the
    rounding and the replayed instructions explain.
    """
    busy, active, elapsed = (builder.values(name) for name in (_BUSY[0], *_IPC))
    if busy is None or active is None or elapsed is None:
        return
    far = np.abs(busy - 25.0 * elapsed) > 0.3 + 0.03 * busy
    if far.any() and (np.abs(busy - 25.0 * active)[far] <= 0.15).all():
        for name in _BUSY:
            if builder.values(name) is not None:
                builder.rename(name, name.replace("_elapsed", "_active"))
