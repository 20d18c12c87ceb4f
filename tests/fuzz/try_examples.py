"""Tries examples: their files written, their command run, the outcome looked at."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from tests.fuzz.inputs import examples
from tests.fuzz.worker import Outcome, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.fuzz.inputs import Example

COMMAND = "command.json"


@dataclass
class Tried:
    """What came of all examples so far: how many of each kind and code, and what they took."""

    kinds: Counter[str] = field(default_factory=Counter)
    codes: Counter[int] = field(default_factory=Counter)
    peak_bytes: int = 0
    slowest_s: float = 0.0
    wrong: list[str] = field(default_factory=list)

    def add(self, example: Example, kept: Path | None) -> None:
        """Try one; the files of one that ends wrong are kept in a folder below ``kept``."""
        with tempfile.TemporaryDirectory(prefix="kernelprof-fuzz-") as made:
            folder = Path(made) / "x"
            write(example, folder)
            outcome = run(example.command, folder)
            self._note(example, outcome)
            if outcome.wrong:
                self.wrong.append(_described(example, outcome, made, kept))

    def _note(self, example: Example, outcome: Outcome) -> None:
        self.kinds[example.kind] += 1
        self.codes[outcome.code] += 1
        self.peak_bytes = max(self.peak_bytes, outcome.peak_bytes)
        self.slowest_s = max(self.slowest_s, outcome.seconds)

    def summary(self) -> str:
        """Everything in a few lines."""
        codes = ", ".join(f"{count} x {code}" for code, count in sorted(self.codes.items()))
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kinds.items()))
        return (
            f"{self.kinds.total()} examples ({kinds}); exit codes {codes}; most memory "
            f"{self.peak_bytes >> 20} MiB, slowest {self.slowest_s:.1f} s; {len(self.wrong)} wrong"
        )


def write(example: Example, folder: Path) -> None:
    """The files of an example, and its command beside the folder."""
    folder.mkdir(parents=True)
    for name, data in example.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    command = json.dumps([example.kind, *example.command])
    (folder.parent / COMMAND).write_text(command, encoding="utf-8")


def _described(example: Example, outcome: Outcome, made: str, kept: Path | None) -> str:
    said = f"{outcome.wrong}: kernelprof {' '.join(example.command)}\n{outcome.stderr[-3000:]}"
    if kept is None:
        return said
    place = kept / f"{example.kind}-{os.getpid()}-{time.monotonic_ns()}"
    shutil.copytree(made, place)
    return f"{said}\nagain: python -m tests.fuzz {place}"


def try_some(
    tried: Tried,
    number: int,
    count: int,
    kept: Path | None = None,
    until: float | None = None,
    *,
    kinds: Sequence[str] = (),
) -> None:
    """Try so many examples of a seed, until a moment of the monotonic clock at most."""

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(examples(kinds))
    def one(example: Any) -> None:
        if until is None or time.monotonic() < until:
            tried.add(example, kept)

    one()
