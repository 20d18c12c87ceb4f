"""Score the causes that verdicts list: ``python -m benchmarks.causes``.

The programs of ``cuda/factors`` plant causes whose fixes were timed alone and together. Constants
of ``analysis/verdict/causes.py`` were chosen in view of one half of them, by a hash of the name.
Those that are ``blind`` were written later by people who had not seen the rules.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.factors import SOURCES, read_header

import kernelprof
from kernelprof.model.diagnosis import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelprof.model.diagnosis import Verdict

CAPTURES: Final = Path(__file__).parents[1] / "tests" / "captures" / "h200_factors"
PAYS: Final = 1.1
"""Gain from which a planted cause counts."""
PAYS_WELL: Final = 1.3
CLOSE: Final = 1.5
CLOSE_TOGETHER: Final = 2.0
COSTS: Final = 0.97
"""Gain below which a fix makes a program slower."""

Score = dict[str, tuple[int, int]]


class Program(NamedTuple):
    """A program with the gains of its fixes: by the letters of those that are applied."""

    name: str
    kind: str
    causes: Mapping[str, str]
    gains: Mapping[str, float]
    is_blind: bool

    @property
    def group(self) -> str:
        """What it was used for: ``in view`` when constants were chosen, or only to check them."""
        if self.is_blind:
            return "blind"
        number = int(hashlib.sha256(self.name.encode()).hexdigest(), 16)
        return "checked" if number % 2 else "in view"

    def in_order(self) -> list[tuple[str, float]]:
        """The bottlenecks that pay, each with its gain after those before it."""
        order, applied, left = [], "", set(self.causes)
        while left:
            gains = {each: self.gains["".join(sorted(applied + each))] for each in left}
            letter = max(sorted(gains), key=lambda each: gains[each])
            gain = gains[letter] / self.gains.get(applied, 1.0)
            if gain >= PAYS:
                order.append((self.causes[letter], gain))
            applied = "".join(sorted(applied + letter))
            left.discard(letter)
        return order


def load_programs() -> list[Program]:
    """Return all programs that were measured."""
    times = json.loads((CAPTURES / "times.json").read_text(encoding="utf-8"))
    programs = []
    for name, by_variant in times.items():
        header = read_header(SOURCES / f"{name}.cu")
        causes = {letter: each["bottleneck"] for letter, each in header.get("causes", {}).items()}
        gains = {v: by_variant["0"] / time for v, time in by_variant.items() if v != "0"}
        blind = header.get("blind", False)
        programs.append(Program(name, header["kind"], causes, gains, blind))
    return programs


def score_programs(programs: list[Program]) -> Score:
    """Return for each question how often the answer is right, and of how many."""
    answers: dict[str, list[bool]] = defaultdict(list)
    for program in programs:
        verdict = (
            kernelprof.read(CAPTURES / f"{program.name}.raw.csv.gz").diagnose().kernels[0].verdict
        )
        for question, right in judge(program, verdict):
            answers[question].append(right)
    return {question: (sum(each), len(each)) for question, each in answers.items()}


def judge(program: Program, verdict: Verdict) -> Iterator[tuple[str, bool]]:
    """Yield questions about one program, each with whether the verdict answers it."""
    named = [each.bottleneck for each in verdict.causes] or [verdict.bottleneck]
    order = program.in_order()
    if program.kind in {"healthy", "single"}:
        yield "no second cause is named", len(named) == 1
    if program.kind == "healthy":
        yield "at its limit", verdict.status is Status.AT_LIMIT
    if order:
        yield "first cause", named[0] == order[0][0]
    if len(order) > 1:
        yield "second cause", order[1][0] in named
        if order[1][1] >= PAYS_WELL:
            yield "second cause that gains 1.3x or more", order[1][0] in named
        if {order[0][0], order[1][0]} <= set(named):
            yield "order", named.index(order[0][0]) <= named.index(order[1][0])
    single = {
        bottleneck: program.gains[letter]
        for letter, bottleneck in program.causes.items()
        if list(program.causes.values()).count(bottleneck) == 1
    }
    for each in verdict.causes:
        if (gain := single.get(each.bottleneck)) is not None:
            yield "gain alone within 1.5x", 1 / CLOSE <= each.gain / gain <= CLOSE
            yield "gain alone within its interval", each.gain_low <= gain <= each.gain_high
    for bottleneck, gain in single.items():
        if program.kind == "one alone does not pay" and gain < COSTS:
            worse = {each.bottleneck for each in verdict.causes if each.worse_alone}
            yield "fix that alone costs time", bottleneck in worse
    if len(program.causes) > 1 and set(named) == set(program.causes.values()):
        together = program.gains["".join(sorted(program.causes))]
        ratio = (verdict.combined_gain or 1.0) / together
        yield "combined gain within 2x", 1 / CLOSE_TOGETHER <= ratio <= CLOSE_TOGETHER


def main() -> None:
    """Print the scores of each group."""
    groups: dict[str, list[Program]] = defaultdict(list)
    for program in load_programs():
        groups[program.group].append(program)
    scores = {group: score_programs(groups[group]) for group in ("blind", "checked", "in view")}
    lines = [
        "| question | " + " | ".join(f"{len(groups[each])} {each}" for each in scores) + " |",
        "| :-- |" + " --: |" * len(scores),
    ]
    for question in sorted({question for each in scores.values() for question in each}):
        cells = (score.get(question, (0, 0)) for score in scores.values())
        counts = " | ".join(f"{right} of {every}" for right, every in cells)
        lines.append(f"| {question} | {counts} |")
    sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
