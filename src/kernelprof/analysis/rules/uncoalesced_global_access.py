"""uncoalesced-global-access: global accesses move many more sectors than their bytes need."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, Condition, LaunchValues
from kernelprof.analysis.advice.lines import is_library_kernel
from kernelprof.analysis.metrics import groups
from kernelprof.model.library_kernel import KernelRole

NOTABLE_EXCESS = rules.Threshold(
    "notable excess",
    groups.NOTABLE_WASTE,
    "share of sectors",
    "capture tests/captures/gemm_series.full.raw.csv: 18 % excess (spill, low_occ: misaligned "
    "rows) moved the time by less than its spread, 67 % and more (gemm_bad, strided_read) by 5x to "
    "13x",
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units, waste = context.units, context.waste
    unit = units.saturations
    excess = waste.excess_sectors
    useful_l1_share = 1.0 - excess * (1.0 - waste.shared_part_of_l1)
    remaining = units.busiest(
        units.busiest_except("l1", "l2", "dram"),
        unit["l1"] * useful_l1_share,
        unit["l2"] * waste.useful_l2_share,
        unit["dram"] * waste.useful_dram_share,
    )
    waiting = (
        units.warps.stall_share("long_scoreboard", "lg_throttle", "drain")
        * excess
        * (1.0 - waste.local_part)
        * (1.0 - waste.atomic_part)
    )
    return rules.RuleFinding(
        gain=context.gains.by_waste(excess, remaining, waiting),
        gain_reason="the busiest unit after the excess sectors are gone",
        evidence=lambda: (
            rules.percent(
                "global_sectors",
                "excess sectors of global accesses",
                excess,
                ">",
                NOTABLE_EXCESS,
                formula="1 - ideal / actual sectors of global accesses",
            ),
            rules.EvidenceItem(
                "global_load_sectors",
                "sectors per global load request",
                context.facts["global_load_sectors"] / context.facts["global_load_requests"],
                "sector/request",
                formula="sectors / requests of global loads",
            ),
            rules.l1_utilization(context),
            rules.l2_stage(context),
            rules.dram_utilization(context),
        ),
    )


IN_ORDER = 24.0
"""Bytes of a sector that accesses in order use at least; boundary checks and odd rows take some."""
SCATTERED = 16.0


def _only(one: str, other: str, words: str) -> Condition:
    return Condition(
        words, lambda launch: launch.used(one) <= SCATTERED and launch.used(other) >= IN_ORDER
    )


_LOADS = _only("load", "store", "loads are scattered and stores are not")
_STORES = _only("store", "load", "stores are scattered and loads are not")
_CACHED_IN_L1 = 20.0
_CACHED_IN_L2 = 60.0
"""Hit rates from which on caches hold sectors until the rest of their bytes is asked for."""
_UNUSED = Condition(
    "loads are scattered and the caches hold no more of their sectors",
    lambda launch: (
        launch.used("load") <= SCATTERED
        and launch["l1_hit_rate"] < _CACHED_IN_L1
        and launch["l2_hit_rate"] < _CACHED_IN_L2
    ),
)
_ONE_EACH = 0.1
"""Loads and stores differ by less of their number where each value is read and written once."""


def _transposes(launch: LaunchValues) -> bool:
    loads, stores = launch["global_load_requests"], launch["global_store_requests"]
    if not abs(loads - stores) <= _ONE_EACH * stores:
        return False
    cached = launch["l1_hit_rate"] >= _CACHED_IN_L1 or launch["l2_hit_rate"] >= _CACHED_IN_L2
    return _STORES.holds(launch) or (_LOADS.holds(launch) and cached)


_TRANSPOSES = Condition(
    "there are as many loads as stores, one of the two is scattered and the other in order, and "
    "caches hold the sectors of loads that are scattered",
    _transposes,
)


RULE = rules.Rule(
    slug="uncoalesced-global-access",
    title="Uncoalesced global memory access",
    order=10,
    subsystem=rules.Subsystem.L1,
    headline=rules.Headline(
        plain="Threads of a warp use addresses that lie far apart, so much of the memory traffic "
        "is wasted.",
        numbered="Threads of a warp use addresses that lie far apart, so {x} of the memory traffic "
        "is wasted.",
        metric="global_sectors",
    ),
    detects="Global loads or stores whose threads touch scattered addresses, so that a warp's "
    "request moves many more 32-byte sectors than its bytes need.",
    matters="Every sector takes its turn in L1, L2 or device memory whether its bytes are used or "
    "not. A warp that reads 4 bytes from each of 32 sectors moves 8 times what it needs.",
    example="C[row * N + col] with row = threadIdx.x: neighbouring threads are N elements apart. "
    "With col = threadIdx.x they are neighbours, and nothing else has to change.",
    fixes=(
        Advice(
            "For a transposition go through a tile in shared memory: another order of threads only "
            "moves the scatter from loads to stores, or back.",
            when=_TRANSPOSES,
        ),
        Advice(
            "Let threadIdx.x run along the dimension that is contiguous in memory.",
            unless=_TRANSPOSES,
        ),
        Advice(
            "Start with the loads: each request of theirs touches {x} sectors, and stores are in "
            "order.",
            when=_LOADS,
            number=lambda launch: launch.sectors("load"),
        ),
        Advice(
            "Start with the stores: each request of theirs touches {x} sectors, and loads are in "
            "order.",
            when=_STORES,
            number=lambda launch: launch.sectors("store"),
        ),
        Advice(
            "Store records as a structure of arrays, or load whole records as float4.",
            unless=_UNUSED,
        ),
        Advice(
            "Where the layout cannot change, go through a tile in shared memory.",
            unless=_UNUSED | _TRANSPOSES,
        ),
        Advice(
            "Read all that a sector brings, or sort the indices of a gather: nothing of it is used "
            "again from a cache (hit rate of L2 {x} %).",
            when=_UNUSED,
            number=lambda launch: launch["l2_hit_rate"],
        ),
    ),
    caller=(
        Advice(
            "Pass tensors whose innermost dimension is contiguous (.contiguous(), channels_last), "
            "so that neighbouring threads read neighbouring addresses."
        ),
        Advice(
            "Sort the indices of a gather or scatter.", when=is_library_kernel(KernelRole.OPERATION)
        ),
    ),
    wrong_when="A request of 16 sectors is ideal for 16-byte loads, and a broadcast takes one: so "
    "the sectors are compared with the fewest that the same instructions could move, not with 4. A "
    "gather through random indices may have no better layout.",
    references=(
        "CUDA C++ Best Practices Guide, Coalesced Access to Global Memory",
        "Nsight Compute, Source Counters: L2 Theoretical Sectors Global Excessive",
    ),
    requires=("global_sectors", "global_sectors_ideal"),
    thresholds=(NOTABLE_EXCESS,),
    evaluate=evaluate,
)
