"""Prints ``reports/gate-h200.md``: ``make gate-report``."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

from tests.comparison.gate.planted import (
    LABELS,
    PLANTED,
    RUNS,
    gated,
    passed_of,
    same_time_of_same_code,
    taken,
)

from kernelprof.model.gate import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.comparison.gate.planted import Planted

TRIALS = 200


def report() -> str:
    """The page: planted changes, then the same code against itself."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    machine = taken(LABELS[0], RUNS[0]).machine
    yield "# The gate on changes that are known"
    yield ""
    yield (
        f"Captures of `tests/captures/h200_changes`: {machine.gpu}, driver {machine.driver}, CUDA "
        f"{machine.cuda}, Nsight Compute {machine.ncu}, `--clock-control {machine.clock_control}`, "
        "2026-11-21, made by `tests/kernels/changes/capture.sh`: each kernel five times, each a "
        "process of its own that is checked, timed (20 launches) and profiled. Default policy, no "
        "calibration. The constants of the noise floor were chosen on these captures, which are "
        "therefore no proof of them: `gate --calibrate` measures what your kernels need. Written by"
    )
    yield ""
    yield "```sh\nmake gate-report\n```"
    yield ""
    yield "## Planted changes"
    yield ""
    yield (
        f"One change each, every run before against every run after: {len(RUNS) ** 2} pairs. "
        "*Exit codes*: 0 pass, 1 regression, 3 inconclusive, with the number of pairs. *Why*: the "
        "codes of the findings that fail the first pair."
    )
    yield ""
    yield "| change | before, after | time, first pair | noise floor | exit codes | why |"
    yield "| :-- | :-- | --: | --: | :-- | :-- |"
    yield from map(_planted, PLANTED)
    yield ""
    yield "## The same code"
    yield ""
    yield (
        f"Two of the five runs, drawn {TRIALS} times, the launches of each drawn with replacement. "
        "*Between runs*: how far the medians of the five lie apart."
    )
    yield ""
    yield "| kernel | median | between runs | passed |"
    yield "| :-- | --: | --: | --: |"
    for label in LABELS:
        yield f"| {label} | {_medians(label)} | {passed_of(label, TRIALS)} of {TRIALS} |"
    yield ""
    yield (
        "The eleven kernels of `tests/captures/gemm_series.same-code-13x.raw.csv`, 13 launches in "
        "one process, whose eight metrics leave every verdict inconclusive (exit code 3, as it has "
        "to be): how often the times of two draws are found the same."
    )
    yield ""
    yield "| kernel | same |"
    yield "| :-- | --: |"
    for name, same in same_time_of_same_code(TRIALS).items():
        yield f"| `{name}` | {same} of {TRIALS} |"


def _planted(planted: Planted) -> str:
    pairs = [gated(taken(planted.before, a), taken(planted.after, b)) for a in RUNS for b in RUNS]
    (first,) = pairs[0].kernels
    time = first.kernel.time
    codes = Counter(each.exit_code for each in pairs)
    why = dict.fromkeys(each.code for each in first.findings if each.outcome is Outcome.REGRESSION)
    assert time.ratio is not None  # all of these were timed
    assert time.floor is not None
    return (
        f"| {planted.what} | {planted.before}, {planted.after} | {100 * (time.ratio - 1):+.2f} % | "
        f"{100 * time.floor:.2f} % | "
        f"{', '.join(f'{code}: {count}' for code, count in sorted(codes.items()))} | "
        f"{', '.join(f'`{code}`' for code in why)} |"
    )


def _medians(label: str) -> str:
    medians = sorted(taken(label, run).kernels[0].median_ns or 0.0 for run in RUNS)
    middle = medians[len(medians) // 2]
    return f"{middle / 1e3:,.1f} µs | {100 * (medians[-1] / medians[0] - 1):.3f} %"


if __name__ == "__main__":
    sys.stdout.write(report())
