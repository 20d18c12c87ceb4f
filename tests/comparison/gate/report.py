"""Prints ``reports/gate-h200.md``: ``make gate-report``."""

from __future__ import annotations

import random
import sys
from collections import Counter
from dataclasses import replace
from itertools import permutations, product
from typing import TYPE_CHECKING

from tests.comparison.gate.planted import (
    LABELS,
    ONCE_PLANTED,
    PLANTED,
    RUNS,
    drawn,
    few,
    gated,
    once,
    passed_of,
    same_time_of_same_code,
    single,
    taken,
)

from kernelprof.comparison.sides import pool_runs
from kernelprof.model.gate import Outcome
from kernelprof.model.kernel_name import function_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.comparison.gate.planted import Planted

    from kernelprof.model.snapshot import Snapshot

    Sides = tuple[Snapshot, Snapshot]

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
        "therefore no proof of them: `baseline calibrate` measures what your kernels need. Written "
        "by"
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
    yield from _single_launches()
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


def _single_launches() -> Iterator[str]:
    """The page's part about captures as people have them, of a few launches and of several runs."""
    yield "## One launch a side, five, and runs taken together"
    yield ""
    yield (
        "Captures of `tests/captures/h200_once`: the same GPU, 2026-11-22, `ncu --set full` over "
        "a program that launches 15 kernels of 2 µs to 1.1 ms once "
        f"({len(once('before', 1))} runs before the changes, {len(once('after', 1))} after), and "
        f"with the preset `triage` five times ({len(once('before', 5))} and "
        f"{len(once('after', 5))}). *Together*: runs of one launch, drawn {TRIALS} times. The exit "
        "codes, with the number of pairs of sides; those of a change are of its kernel alone. "
        "The floors of single launches were chosen on the runs of one launch, and what is clear "
        "on the captures above."
    )
    yield ""
    ways = _ways()
    yield f"| change | {' | '.join(ways)} |"
    yield f"| :-- | {' | '.join('--:' for _ in ways)} |"
    for name, what in ONCE_PLANTED.items():
        cells = [_caught(name, changed) for changed, _ in ways.values()]
        yield f"| {what} (`{name}`) | {' | '.join(cells)} |"
    cells = []
    for _, same in ways.values():
        codes = Counter(int(gated(*pair).exit_code) for pair in same)
        cells.append(_counted(codes))
    yield f"| exit codes for the same code, all 15 kernels | {' | '.join(cells)} |"
    codes = Counter(
        int(gated(single(label, a), single(label, b)).exit_code)
        for label in LABELS
        for a, b in permutations(RUNS, 2)
    )
    five = Counter(
        int(gated(few(label, a, 5), few(label, b, 5)).exit_code)
        for label in LABELS
        for a, b in permutations(RUNS, 2)
    )
    yield ""
    yield (
        "The captures above with the one launch that was profiled in each alone, each of five runs "
        "of a kernel against each other one, exit codes: "
        f"{_counted(codes)}. Of `three-blocks`, 0.5 ms long, one launch took 13 % longer. With the "
        f"first five launches by CUDA events instead: {_counted(five)}."
    )


def _ways() -> dict[str, tuple[list[Sides], list[Sides]]]:
    """Pairs of sides by how they were measured: across the changes, and of the same code."""
    dice = random.Random(0)
    ways = {}
    for launches, title in ((1, "one launch"), (5, "five launches")):
        before, after = once("before", launches), once("after", launches)
        same = [*permutations(before, 2), *permutations(after, 2)]
        ways[title] = (list(product(before, after)), same)
    before, after = once("before", 1), once("after", 1)
    for count in (3, 5):
        changed = [
            (pool_runs(dice.sample(before, count)), pool_runs(dice.sample(after, count)))
            for _ in range(TRIALS)
        ]
        ways[f"{count} runs together"] = (
            changed,
            [drawn(before, count, dice) for _ in range(TRIALS)],
        )
    return ways


def _caught(name: str, pairs: list[Sides]) -> str:
    codes: Counter[int] = Counter()
    for sides in pairs:
        before, after = (
            replace(side, kernels=tuple(k for k in side.kernels if function_name(k.name) == name))
            for side in sides
        )
        codes[int(gated(before, after).exit_code)] += 1
    return _counted(codes)


def _counted(codes: Counter[int]) -> str:
    return ", ".join(f"{code}: {number}" for code, number in sorted(codes.items()))


def _planted(planted: Planted) -> str:
    pairs = [gated(taken(planted.before, a), taken(planted.after, b)) for a in RUNS for b in RUNS]
    (first,) = pairs[0].kernels
    time = first.kernel.time
    codes = Counter(each.exit_code for each in pairs)
    why = dict.fromkeys(each.code for each in first.findings if each.outcome is Outcome.REGRESSION)
    assert time.ratio is not None  # all of these were timed
    assert time.noise_floor is not None
    return (
        f"| {planted.what} | {planted.before}, {planted.after} | {100 * (time.ratio - 1):+.2f} % | "
        f"{100 * time.noise_floor:.2f} % | "
        f"{', '.join(f'{code}: {count}' for code, count in sorted(codes.items()))} | "
        f"{', '.join(f'`{code}`' for code in why)} |"
    )


def _medians(label: str) -> str:
    medians = sorted(taken(label, run).kernels[0].median_ns or 0.0 for run in RUNS)
    middle = medians[len(medians) // 2]
    return f"{middle / 1e3:,.1f} µs | {100 * (medians[-1] / medians[0] - 1):.3f} %"


if __name__ == "__main__":
    sys.stdout.write(report())
