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

SPEED_OF_LIGHT = (
    *UTILIZATIONS,
    "warp_cycles_per_instruction",
    "stall_math_pipe_throttle",
    "stall_barrier",
)
"""Utilizations, and the queues that show a unit to be full: each rule compares its unit with the
others."""

WARP_STATES = (
    "warp_cycles_per_instruction",
    "active_warps",
    "issue_slots_active",
    "sm_cycles_active",
    "sm_cycles_elapsed",
    "duration",
    *(f"stall_{name}" for name in STALLS),
)
"""Where a warp's time goes, and how much of the duration is the launch itself."""

COALESCING = (
    "global_sectors",
    "global_sectors_ideal",
    "global_load_sectors",
    "global_load_requests",
    "global_store_sectors",
    "global_store_requests",
    "global_load_bytes_per_sector",
    "global_store_bytes_per_sector",
    "global_atomic_requests",
    "global_reduction_requests",
)

TRAFFIC = (
    "l2_sectors_from_l1",
    "l1_hit_rate",
    "dram_bytes_read",
    "dram_bytes_written",
    "dram_bandwidth",
    "duration",
)
"""Bytes that reach device memory, and what L1 keeps from it."""

CONFLICTS = (
    "shared_wavefronts",
    "shared_wavefronts_ideal",
    "shared_bank_conflicts",
    "shared_wavefronts_measured",
    "shared_memory_static",
    "shared_memory_dynamic",
)

SHARED_ATOMICS = (
    "shared_atomic_wavefronts_share",
    "shared_wavefronts_share",
    "shared_load_wavefronts",
    "shared_store_wavefronts",
    "shared_wavefronts",
    "shared_memory_static",
    "shared_memory_dynamic",
)

L1_SHARES = (
    "shared_wavefronts_share",
    "l1_wavefronts",
    "l1_throughput",
    "l1_hit_rate",
    "l1_throughput_active",
    "sm_count",
    "sm_cycles_elapsed",
    "shared_wavefronts",
    "shared_memory_static",
    "shared_memory_dynamic",
)
"""Whether shared or global memory fills the L1 data stage."""

LOCAL = ("local_sectors", "global_sectors", "local_load_sectors", "local_store_sectors")

ATOMIC_UNITS = (
    "l2_atomic_unit_hottest",
    "l2_atomic_unit",
    "l2_atomic_sectors",
    "l2_reduction_sectors",
)

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

INSTRUCTION_MIX = (*FLOATING_POINT_RATES, "sm_count", "issue_slots", "threads_per_instruction")

PARALLELISM = (
    "waves_per_sm",
    "grid_size",
    "sm_count",
    "sm_cycles_active",
    "sm_cycles_active_max",
    "sm_cycles_elapsed",
    "duration",
)
"""Whether the launch fills the GPU, and evenly."""

OCCUPANCY = (
    "theoretical_occupancy",
    "achieved_occupancy",
    "waves_per_sm",
    "grid_size",
    "sm_count",
    "sm_cycles_active",
    "sm_cycles_elapsed",
)
"""How many of the warp slots a kernel can use, and does."""

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

FAMILIES = (
    FLOATING_POINT_RATES,
    ("l2_tag_requests", "l2_sectors", "l2_data", "l2_to_sm", "sm_to_l2"),
    ("global_sectors", "global_sectors_ideal"),
    ("shared_wavefronts", "shared_wavefronts_ideal"),
    ("shared_wavefronts_share", "l1_wavefronts"),
    ("dram_bytes_read", "dram_bytes_written"),
    (*ATOMICS, "instructions"),
    tuple(f"stall_{name}" for name in STALLS),
    SM_PIPES,
)
"""Metrics that say little one by one: where one is asked for, the others of its family are too."""
