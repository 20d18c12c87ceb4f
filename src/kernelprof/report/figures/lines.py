"""What a measured kernel does at each line of its source: samples, and bytes by request."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.traffic import SECTOR
from kernelprof.analysis.waiting import a_request
from kernelprof.model.numbers import number, quantity
from kernelprof.report.figures.memory import WAVEFRONT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.sampled import Counts, Instruction, SampledCode


@dataclass(frozen=True, slots=True)
class Path:
    """A way that bytes take, with the counters that tell of it."""

    unit: str
    name: str
    size: int
    taken: str
    ideal: str | None


PATHS: Final = (
    Path("sector", "", SECTOR, "sectors", "ideal_sectors"),
    Path("wavefront", "shared ", WAVEFRONT, "wavefronts", "ideal_wavefronts"),
    Path("local sector", "local ", SECTOR, "local_sectors", None),
)


def by_line(code: SampledCode, file: str) -> dict[int, list[Instruction]]:
    """The instructions of each line of a file."""
    found: dict[int, list[Instruction]] = defaultdict(list)
    for each in code.instructions:
        if each.places and each.places[0].file == file:
            found[each.places[0].line].append(each)
    return dict(found)


def traffic(instructions: Iterable[Instruction]) -> str:
    """What accesses take for a request, and in brackets the ideal where that is less.

    Where the report does not say how often they were carried out, all their bytes.
    """
    own = [each.counts for each in instructions]
    return ", ".join(text for path in PATHS if (text := _on(path, own)))


def _on(path: Path, own: Sequence[Counts]) -> str:
    moving = [each for each in own if getattr(each, path.taken)]
    if not moving:
        return ""
    if any(each.executed is None for each in moving):
        return _bytes(path, moving)
    return ", ".join(dict.fromkeys(_request(path, each) for each in moving))


def _request(path: Path, each: Counts) -> str:
    taken: int = getattr(each, path.taken)
    ideal: int | None = None if path.ideal is None else getattr(each, path.ideal)
    per, best = a_request([(taken, taken if ideal is None else ideal, each.executed)])
    if per is None or best is None:
        return ""
    many = number(per)
    text = f"{many} {path.unit}{'' if many == '1' else 's'}"
    return text if number(best) == many else f"{text} ({number(best)})"


def _bytes(path: Path, moving: Sequence[Counts]) -> str:
    moved = path.size * sum(getattr(each, path.taken) for each in moving)
    text = f"{path.name}{quantity(moved, 'byte')}"
    if path.ideal is None:
        return text
    ideals = [getattr(each, path.ideal) for each in moving]
    if None in ideals or path.size * sum(ideals) >= moved:
        return text
    return f"{text} ({quantity(path.size * sum(ideals), 'byte')})"
