"""The terminal output: a table of kernels, then a card for each that matters."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.padding import Padding
from rich.rule import Rule as Line
from rich.table import Table
from rich.text import Text

from kernelprof.model.diagnosis import Confidence, Status
from kernelprof.report import sentences
from kernelprof.report.names import ELLIPSIS, encodable, fit, labels, middle, printable
from kernelprof.report.numbers import comparison, quantity, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from kernelprof.model.diagnosis import Diagnosis, KernelDiagnosis, Verdict

NARROWEST = 48
WIDEST_CARD = 110
MOST_ROWS = 30
MOST_WARNINGS = 10
_FULL_TABLE_FROM = 76
_SPACIOUS_FROM = 100
_THREE_COLUMNS_FROM = 20
_LABEL_WIDTH = 12

_STATUS_STYLE = {
    Status.BOTTLENECK: "bold red",
    Status.AT_LIMIT: "bold green",
    Status.INCONCLUSIVE: "bold yellow",
}
_CONFIDENCE_CELL = {Confidence.HIGH: "high", Confidence.MEDIUM: "med", Confidence.LOW: "low"}


@dataclass(frozen=True, slots=True)
class Screen:
    """What the text is written for."""

    width: int = 80
    color: bool = False
    encoding: str = "utf-8"

    @property
    def ellipsis(self) -> str:
        return encodable(ELLIPSIS, self.encoding)


def render_text(
    diagnoses: Sequence[Diagnosis], screen: Screen | None = None, *, top: int | None = None
) -> str:
    """All diagnoses as text; ``top`` is the number of cards a capture."""
    screen = screen or Screen()
    width = max(screen.width, NARROWEST)
    buffer = StringIO()
    console = Console(
        file=buffer,
        width=width,
        force_terminal=screen.color,
        color_system="standard" if screen.color else None,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
    )
    for position, diagnosis in enumerate(diagnoses):
        if position:
            console.print()
        _Page(console, screen, diagnosis, top).write()
    return encodable(_without_trailing_blanks(buffer.getvalue()), screen.encoding)


class _Page:
    """One capture on one console."""

    def __init__(
        self, console: Console, screen: Screen, diagnosis: Diagnosis, top: int | None
    ) -> None:
        self.console = console
        self.screen = screen
        self.diagnosis = diagnosis
        self.kernels = diagnosis.kernels
        self.card_width = min(console.width, WIDEST_CARD)
        self.cards = sentences.cards(self.kernels, top)
        self.rows = min(len(self.kernels), max(MOST_ROWS, self.cards))
        self.labels = labels(self.kernels[: self.rows])

    def write(self) -> None:
        self.console.print(Text(printable(self.diagnosis.origin), style="bold"))
        self.console.print(Text(sentences.overview(self.diagnosis)))
        self._write_warnings()
        if not self.kernels:
            return
        self.console.print()
        self.console.print(self._table())
        left = sentences.rest(self.kernels, self.rows)
        if left:
            self.console.print(Text(left, style="dim"))
        for position in range(self.cards):
            self._write_card(position)
        left = sentences.rest(self.kernels, self.cards)
        if left and self.cards:
            self.console.print()
            self.console.print(Text(f"{left}: --top {len(self.kernels)} shows them", style="dim"))

    def _write_warnings(self) -> None:
        warnings = self.diagnosis.warnings
        for warning in warnings[:MOST_WARNINGS]:
            self.console.print(Text(f"warning: {printable(warning)}", style="yellow"))
        if len(warnings) > MOST_WARNINGS:
            more = len(warnings) - MOST_WARNINGS
            self.console.print(Text(f"warning: and {more:,} more like these", style="yellow"))

    def _table(self) -> Table:
        full = self.console.width >= _FULL_TABLE_FROM
        kernels = self.kernels[: self.rows]
        gap = 2 if self.console.width >= _SPACIOUS_FROM else 1
        table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="bold")
        table.add_column("#", justify="right", no_wrap=True)
        table.add_column("kernel", no_wrap=True)
        if full:
            wide = self.console.width >= _SPACIOUS_FROM
            table.add_column("launches" if wide else "n", justify="right", no_wrap=True)
            table.add_column("time", justify="right", no_wrap=True)
        table.add_column("share", justify="right", no_wrap=True)
        table.add_column("verdict", no_wrap=True)
        if full:
            table.add_column("conf", no_wrap=True)
        table.add_column("gain", justify="right", no_wrap=True)
        cells = [self._cells(number, kernel, full) for number, kernel in enumerate(kernels, 1)]
        taken = sum(
            max(len(str(column.header)), *(len(row[position]) for row in cells)) + gap
            for position, column in enumerate(table.columns)
            if column.header != "kernel"
        )
        room = max(self.console.width - taken, 10)
        for row, label in zip(cells, self.labels, strict=True):
            row[1].append(fit(label, room, self.screen.ellipsis))
            table.add_row(*row)
        return table

    def _cells(self, position: int, kernel: KernelDiagnosis, full: bool) -> list[Text]:
        """One row; the name is left empty until it is known how much room it has."""
        verdict, duration = kernel.verdict, kernel.duration_ns
        row = [Text(str(position)), Text()]
        if full:
            time = "-" if duration is None else quantity(duration.median, "ns")
            row += [Text(f"{kernel.launches}"), Text(time)]
        row.append(Text(share(kernel.share)))
        row.append(Text(sentences.verdict_cell(verdict), style=_STATUS_STYLE[verdict.status]))
        if full:
            row.append(Text(_CONFIDENCE_CELL[verdict.confidence]))
        row.append(Text(sentences.gain_cell(verdict, "limit")))
        return row

    def _write_card(self, position: int) -> None:
        kernel = self.kernels[position]
        verdict = kernel.verdict
        name = fit(self.labels[position], self.card_width - 8, self.screen.ellipsis)
        title = Text(f"{position + 1} {name}", style="bold")
        self.console.print()
        self._print(Line(title, align="left", style="dim", characters=self._line()))
        signature = printable(kernel.name)
        if signature != name:
            self._print(Text(middle(signature, 4 * self.card_width), style="dim"))
        self._print(Text(sentences.summary(kernel), style="dim"))
        self.console.print()
        answer = Text(sentences.headline(verdict), style=_STATUS_STYLE[verdict.status])
        answer.append(f" Confidence: {verdict.confidence.value}.", style="default not bold")
        self._print(answer)
        self._write_evidence(verdict)
        self._write_parts(verdict)
        if verdict.command is not None:
            self.console.print()
            self._print(Text(sentences.invitation(verdict)))
            self.console.print(Text(printable(verdict.command)), soft_wrap=True)
            following = sentences.next_step(verdict.command, self.diagnosis.origin)
            if following:
                self._print(Text("Then diagnose both captures as one:"))
                self.console.print(Text(printable(following)), soft_wrap=True)

    def _write_evidence(self, verdict: Verdict) -> None:
        if not verdict.evidence:
            return
        facts = [comparison(each) for each in verdict.evidence]
        metrics = [
            ", ".join(filter(None, (printable(each.metric), sentences.origin(each))))
            for each in verdict.evidence
        ]
        longest = max(map(len, facts))
        room = self.card_width - 2 - longest - 2 - max(map(len, metrics)) - 2
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        if room >= _THREE_COLUMNS_FROM:
            grid.add_column(no_wrap=True)
        for fact, metric, evidence in zip(facts, metrics, verdict.evidence, strict=True):
            label = Text(printable(evidence.label))
            if room >= _THREE_COLUMNS_FROM:
                grid.add_row(Text(fact, style="bold"), label, Text(metric, style="dim"))
            else:
                grid.add_row(Text(fact, style="bold"), label.append(f" ({metric})", style="dim"))
        self._print(Padding(grid, (1, 0, 0, 2)))

    def _write_parts(self, verdict: Verdict) -> None:
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(width=_LABEL_WIDTH, no_wrap=True)
        grid.add_column(overflow="fold")
        for label, lines in sentences.parts(verdict):
            grid.add_row(Text(label, style="bold"), _listing(lines))
        if grid.row_count:
            self._print(Padding(grid, (1, 0, 0, 0)))

    def _print(self, renderable: RenderableType) -> None:
        self.console.print(renderable, width=self.card_width)

    def _line(self) -> str:
        return encodable("─", self.screen.encoding)


def _listing(items: Sequence[str]) -> RenderableType:
    """One paragraph for one item, a dash before each of several."""
    if len(items) == 1:
        return Text(printable(items[0]))
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=1)
    grid.add_column(overflow="fold")
    for item in items:
        grid.add_row(Text("-"), Text(printable(item)))
    return Group(grid)


def _without_trailing_blanks(text: str) -> str:
    return "\n".join(line.rstrip(" ") for line in text.split("\n"))
