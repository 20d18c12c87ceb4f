"""Changes that are known, and captures of the same code: what the gate is tried on."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kernelprof.comparison.compare import compare_snapshots
from kernelprof.comparison.gate.judge import judge_comparison
from kernelprof.comparison.gate.policy import Policy
from kernelprof.comparison.sides import pool_runs
from kernelprof.comparison.snapshots import make_snapshot
from kernelprof.model.comparison import TimeOutcome
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import is_capture, read_manifest

if TYPE_CHECKING:
    from kernelprof.model.gate import GateResult
    from kernelprof.model.snapshot import Snapshot

CAPTURES = Path(__file__).parents[2] / "captures"
ONCE = CAPTURES / "h200_once"
CHANGES = CAPTURES / "h200_changes"
SAME_CODE = CAPTURES / "gemm_series.same-code-13x.raw.csv"
RUNS = ("1", "2", "3", "4", "5")


@dataclass(frozen=True)
class Planted:
    """A change in one place, by the labels of its two sides."""

    what: str
    before: str
    after: str


PLANTED = (
    Planted("remapped threads", "coalesced", "naive"),
    Planted("unroll removed", "tile", "tile-rolled"),
    Planted("barrier added in the loop", "tile-rolled", "tile-barrier"),
    Planted("bank conflict from a changed pad", "padded", "padded-0"),
    Planted("registers past the occupancy step", "four-blocks", "three-blocks"),
    Planted("0.9 % slower with the same counters", "walk", "walk-far"),
    Planted("more sectors in the same time", "chain", "chain-strides"),
)
ONCE_PLANTED = {
    "gemm_mapped": "remapped threads",
    "gemm_unrolled": "unroll removed",
    "gemm_barrier": "barrier added in the loop",
    "gemm_padded": "bank conflict from a changed pad",
    "gemm_bounded": "registers past the occupancy step",
    "fma_chain": "more sectors in the same time",
    "walk_far": "3 % slower with the same counters",
    "walk_sometimes": "40 % slower with the same counters",
    "walk_often": "4 times as slow with the same counters",
}
"""Kernels of ``tests/kernels/changes/once.cu`` that change, and how."""

LABELS = tuple(sorted(path.name for path in CHANGES.iterdir() if path.is_dir()))


@cache
def taken(label: str, run: str) -> Snapshot:
    """The snapshot of a run."""
    return of(CHANGES / label / run)


@cache
def of(path: Path) -> Snapshot:
    """The snapshot of any capture."""
    capture = read_capture(path)
    manifest = read_manifest(path) if is_capture(path) else None
    return make_snapshot(capture, manifest)


def changed(snapshot: Snapshot, **values: object) -> Snapshot:
    """The snapshot with other values in all its kernels."""
    kernels = (replace(each, **values) for each in snapshot.kernels)  # type: ignore[arg-type]
    return replace(snapshot, kernels=tuple(kernels))


def once(side: str, launches: int, count: int | None = None) -> list[Snapshot]:
    """Runs of a side, ``before`` or ``after``, that launched each kernel so often: all, or few."""
    return [of(path) for path in sorted(ONCE.glob(f"{side}-{launches}.*.csv.gz"))[:count]]


def drawn(runs: list[Snapshot], count: int, dice: random.Random) -> tuple[Snapshot, Snapshot]:
    """Two sides of so many runs each, no run in both, taken together as the gate does."""
    found = dice.sample(runs, 2 * count)
    return pool_runs(found[:count]), pool_runs(found[count:])


def few(label: str, run: str, count: int) -> Snapshot:
    """One run of :data:`CHANGES` with its first launches that were timed by events."""
    snapshot = taken(label, run)
    return changed(snapshot, events_ns=snapshot.kernels[0].events_ns[:count])


def single(label: str, run: str) -> Snapshot:
    """One run of :data:`CHANGES` with the launch that was profiled alone."""
    snapshot = taken(label, run)
    return changed(snapshot, events_ns=(), profiled_ns=snapshot.kernels[0].profiled_ns[:1])


def gated(before: Snapshot, after: Snapshot, policy: Policy | None = None) -> GateResult:
    """What the gate says with the default policy or another."""
    return judge_comparison(compare_snapshots(before, after), policy or Policy())


def resampled(snapshot: Snapshot, dice: random.Random) -> Snapshot:
    """The same kernels, with as many launches drawn from theirs with replacement."""
    return replace(
        snapshot,
        kernels=tuple(
            replace(
                kernel,
                events_ns=tuple(dice.choices(kernel.events_ns, k=len(kernel.events_ns))),
                profiled_ns=tuple(dice.choices(kernel.profiled_ns, k=len(kernel.profiled_ns))),
            )
            for kernel in snapshot.kernels
        ),
    )


def passed_of(label: str, trials: int) -> int:
    """How often two runs of the same code pass, each with resampled launches."""
    dice = random.Random(label)
    passed = 0
    for _ in range(trials):
        one, other = dice.sample(RUNS, 2)
        result = gated(resampled(taken(label, one), dice), resampled(taken(label, other), dice))
        passed += result.exit_code == 0
    return passed


def same_time_of_same_code(trials: int) -> dict[str, int]:
    """How often kernels that were launched 13 times in one process are as fast as themselves.

    That capture has eight metrics, which do not decide their verdicts: as a whole the gate is
    inconclusive about them, as it has to be.
    """
    whole = of(SAME_CODE)
    same = {}
    for number, kernel in enumerate(whole.kernels):
        dice = random.Random(number)
        alone = replace(whole, kernels=(kernel,))
        name = f"{kernel.name.partition('(')[0]}, block {'x'.join(map(str, kernel.block or ()))}"
        pairs = ((resampled(alone, dice), resampled(alone, dice)) for _ in range(trials))
        outcomes = [compare_snapshots(*pair).kernels[0].time.outcome for pair in pairs]
        same[name] = outcomes.count(TimeOutcome.SAME)
    return same
