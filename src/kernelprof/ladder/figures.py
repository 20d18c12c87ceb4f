"""Figures that the reports show, worked out from the results; ``None`` is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.analysis.metrics.architectures import FLOPS_OF_FMA, fp32_lanes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelprof.ladder.results import Climb, Climbed, Surroundings
    from kernelprof.model.manifest import TimingFacts


def gflops(timing: TimingFacts | None) -> float | None:
    """Useful floating-point operations in a nanosecond, which is GFLOP/s."""
    if timing is None or not timing.flops or timing.median_ns <= 0:
        return None
    return timing.flops / timing.median_ns


def peak_gflops(chip: Surroundings) -> float | None:
    """What the FP32 lanes of all SMs do at the highest clock that the GPU allows."""
    lanes = fp32_lanes(chip.compute_capability)
    if lanes is None or chip.multiprocessors is None or not chip.max_sm_mhz:
        return None
    return chip.multiprocessors * lanes * FLOPS_OF_FMA * chip.max_sm_mhz * 1e-3


def ratio(part: float | None, whole: float | None) -> float | None:
    """One over the other, not known where one of them is not."""
    return None if part is None or not whole else part / whole


def speedup(before: TimingFacts | None, after: TimingFacts | None) -> float | None:
    """How many times as fast the second is as the first, by their medians."""
    if before is None or after is None:
        return None
    return ratio(before.median_ns, after.median_ns)


def next_gains(climb: Climb, rung: Climbed) -> Sequence[tuple[Climbed, float]]:
    """The rungs that change this one in one thing, and what each gained."""
    following = [each for each in climb.rungs if each.after == rung.file]
    gains = [(each, speedup(rung.timing, each.timing)) for each in following]
    return [(each, gain) for each, gain in gains if gain is not None]


def timing_with(climb: Climb, file: str, defines: Mapping[str, object]) -> TimingFacts | None:
    """The times of a rung with these defines over its own, if they were measured."""
    rung = climb.rung(file)
    if rung is None:
        return None
    wanted = {**rung.defines, **defines}
    if wanted == rung.defines:
        return rung.timing
    for variant in rung.sweep or ():
        if {**rung.defines, **variant.defines} == wanted:
            return variant.timing
    return None
