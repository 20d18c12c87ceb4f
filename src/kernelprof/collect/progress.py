"""What ``ncu`` prints while it runs, and who shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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


class LogTail:
    """Follows a file that another process writes, line by line."""

    def __init__(self, path: Path, listen: Callable[[str], None]) -> None:
        self._path = path
        self._listen = listen
        self._at = 0
        self._unfinished = b""
        self._lines: list[str] = []

    def read(self) -> None:
        """Read what is new; the last line may still grow."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                new = file.read()
        except OSError:
            return
        self._at += len(new)
        *lines, self._unfinished = (self._unfinished + new).split(b"\n")
        for line in lines:
            text = line.decode("utf-8", "replace").rstrip("\r")
            self._lines.append(text)
            self._listen(text)
        if new and self._unfinished:
            self._listen(self._unfinished.decode("utf-8", "replace"))

    def lines(self) -> tuple[str, ...]:
        """All lines; the file is complete by now."""
        self.read()
        unfinished = [self._unfinished.decode("utf-8", "replace")] if self._unfinished else []
        return (*self._lines, *unfinished)
