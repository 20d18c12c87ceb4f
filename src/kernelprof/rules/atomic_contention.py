"""atomic-contention: atomics wait for each other because they hit few addresses."""

from __future__ import annotations

from kernelprof.metrics.groups import (
    ATOMICS,
    CONFLICTS,
    L1_SHARES,
    SHARED_ATOMICS,
    SPEED_OF_LIGHT,
    WARP_STATES,
)
from kernelprof.rules.rule import Docs, Finding, Rule, Scene, Shown, Threshold

NOTABLE_ATOMICS = Threshold(
    "notable atomics",
    0.05,
    "share of global requests",
    "capture tests/captures/gemm_series.full.raw.csv: atomic_hot waits 96 % of its warps' time for "
    "atomics while L2 runs at 1.7 %; no kernel without atomics shows both",
)


def evaluate(scene: Scene) -> Finding:
    machine, waste, waiting = scene.machine, scene.waste, scene.waiting
    part = waste.bank_conflicts * waste.shared_atomic_part
    in_shared = machine.gain_by_waste(
        part,
        machine.busiest(
            machine.others("l1"),
            machine.saturations["l1"] * (1.0 - part * waste.shared_part_of_l1),
        ),
        machine.warps.stall_share("short_scoreboard", "mio_throttle") * part,
    )
    return Finding(
        gain=machine.gain_by_latency(waiting.for_atomics).at_least(in_shared),
        gain_reason="the time that warps wait for atomics, were it gone",
        evidence=(
            Shown(
                "global_reduction_requests",
                "global requests that are atomics",
                waste.atomic_part * 100.0,
                "%",
                ">",
                NOTABLE_ATOMICS.value * 100,
            ),
            Shown(
                "shared_atomic_wavefronts_share",
                "shared-memory wavefronts that are atomics",
                waste.shared_atomic_part * 100.0,
                "%",
            ),
            Shown(
                "stall_lg_throttle",
                "warp time waiting for atomics",
                waiting.for_atomics * 100.0,
                "%",
            ),
            Shown("l2_throughput", "L2 throughput", machine.l2 * 100.0, "%"),
        ),
    )


RULE = Rule(
    slug="atomic-contention",
    title="Contended atomics",
    order=40,
    docs=Docs(
        detects="Atomics that serialize on few addresses: warps wait for memory although no part "
        "of the memory system is busy, and atomics are what they wait for.",
        matters="L2 performs atomics on one address one after the other. A million threads that "
        "add to one counter take a million turns, whatever the bandwidth is.",
        example="atomicAdd(&sum, x) by every thread; instead reduce in the warp with shuffles, "
        "then in the block through shared memory, then add once a block.",
        fixes=(
            "Reduce within the warp and the block first and use one atomic a block.",
            "Give each block its own copy (privatized histogram) and merge at the end.",
            "Spread hot counters over several addresses.",
        ),
        wrong_when="Atomics to distinct addresses run at L2's rate and do not wait; then L2 is "
        "busy and l2-bandwidth is the name.",
        references=(
            "CUDA C++ Programming Guide, Atomic Functions",
            "Nsight Compute, Memory Workload Analysis: L2 atomics",
        ),
    ),
    requires=("global_atomic_requests", "global_reduction_requests"),
    uses=(
        "instructions",
        *SHARED_ATOMICS,
        *ATOMICS,
        *CONFLICTS,
        *L1_SHARES,
        *SPEED_OF_LIGHT,
        *WARP_STATES,
    ),
    thresholds=(NOTABLE_ATOMICS,),
    evaluate=evaluate,
)
