"""Predictions beside measurements of other people's kernels.

    python -m benchmarks.predict.others.times DIR > reports/predict-times-h200.md

``DIR`` holds checkouts as for :mod:`benchmarks.predict.others`. Measurements are those of
``measured-h200.json``, by :mod:`benchmarks.predict.others.measure`. The repositories are in two
halves: only one of them may be looked at when a constant of the model is chosen.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from benchmarks.predict.others.kernels import FOLDER, choose
from benchmarks.predict.others.measure import named_causes

from benchmarks import command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.predict.others.kernels import Kernel, Repository

PROGRAM: Final = "benchmarks.predict.others.times"
MEASURED: Final = FOLDER / "measured-h200.json"
HALVES: Final = {True: "in view", False: "held out"}
_NEAR: Final = (1.25, 1.5)
_SECONDS: Final = 170
_HEAD: Final = (
    "| kernel | half | measured | predicted | factor | measured cause | predicted cause |\n"
    "| --- | --- | --: | --: | --: | --- | --- |"
)
_SUMMARY: Final = (
    "| half | kernels | predicted | within 1.25x | within 1.5x | mean error | same cause | "
    "same or tenable | wrong at high confidence | gain within 1.5x |\n"
    "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |"
)


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel: durations in ns, and verdicts as JSON has them."""

    kernel: Kernel
    time: float
    verdict: dict[str, Any]
    predicted: float | None = None
    prediction: dict[str, Any] | None = None
    error: str = ""
    named: Mapping[str, float | None] = field(default_factory=dict)
    """The bottlenecks that the diagnosis of the measured values names, and their gains."""

    @property
    def factor(self) -> float | None:
        """The predicted time in measured times."""
        return None if self.predicted is None else self.predicted / self.time

    @property
    def is_same(self) -> bool:
        """Whether both name one bottleneck."""
        return (
            self.prediction is not None
            and self.prediction["bottleneck"] == self.verdict["bottleneck"]
        )

    @property
    def is_tenable(self) -> bool:
        """Whether the predicted one is named for the measured values at all."""
        return self.is_same or (
            self.prediction is not None and self.prediction["bottleneck"] in self.named
        )

    @property
    def gains(self) -> tuple[float, float] | None:
        """What fixing the predicted cause gains, predicted and by the measured values."""
        causes = self.prediction["causes"] if self.prediction is not None else ()
        predicted = causes[0]["gain"] if causes else None
        measured = self.named.get(causes[0]["bottleneck"]) if causes else None
        return None if predicted is None or measured is None else (predicted, measured)


def is_in_view(repository: Repository) -> bool:
    """Whether a repository is in the half that constants may be chosen by."""
    return int(hashlib.sha256(repository.name.encode()).hexdigest()[0], 16) % 2 == 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Predict all measured kernels and print the tables."""
    parser = argparse.ArgumentParser(prog=f"python -m {PROGRAM}", description=__doc__)
    parser.add_argument("checkouts", type=Path, metavar="DIR")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="only these, by their folder")
    options = parser.parse_args(arguments)
    return command.run(PROGRAM, lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            _row(kernel, measured[kernel.name], options.checkouts, Path(folder))
            for kernel in choose(options.kernels)
            if kernel.name in measured
        ]
    sys.stdout.write(document(rows))
    return 0


def document(rows: Sequence[Row]) -> str:
    """The table of both halves, and that of all kernels."""
    halves = [
        _summary(half, [r for r in rows if is_in_view(r.kernel.repository) is half])
        for half in HALVES
    ]
    return "\n".join(
        (
            "# Times of other people's kernels, predicted and measured on an H200",
            "",
            "Constants of the model may be chosen by the half of the repositories that is in view.",
            "Measured by `python -m benchmarks.predict.others.measure`; this page is written by "
            "`make predict-times CHECKOUTS=DIR`.",
            "A predicted cause is tenable if the diagnosis of the measured values names it: as a "
            "further cause, or as one whose gain is about the same.",
            "Gains are compared where both diagnoses give one for the predicted cause.",
            "",
            _SUMMARY,
            *halves,
            "",
            _HEAD,
            *map(_line, sorted(rows, key=lambda row: row.kernel.name)),
            "",
        )
    )


def _row(kernel: Kernel, measured: dict[str, Any], checkouts: Path, folder: Path) -> Row:
    time, verdict = measured["values"]["duration"], measured["verdict"]
    source = kernel.lay_out(checkouts, folder)
    child = (sys.executable, "-m", "benchmarks.predict.child", str(source))
    try:
        done = subprocess.run(child, capture_output=True, text=True, timeout=_SECONDS, check=False)
        found = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return Row(kernel, time, verdict, error=f"not done after {_SECONDS} s")
    except json.JSONDecodeError:
        return Row(kernel, time, verdict, error="it crashed")
    if "error" in found:
        return Row(kernel, time, verdict, error=found["error"].split("\n")[0].split(":")[0])
    sys.stderr.write(f"{kernel.name}: {found['values']['duration'][0] / time:.2f}\n")
    named = named_causes(measured["values"])
    return Row(kernel, time, verdict, found["values"]["duration"][0], found["verdict"], named=named)


def _summary(half: bool, rows: Sequence[Row]) -> str:
    factors = [row.factor for row in rows if row.factor is not None]
    near = [sum(1 / most <= each <= most for each in factors) for most in _NEAR]
    error = 100 * fmean(abs(each - 1) for each in factors) if factors else 0.0
    wrong = sum(
        row.prediction is not None and row.prediction["confidence"] == "high" and not row.is_same
        for row in rows
    )
    same, tenable = (sum(row.is_same for row in rows), sum(row.is_tenable for row in rows))
    gains = [row.gains for row in rows if row.gains is not None]
    close = sum(1 / _NEAR[-1] <= predicted / gain <= _NEAR[-1] for predicted, gain in gains)
    cells = (
        HALVES[half],
        len(rows),
        len(factors),
        *near,
        f"{error:.0f} %",
        same,
        tenable,
        wrong,
        f"{close} of {len(gains)}",
    )
    return f"| {' | '.join(map(str, cells))} |"


def _line(row: Row) -> str:
    cells = (
        row.kernel.name,
        HALVES[is_in_view(row.kernel.repository)],
        f"{row.time / 1e3:,.1f} µs",
        "" if row.predicted is None else f"{row.predicted / 1e3:,.1f} µs",
        "" if row.factor is None else f"{row.factor:.2f}",
        _cause(row.verdict),
        row.error if row.prediction is None else _cause(row.prediction),
    )
    return f"| {' | '.join(cells)} |"


def _cause(verdict: dict[str, Any]) -> str:
    return f"{verdict['bottleneck'] or 'inconclusive'} ({verdict['confidence']})"


if __name__ == "__main__":
    sys.exit(main())
