"""Reads captures and judges them, and says on a terminal how far it is."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis

LONG: Final = 16 << 20
"""Bytes from which reading takes long enough to be watched."""


def diagnosed(
    targets: Sequence[str],
    preset: str | None,
    *,
    merged: bool,
    whole: bool,
    meter: Meter | None = None,
) -> list[tuple[Capture, Diagnosis]]:
    """One diagnosis a capture, or one of all of them; all are read before any is judged.

    ``whole`` captures keep every metric and not just what the rules look at.
    """
    from kernelprof.analysis.metrics import catalogue
    from kernelprof.analysis.verdict import diagnose
    from kernelprof.sources import read_capture

    if preset is not None:
        catalogue.preset(preset)
    only = None if whole else catalogue.names_read()
    with _shown(meter, sum(map(_size, targets))) as watched:
        captures = []
        for target in targets:
            heard = watched.steps(f"reading {Path(target).name}", _size(target), "bytes")
            captures.append(read_capture(target, only=only, progress=heard))
        if merged:
            from kernelprof.model.merge import merge

            captures = [reduce(merge, captures)]
        found = []
        for capture in captures:
            heard = watched.steps(f"judging {Path(capture.origin).name}", len(capture), "launches")
            found.append((capture, diagnose(capture, preset=preset, progress=heard)))
    return found


def _size(target: str) -> int:
    try:
        return Path(target).stat().st_size if target != "-" else 0
    except OSError:
        return 0


class Meter(Protocol):
    """Shows how far something is."""

    def steps(self, what: str, total: int, unit: str) -> Callable[[int], object] | None:
        """What to call with each step of so many in total; ``None`` where nobody watches."""


class _Silent:
    def steps(self, *_: object) -> None:
        return None


class _Bar:
    """One bar on stderr."""

    def __init__(self, display: Any) -> None:
        self._display = display

    def steps(self, what: str, total: int, unit: str) -> Callable[[int], object]:
        from kernelprof.model.names import printable

        display = self._display
        for task in display.task_ids:
            display.remove_task(task)
        task = display.add_task(printable(what), total=total, so_far=_counted(unit))

        def advance(count: int) -> None:
            display.update(task, advance=count)

        return advance


def _counted(unit: str) -> Callable[[Any], str]:
    """How to write the steps of a task: ``12.5 MB of 230 MB`` or ``8,192 of 26,000 launches``."""
    if unit != "bytes":
        return lambda task: f"{task.completed:,} of {task.total:,} {unit}"
    from rich.filesize import decimal

    def of_bytes(task: Any) -> str:
        read = decimal(int(task.completed))
        return f"{read} of {decimal(task.total)}" if task.total else read

    return of_bytes


@contextmanager
def _shown(meter: Meter | None, size: int) -> Iterator[Meter]:
    """The meter for so many bytes: a bar on a terminal, if that is worth it."""
    if meter is not None or size < LONG or not sys.stderr.isatty():
        yield meter or _Silent()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column
    from rich.text import Text

    class SoFar(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text(task.fields["so_far"](task))

    # So narrow that 80 columns hold a million launches; a long name is what gives way.
    name = Column(no_wrap=True, overflow="ellipsis", max_width=28)
    columns = (
        TextColumn("{task.description}", markup=False, table_column=name),
        BarColumn(bar_width=8),
        SoFar(table_column=Column(no_wrap=True)),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        yield _Bar(display)
