"""What the peers' sentences and labels mean in the names of our bottlenecks.

A saying stands for every bottleneck that it names as a cause, or whose remedy it advises: each of
them counts as right. Where that is not obvious, ``why`` says it. A saying that names nothing among
our bottlenecks stands for none. What is not in these tables is an error and never silently nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kernelprof.errors import InputError


@dataclass(frozen=True, slots=True)
class Saying:
    """What a rule of Nsight Compute means where its sentence has a wording (a pattern)."""

    rule: str
    wording: str
    slugs: tuple[str, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """What a label of Fournex means."""

    name: str
    slugs: tuple[str, ...]
    why: str = ""


class UnknownSayingError(InputError):
    """A peer said something that the tables do not have."""


GLOBAL: Final = ("uncoalesced-global-access",)
CONFLICTS: Final = ("shared-bank-conflicts",)
SHARED: Final = ("shared-bank-conflicts", "shared-memory-throughput")
DRAM: Final = ("dram-bandwidth",)
L2: Final = ("l2-bandwidth",)
L1: Final = ("l1-throughput", "shared-memory-throughput")
"""NVIDIA's L1TEX is also shared memory: both pass through its data stage."""
PIPES: Final = (
    "fp32-throughput",
    "fp64-throughput",
    "integer-throughput",
    "sfu-throughput",
    "tensor-throughput",
)
WAITS: Final = ("memory-latency", "dependency-latency", "barrier-stalls")
MEMORY: Final = (
    "memory-latency",
    "uncoalesced-global-access",
    "local-memory-traffic",
    "l1-throughput",
    "l2-bandwidth",
    "dram-bandwidth",
    "atomic-contention",
)
"""What makes operations of L1TEX slow that a warp waits for."""
BALANCE: Final = ("workload-imbalance", "small-grid")

SAYINGS: Final = (
    # WarpStateStats: one sentence a stall reason that takes 30 % of a warp's time or more.
    Saying(
        "CPIStall",
        r"scoreboard dependency on an? L1TEX",
        MEMORY,
        "it names local and global memory, coalescing, hit rates and moving data to shared memory,"
        " and says to find the instruction that is waited for, which may be an atomic",
    ),
    Saying(
        "CPIStall",
        r"scoreboard dependency on an? MIO",
        (*SHARED, "sfu-throughput"),
        "it names shared memory, bank conflicts and special math",
    ),
    Saying(
        "CPIStall",
        r"L1 instruction queue for local and global",
        ("l1-throughput", "local-memory-traffic", *GLOBAL),
        "it names redundant accesses, local memory, and wider operations, which also cure strides",
    ),
    Saying(
        "CPIStall",
        r"MIO \(memory input/output\) instruction queue",
        (*SHARED, "sfu-throughput"),
        "it names shared memory and special math; conflicts fill the same queue",
    ),
    Saying("CPIStall", r"L1 instruction queue for texture", ("l1-throughput",)),
    Saying(
        "CPIStall",
        r"execution pipe to be available",
        (*PIPES, "low-occupancy"),
        "it does not say which pipe, and advises more warps",
    ),
    Saying(
        "CPIStall",
        r"fixed latency execution dependency",
        ("dependency-latency", "low-occupancy", "instruction-issue"),
        "it advises more warps and unrolled loops, too",
    ),
    Saying(
        "CPIStall",
        r"sibling warps at a CTA barrier",
        ("barrier-stalls", "workload-imbalance", "warp-divergence"),
        "it names uneven work and diverging paths before the barrier",
    ),
    Saying(
        "CPIStall",
        r"on a memory barrier",
        ("memory-latency",),
        "a fence waits for memory and not for other warps",
    ),
    Saying(
        "CPIStall",
        r"micro scheduler to select",
        ("instruction-issue",),
        "more warps are ready than can be issued",
    ),
    Saying(
        "CPIStall",
        r"selected to fetch an instruction",
        ("instruction-fetch", "small-grid"),
        "it names kernels of less than one wave as the usual cause",
    ),
    Saying(
        "CPIStall",
        r"WARPGROUP\.ARRIVES or WARPGROUP\.WAIT",
        ("async-pipeline-stalls", "tensor-throughput"),
        "warps wait for products: of full tensor cores, or one by one",
    ),
    Saying("CPIStall", r"branch target to be computed", ("warp-divergence",)),
    Saying(
        "CPIStall",
        r"after EXIT waiting for all outstanding memory",
        ("memory-latency", "dram-bandwidth", "atomic-contention", *GLOBAL),
        "it names much data written, the pattern of stores, and parallel reductions instead",
    ),
    Saying("CPIStall", r"dispatch stall", (), "it names no cause"),
    Saying(
        "CPIStall", r"immediate constant cache", (), "the constant cache has no name among ours"
    ),
    Saying("CPIStall", r"sleep state", (), "a program that sleeps has no name among ours"),
    Saying("CPIStall", r"miscellaneous hardware reason", (), "it names no cause"),
    Saying("CPIStall", r"^Check the Warp Stall Sampling", (), "it says where to look"),
    # SchedulerStats, Occupancy, LaunchStats, WorkloadDistribution: parallelism.
    Saying(
        "IssueSlotUtilization",
        r"less than a warp per instruction",
        ("low-occupancy", "small-grid"),
    ),
    Saying(
        "IssueSlotUtilization",
        r"avoid possible load imbalances",
        ("workload-imbalance", *WAITS),
        "it says that reducing stalls can help, too",
    ),
    Saying("IssueSlotUtilization", r"reduce the time the active warps are stalled", WAITS),
    Saying("TheoreticalOccupancy", r"theoretical warps per scheduler", ("low-occupancy",)),
    Saying(
        "AchievedOccupancy",
        r"difference between calculated theoretical",
        ("low-occupancy", "workload-imbalance"),
        "it names imbalances within blocks and across them",
    ),
    Saying("LaunchConfiguration", r"execute only [\d,]+ blocks?", ("small-grid",)),
    Saying(
        "LaunchConfiguration",
        r"partial wave",
        BALANCE,
        "a last wave that is not full is an uneven end, and a larger grid the cure",
    ),
    Saying(
        "LaunchConfiguration",
        r"at least two blocks per multiprocessor",
        ("small-grid", "low-occupancy", "barrier-stalls"),
        "it is about blocks that wait at __syncthreads",
    ),
    Saying(
        "LaunchConfiguration",
        r"multiple of \d+ threads",
        ("warp-divergence",),
        "threads of the last warp are masked off",
    ),
    Saying(
        "WorkloadImbalance",
        r"^One or more (?:SMs|SMSPs|L1 Slices) have",
        BALANCE,
        "SMs without a block are also what a small grid looks like",
    ),
    Saying("WorkloadImbalance", r"^One or more L2 Slices have", ("workload-imbalance", *L2)),
    Saying(
        "WorkloadImbalance", r"^One or more DRAM(?:s| Slices) have", ("workload-imbalance", *DRAM)
    ),
    # Memory.
    Saying("UncoalescedGlobalAccess", r"uncoalesced global accesses", GLOBAL),
    Saying("MemoryCacheAccessPattern", r"pattern for global (?:loads|stores)", GLOBAL),
    Saying(
        "MemoryCacheAccessPattern",
        r"pattern for local (?:loads|stores)",
        ("local-memory-traffic",),
    ),
    Saying("SharedMemoryConflicts", r"bank conflict", CONFLICTS),
    Saying("UncoalescedSharedAccess", r"uncoalesced shared accesses", CONFLICTS),
    Saying(
        "MemoryL2Compression",
        r"successfully compressed",
        DRAM,
        "compressed data would be less traffic to device memory, by which its estimate is weighted",
    ),
    Saying(
        "MemoryL2Compression",
        r"writes to compressible memory",
        (*DRAM, *GLOBAL),
        "it advises against writes with large strides",
    ),
    # Instructions.
    Saying(
        "FPInstructions", r"non-fused FP(?:32|16) instructions", ("fp32-throughput",),
        "FP16 outside of tensor cores runs on the same pipe",
    ),
    Saying("FPInstructions", r"non-fused FP64 instructions", ("fp64-throughput",)),
    Saying("ThreadDivergence", r"threads being active per cycle", ("warp-divergence",)),
    Saying(
        "SOLFPRoofline", r"consider using 32-bit precision", ("fp64-throughput",)
    ),
    Saying("SOLFPRoofline", r"^The ratio of peak float", (), "it tells shares of peaks"),
    Saying(
        "SlowPipeLimiter",
        r"slow pipeline is preventing",
        PIPES,
        "it does not say which pipe",
    ),
    Saying(
        "HighPipeUtilization",
        r"^All compute pipelines are under-utilized",
        ("small-grid", "low-occupancy"),
        "it says: a small workload, or too few warps",
    ),
    Saying("HighPipeUtilization", r"should not be a bottleneck", (), "it says so"),
    Saying(
        "HighPipeUtilization",
        r"^ALU is the highest",
        ("integer-throughput", "instruction-issue"),
        "address arithmetic runs there, too",
    ),
    Saying(
        "HighPipeUtilization",
        r"^FMA is the highest",
        ("fp32-throughput", "integer-throughput"),
        "it names integer multiplications, too",
    ),
    Saying(
        "HighPipeUtilization",
        r"^FP64 is the highest|^Shared is .*dominated by its FP64 sub",
        ("fp64-throughput",),
    ),
    Saying(
        "HighPipeUtilization",
        r"^(?:Shared|Tensor) is .*dominated by its Tensor \(DP\) sub",
        ("tensor-throughput", "fp64-throughput"),
    ),
    Saying(
        "HighPipeUtilization",
        r"^(?:Shared|Tensor) is .*dominated by its Tensor",
        ("tensor-throughput",),
    ),
    # SpeedOfLight: the headline, which never has an estimate.
    Saying("SOLBottleneck", r"grid is too small", ("small-grid",)),
    Saying(
        "SOLBottleneck",
        r"low compute throughput and memory bandwidth",
        (*WAITS, "low-occupancy"),
        "it says: latency, see the schedulers and the stalls",
    ),
    Saying("SOLBottleneck", r"^Compute and Memory are well-balanced", (), "it names all units"),
    Saying(
        "SOLBottleneck",
        r"^Compute is more heavily utilized|Start by analyzing workloads in the Compute",
        (*PIPES, "instruction-issue"),
        "it does not say which pipe",
    ),
    Saying(
        "SOLBottleneck",
        r"identify the DRAM bottleneck",
        (*DRAM, *GLOBAL),
        "it advises to check coalescing",
    ),
    Saying("SOLBottleneck", r"identify the L2 bottleneck", (*L2, *GLOBAL)),
    Saying("SOLBottleneck", r"identify the L1 bottleneck", (*L1, *GLOBAL)),
    Saying("SOLBottleneck", r"memory system bottleneck is", (*DRAM, *L2, *L1, *GLOBAL)),
    Saying("SOLBottleneck", r"Start by analyzing DRAM", DRAM),
    Saying("SOLBottleneck", r"Start by analyzing L2", L2),
    Saying("SOLBottleneck", r"Start by analyzing L1", L1),
    Saying(
        "SOLBottleneck", r"Start by analyzing workloads in the Memory", (*DRAM, *L2, *L1)
    ),
    # About the measurement itself.
    Saying("PCSamplingData", r"no samples could be collected", ()),
    Saying("PMSamplingData", r"^Sampling interval", ()),
)  # fmt: skip
"""Sayings of Nsight Compute 2025.3; of those with a rule's name the first that fits counts."""

LABELS: Final = (
    Label("insufficient_ncu_data", ()),
    Label("inconclusive", ()),
    Label("memory_bandwidth_bound", (*DRAM, *GLOBAL), "its first advice is coalescing"),
    Label(
        "warp_stall_memory",
        (*MEMORY, *SHARED),
        "it is for long scoreboards and for the MIO, LG and texture queues alike",
    ),
    Label(
        "warp_stall_sync",
        ("barrier-stalls", "dependency-latency", "shared-bank-conflicts"),
        "it counts fixed latencies (wait) as synchronization, and names bank conflicts",
    ),
    Label(
        "l1_cache_thrashing",
        ("l1-throughput", "l2-bandwidth", "dram-bandwidth", "memory-latency"),
        "its advice is reuse: tiles in shared memory, smaller types, sums in registers",
    ),
    Label("l2_cache_thrashing", ("dram-bandwidth", "l2-bandwidth", "memory-latency")),
    Label("uncoalesced_access", GLOBAL),
    Label(
        "tensor_core_underutilized",
        ("fp32-throughput", "fp64-throughput"),
        "idle tensor cores: arithmetic is on other pipes; the opposite of tensor-throughput",
    ),
    Label(
        "occupancy_limited",
        ("low-occupancy", "small-grid"),
        "it is about achieved occupancy, low in small grids, too",
    ),
    Label("occupancy_limited_by_registers", ("low-occupancy",)),
    Label("occupancy_limited_by_shared_memory", ("low-occupancy",)),
    Label("occupancy_limited_by_block_size", ("low-occupancy", "small-grid")),
    Label(
        "low_warp_scheduler_utilization",
        ("low-occupancy", "dependency-latency", "memory-latency"),
        "its advice is larger blocks and independent instructions",
    ),
    Label(
        "low_issue_efficiency",
        ("low-occupancy", "dependency-latency", "memory-latency"),
        "the same advice; schedulers that idle are the opposite of instruction-issue",
    ),
)
"""Labels that Fournex 0.3.1 gives to Nsight Compute exports."""

_SAYINGS: Final = {
    rule: tuple(
        (re.compile(saying.wording, re.DOTALL), saying.slugs)
        for saying in SAYINGS
        if saying.rule == rule
    )
    for rule in {saying.rule for saying in SAYINGS}
}
_LABELS: Final = {label.name: label.slugs for label in LABELS}


def of_sentence(rule: str, sentence: str) -> tuple[str, ...]:
    """The bottlenecks that a rule's sentence stands for; refuses what the table lacks."""
    if rule not in _SAYINGS:
        raise UnknownSayingError(f"rule {rule} of Nsight Compute has no translation: {sentence!r}")
    for wording, slugs in _SAYINGS[rule]:
        if wording.search(sentence):
            return slugs
    raise UnknownSayingError(f"no translation of rule {rule} has this wording: {sentence!r}")


def of_label(name: str) -> tuple[str, ...]:
    """The bottlenecks that a label of Fournex stands for; refuses what the table lacks."""
    if name not in _LABELS:
        raise UnknownSayingError(f"label {name!r} of Fournex has no translation")
    return _LABELS[name]
