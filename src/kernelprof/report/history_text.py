"""The history for the terminal: a table for each kernel, the oldest row first."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule as Line
from rich.text import Text

from kernelprof.model.comparison import TimeOutcome
from kernelprof.model.diagnosis import Status
from kernelprof.model.history import Source
from kernelprof.report import history_words as words
from kernelprof.report.names import encodable, middle, printable
from kernelprof.report.writers.terminal import NARROWEST, Screen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.history import History, KernelHistory, Row

_FULL_FROM: Final = 76
"""Columns from which confidence and counters are shown."""

_ORIGIN_FROM: Final = 16
"""Columns that have to be left for the name of a capture to stand in the row, if it is longer."""

_WIDEST_ORIGIN: Final = 40
_WIDEST_PAGE: Final = 140
_CONFIDENCE: Final = {"high": "high", "medium": "med", "low": "low"}
_STATUS_STYLE: Final = {
    Status.BOTTLENECK.value: "red",
    Status.AT_LIMIT.value: "green",
    Status.INCONCLUSIVE.value: "yellow",
}
_TIME_STYLE: Final = {TimeOutcome.SLOWER: "bold red", TimeOutcome.FASTER: "bold green"}


@dataclass(frozen=True, slots=True)
class _Column:
    heading: str
    width: int
    right: bool = False

    def put(self, text: str) -> str:
        cut = middle(text, self.width)
        return cut.rjust(self.width) if self.right else cut.ljust(self.width)


def render_history_text(history: History, screen: Screen | None = None) -> str:
    """All kernels, those that take most time first."""
    page = _Page(screen or Screen(), history)
    page.line(f"history of {history.origin}", "dim")
    page.line(f"{words.overview(history)} (UTC)", "bold")
    for note in history.notes:
        page.line(note, "yellow")
    for kernel in history.kernels:
        page.kernel(kernel)
    page.legend()
    return page.text()


class _Page:
    def __init__(self, screen: Screen, history: History) -> None:
        self.screen, self.history = screen, history
        self.buffer = StringIO()
        self.width = min(max(screen.width, NARROWEST), _WIDEST_PAGE)
        self.console = Console(
            file=self.buffer,
            width=self.width,
            force_terminal=screen.color,
            color_system="standard" if screen.color else None,
            legacy_windows=False,
            highlight=False,
            markup=False,
            emoji=False,
        )
        drawn = words.DRAWN
        can_draw = encodable(drawn.slower, screen.encoding) == drawn.slower
        self.marks = drawn if can_draw else words.PLAIN
        self.cells: set[str] = set()

    def text(self) -> str:
        """What was written, in the encoding of the screen."""
        lines = (line.rstrip(" ") for line in self.buffer.getvalue().split("\n"))
        return encodable("\n".join(lines), self.screen.encoding)

    def line(self, text: str, style: str = "", indent: int = 0) -> None:
        """A paragraph."""
        self.console.print(Padding(Text(printable(text), style=style), (0, 0, 0, indent)))

    def kernel(self, kernel: KernelHistory) -> None:
        """The table of a kernel, and why times in it are not compared."""
        self.console.print()
        name = middle(words.title(kernel), self.width - 6, self.screen.ellipsis)
        line = encodable("─", self.screen.encoding)
        self.console.print(
            Line(Text(name, style="bold"), align="left", style="dim", characters=line)
        )
        self.line(words.summary(kernel))
        self._table(kernel, several=len(words.machines(kernel)) > 1)
        for reason in words.reasons(kernel):
            self.line(reason, "dim")

    def legend(self) -> None:
        """What the marks mean that were used."""
        meanings = (
            (self.marks.slower, "slower"),
            (self.marks.faster, "faster than the row before"),
            (words.SAME, "within the noise"),
            (words.UNDECIDED, "too few launches or too scattered to tell"),
        )
        used = [f"{mark} {meaning}" for mark, meaning in meanings if mark in self.cells]
        if used:
            self.console.print()
            self.line(", ".join(used), "dim")

    def _table(self, kernel: KernelHistory, *, several: bool) -> None:
        dates = words.dates(kernel.rows)
        if self.history.source is Source.GIT:
            dates = [words.day(row.moment.date) for row in kernel.rows]
        changes = [
            words.change_cell(row, first=position == 0, marks=self.marks)
            for position, row in enumerate(kernel.rows)
        ]
        columns = self._columns(kernel, dates, changes)
        heading = "  ".join(column.put(column.heading) for column in columns)
        self.console.print(Text(heading.rstrip(), style="dim"), overflow="crop", no_wrap=True)
        last_gpu = ""
        for position, row in enumerate(kernel.rows):
            if several and words.gpu(row) != last_gpu:
                last_gpu = words.gpu(row)
                self.line(f"on {last_gpu}", "dim")
            self.cells.add(changes[position].split(" ")[0])
            cells = self._cells(row, dates[position], changes[position])
            self.console.print(_joined(columns, cells), overflow="crop", no_wrap=True)
            for note in self._notes(row, shown=any(each.heading == "capture" for each in columns)):
                self.line(note, "dim", indent=columns[0].width + 2)

    def _columns(
        self, kernel: KernelHistory, dates: Sequence[str], changes: Sequence[str]
    ) -> list[_Column]:
        columns = [_Column("date", len(dates[0]))]
        if self.history.source is Source.GIT:
            commits = [row.moment.commit.short for row in kernel.rows if row.moment.commit]
            columns.append(_Column("commit", max(map(len, commits), default=6)))
        columns.append(
            _Column("time", max(4, *(len(words.time_cell(row)) for row in kernel.rows)), right=True)
        )
        columns.append(_Column("change", max(6, *map(len, changes))))
        after = []
        if self.width >= _FULL_FROM:
            after.append(_Column("conf", 4))
            if any(row.counters for row in kernel.rows):
                after.append(_Column("counters", 8, right=True))
        used = sum(each.width + 2 for each in (*columns, *after))
        verdicts = [len(words.verdict_cell(row.kernel.verdict)) for row in kernel.rows]
        verdict = max(8, min(max(verdicts), self.width - used))
        columns += [_Column("verdict", verdict), *after]
        left = self.width - used - verdict - 2
        origins = max(len("capture"), *(len(row.moment.origin) for row in kernel.rows))
        if self.history.source is Source.FOLDER and left >= min(origins, _ORIGIN_FROM):
            columns.append(_Column("capture", min(left, origins, _WIDEST_ORIGIN)))
        return columns

    def _cells(self, row: Row, date: str, change: str) -> dict[str, tuple[str, str]]:
        said, outcome = row.kernel.verdict, row.time.outcome if row.time is not None else None
        commit = row.moment.commit
        style = _STATUS_STYLE.get(said.status, "")
        return {
            "date": (date, ""),
            "commit": (commit.short if commit is not None else "", ""),
            "time": (words.time_cell(row), ""),
            "change": (change, _TIME_STYLE.get(outcome, "") if outcome is not None else ""),
            "verdict": (
                words.verdict_cell(said),
                f"bold {style}" if row.verdict_changed else style,
            ),
            "conf": (_CONFIDENCE.get(said.confidence, said.confidence), ""),
            "counters": (words.counters_cell(row), ""),
            "capture": (printable(row.moment.origin), "dim"),
        }

    def _notes(self, row: Row, *, shown: bool) -> Iterable[str]:
        """What stands below a row: its commit, or the capture of one in which something changed."""
        if row.moment.commit is not None:
            yield row.moment.commit.subject
        elif not shown and _changed(row):
            yield row.moment.origin
        yield from words.remarks(row)


def _changed(row: Row) -> bool:
    decided = row.time is not None and row.time.outcome in _TIME_STYLE
    return decided or row.verdict_changed or bool(row.counters)


def _joined(columns: Sequence[_Column], cells: dict[str, tuple[str, str]]) -> Text:
    line = Text()
    for position, column in enumerate(columns):
        text, style = cells[column.heading]
        line.append("  " if position else "")
        line.append(column.put(text), style=style)
    return line
