"""A climb that nobody made, with round figures: three rungs and a GPU of a made-up speed."""

from __future__ import annotations

from dataclasses import replace

from kernelprof.errors import ErrorFacts
from kernelprof.ladder.product import Product
from kernelprof.ladder.results import (
    Climb,
    Climbed,
    CublasCeiling,
    InterleavedTiming,
    ProfileSummary,
    ShortVerdict,
    Surroundings,
    TimedRound,
    Traffic,
)
from kernelprof.model.manifest import CorrectnessFacts, TimingFacts

FLOPS = 2e9
MIN_BYTES = 12e6


def timing(median: float, *, confidence: bool = True) -> TimingFacts:
    """Times around a median, in nanoseconds."""
    return TimingFacts(
        launches=20,
        warm_up=5,
        median_ns=median,
        low_ns=0.9 * median,
        high_ns=1.2 * median,
        confidence_low_ns=0.99 * median if confidence else None,
        confidence_high_ns=1.01 * median if confidence else None,
        times_ns=(0.9 * median, median, 1.2 * median),
        flops=FLOPS,
        min_bytes=MIN_BYTES,
    )


def way(
    bottleneck: str | None, passes: int | None, *, runs: int = 1, status: str = ""
) -> ProfileSummary:
    """A way to profile, which took a tenth of a second a pass."""
    shown = status or ("inconclusive" if bottleneck is None else "bottleneck")
    gain = 3.4 if shown == "bottleneck" else None
    return ProfileSummary(
        ShortVerdict(shown, bottleneck, "high", gain), runs, passes, 0.1 * (passes or 0)
    )


NAIVE = Climbed(
    file="01_naive.cu",
    title="Naive",
    defines={"BLOCK": 32},
    timing=timing(8e6),
    correctness=CorrectnessFacts(True, "gemm", 3.1e-7, 1e-5),
    full=way("uncoalesced-global-access", 19),
    traffic=Traffic(asked=24e9, distinct=12e9, l1=96e9, l2=1.2e9, dram=10e6),
)
COALESCED = Climbed(
    file="02_coalesced.cu",
    title="Coalesced",
    after="01_naive.cu",
    defines={"BLOCK": 32},
    timing=timing(2e6, confidence=False),
    full=way("l1-throughput", None, status="at-limit"),
    traffic=Traffic(asked=24e9, dram=None),
)
TILE = Climbed(
    file="03_shared_tile.cu",
    title="Shared tile",
    after="02_coalesced.cu",
    defines={"TILE": 32},
    error=ErrorFacts("the result is wrong", "03_shared_tile.cu: C", "see the index", 2),
)
ROLLED = Climbed(file="04_shared_tile_rolled.cu", title="Rolled", after="02_coalesced.cu")

CLIMB = Climb(
    kernelprof="0.1.0",
    created="2026-11-21T12:59:39Z",
    command="kernelprof ladder run -o ladder.md",
    sizes={"M": 1000, "N": 1000, "K": 1000},
    surroundings=Surroundings(
        gpu="Some GPU",
        compute_capability="9.0",
        multiprocessors=10,
        max_sm_mhz=1000.0,
        driver="580.1",
        cuda="13.0",
        compiler="nvcc 13.0.88",
        ncu="2025.3.1.0",
        clock_control="none",
    ),
    ceiling=CublasCeiling(timing(1e6), 2.1e-7, "Some GPU", "14.2.0", "13.0", "13.0.2"),
    rungs=(NAIVE, COALESCED, TILE),
)


def beside(size: int, median: float, *parts: float) -> InterleavedTiming:
    """A rung of a median in turns with cuBLAS, of whose speed it has a part in each round."""
    found, rounds = timing(median), tuple(TimedRound(median, median * each) for each in parts)
    ceiling = replace(timing(rounds[len(rounds) // 2].ceiling_ns), times_ns=())
    return InterleavedTiming(size, found, ceiling, rounds)


BF16 = replace(
    CLIMB,
    ladder="bf16",
    title="The BF16 GEMM ladder",
    product=Product("bfloat16", "nt", "normal"),
    rungs=(
        replace(
            NAIVE, beside=(beside(500, 1e6, 0.1, 0.11, 0.12), beside(1000, 8e6, 0.1, 0.2, 0.3))
        ),
        replace(
            COALESCED,
            timing=timing(1e6),
            beside=(beside(500, 2e5, 0.99, 0.985, 1.0), beside(1000, 1e6, 1.02, 1.019, 1.03)),
        ),
    ),
)
