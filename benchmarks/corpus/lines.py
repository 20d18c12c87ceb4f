"""Whether the line that a verdict blames is the one that its fix changed.

**Changed** are the lines of ``before.cu`` that a diff (:mod:`difflib`) replaces or deletes, and
both lines beside a mere insertion; comments, of which the launch specification is one, and empty
lines do not count. A line that was changed in a helper counts with the lines that call the helper.

**A line is to blame** where what was planted is a bottleneck that has one
(:data:`kernelprof.analysis.stalls.blame.BLAMED`), and the fix changed a line with machine code, or
one next to such a line. A fix of the grid, of a constant, of a flag or of the data has no line.

**Right** is the line named, or one of the calls that are named with it, if it is a changed one or
next to one. The line of most samples is judged in the same way, and ``chance`` is the share of the
lines with machine code that would be right: what a verdict has to be better than.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.corpus.pairs import Kind, Side

from kernelprof.analysis.stalls import MOST_CALLS, LineBlame
from kernelprof.analysis.stalls.blame import BLAMED
from kernelprof.analysis.stalls.source_functions import find_calls, find_function
from kernelprof.model.kernel_name import function_name
from kernelprof.model.sampled import from_bytes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from benchmarks.corpus.pairs import Pair
    from benchmarks.corpus.score import Scored

    from kernelprof.model.sampled import SampledCode
    from kernelprof.model.waiting import BlamedLine

FOLDER: Final = Path(__file__).parents[2] / "tests" / "captures" / "h200_lines"
"""Where the instructions of each ``before`` lie, with their samples."""
SOURCES: Final = "sources.json"
"""The hashes of the sources that were sampled, by pair."""
_COMMENT: Final = re.compile(r"//.*")


@dataclass(frozen=True, slots=True)
class LineScore:
    """A pair in which a line is to blame.

    ``bottleneck`` is what the verdict names, ``blamed`` its line. ``changed`` are the lines that
    the fix changed.
    """

    pair: Pair
    bottleneck: str | None
    blamed: BlamedLine | None
    changed: tuple[int, ...]
    right: bool
    hottest: int | None
    hottest_right: bool
    chance: float


def line_scores(scored: Iterable[Scored], folder: Path = FOLDER) -> tuple[LineScore, ...]:
    """The pairs in which a line is to blame, by name; those that prove nothing are left out."""
    digests = json.loads((folder / SOURCES).read_text(encoding="utf-8"))
    found = (_score(each, folder, digests.get(each.pair.name)) for each in scored)
    return tuple(each for each in found if each is not None)


def _score(scored: Scored, folder: Path, digest: str | None) -> LineScore | None:
    pair, named = scored.pair, scored.verdict.bottleneck
    if pair.kind not in (Kind.PAIR, Kind.TWO) or (not scored.right and not scored.proven):
        return None
    planted, side = pair.bottleneck, Side.AFTER
    if named is not None and named == pair.second:
        planted, side = named, Side.AFTER_SECOND
    source = pair.source(Side.BEFORE).read_bytes()
    if planted not in BLAMED or hashlib.sha256(source).hexdigest() != digest:
        return None
    text = source.decode("utf-8")
    code = replace(read(pair, folder), whole=text)
    lines = changed(text, pair.source(side).read_text(encoding="utf-8"))
    near = _near(_with_calls(code, lines))
    with_code = {
        place.line for each in code.instructions for place in each.places if place.file == code.file
    }
    if not near & with_code:
        return None
    blamed = LineBlame(code).blamed_line(named)
    hottest = _hottest(code)
    return LineScore(
        pair=pair,
        bottleneck=named,
        blamed=blamed,
        changed=tuple(sorted(lines)),
        right=blamed is not None and bool(near & {blamed.line, *blamed.called_at}),
        hottest=hottest,
        hottest_right=hottest is not None and bool(near & {hottest, *_named_calls(code, hottest)}),
        chance=len(near & with_code) / len(with_code),
    )


def read(pair: Pair, folder: Path = FOLDER) -> SampledCode:
    """The instructions of a pair's ``before`` with their samples."""
    codes = from_bytes(gzip.decompress((folder / f"{pair.name}.json.gz").read_bytes()))
    return max(codes, key=lambda each: each.samples)


def changed(before: str, after: str) -> set[int]:
    """The lines of a source that are others in the fixed one."""
    sides = [_COMMENT.sub("", text).split("\n") for text in (before, after)]
    old, new = ([line.rstrip() for line in side] for side in sides)
    found: set[int] = set()
    for tag, start, end, first, last in SequenceMatcher(None, old, new, False).get_opcodes():
        if tag == "insert" and any(new[first:last]):
            found |= {start, start + 1}
        elif tag in ("replace", "delete"):
            found |= {at + 1 for at in range(start, end) if old[at]}
    return {line for line in found if 1 <= line <= len(old)}


def _near(lines: Collection[int]) -> set[int]:
    return {line + step for line in lines for step in (-1, 0, 1)}


def _with_calls(code: SampledCode, lines: Collection[int]) -> set[int]:
    return {*lines, *(call for line in lines for call in _calls(code, line))}


def _calls(code: SampledCode, line: int) -> tuple[int, ...]:
    """The lines that call the helper that a line is in; none where it is the kernel itself."""
    helper = find_function(code.whole, line)
    if helper is None or helper.name == function_name(code.function):
        return ()
    return find_calls(code.whole, helper)


def _named_calls(code: SampledCode, line: int) -> Sequence[int]:
    calls = _calls(code, line)
    return calls if len(calls) <= MOST_CALLS else ()


def _hottest(code: SampledCode) -> int | None:
    """The line of the kernel's file with most samples."""
    samples: Counter[int] = Counter()
    for each in code.instructions:
        if each.places and each.places[0].file == code.file:
            samples[each.places[0].line] += each.counts.samples
    return samples.most_common(1)[0][0] if samples else None
