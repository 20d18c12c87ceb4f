"""Says on a terminal how far a long command is; silent anywhere else."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kernelprof.report.progress import ProgressLine
    from kernelprof.results import Meter

LONG: Final = 16 << 20
"""Bytes from which reading takes long enough to be watched."""


def progress_line(*, shown: bool | None = None) -> ProgressLine:
    """The line that says what is being built and run."""
    from kernelprof.report.progress import ProgressLine

    return ProgressLine(shown=shown)


class _Silent:
    def steps(self, *_: object) -> None:
        return None


class _Bar:
    def __init__(self, display: Any) -> None:
        self._display = display

    def steps(self, what: str, total: int, unit: str) -> Callable[[int], object]:
        from rich.filesize import decimal

        from kernelprof.model.names import printable

        display = self._display
        for task in display.task_ids:
            display.remove_task(task)
        text = decimal(total) if unit == "bytes" else f"{total:,} {unit}"
        task = display.add_task(printable(what), total=total, of=text)
        return lambda count: display.update(task, advance=count)


@contextmanager
def show_reading(targets: Sequence[str]) -> Iterator[Meter]:
    """Shows how much of these captures was read and judged: a bar, if that takes a while."""
    from kernelprof.interface.captures import file_size

    if sum(map(file_size, targets)) < LONG or not sys.stderr.isatty():
        yield _Silent()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    # So narrow that 80 columns hold a million launches; a long name is what gives way.
    name = Column(no_wrap=True, overflow="ellipsis", max_width=28)
    columns = (
        TextColumn("{task.description}", markup=False, table_column=name),
        BarColumn(bar_width=8),
        TextColumn("{task.percentage:.0f} % of {task.fields[of]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        yield _Bar(display)
