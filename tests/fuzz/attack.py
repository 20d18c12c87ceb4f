"""``python -m tests.fuzz.attack``: mutants of every kind of input, counted in reports/attack.md.

``$ATTACK_SEED`` is the seed. A run that ``$ATTACK_SECONDS`` ends is continued by the next, from
``build/attack.json``.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import sys
import time
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.fuzz.kinds import KINDS, LONGEST_S, Part
from tests.fuzz.worker import MOST_BYTES, preload

if TYPE_CHECKING:
    from multiprocessing.context import ForkProcess

ROOT = Path(__file__).parents[2]
STATE = ROOT / "build" / "attack.json"
REPORT = ROOT / "reports" / "attack.md"
SEED = os.environ.get("ATTACK_SEED", "34")
AT_ONCE = int(os.environ.get("ATTACK_JOBS", "2"))
_SOME = 100
"""Mutants of one process, whose seed has the number of its first; some cells are more."""
_PIECE_S = 500.0


@dataclass
class Total:
    """What came of all mutants of a kind so far."""

    pieces: int = 0
    tried: int = 0
    slowest_s: float = 0.0
    peak_bytes: int = 0
    seconds: float = 0.0
    broken: list[str] = field(default_factory=list)


class _Piece:
    """A process that tries some mutants of a kind."""

    def __init__(self, kind: str, number: int) -> None:
        self.kind, self.peak_bytes, self.begun = kind, 0, time.monotonic()
        self.seed = f"{SEED}, {kind}, {number * _SOME}"
        context = multiprocessing.get_context("fork")
        self._answers, answers = context.Pipe(duplex=False)
        self.process: ForkProcess = context.Process(target=_try, args=(kind, self.seed, answers))
        self.process.start()
        answers.close()

    def look(self, children: dict[int, list[int]]) -> None:
        """Note the memory of the process and of all that it started; end one that hangs."""
        left = [self.process.pid or 0]
        while left:
            one = left.pop()
            left += children.get(one, [])
            self.peak_bytes = max(self.peak_bytes, _peak_bytes(one))
        if time.monotonic() - self.begun > _PIECE_S:
            self.process.kill()

    def finish(self, total: Total) -> None:
        """Add what came of it."""
        self.process.join()
        try:
            part = Part(**self._answers.recv())
        except EOFError:
            part = Part(broken=[f"its process ended with {self.process.exitcode}"])
        total.pieces += 1
        total.tried += part.tried
        total.slowest_s = max(total.slowest_s, part.slowest_s)
        total.peak_bytes = max(total.peak_bytes, self.peak_bytes)
        total.seconds += time.monotonic() - self.begun
        total.broken += [f"seed {self.seed}: {each}" for each in part.broken]
        if self.peak_bytes > MOST_BYTES:
            total.broken.append(f"seed {self.seed}: {self.peak_bytes >> 20} MiB")


def _try(kind: str, seed: str, answers: Any) -> None:
    part = Part()
    KINDS[kind][2](random.Random(seed), _SOME, part)
    answers.send(asdict(part))


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        found.setdefault(parent, []).append(int(path.parent.name))
    return found


def _peak_bytes(process: int) -> int:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    _, _, peak = status.partition("VmHWM:")
    return int(peak.split()[0]) << 10 if peak else 0


def _load() -> dict[str, Total]:
    if not STATE.is_file():
        return {kind: Total() for kind in KINDS}
    return {kind: Total(**each) for kind, each in json.loads(STATE.read_text("utf-8")).items()}


def main() -> int:
    """Try what is left, write the report once nothing is; 1 where something broke."""
    preload()
    totals, pieces = _load(), list[_Piece]()
    begun = {kind: total.pieces for kind, total in totals.items()}
    end = time.monotonic() + float(os.environ.get("ATTACK_SECONDS", "inf"))
    while True:
        for kind, (count, _, _) in KINDS.items():
            while begun[kind] * _SOME < count and len(pieces) < AT_ONCE and time.monotonic() < end:
                pieces.append(_Piece(kind, begun[kind]))
                begun[kind] += 1
        if not pieces:
            break
        ended = wait([each.process.sentinel for each in pieces], timeout=0.1)
        children = _children()
        for each in [*pieces]:
            each.look(children)
            if each.process.sentinel in ended:
                pieces.remove(each)
                each.finish(totals[each.kind])
                STATE.parent.mkdir(exist_ok=True)
                state = {kind: asdict(total) for kind, total in totals.items()}
                STATE.write_text(json.dumps(state, indent=1), "utf-8")
    done = all(totals[kind].pieces * _SOME >= count for kind, (count, _, _) in KINDS.items())
    if done:
        REPORT.write_text(_report(totals), "utf-8")
        STATE.unlink()
    for kind, total in totals.items():
        sys.stdout.write(f"{kind}: {total.tried} tried, {len(total.broken)} broken\n")
    return int(any(total.broken for total in totals.values()))


def _report(totals: dict[str, Total]) -> str:
    rows = [
        f"| {kind} | {KINDS[kind][1]} | {each.tried:,} | {each.tried - len(each.broken):,} "
        f"| {len(each.broken)} | {each.slowest_s:.1f} | {each.peak_bytes >> 20} |"
        for kind, each in totals.items()
    ]
    tried, broken = (
        sum(each.tried for each in totals.values()),
        [f"- {kind}: {_one_line(one)}" for kind, each in totals.items() for one in each.broken],
    )
    return "\n".join(
        [
            "# Mutated inputs",
            "",
            f"Seed {SEED}: {tried:,} mutants, {len(broken)} broken. `make attack` writes this page",
            f"(`ATTACK_SEED={SEED} python -m tests.fuzz.attack`).",
            "",
            "A mutant breaks something if a command prints a traceback, ends with a signal or an",
            f"undocumented exit code, takes {LONGEST_S:.0f} s (a command: 20 s) or 1 GiB, or if a",
            "contradictory value changes a verdict or a gate as the second column says. Memory is",
            "the largest resident set of one process, read ten times a second.",
            "",
            "| input | mutants | tried | held | broken | slowest, s | largest, MiB |",
            "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
            *rows,
            "",
            "## Broken",
            "",
            *(broken or ["None."]),
            "",
        ]
    )


def _one_line(broken: str) -> str:
    """Without the folder of this checkout, and without where its files are."""
    return " ".join(broken.partition("\nagain:")[0].replace(f"{ROOT}/", "").split())


if __name__ == "__main__":
    sys.exit(main())
