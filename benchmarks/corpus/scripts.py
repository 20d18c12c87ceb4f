"""Pairs of PyTorch and Triton: what makes two measurements one, and how they are checked and timed.

Their scripts run in processes of their own, with a Python that has PyTorch; nothing here needs it.
"""

from __future__ import annotations

import ast
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.frameworks import FOLDER, PACKAGE

from kernelprof.errors import InputError, MissingToolError
from kernelprof.launch import processes
from kernelprof.launch.run.prepare import PreparedKernel
from kernelprof.launch.run.trial import timing_facts
from kernelprof.launch.source import file_hash
from kernelprof.model.manifest import CorrectnessFacts, SourceFacts
from kernelprof.model.records import build, read_object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.corpus.pairs import Pair, Side

    from kernelprof.launch.processes import Interrupts

START_S: Final = 60.0
EACH_S: Final = 20.0
"""What a process that checks and times pairs may take at most, by itself and for each of them."""

PROFILE_S: Final = 180.0
"""What one call under ``ncu`` may take; the costliest, of a dozen kernels, takes half a minute."""

REFERENCE: Final = "in float64"


@dataclass(frozen=True, slots=True)
class Line:
    """What :mod:`benchmarks.frameworks` writes of a side, or of a pair that ``failed``.

    Times are in nanoseconds, errors shares of the largest value.
    """

    pair: str
    failed: str | None = None
    side: str = ""
    times_ns: tuple[float, ...] = ()
    warm_up: int = 0
    largest_error: float = 0.0
    tolerance: float = 0.0
    made_with: str = ""


def facts(script: Path, target: str, made_with: str | None = None) -> SourceFacts:
    """What was measured: the script, and what it imports from the other files of the package."""
    return SourceFacts(
        path=target, sha256=file_hash(script), compiler=made_with, includes=_imported(script)
    )


def is_same(known: SourceFacts, script: Path) -> bool:
    """Whether a script is what was measured."""
    now = facts(script, known.path)
    return (known.sha256, known.includes or {}) == (now.sha256, now.includes)


def prepared_script(pair: Pair, side: Side, stopwatch: Stopwatch) -> PreparedKernel:
    """What ``ncu`` is to run, checked and timed; :class:`InputError` where that failed."""
    line = stopwatch.line(pair, side)
    target = pair.target(side)
    return PreparedKernel(
        target=target,
        command=(stopwatch.python, "-m", PACKAGE, "once", pair.name, side.value),
        source=facts(pair.source(side), target, line.made_with),
        timing=timing_facts(line.times_ns, warm_up=line.warm_up),
        correctness=CorrectnessFacts(
            passed=True,
            reference=REFERENCE,
            largest_error=line.largest_error,
            tolerance=line.tolerance,
        ),
    )


@dataclass(slots=True)
class Stopwatch:
    """Checks and times pairs in as few processes as it can: each has to load PyTorch.

    All of ``names`` are done when the first of them is asked for.
    """

    python: str
    interrupts: Interrupts
    names: Sequence[str]
    _lines: dict[tuple[str, str], Line] = field(default_factory=dict)
    _failed: dict[str, str] = field(default_factory=dict)

    def line(self, pair: Pair, side: Side) -> Line:
        """What came out of a side; :class:`InputError` where its pair failed."""
        if not self._lines and not self._failed:
            self._time_all()
        found = self._lines.get((pair.name, side.value))
        if found is None:
            raise InputError(
                f"it was not timed: {self._failed.get(pair.name, 'nothing came out')}",
                where=pair.target(side),
            )
        return found

    def _time_all(self) -> None:
        """A pair that ends its process is left out of the next one."""
        rest = list(self.names)
        while rest:
            lines, said = self._process(rest)
            for line in lines:
                if line.failed is None:
                    self._lines[line.pair, line.side] = line
                else:
                    self._failed[line.pair] = line.failed
            done = {line.pair for line in lines}
            if not done:
                self._failed[rest[0]] = said
                done = {rest[0]}
            rest = [name for name in rest if name not in done]

    def _process(self, names: Sequence[str]) -> tuple[list[Line], str]:
        """The lines of one process, and the last that it said."""
        with tempfile.TemporaryDirectory() as folder:
            into = Path(folder) / "lines"
            words = [self.python, "-m", PACKAGE, "time", *names, "--into", str(into)]
            try:
                outcome = processes.run(
                    words, self.interrupts, time_limit=START_S + EACH_S * len(names)
                )
                said = outcome.printed.decode("utf-8", "replace").strip().rpartition("\n")[2]
            except processes.TimeLimitError as error:
                said = error.what
            text = into.read_text("utf-8") if into.is_file() else ""
        if "No module named" in said:
            raise MissingToolError(
                f"it cannot launch PyTorch and Triton: {said}",
                where=self.python,
                hint="name one that has them with --python, from the root of a checkout",
            )
        # The last line is cut off where the process was ended while it wrote.
        whole = text.splitlines() if text.endswith("\n") else text.splitlines()[:-1]
        return [build(Line, read_object(line)) for line in whole], said


def _imported(script: Path) -> dict[str, str]:
    """The other files of the package that a script imports names from, with their hashes."""
    tree = ast.parse(script.read_bytes())
    names = sorted(
        each.module.removeprefix(f"{PACKAGE}.")
        for each in ast.walk(tree)
        if isinstance(each, ast.ImportFrom) and (each.module or "").startswith(f"{PACKAGE}.")
        if each.module is not None
    )
    return {f"{name}.py": file_hash(FOLDER / f"{name}.py") for name in names}
