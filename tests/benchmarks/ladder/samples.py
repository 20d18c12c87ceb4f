"""Measurements that nobody made, of the two rungs of ``tests.ladder.samples`` that were climbed."""

from __future__ import annotations

from benchmarks.ladder.measure import Measured, Measurements, Variant
from tests.ladder.samples import timing, way

from kernelprof.errors import ErrorFacts

NAIVE = Measured(
    "01_naive.cu",
    drilldown=way("uncoalesced-global-access", 9),
    full_set=way("uncoalesced-global-access", 38),
    sweep=(
        Variant({"BLOCK": 16}, timing(4e6)),
        Variant(
            {"BLOCK": 64}, error=ErrorFacts("a block of 64x64 has 4096 threads", "01_naive.cu")
        ),
    ),
)
COALESCED = Measured(
    "02_coalesced.cu",
    drilldown=way("l1-throughput", 20, runs=3),
    full_set=way("memory-latency", 38),
    sweep=(Variant({"BLOCK": 16}, timing(1e6)),),
)
MEASURED = Measurements("python -m benchmarks.ladder run ladder.json", (NAIVE, COALESCED))
