"""Says on a terminal what is being run and why; silent anywhere else."""

from __future__ import annotations

import re
import sys
from typing import Any, Self

from kernelprof.collect.progress import Progress
from kernelprof.model.names import printable

_KERNEL = re.compile(r'==PROF== Profiling "(?P<name>.*)" - (?P<number>\d+):?\s*(?P<rest>.*)')
_CHOSEN = re.compile(r"\d+:\d+:(?P<name>.+):\d+")
_PERCENT = re.compile(r"(\d+)%")
_WIDEST_NAME = 40


class ProgressLine(Progress):
    """One line on stderr while a program runs under ``ncu``, if stderr is a terminal."""

    def __init__(self, *, shown: bool | None = None) -> None:
        self._shown = sys.stderr.isatty() if shown is None else shown
        self._display: Any = None
        self._which = ""
        self._title = ""
        self._profiled = 0

    def __enter__(self) -> Self:
        """Show the line."""
        if self._shown:
            from rich.console import Console
            from rich.progress import Progress as Display
            from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

            self._display = Display(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._display.add_task(f"{self._which}starting")
            self._display.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take the line away."""
        if self._display is not None:
            self._display.stop()

    def capture(self, number: int, total: int) -> None:
        """From here on it is about this one of so many captures, counted from 1."""
        self._which = f"run {number} of {total}: "

    def say(self, text: str) -> None:
        """Something is done before the first run."""
        self._show(printable(text))

    def note(self, text: str) -> None:
        """A line that stays on stderr, also where that is no terminal."""
        line = f"kernelprof: {printable(text)}"
        if self._display is not None:
            self._display.console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()

    def begin(self, title: str) -> None:
        """A run begins: what is collected, and why."""
        self._title, self._profiled = printable(title), 0
        self._describe("the program starts")

    def listen(self, line: str) -> None:
        """Hear a line of ``ncu``; the last one may still be growing."""
        match = _KERNEL.match(line)
        if match is None:
            return
        self._profiled = max(self._profiled, int(match["number"]) + 1)
        percents = _PERCENT.findall(match["rest"])
        # Of launches that were chosen by number, context and stream stand before the name.
        chosen = _CHOSEN.fullmatch(match["name"])
        name = printable(chosen["name"] if chosen else match["name"])[:_WIDEST_NAME]
        done = f", {percents[-1]} %" if percents else ""
        self._describe(f"launch {self._profiled}, {name}{done}")

    def _describe(self, doing: str) -> None:
        self._show(f"{self._title}: {doing}")

    def _show(self, text: str) -> None:
        if self._display is not None:
            self._display.update(self._task, description=f"{self._which}{text}")
