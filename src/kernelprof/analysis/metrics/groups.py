"""Groups of canonical metrics that several rules look at together. Names only, no arithmetic."""

from __future__ import annotations

STALLS = (
    "long_scoreboard",
    "short_scoreboard",
    "lg_throttle",
    "mio_throttle",
    "math_pipe_throttle",
    "wait",
    "barrier",
    "not_selected",
    "selected",
    "no_instruction",
    "branch_resolving",
    "dispatch_stall",
    "drain",
    "imc_miss",
    "membar",
    "tex_throttle",
    "sleeping",
    "misc",
    "gmma",
)
"""Warp states as Nsight Compute names them; metrics are ``stall_<name>``."""

SM_PIPES = ("alu_pipe", "fma_pipe", "fma_heavy_pipe", "fp64_pipe", "xu_pipe", "tensor_pipe")

UTILIZATIONS = (
    "sm_throughput",
    "instruction_throughput",
    "sm_memory_throughput",
    "memory_throughput",
    "dram_throughput",
    "l1_throughput",
    "l1_throughput_active",
    "l2_throughput",
    "l2_tag_requests",
    "l2_sectors",
    "l2_data",
    "l2_to_sm",
    "sm_to_l2",
    "issue_slots",
    "issue_slots_active",
    *SM_PIPES,
    "tcgen05_pipe",
    "adu_pipe",
)
"""Utilization of every unit."""


BULK_COPIES = ("tma_load_sectors", "tma_store_sectors", "tma_reduction_sectors")
"""What bulk copies (TMA) moved between L2 and shared memory."""

ATOMICS = (
    "global_atomic_requests",
    "global_reduction_requests",
    "global_load_requests",
    "global_store_requests",
)

FLOATING_POINT_RATES = (
    "ffma_rate",
    "fadd_rate",
    "fmul_rate",
    "dfma_rate",
    "dadd_rate",
    "dmul_rate",
    "hfma_rate",
    "hadd_rate",
    "hmul_rate",
)


FALLBACKS = frozenset(
    {
        "l1_throughput_active",
        "l2_throughput",
        "memory_access_throughput",
        "memory_request_throughput",
        "sm_memory_throughput",
        "issue_slots_active",
        "global_load_bytes_per_sector",
        "global_store_bytes_per_sector",
        "shared_bank_conflicts",
        "shared_wavefronts_measured",
        "local_load_sectors",
        "local_store_sectors",
        "shared_load_wavefronts",
        "shared_store_wavefronts",
        "dram_bandwidth",
        "sm_cycles_active_max",
        "stall_misc",
    }
)
"""Metrics that only stand in where a better one is missing: read if there, never asked for."""

NEVER_IN_REPORTS = (
    "hadd_rate",
    "hmul_rate",
    "instruction_throughput",
    "l2_atomic_sectors",
    "l2_reduction_sectors",
)
"""Metrics that ``--set full`` of no version has; a capture that has one was made otherwise."""

NOT_IN_REPORTS = frozenset(
    {
        *NEVER_IN_REPORTS,
        "block_limit_barriers",
        "hfma_rate",
        "l1_throughput",
        "l2_atomic_unit_hottest",
    }
)
"""Metrics that ``--set full`` of some version leaves out: of 20 such reports of seven GPUs and ten
versions each lacks one of these at least, and none lacks another that rules ask for."""

FAMILIES = (
    FLOATING_POINT_RATES,
    ("l2_tag_requests", "l2_sectors", "l2_data", "l2_to_sm", "sm_to_l2"),
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
