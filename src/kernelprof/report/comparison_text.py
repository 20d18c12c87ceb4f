"""Comparisons and the gate's answer for the terminal."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule as Line
from rich.table import Table
from rich.text import Text

from kernelprof.analysis.metrics.catalogue import catalogue
from kernelprof.compare.words import counter_text, headline, remarks, summary, time_text
from kernelprof.model.comparison import TimeOutcome
from kernelprof.model.gate import Outcome
from kernelprof.report.names import encodable, middle, printable, short_name
from kernelprof.report.numbers import quantity
from kernelprof.report.writers.terminal import NARROWEST, WIDEST_PROSE, Screen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.comparison import Comparison, KernelComparison
    from kernelprof.model.gate import Finding, GateResult
    from kernelprof.model.snapshot import Said

MOST_CARDS = 10
MOST_METRICS = 6
MOST_INPUTS = 6
LEAST_EXPLAINED = 0.05
_LABEL_WIDTH = 9

_TIME_STYLE = {TimeOutcome.SLOWER: "bold red", TimeOutcome.FASTER: "bold green"}
_OUTCOME_STYLE = {
    Outcome.PASS: "bold green",
    Outcome.INCONCLUSIVE: "bold yellow",
    Outcome.REGRESSION: "bold red",
}
_MARK = {Outcome.PASS: " ", Outcome.INCONCLUSIVE: "?", Outcome.REGRESSION: "!"}


def render_comparison_text(comparison: Comparison, screen: Screen | None = None) -> str:
    """What happened, the kernels that matter most first."""
    page = _Page(screen or Screen())
    page.title(comparison)
    page.line(summary(comparison), "bold")
    for change in comparison.machine:
        page.line(f"{change.what}: {change.before} before, {change.after} after", "yellow")
    for note in comparison.notes:
        page.line(note, "yellow")
    for position, kernel in enumerate(comparison.kernels[:MOST_CARDS]):
        page.card(position, kernel, alone=len(comparison.kernels) == 1)
    page.left_out(len(comparison.kernels))
    return page.text()


def render_gate_text(result: GateResult, screen: Screen | None = None) -> str:
    """The outcome, then the kernels that decide it."""
    page = _Page(screen or Screen())
    page.title(result.comparison)
    page.line(gate_line(result), _OUTCOME_STYLE[result.outcome])
    for change in result.comparison.machine:
        page.line(f"{change.what}: {change.before} before, {change.after} after", "yellow")
    for finding in result.general:
        page.line(finding.text, "yellow")
    told = [each for each in result.kernels if each.outcome is not Outcome.PASS]
    for position, each in enumerate(told[:MOST_CARDS]):
        page.card(position, each.kernel, each.findings)
    page.left_out(len(told))
    passed = [each for each in result.kernels if each.outcome is Outcome.PASS]
    if passed:
        page.passed([(each.kernel, each.findings) for each in passed])
    return page.text()


def gate_line(result: GateResult) -> str:
    """The outcome with what it rests on, in a line."""
    counts = [
        f"{sum(each.outcome is outcome for each in result.kernels)} {words}"
        for outcome, words in (
            (Outcome.REGRESSION, "worse"),
            (Outcome.INCONCLUSIVE, "inconclusive"),
            (Outcome.PASS, "passed"),
        )
        if any(each.outcome is outcome for each in result.kernels)
    ]
    line = f"{result.outcome.value.capitalize()}: {', '.join(counts) or 'no kernel'}."
    if result.outcome is Outcome.INCONCLUSIVE and result.inconclusive_passes:
        line += " The policy lets that pass."
    return line


class _Page:
    """One answer on one console."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self.buffer = StringIO()
        width = max(screen.width, NARROWEST)
        self.width = min(width, WIDEST_PROSE)
        self.console = Console(
            file=self.buffer,
            width=width,
            force_terminal=screen.color,
            color_system="standard" if screen.color else None,
            legacy_windows=False,
            highlight=False,
            markup=False,
            emoji=False,
        )

    def text(self) -> str:
        """What was written, in the encoding of the screen."""
        lines = (line.rstrip(" ") for line in self.buffer.getvalue().split("\n"))
        return encodable("\n".join(lines), self.screen.encoding)

    def title(self, comparison: Comparison) -> None:
        """The names of both sides."""
        self.line(f"before  {comparison.before}", "dim")
        self.line(f"after   {comparison.after}", "dim")

    def line(self, text: str, style: str = "") -> None:
        """A paragraph."""
        self.console.print(Text(printable(text), style=style), width=self.width)

    def left_out(self, kernels: int) -> None:
        """How many kernels have no card."""
        if kernels > MOST_CARDS:
            self.console.print()
            self.line(f"and {kernels - MOST_CARDS} more: --format json has all of them", "dim")

    def card(
        self,
        position: int,
        kernel: KernelComparison,
        findings: Sequence[Finding] = (),
        *,
        alone: bool = False,
    ) -> None:
        """All about one kernel; what the findings say is not said again.

        Of a kernel that is ``alone`` the summary has said it.
        """
        name = middle(printable(short_name(kernel.name)), self.width - 8)
        self.console.print()
        title = Text(f"{position + 1} {name}", style="bold")
        characters = encodable("─", self.screen.encoding)
        self.console.print(
            Line(title, align="left", style="dim", characters=characters), width=self.width
        )
        if not alone:
            self.line(_sentence(headline(kernel)), _TIME_STYLE.get(kernel.time.outcome, "bold"))
        if findings:
            self._findings(findings)
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(width=_LABEL_WIDTH, no_wrap=True)
        grid.add_column(overflow="fold")
        for label, lines in _parts(kernel, judged=bool(findings)):
            for number, text in enumerate(lines):
                grid.add_row(Text("" if number else label, style="bold"), Text(printable(text)))
        if grid.row_count:
            self.console.print(Padding(grid, (1, 0, 0, 0)), width=self.width)

    def passed(self, kernels: Sequence[tuple[KernelComparison, Sequence[Finding]]]) -> None:
        """A line for each kernel that passed."""
        self.console.print()
        for kernel, findings in kernels[:MOST_CARDS]:
            why = findings[0].text if findings else headline(kernel)
            self.line(f"passed  {short_name(kernel.name)}: {why}")
        if len(kernels) > MOST_CARDS:
            self.line(f"passed  and {len(kernels) - MOST_CARDS} more", "dim")

    def _findings(self, findings: Sequence[Finding]) -> None:
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(width=1)
        grid.add_column(overflow="fold")
        for finding in findings:
            style = _OUTCOME_STYLE[finding.outcome] if finding.outcome is not Outcome.PASS else ""
            grid.add_row(
                Text(_MARK[finding.outcome], style=style), Text(printable(finding.text), style)
            )
        self.console.print(Padding(grid, (1, 0, 0, 0)), width=self.width)


def _parts(kernel: KernelComparison, *, judged: bool) -> Iterable[tuple[str, list[str]]]:
    if kernel.before is None or kernel.after is None:
        return
    if not judged:
        yield "Time", [time_text(kernel.time)]
        yield "Verdict", [f"{_said(kernel.before.verdict)}  ->  {_said(kernel.after.verdict)}"]
    if kernel.counters and not judged:
        marks = {True: "worse  ", False: "better ", None: "       "}
        yield "Counters", [marks[each.worse] + counter_text(each) for each in kernel.counters]
    if kernel.metrics:
        yield "Metrics", list(metric_lines(kernel))
    if kernel.inputs:
        inputs = [
            f"{each.kind}: {each.what}" + (f" {each.before} -> {each.after}" if each.after else "")
            for each in kernel.inputs
        ]
        more = len(inputs) - MOST_INPUTS
        yield "Changed", inputs[:MOST_INPUTS] + ([f"and {more} more"] if more > 0 else [])
    if not judged and (notes := remarks(kernel)):
        yield "Note", list(notes)


def metric_lines(kernel: KernelComparison, most: int = MOST_METRICS) -> Iterable[str]:
    """Changed metrics, those that explain most first."""
    for each in kernel.metrics[:most]:
        known = catalogue().get(each.metric)
        unit = known.unit if known is not None else each.unit
        line = f"{each.metric} {quantity(each.before, unit)} to {quantity(each.after, unit)}"
        if each.explains and each.explains >= LEAST_EXPLAINED:
            line += f", explains {each.explains:.0%} of the time's change".replace("%", " %")
        yield line
    if len(kernel.metrics) > most:
        yield f"and {len(kernel.metrics) - most} more"


def _said(said: Said) -> str:
    return f"{said.bottleneck or said.status} ({said.status}, {said.confidence})"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
