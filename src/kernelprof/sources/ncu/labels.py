"""What the labels of the details page are called on the raw page.

Every entry of :data:`METRICS` was checked by value: for 26 launches exported as both pages the two
agree within the details page's rounding. :data:`OLDER` holds names that earlier versions of Nsight
Compute gave to the same metrics. :data:`UNMAPPED` lists labels that stay out, each with the reason.
"""

from __future__ import annotations

from typing import Final

_WARPS: Final = "sm__warps_active.avg"

METRICS: Final[dict[str, str]] = {
    # GPU Speed Of Light Throughput
    "DRAM Frequency": "dram__cycles_elapsed.avg.per_second",
    "SM Frequency": "gpc__cycles_elapsed.avg.per_second",
    "Elapsed Cycles": "gpc__cycles_elapsed.max",
    "DRAM Throughput": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "Duration": "gpu__time_duration.sum",
    "L1/TEX Cache Throughput": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "L2 Cache Throughput": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "SM Active Cycles": "sm__cycles_active.avg",
    "Compute (SM) Throughput": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    # PM Sampling
    "Maximum Buffer Size": "profiler__pmsampler_buffer_size_bytes",
    "Maximum Sampling Interval": "profiler__pmsampler_interval_time",
    "# Pass Groups": "profiler__pmsampler_pass_groups",
    # Compute Workload Analysis
    "Executed Ipc Active": "sm__inst_executed.avg.per_cycle_active",
    "Executed Ipc Elapsed": "sm__inst_executed.avg.per_cycle_elapsed",
    "Issue Slots Busy": "sm__inst_issued.avg.pct_of_peak_sustained_elapsed",
    "Issued Ipc Active": "sm__inst_issued.avg.per_cycle_active",
    "SM Busy": "sm__instruction_throughput.avg.pct_of_peak_sustained_elapsed",
    # Memory Workload Analysis
    "Local Memory Spilling Requests": "derived__local_spilling_requests",
    "Local Memory Spilling Request Overhead": "derived__local_spilling_requests_pct",
    "Mem Busy": "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed",
    "Max Bandwidth": "gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed",
    "L1/TEX Hit Rate": "l1tex__t_sector_hit_rate.pct",
    "L2 Persisting Size": "launch__persisting_l2_cache_size",
    "L2 Compression Success Rate": "lrc__average_ilc_input_sector_success_rate.pct",
    "L2 Compression Input Sectors": "lrc__ilc_input_sectors.sum",
    "L2 Hit Rate": "lts__t_sector_hit_rate.pct",
    "Mem Pipes Busy": "sm__memory_throughput.avg.pct_of_peak_sustained_elapsed",
    # Scheduler Statistics
    "One or More Eligible": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "Issued Warp Per Scheduler": "smsp__issue_active.avg.per_cycle_active",
    "No Eligible": "smsp__issue_inst0.avg.pct_of_peak_sustained_active",
    "Active Warps Per Scheduler": "smsp__warps_active.avg.per_cycle_active",
    "Eligible Warps Per Scheduler": "smsp__warps_eligible.avg.per_cycle_active",
    # Warp State Statistics
    "Warp Cycles Per Issued Instruction": "smsp__average_warp_latency_per_inst_issued.ratio",
    "Warp Cycles Per Executed Instruction": "smsp__average_warps_active_per_inst_executed.ratio",
    "Avg. Active Threads Per Warp": "smsp__thread_inst_executed_per_inst_executed.ratio",
    "Avg. Not Predicated Off Threads Per Warp": (
        "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"
    ),
    # Instruction Statistics
    "Avg. Executed Instructions Per Scheduler": "smsp__inst_executed.avg",
    "Executed Instructions": "smsp__inst_executed.sum",
    "Avg. Issued Instructions Per Scheduler": "smsp__inst_issued.avg",
    "Issued Instructions": "smsp__inst_issued.sum",
    # Launch Statistics
    "Block Size": "launch__block_size",
    "Cluster Scheduling Policy": "launch__cluster_scheduling_policy",
    "Cluster Size": "launch__cluster_size",
    "Function Cache Configuration": "launch__func_cache_config",
    "Grid Size": "launch__grid_size",
    "Registers Per Thread": "launch__registers_per_thread",
    "Shared Memory Configuration Size": "launch__shared_mem_config_size",
    "Driver Shared Memory Per Block": "launch__shared_mem_per_block_driver",
    "Dynamic Shared Memory Per Block": "launch__shared_mem_per_block_dynamic",
    "Static Shared Memory Per Block": "launch__shared_mem_per_block_static",
    "# SMs": "launch__sm_count",
    "Stack Size": "launch__stack_size",
    "Threads": "launch__thread_count",
    "# TPCs": "launch__tpc_count",
    "Enabled TPC IDs": "launch__tpc_enabled",
    "Uses Green Context": "launch__uses_green_context",
    "Waves Per SM": "launch__waves_per_multiprocessor",
    # Occupancy
    "Max Active Clusters": "launch__cluster_max_active",
    "Max Cluster Size": "launch__cluster_max_potential_size",
    "Overall GPU Occupancy": "launch__occupancy_cluster_gpu_pct",
    "Cluster Occupancy": "launch__occupancy_cluster_pct",
    "Block Limit Barriers": "launch__occupancy_limit_barriers",
    "Block Limit SM": "launch__occupancy_limit_blocks",
    "Block Limit Registers": "launch__occupancy_limit_registers",
    "Block Limit Shared Mem": "launch__occupancy_limit_shared_mem",
    "Block Limit Warps": "launch__occupancy_limit_warps",
    "Theoretical Active Warps per SM": "sm__maximum_warps_avg_per_active_cycle",
    "Theoretical Occupancy": "sm__maximum_warps_per_active_cycle_pct",
    "Achieved Occupancy": f"{_WARPS}.pct_of_peak_sustained_active",
    "Achieved Active Warps Per SM": f"{_WARPS}.per_cycle_active",
    # GPU and Memory Workload Distribution
    "Average DRAM Active Cycles": "dram__cycles_active.avg",
    "Total DRAM Elapsed Cycles": "dram__cycles_elapsed.sum",
    "Average L1 Active Cycles": "l1tex__cycles_active.avg",
    "Total L1 Elapsed Cycles": "l1tex__cycles_elapsed.sum",
    "Average L2 Active Cycles": "lts__cycles_active.avg",
    "Total L2 Elapsed Cycles": "lts__cycles_elapsed.sum",
    "Average SM Active Cycles": "sm__cycles_active.avg",
    "Total SM Elapsed Cycles": "sm__cycles_elapsed.sum",
    "Average SMSP Active Cycles": "smsp__cycles_active.avg",
    "Total SMSP Elapsed Cycles": "smsp__cycles_elapsed.sum",
    # Source Counters
    "Branch Instructions Ratio": "derived__smsp__inst_executed_op_branch_pct",
    "Branch Instructions": "smsp__inst_executed_op_branch.sum",
    "Branch Efficiency": "smsp__sass_average_branch_targets_threads_uniform.pct",
    "Avg. Divergent Branches": "smsp__sass_branch_targets_threads_divergent.avg",
}

BY_UNIT: Final[dict[tuple[str, str], str]] = {
    ("Memory Throughput", "%"): "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    ("Memory Throughput", "byte/s"): "dram__bytes.sum.per_second",
}
"""Labels that two sections share; their canonical units tell them apart."""

OLDER: Final[dict[str, str]] = {
    "SOL SM": METRICS["Compute (SM) Throughput"],
    "Compute (SM) [%]": METRICS["Compute (SM) Throughput"],
    "SM [%]": METRICS["Compute (SM) Throughput"],
    "SOL Memory": BY_UNIT["Memory Throughput", "%"],
    "Memory [%]": BY_UNIT["Memory Throughput", "%"],
    "SOL DRAM": METRICS["DRAM Throughput"],
    "SOL FB": METRICS["DRAM Throughput"],
    "SOL L1/TEX Cache": METRICS["L1/TEX Cache Throughput"],
    "SOL TEX": METRICS["L1/TEX Cache Throughput"],
    "SOL L2 Cache": METRICS["L2 Cache Throughput"],
    "SOL L2": METRICS["L2 Cache Throughput"],
    "Memory Frequency": METRICS["DRAM Frequency"],
    "Block Limit Shared Memory": METRICS["Block Limit Shared Mem"],
}

UNMAPPED: Final[dict[str, str]] = {
    "L2 Compression Ratio": "three raw metrics could be meant and all are zero where it was seen",
    "Preferred Cluster Size": "seen with clusters only, never beside its raw page",
    "Dropped Samples": "of PM sampling; how many were lost, and no metric of the launch",
}

SECTIONS: Final[dict[str, str]] = {
    "GPU Speed Of Light Throughput": "SpeedOfLight",
    "GPU Speed Of Light": "SpeedOfLight",
    "GPU Speed Of Light Roofline Chart": "SpeedOfLight_RooflineChart",
    "PM Sampling": "PmSampling",
    "PM Sampling: Warp States": "PmSampling_WarpStates",
    "Compute Workload Analysis": "ComputeWorkloadAnalysis",
    "Memory Workload Analysis": "MemoryWorkloadAnalysis",
    "Memory Workload Analysis Chart": "MemoryWorkloadAnalysis_Chart",
    "Memory Workload Analysis Tables": "MemoryWorkloadAnalysis_Tables",
    "Scheduler Statistics": "SchedulerStats",
    "Warp State Statistics": "WarpStateStats",
    "Instruction Statistics": "InstructionStats",
    "NVLink": "Nvlink",
    "NVLink Tables": "Nvlink_Tables",
    "NVLink Topology": "Nvlink_Topology",
    "NUMA Affinity": "NumaAffinity",
    "Launch Statistics": "LaunchStats",
    "Occupancy": "Occupancy",
    "GPU and Memory Workload Distribution": "WorkloadDistribution",
    "Source Counters": "SourceCounters",
}
"""Display names that metric rows carry, by the identifiers that rule rows and ``--section`` use."""

_FOLDED: Final = {label.lower(): name for label, name in {**OLDER, **METRICS}.items()}
_FOLDED_BY_UNIT: Final = {(label.lower(), unit): name for (label, unit), name in BY_UNIT.items()}
_FOLDED_UNMAPPED: Final = frozenset(label.lower() for label in UNMAPPED)


def raw_name(label: str, unit: str) -> str | None:
    """The raw page's name for a label whose values are in the canonical ``unit``; None if unknown.

    With ``--print-metric-name name`` or in the section "Command line profiler metrics" the label
    is a raw name itself, or ends with one.
    """
    folded = label.lower()
    known = _FOLDED_BY_UNIT.get((folded, unit)) or _FOLDED.get(folded)
    if known is not None:
        return known
    last = label.rpartition(" ")[2].strip("()")
    return last if "__" in last or last.startswith(("memory_", "thread_inst_")) else None


def is_left_out(label: str) -> bool:
    """Whether the label is known and deliberately has no raw name."""
    return label.lower() in _FOLDED_UNMAPPED
