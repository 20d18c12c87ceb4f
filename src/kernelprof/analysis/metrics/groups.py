"""Groups of canonical metrics that several rules look at together, and limits that they share."""

from __future__ import annotations

from typing import Final

STALLS = (
    "long_scoreboard", "short_scoreboard", "lg_throttle", "mio_throttle", "math_pipe_throttle",
    "wait", "barrier", "not_selected", "selected", "no_instruction", "branch_resolving",
    "dispatch_stall", "drain", "imc_miss", "membar", "tex_throttle", "sleeping", "misc", "gmma",
)  # fmt: skip
"""Warp states as Nsight Compute names them; metrics are ``stall_<name>``."""

SM_PIPES = ("alu_pipe", "fma_pipe", "fma_heavy_pipe", "fp64_pipe", "xu_pipe", "tensor_pipe")

L2_STAGES = ("l2_tag_requests", "l2_sectors", "l2_data", "l2_to_sm", "sm_to_l2")
"""Stages of L2: tags, sectors, data and the links to and from the SMs."""

UTILIZATIONS = (
    "sm_throughput", "instruction_throughput", "sm_memory_throughput", "memory_throughput",
    "dram_throughput", "l1_throughput", "l1_throughput_active", "l2_throughput", *L2_STAGES,
    "issue_slots", "issue_slots_active", *SM_PIPES, "tcgen05_pipe", "adu_pipe",
)  # fmt: skip
"""Utilization of every unit."""

BULK_COPIES = ("tma_load_sectors", "tma_store_sectors", "tma_reduction_sectors")
"""What bulk copies (TMA) moved between L2 and shared memory."""

ATOMICS = (
    "global_atomic_requests", "global_reduction_requests",
    "global_load_requests", "global_store_requests",
)  # fmt: skip

FLOATING_POINT_RATES = (
    "ffma_rate", "fadd_rate", "fmul_rate", "dfma_rate", "dadd_rate", "dmul_rate", "hfma_rate",
    "hadd_rate", "hmul_rate",
)  # fmt: skip

FALLBACKS = frozenset(
    (
        "l1_throughput_active", "l2_throughput", "memory_access_throughput",
        "memory_request_throughput", "sm_memory_throughput", "issue_slots_active",
        "global_load_bytes_per_sector", "global_store_bytes_per_sector", "shared_bank_conflicts",
        "shared_wavefronts_measured", "local_load_sectors", "local_store_sectors",
        "shared_load_wavefronts", "shared_store_wavefronts", "dram_bandwidth",
        "sm_cycles_active_max", "stall_misc",
    )
)  # fmt: skip
"""Metrics that only replace one that is missing: read where a capture has them, never asked for."""

NEVER_IN_REPORTS = (
    "hadd_rate", "hmul_rate", "instruction_throughput", "l2_atomic_sectors", "l2_reduction_sectors",
)  # fmt: skip
"""Metrics that ``--set full`` of no version has; a capture that has one was made otherwise."""

NOT_IN_REPORTS = frozenset(
    (
        *NEVER_IN_REPORTS, "block_limit_barriers", "hfma_rate", "l1_throughput",
        "l2_atomic_unit_hottest",
    )
)  # fmt: skip
"""Metrics that ``--set full`` of some version leaves out: of 20 such reports of seven GPUs and ten
versions each lacks one of these at least, and none lacks another that rules ask for."""

FAMILIES = (
    FLOATING_POINT_RATES,
    L2_STAGES,
    ("global_sectors", "global_sectors_ideal"),
    ("shared_wavefronts", "shared_wavefronts_ideal"),
    ("shared_wavefronts_share", "l1_wavefronts"),
    ("dram_bytes_read", "dram_bytes_written"),
    (*ATOMICS, "instructions"),
    BULK_COPIES,
    tuple(f"stall_{name}" for name in STALLS),
    (*SM_PIPES, "adu_pipe", "constant_cache"),
)
"""Metrics that say little one by one: where one is asked for, the others of its family are too."""

PRACTICAL_CEILING: Final = {"issue": 0.95, "pipe": 0.98, "l1": 0.99, "l2": 0.90, "dram": 0.90}
"""Highest utilization that a kernel made for it reaches, as a fraction of the counter's peak.

From ``tests/captures/gemm_series.full.raw.csv`` (H200, ``ncu --set full --clock-control none``):
issue slots 93.5 % (``fma_bound``), FP64 98.3 % and special functions 99.5 %, L1 99.4 %
(``bank_conflict``). Tensor cores: 98.1 % while SMs have work in the fastest BF16 product of
``tests/captures/bf16``, 96.9 % in that of cuBLAS. Device memory: a plain copy of 1 GiB reads 83 %
under ncu; 4.3 of 4.8 TB/s, 90 %, outside it."""

NEAR_LIMIT: Final = 0.70
"""Saturation from which a unit counts as near its limit. Nsight Compute's SOLBottleneck rule
(2025.3) calls under 60 % of peak latency-bound and above 80 % bound by the unit; in between a
change to the unit's work and a change to latency both move the time."""

LONG_QUEUE: Final = 0.30
"""Share of a warp's time in the queue for an arithmetic pipe from which the busiest pipe is at its
limit although its counter is not: a stall of note to Nsight Compute's rule CPIStall (2025.3). TF32
products of ``jacobi-many-right-sides-tf32`` in ``cuda/pairs`` leave the tensor pipe at 65 % while
warps queue for it 37 % of their time; FP16 in the place of TF32 makes it 2.4x faster. The same for
barriers: ``tile-sort-scan-by-doubling`` keeps the unit that counts arrivals busy 94 % of the time,
waits at barriers 54 % of it, and is 2.5x faster with fewer of them."""

BUSY_CONSTANTS: Final = 0.50
"""Use of the cache of indexed constants from which it can be what warps queue for (source: the rule
constant-cache). Each of its misses takes a cycle of the cache behind it."""

LAUNCH_OVERHEAD_NS: Final = 1_700.0
"""Time that a launch takes whatever it does, in ns (source: the rule small-grid)."""

LOW_OCCUPANCY: Final = 0.50
"""Occupancy up to which more warps count as a way out (source: the rule low-occupancy)."""

NOTABLE_WASTE: Final = 0.25
"""Share of needless work from which the waste has a name of its own (sources: the rules
uncoalesced-global-access, local-memory-traffic and shared-bank-conflicts)."""

TENSOR_WORK: Final = 0.10
"""Use of the tensor pipe from which matrix products carry the work. FP16 arithmetic that shares the
pipe is taken off; what is left of it is 0 in FP32 kernels of our captures, and 16 % and more in
matrix products that wait for most of their time (``bf16_mma_sync`` in ``tests/captures/bf16``)."""

SOME_TENSOR_WORK: Final = 0.02
"""Use of the tensor pipe below which it does not matter how the little is done: the FP16 moves of
constants in FP32 kernels of our captures keep the pipe up to 1.6 % busy."""
