"""atomic-contention: atomics on few addresses serialize."""

from __future__ import annotations

from typing import Final

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, Condition, LaunchValues

NOTABLE_ATOMICS = rules.Threshold(
    "notable atomics",
    0.05,
    "share of global requests",
    "capture tests/captures/gemm_series.full.raw.csv: warps of atomic_hot wait for atomics 96 % of "
    "the time while L2 is 1.7 % busy; no kernel without atomics combines such waits with an idle "
    "L2",
)


HOT_SLICE = rules.Threshold(
    "utilization from which an L2 atomic unit counts as busy",
    0.50,
    "share of cycles",
    "cuda/pairs, captured by 'python -m benchmarks.corpus run' on an H200: 76 % in a kernel whose "
    "atomics all update the same two words (start-codon-each-match, 10x faster with one atomic "
    "per DNA read), 1 to 14 % in kernels with another bottleneck (ewald-pairs, pulse-spectrum, "
    "symbol-counts)",
)

FULL_SLICE = rules.Threshold(
    "utilization from which an L2 atomic unit counts as full",
    0.80,
    "share of cycles",
    "the highest value in the cuda/pairs captures (H200) is 76 %",
)


_COUNTS = (
    "global_atomic_requests", "global_reduction_requests", "l2_atomic_sectors",
    "l2_reduction_sectors", "shared_atomic_wavefronts_share",
)  # fmt: skip


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units, waste, waiting = context.units, context.waste, context.waits
    part = waste.bank_conflicts * waste.shared_atomic_part
    in_shared = context.gains.by_waste(
        part,
        units.busiest(
            units.busiest_except("l1"),
            units.saturations["l1"] * (1.0 - part * waste.shared_part_of_l1),
        ),
        units.warps.stall_share("short_scoreboard", "mio_throttle") * part,
    )
    hottest = waiting.hottest_atomic_unit
    saturation = (hottest * (1 / FULL_SLICE.value)).at_most(1.0)
    # Whoever waits for a slice waits for memory: without that there is nothing to win.
    one_slice = (
        (saturation / units.top.at_least(1e-3))
        .at_most(1.0 / (1.0 - waiting.possible_atomic_share).at_least(1e-3))
        .at_least(1.0)
        .where(hottest >= HOT_SLICE.value, 1.0)
    )
    return rules.RuleFinding(
        gain=context.gains.by_latency(waiting.atomic_share).at_least(in_shared).at_least(one_slice),
        gain_reason="the warp time that would remain without the waits for atomics",
        effect=lambda _: rules.Effect(
            units={"atomics": 0.0},
            counters={
                **dict.fromkeys(_COUNTS, 0.0),
                "global_sectors": (1.0 - waste.atomic_sectors).middle,
            },
            waits=("long_scoreboard", "lg_throttle", "drain", "short_scoreboard", "mio_throttle"),
        ),
        evidence=lambda: (
            rules.percent(
                "global_reduction_requests",
                "global-memory requests that are atomics",
                waste.atomic_part,
                ">",
                NOTABLE_ATOMICS,
                formula="(atomics + reductions) / all global-memory requests",
                phrase="{x} of global-memory requests are atomics",
            ),
            rules.percent(
                "l2_atomic_unit_hottest",
                "busiest L2 atomic unit",
                hottest,
                ">=",
                HOT_SLICE,
            ),
            rules.percent(
                "shared_atomic_wavefronts_share",
                "shared-memory wavefronts that are atomics",
                waste.shared_atomic_part,
                formula="atomic / all shared-memory wavefronts",
                phrase="{x} of shared-memory wavefronts are atomics",
            ),
            rules.percent(
                "stall_lg_throttle",
                "warp time spent waiting for atomics",
                waiting.atomic_share,
                formula="memory stalls * share of atomics / cycles per instruction",
                phrase="{x} of warp time spent waiting for atomics",
            ),
            rules.l2_stage(context),
        ),
    )


_IN_SHARED = Condition(
    "the atomics are in shared memory",
    lambda launch: (
        launch["shared_atomic_wavefronts_share"] >= 0.3 * launch["shared_wavefronts_share"] > 0
        and launch["global_atomic_requests"] + launch["global_reduction_requests"]
        < 0.01 * launch["instructions"]
    ),
)

IDLE_SLICE = rules.Threshold(
    "utilization below which even the busiest L2 atomic unit counts as idle",
    0.01,
    "share of cycles",
    "at 1 % utilization, 99 of 100 atomics find their unit idle; with few addresses, the busiest "
    "unit is at least 7 % busy (cuda/pairs captures, H200)",
)
ALIKE: Final = 0.5
"""Mean use of the atomic units over that of the busiest from which atomics go to many addresses:
few addresses leave most of the 96 slices of an H200 idle (0.05 at most in captures of ours)."""


def _is_scattered(launch: LaunchValues) -> bool:
    hottest = launch["l2_atomic_unit_hottest"]
    if launch["global_atomic_requests"] + launch["global_reduction_requests"] == 0:
        return False
    return hottest < 100 * IDLE_SLICE.value or launch["l2_atomic_unit"] >= ALIKE * hottest


_SCATTERED = Condition("the atomics go to many addresses, as in a hash table", _is_scattered)


def _explain_scattered(context: rules.RuleContext, row: int) -> str | None:
    if not _is_scattered(context.launch(row)):
        return None
    return (
        "In this launch, the atomics go to many addresses instead: warps wait for L2 and DRAM, not "
        "for each other."
    )


RULE = rules.Rule(
    slug="atomic-contention",
    title="Contended atomics",
    order=40,
    subsystem=rules.Subsystem.L2,
    headline=rules.Headline(
        plain="Many threads update the same few addresses, so their atomics serialize.",
        numbered="Warps spend {x} of their time waiting for atomics.",
        metric="stall_lg_throttle",
    ),
    detects="Atomics on a few addresses serialize: warps wait for them, although the rest of the "
    "memory system is not busy.",
    matters="L2 performs atomics on the same address one at a time. A million threads that "
    "increment one counter cause a million serialized updates, whatever the bandwidth.",
    example="Every thread executes atomicAdd(&sum, x). Instead, reduce within the warp with "
    "shuffles, then within the block through shared memory, and add once per block.",
    fixes=(
        Advice(
            "Reduce within the warp and the block first, and issue one atomic per block.",
            unless=_IN_SHARED | _SCATTERED,
        ),
        Advice(
            "Give each block its own copy (privatized histogram), and merge the copies at the end.",
            unless=_IN_SHARED | _SCATTERED,
        ),
        Advice("Distribute hot counters over several addresses.", unless=_SCATTERED),
        Advice(
            "Sort or partition the keys first, so that a warp updates neighbouring addresses and "
            "a block's part of the table fits in L2 or shared memory.",
            when=_SCATTERED,
        ),
        Advice(
            "Keep several independent atomics per thread in flight. In a hash table, read a slot "
            "before atomicCAS: most probes then need no atomic.",
            when=_SCATTERED,
        ),
        Advice(
            "Give each warp its own counters in shared memory, or sort values within the warp "
            "first.",
            when=_IN_SHARED,
            number=lambda launch: (
                100 * launch["shared_atomic_wavefronts_share"] / launch["shared_wavefronts_share"]
            ),
            measured="{x} % of the shared-memory wavefronts are atomics.",
        ),
    ),
    caller=(
        Advice(
            "Update each address less often: sort or combine equal indices first, or use a "
            "segmented reduction (bincount, segment_reduce, multiplication by a one-hot matrix)."
        ),
    ),
    wrong_when="Atomics on distinct addresses do not serialize and can reach full L2 throughput. "
    "If they saturate L2, the verdict is l2-bandwidth.",
    references=(
        "CUDA C++ Programming Guide, Atomic Functions",
        "Nsight Compute, Memory Workload Analysis: L2 atomics",
    ),
    requires=("global_atomic_requests", "global_reduction_requests"),
    thresholds=(NOTABLE_ATOMICS, HOT_SLICE, FULL_SLICE, IDLE_SLICE),
    evaluate=evaluate,
    detail=_explain_scattered,
)
