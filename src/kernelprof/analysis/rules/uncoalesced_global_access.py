"""uncoalesced-global-access: scattered global accesses move more sectors than they use."""

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
    "capture tests/captures/gemm_series.full.raw.csv: an excess of 18 % from misaligned "
    "rows (kernels spill and low_occ) changed the time by less than the noise; an excess of 67 % "
    "or more (kernels gemm_bad and strided_read) changed it by 5x to 13x",
)


_SECTORS = ("global_sectors", "global_load_sectors", "global_store_sectors")
_DRAM_BYTES = ("dram_bytes_read", "dram_bytes_written")


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
        context.waits.memory_share
        * context.waits.excess_part
        * (1.0 - waste.local_part)
        * (1.0 - waste.atomic_part)
    )
    gain = context.gains.by_waste(excess, remaining, waiting)
    # With few warps in flight L1 hits are what hides latency.
    alone = context.gains.latency_when_coalesced
    return rules.RuleFinding(
        gain=gain.at_most(1.0 / alone.low_only().at_least(1e-3)).at_least(1.0),
        gain_reason="the utilization of the busiest unit once the wasted sectors are removed",
        effect=lambda _: rules.Effect(
            units={
                "l1": useful_l1_share.middle,
                "shared": 1.0,
                "l2": waste.useful_l2_share.middle,
                "dram": waste.useful_dram_share.middle,
            },
            counters={
                **dict.fromkeys(_SECTORS, (1.0 - excess).middle),
                "l2_sectors_from_l1": waste.useful_l2_share.middle,
                **dict.fromkeys(_DRAM_BYTES, waste.useful_dram_share.middle),
            },
            waits=("lg_throttle", "long_scoreboard", "drain"),
        ),
        evidence=lambda: (
            rules.percent(
                "global_sectors",
                "wasted global-memory sectors",
                excess,
                ">",
                NOTABLE_EXCESS,
                formula="1 - ideal / actual global-memory sectors",
                phrase="{x} of global-memory sectors are wasted",
            ),
            rules.EvidenceItem(
                "global_load_sectors",
                "sectors per global load request",
                context.facts["global_load_sectors"] / context.facts["global_load_requests"],
                "sector/request",
                formula="sectors / requests of global loads",
                phrase="{n} sectors per global load request",
            ),
            rules.l1_utilization(context),
            rules.l2_stage(context),
            rules.dram_utilization(context),
        ),
    )


IN_ORDER = 24.0
"""Least bytes of a sector that coalesced accesses use; boundary checks and odd rows cost some."""
SCATTERED = 16.0


def _only(one: str, other: str, words: str) -> Condition:
    return Condition(
        words,
        lambda launch: (
            launch.used(one) <= SCATTERED
            and not launch.is_broadcast(one)
            and (launch.used(other) >= IN_ORDER or launch.is_broadcast(other))
        ),
    )


_LOADS = _only("load", "store", "only the loads are scattered")
_STORES = _only("store", "load", "only the stores are scattered")
_CACHED_IN_L1 = 20.0
_CACHED_IN_L2 = 60.0
"""Hit rates from which caches keep sectors until the rest of their bytes is used."""
_UNUSED = Condition(
    "loads are scattered and caches do not reuse their sectors",
    lambda launch: (
        launch.used("load") <= SCATTERED
        and not launch.is_broadcast("load")
        and launch["l1_hit_rate"] < _CACHED_IN_L1
        and launch["l2_hit_rate"] < _CACHED_IN_L2
    ),
)
_ONE_EACH = 0.1
"""Largest relative difference between loads and stores if each value is read and written once."""


def _transposes(launch: LaunchValues) -> bool:
    loads, stores = launch["global_load_requests"], launch["global_store_requests"]
    if not abs(loads - stores) <= _ONE_EACH * stores:
        return False
    cached = launch["l1_hit_rate"] >= _CACHED_IN_L1 or launch["l2_hit_rate"] >= _CACHED_IN_L2
    return _STORES.holds(launch) or (_LOADS.holds(launch) and cached)


_TRANSPOSES = Condition("the kernel is a transpose", _transposes)


RULE = rules.Rule(
    slug="uncoalesced-global-access",
    title="Uncoalesced global memory access",
    order=10,
    subsystem=rules.Subsystem.L1,
    headline=rules.Headline(
        plain="Threads of a warp access scattered global addresses, and much of the memory traffic "
        "is wasted.",
        numbered="Threads of a warp access scattered global addresses: {x} of global-memory "
        "sectors are wasted.",
        metric="global_sectors",
    ),
    detects="Threads of a warp access scattered global addresses, so that a request moves many "
    "more 32-byte sectors than its data would fill.",
    matters="In L1, L2 and DRAM, a sector costs the same whether one or all of its bytes are used. "
    "A warp that reads 4 bytes from each of 32 sectors moves 8 times as many bytes as it needs.",
    example="With row = threadIdx.x, C[row * N + col] puts neighbouring threads N elements "
    "apart. With col = threadIdx.x, they access adjacent elements. Nothing else has to "
    "change.",
    fixes=(
        Advice(
            "Transpose through a tile in shared memory: changing the thread order only moves the "
            "scattered accesses from loads to stores, or vice versa.",
            when=_TRANSPOSES,
            situation="If the kernel is a transpose (as many loads as stores, and only the "
            "loads or only the stores are scattered)",
        ),
        Advice(
            "Map threadIdx.x to the dimension that is contiguous in memory.",
            unless=_TRANSPOSES,
        ),
        Advice(
            "Fix the loads first.",
            when=_LOADS,
            number=lambda launch: launch.sectors("load"),
            measured="They touch {x} sectors per request; the stores are coalesced.",
        ),
        Advice(
            "Fix the stores first.",
            when=_STORES,
            number=lambda launch: launch.sectors("store"),
            measured="They touch {x} sectors per request; the loads are coalesced.",
        ),
        Advice(
            "Store records as a structure of arrays, or load whole records as float4.",
            unless=_UNUSED,
            situation="",
        ),
        Advice(
            "If the layout cannot change, stage the data through a tile in shared memory.",
            unless=_UNUSED | _TRANSPOSES,
            situation="",
        ),
        Advice(
            "Use all bytes of each sector, or sort the indices of a gather.",
            when=_UNUSED,
            number=lambda launch: launch["l2_hit_rate"],
            measured="Caches do not reuse the sectors (L2 hit rate {x} %).",
        ),
    ),
    caller=(
        Advice(
            "Pass tensors whose innermost dimension is contiguous (.contiguous(), channels_last)."
        ),
        Advice(
            "Sort the indices of a gather or scatter.", when=is_library_kernel(KernelRole.OPERATION)
        ),
    ),
    wrong_when="Four sectors per request are ideal only for 4-byte accesses: 16-byte loads need "
    "16, and a broadcast needs 1. The rule therefore compares with the fewest sectors that the "
    "same instructions could move. A gather through random indices may have no better layout.",
    references=(
        "CUDA C++ Best Practices Guide, Coalesced Access to Global Memory",
        "Nsight Compute, Source Counters: L2 Theoretical Sectors Global Excessive",
    ),
    requires=("global_sectors", "global_sectors_ideal"),
    thresholds=(NOTABLE_EXCESS,),
    evaluate=evaluate,
)
