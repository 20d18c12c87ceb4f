"""Which lines of a source made a prediction worse: two versions, aligned line by line.

Both sides have what was counted by line (:class:`kernelprof.model.prediction.Predicted`), and a
digest of each line's text. Lines are aligned as ``difflib`` does it, so that an access that moved
down by ten lines is compared with itself. What two versions count at the same line, or at lines
that were put in each other's place, is subtracted.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.comparison.costs import BANK_CONFLICTS
from kernelprof.model.gate import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kernelprof.model.prediction import Access, Amount, LineWork, Predicted

    Where = tuple[str, int]
    Counts = Mapping[Where, float]
    OfAccess = Callable[[Access], float]

_LANES: Final = 32
"""Threads of a warp."""

MOST_PLACES: Final = 3
"""Lines that a finding names: the one that counts most first."""

LEAST_PART: Final = 0.2
"""A line is named where it has at least this part of what the worst line has."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines of the first version that other lines of the second stand for; either may be none.

    Lines count from 1; ``stop`` is the line after the last.
    """

    old: range
    new: range


@dataclass(frozen=True, slots=True)
class Aligned:
    """Two versions of a source side by side."""

    old_of: Mapping[int, int]
    """The line of the first version with the same text, by the line of the second."""
    hunks: tuple[Hunk, ...]


@dataclass(frozen=True, slots=True)
class Worse:
    """A line of the second version with what it counts there, and what the first counts for it."""

    place: Place
    before: float
    after: float

    @property
    def more(self) -> float:
        """By how much it is more."""
        return self.after - self.before


def aligned(before: Sequence[str], after: Sequence[str]) -> Aligned:
    """Two versions by the digests of their lines; an empty digest is an empty line."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    old_of: dict[int, int] = {}
    hunks = []
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        if tag == "equal":
            old_of.update(zip(range(j + 1, j_end + 1), range(i + 1, i_end + 1), strict=True))
        elif any(before[i:i_end]) or any(after[j:j_end]):
            hunks.append(Hunk(range(i + 1, i_end + 1), range(j + 1, j_end + 1)))
    return Aligned(old_of, tuple(hunks))


def worse_lines(name: str, before: Predicted, after: Predicted) -> tuple[Worse, ...]:
    """The lines of the second version at which a counter is more, the worst first.

    ``name`` is one of :data:`COUNTED`; others are not counted by line, and give none.
    """
    count = COUNTED.get(name)
    if count is None:
        return ()
    sides = aligned(before.text, after.text)
    found = sorted(
        _differences(count(before), count(after), sides, (before.file, after.file)),
        key=lambda each: (-each.more, each.place),
    )
    least = LEAST_PART * found[0].more if found else 0.0
    return tuple(each for each in found if each.more > 0 and each.more >= least)[:MOST_PLACES]


def changed(before: Predicted, after: Predicted, near: Sequence[Place]) -> tuple[Place, ...]:
    """Lines of the second version that the change wrote, those nearest to ``near`` first.

    Of a hunk the nearest line that says something; where it only took lines out, the one behind
    them. Lines above come before lines below: what an access does was mostly decided before it.
    """
    own = [each.line for each in near if each.file == after.file]
    at = own[0] if own else 0
    lines = [_line_of(hunk, after.text, at) for hunk in aligned(before.text, after.text).hunks]
    ordered = sorted(lines, key=lambda line: (line > at > 0, abs(at - line)))
    return tuple(Place(after.file, line) for line in ordered[:MOST_PLACES])


def _line_of(hunk: Hunk, text: Sequence[str], at: int) -> int:
    said = [line for line in hunk.new if text[line - 1]]
    behind = min(hunk.new.start, max(len(text), 1))
    return min(said, key=lambda line: abs(at - line), default=behind)


def _differences(
    before: Counts, after: Counts, sides: Aligned, files: tuple[str, str]
) -> Iterator[Worse]:
    """What each line has on both sides; of lines that were replaced, all of a hunk together."""
    own_before, own_after = files
    replaced = {line: hunk for hunk in sides.hunks for line in hunk.new}
    together: dict[Hunk, list[int]] = defaultdict(list)
    for (file, line), value in after.items():
        if file != own_after:
            yield Worse(Place(file, line), before.get((file, line), 0.0), value)
        elif line in replaced:
            together[replaced[line]].append(line)
        else:
            old = sides.old_of.get(line, 0)
            yield Worse(Place(file, line), before.get((own_before, old), 0.0), value)
    for hunk, lines in together.items():
        # The hunk's old lines stand for its new ones in the proportion of what these count.
        now = sum(after[own_after, line] for line in lines)
        was = sum(before.get((own_before, line), 0.0) for line in hunk.old)
        for line in lines:
            value = after[own_after, line]
            yield Worse(Place(own_after, line), was * value / now if now else 0.0, value)


def _by_access(value: OfAccess, *spaces: str, kinds: Iterable[str] = ()) -> Callable[..., Counts]:
    wanted = frozenset(kinds)

    def count(side: Predicted) -> Counts:
        found: dict[Where, float] = defaultdict(float)
        for each in side.accesses:
            if each.space in spaces and (not wanted or each.kind in wanted):
                found[each.file, each.line] += value(each)
        return found

    return count


def _by_line(value: Callable[[LineWork], float]) -> Callable[[Predicted], Counts]:
    return lambda side: {(each.file, each.line): value(each) for each in side.lines}


def _sectors(each: Access) -> float:
    return _value(each.sectors)


def _wavefronts(each: Access) -> float:
    return _value(each.wavefronts)


def _conflicts(each: Access) -> float:
    return _value(each.wavefronts) - _value(each.ideal)


def _requests(each: Access) -> float:
    return each.requests.value


def _value(amount: Amount | None) -> float:
    return 0.0 if amount is None else amount.value


ATOMICS: Final = ("atomic", "compare", "count")

COUNTED: Final[Mapping[str, Callable[[Predicted], Counts]]] = {
    "global_load_sectors": _by_access(_sectors, "global", kinds=("load",)),
    "global_sectors": _by_access(_sectors, "global"),
    "local_sectors": _by_access(_sectors, "local"),
    "shared_wavefronts": _by_access(_wavefronts, "shared"),
    BANK_CONFLICTS: _by_access(_conflicts, "shared"),
    "global_atomic_requests": _by_access(_requests, "global", kinds=ATOMICS),
    "global_reduction_requests": _by_access(_requests, "global", kinds=("reduction",)),
    "instructions": _by_line(lambda each: each.instructions.value),
    "threads_per_instruction": _by_line(
        lambda each: _LANES * each.instructions.value - each.threads.value
    ),
}
"""What each counter is the sum of, by line. Of threads those are counted that are missing."""
