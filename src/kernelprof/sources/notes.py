"""What the ``==PROF==`` and ``==WARNING==`` lines around a table say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.model.capture import Launch

_LINE: Final = re.compile(r"==(?P<kind>[A-Z]+)==\s*(?P<text>.*)", re.DOTALL)
_CONNECTED: Final = re.compile(r"Connected to process (?P<pid>\d+) \((?P<path>.*)\)")
_NO_ACCESS: Final = re.compile(r"Unable to access the following \d+ metrics?: (?P<names>.*?)\.?$")
_UNMODIFIED_CLOCKS: Final = "Running with unmodified GPU clocks"
_MOST_WARNINGS: Final = 20


@dataclass(frozen=True, slots=True)
class Notes:
    """``programs`` maps process IDs to the path that ncu started; ``said`` are its complaints.

    ``unavailable`` are metrics that it could not collect on this GPU.
    """

    programs: tuple[tuple[str, str], ...]
    clock_control: str | None
    said: tuple[str, ...]
    unavailable: frozenset[str]

    def application(self, launches: Sequence[Launch]) -> str | None:
        """The program of the first launch: its path if a note tells it, else its name."""
        paths = dict(self.programs)
        for launch in launches[:1]:
            known = paths.get(launch.process_id or "") or launch.process_name
            if known:
                return known
        return next(iter(paths.values()), None)


def read_notes(lines: Sequence[str]) -> Notes:
    """Understand the profiler's own lines."""
    programs: dict[str, str] = {}
    clock_control: str | None = None
    said: dict[str, None] = {}
    unavailable: set[str] = set()
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        kind, text = match["kind"], match["text"].strip()
        connected = _CONNECTED.match(text)
        if connected is not None:
            programs.setdefault(connected["pid"], connected["path"])
        elif _UNMODIFIED_CLOCKS in text:
            clock_control = "none"
        elif (no_access := _NO_ACCESS.match(text)) is not None:
            unavailable.update(no_access["names"].split(", "))
        elif kind in {"WARNING", "ERROR"} and text and len(said) < _MOST_WARNINGS:
            said[f"Nsight Compute said: {text}"] = None
    return Notes(tuple(programs.items()), clock_control, tuple(said), frozenset(unavailable))
