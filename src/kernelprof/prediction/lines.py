"""What was counted, by source line: accesses to memory, and instructions with their threads."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelprof.model.prediction import Amount, LineWork, PredictedAccess
from sassim.counters.counters import BULK

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from sassim.counters.counters import AccessCounters
    from sassim.counters.launch_counters import LaunchCounters, Total
    from sassim.interpreter.lanes import Array
    from sassim.sass.listing import SourceLine

    FileLine = tuple[str, int]
    Key = tuple[str, int, str, str, int]
    Pattern = tuple[int, int]

UNKNOWN: tuple[str, int] = ("", 0)
"""The place of an instruction that the compiler gives no line for."""


@dataclass(frozen=True, slots=True)
class ByLine:
    """What the lines of a kernel ask of memory, and what they execute."""

    accesses: tuple[PredictedAccess, ...]
    """Those first that move the most."""
    lines: tuple[LineWork, ...]


def group_by_line(counters: LaunchCounters, source: Path) -> ByLine:
    """What was counted, by line; files are named as ``source`` is."""
    places = SourcePaths(source)
    return ByLine(_accesses(counters, places), _lines(counters, places))


class SourcePaths:
    """Names files as the source was named: debug information has them from the root of the disk."""

    def __init__(self, source: Path) -> None:
        self._source = source
        self._folder = source.resolve().parent
        self._real = str(source.resolve())

    def place_of(self, lines: tuple[SourceLine, ...]) -> FileLine:
        """The innermost line that is in the source; where none is, the innermost of all."""
        own = next((each for each in lines if each.file == self._real), None)
        chosen = own or next(iter(lines), None)
        return UNKNOWN if chosen is None else (self.name(chosen.file), chosen.number)

    def name(self, file: str) -> str:
        """A file as seen from where the source was named, if it is below the source's folder."""
        if file == self._real:
            return str(self._source)
        inside = os.path.relpath(file, self._folder)
        return file if inside.startswith("..") else str(self._source.parent / inside)


def _accesses(counters: LaunchCounters, places: SourcePaths) -> tuple[PredictedAccess, ...]:
    """What each line asks of memory, by kind, width and pattern; the most moving first."""
    groups: dict[tuple[Key, Pattern], list[AccessCounters]] = defaultdict(list)
    for each in counters.block_counters.accesses.values():
        if each.space == BULK:
            continue
        file, line = places.place_of(each.instruction.lines)
        key = file, line, each.space, each.kind, each.size
        groups[key, _pattern(counters, each)].append(each)
    accesses = [
        PredictedAccess(
            *key,
            instructions=len(group),
            requests=_amount(counters, group, "requests") or Amount(0, 0, 0),
            sectors=_amount(counters, group, "sectors"),
            wavefronts=_amount(counters, group, "wavefronts"),
            ideal=_amount(counters, group, "ideal"),
        )
        for (key, _), group in groups.items()
    ]
    return tuple(sorted(accesses, key=_order))


def _pattern(counters: LaunchCounters, each: AccessCounters) -> Pattern:
    """What a request takes, in whole sectors or wavefronts, and ideally.

    Two arrays that one line reads are told apart by it: one of them may be a broadcast. Copies of
    an instruction in an unrolled loop have the same.
    """
    requests = counters.total(each.counts["requests"]).value or 1.0
    moved = each.counts.get("sectors", each.counts.get("wavefronts"))
    sides = (moved, each.counts.get("ideal"))
    first, second = (
        -1 if side is None else round(counters.total(side).value / requests) for side in sides
    )
    return first, second


def _order(each: PredictedAccess) -> tuple[float, str, int]:
    moved = each.moved
    return (-moved.value if moved else 0.0, each.file, each.line)


def _amount(counters: LaunchCounters, group: Iterable[AccessCounters], name: str) -> Amount | None:
    """A count of several instructions together, whose intervals would be too wide one by one."""
    counts = [each.counts[name] for each in group if name in each.counts]
    return amount(counters.total(sum(counts[1:], counts[0]))) if counts else None


def amount(total: Total) -> Amount:
    """A total as files hold it; whole numbers without a point."""
    return Amount(*(_number(each) for each in (total.value, max(total.low, 0.0), total.high)))


def _number(value: float) -> int | float:
    return int(value) if float(value).is_integer() else float(f"{value:.7g}")


def _lines(counters: LaunchCounters, places: SourcePaths) -> tuple[LineWork, ...]:
    """The instructions of each line with their threads, in the order of the lines."""
    by_place: dict[FileLine, tuple[Array, Array]] = {}
    for instruction, warps, threads in counters.executed():
        place = places.place_of(instruction.lines)
        before = by_place.get(place)
        by_place[place] = (
            (warps, threads) if before is None else (before[0] + warps, before[1] + threads)
        )
    return tuple(
        LineWork(*place, amount(counters.total(warps)), amount(counters.total(threads)))
        for place, (warps, threads) in sorted(by_place.items())
    )
