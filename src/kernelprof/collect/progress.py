"""Who is told what is being done."""

from __future__ import annotations

from typing import Self


class Progress:
    """Is told what is being done while it is entered; this one shows nothing of it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def capture(self, number: int, total: int) -> None:
        """From here on it is about this one of so many captures, counted from 1."""

    def say(self, text: str) -> None:
        """Something is done before the first run."""

    def note(self, text: str) -> None:
        """Something that whoever waits should know, also where nothing else is shown."""

    def begin(self, title: str) -> None:
        """A run begins: what is collected, and why."""

    def listen(self, line: str) -> None:
        """``ncu`` printed a line, or part of one."""
