"""Names of metrics on the raw page of today, for labels and for names of earlier versions.

Every entry of :data:`METRICS` was checked by value: for 26 launches exported as both pages the two
agree within the details page's rounding. :data:`OLDER` holds names that earlier versions of Nsight
Compute gave to the same metrics. :data:`UNMAPPED` lists labels that stay out, each with the reason.

:data:`TODAY` has metrics as Nsight Compute called them before 2019.1 (on Pascal to the end), only
those that are the same quantity, which is known in one of three ways. NVIDIA's rule scripts of
2019 read one name on compute capability 6.x and the other on 7.x and print the value in the same
sentence (bottleneck detection, stall reasons, thread divergence, achieved occupancy). Arithmetic in
the two reports of a GTX 1080 in jhiems/PMKID_Brute-Force (09606ce84a59) shows it, as the comments
of :data:`TODAY` say. Or only the way of writing changed (``smsp__inst_issued_sum``). Those reports
have no units, so they are here, too.

Everything else stays out: Pascal's texture cache (``tex__``), which shared memory is no part of,
has other limits than today's L1, and a name that merely sounds alike is no evidence.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelprof.model.names import first_few

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    "L2 Compression Ratio": "three raw metrics could match; all are 0 where this label occurs",
    "Preferred Cluster Size": "seen only for cluster launches, none of which had a raw page",
    "Dropped Samples": "number of lost PM samples, not a metric of the launch",
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
    """Return the raw page's name for a label with values in the canonical ``unit``, or None.

    With ``--print-metric-name name`` or in the section "Command line profiler metrics" the label
    is a raw name itself, or ends with one.
    """
    folded = label.lower()
    name = _FOLDED_BY_UNIT.get((folded, unit)) or _FOLDED.get(folded)
    if name is not None:
        return name
    last = label.rpartition(" ")[2].strip("()")
    return last if "__" in last or last.startswith(("memory_", "thread_inst_")) else None


def is_left_out(label: str) -> bool:
    """Return whether the label is known and deliberately has no raw name."""
    return label.lower() in _FOLDED_UNMAPPED


_SAME_STALLS: Final = (
    "barrier", "dispatch_stall", "drain", "imc_miss", "long_scoreboard", "math_pipe_throttle",
    "membar", "mio_throttle", "misc", "not_selected", "selected", "short_scoreboard",
    "tex_throttle", "wait",
)  # fmt: skip
_STALLS: Final = {each: each for each in _SAME_STALLS} | {"no_instructions": "no_instruction"}
"""Reasons for waiting; the rules of 2019 for several of them name both metrics, all alike."""

TODAY: Final[dict[str, tuple[str, str]]] = {
    # Time and clocks: elapsed cycles over the frequency are the duration in ns.
    "gpu__time_duration": ("gpu__time_duration.sum", "ns"),
    "gpc__elapsed_cycles_max": ("gpc__cycles_elapsed.max", "cycle"),
    "gpc__frequency": ("gpc__cycles_elapsed.avg.per_second", "hz"),
    "sm__elapsed_cycles_avg": ("sm__cycles_elapsed.avg", "cycle"),
    # Shares of limits: what the section Speed Of Light shows.
    "sm__sol_pct": ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"),
    "gpu__compute_memory_sol_pct": (
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
        "%",
    ),
    # The sum of dram__read_pct and dram__write_pct.
    "fbpa__sol_pct": ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "%"),
    # 32 bytes a sector; bytes over the time are the bytes per second, and these over the share of
    # the peak are the bus width times the transfers of the memory clock.
    "dram__read_bytes": ("dram__bytes_read.sum", "byte"),
    "dram__write_bytes": ("dram__bytes_write.sum", "byte"),
    "dram__read_sectors": ("dram__sectors_read.sum", "sector"),
    "dram__write_sectors": ("dram__sectors_write.sum", "sector"),
    "dram__bytes_per_sec": ("dram__bytes.sum.per_second", "byte/s"),
    "dram__read_bytes_per_sec": ("dram__bytes_read.sum.per_second", "byte/s"),
    "dram__write_bytes_per_sec": ("dram__bytes_write.sum.per_second", "byte/s"),
    "dram__read_pct": ("dram__bytes_read.sum.pct_of_peak_sustained_elapsed", "%"),
    "dram__write_pct": ("dram__bytes_write.sum.pct_of_peak_sustained_elapsed", "%"),
    # Instructions: smsp__..._sum is 80 (SM sub-partitions) times smsp__..._avg.
    "smsp__inst_executed_sum": ("smsp__inst_executed.sum", "inst"),
    "smsp__inst_executed_avg": ("smsp__inst_executed.avg", "inst"),
    "smsp__inst_issued_sum": ("smsp__inst_issued.sum", "inst"),
    "smsp__inst_issued_avg": ("smsp__inst_issued.avg", "inst"),
    "sm__inst_executed_avg_per_active_cycle": (
        "sm__inst_executed.avg.per_cycle_active",
        "inst/cycle",
    ),
    "sm__inst_executed_avg_per_elapsed_cycle": (
        "sm__inst_executed.avg.per_cycle_elapsed",
        "inst/cycle",
    ),
    "sm__inst_issued_avg_per_active_cycle": ("sm__inst_issued.avg.per_cycle_active", "inst/cycle"),
    "smsp__issue_active_avg_per_active_cycle": ("smsp__issue_active.avg.per_cycle_active", ""),
    # A hundred times the one before.
    "smsp__issue_active_per_active_cycle_pct": (
        "smsp__issue_active.avg.pct_of_peak_sustained_active",
        "%",
    ),
    "smsp__thread_inst_executed_per_inst_executed": (
        "smsp__thread_inst_executed_per_inst_executed.ratio",
        "",
    ),
    "smsp__thread_inst_executed_not_pred_off_per_inst_executed": (
        "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
        "",
    ),
    # Warps: the cycles of an instruction are the active warps over the instructions per cycle.
    "sm__active_warps_avg_per_active_cycle": ("sm__warps_active.avg.per_cycle_active", "warp"),
    "sm__active_warps_avg_per_active_cycle_pct": (
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        "%",
    ),
    "smsp__active_warps_avg_per_active_cycle": ("smsp__warps_active.avg.per_cycle_active", "warp"),
    "smsp__eligible_warps_avg_per_active_cycle": (
        "smsp__warps_eligible.avg.per_cycle_active",
        "warp",
    ),
    "smsp__warp_cycles_per_inst_issued": (
        "smsp__average_warp_latency_per_inst_issued.ratio",
        "cycle",
    ),
    "smsp__warp_cycles_per_inst_executed": (
        "smsp__average_warps_active_per_inst_executed.ratio",
        "cycle",
    ),
    "smsp__warp_cycles_per_issue_active": ("smsp__average_warps_active_per_issue_active.ratio", ""),
    **{
        f"smsp__warp_cycles_per_issue_stall_{before}": (
            f"smsp__average_warps_issue_stalled_{now}_per_issue_active.ratio",
            "inst",
        )
        for before, now in _STALLS.items()
    },
}
"""Today's name of each metric and its canonical unit."""

_UNITS_OF_CHIP: Final = re.compile(r"(?:dram|fbpa|gpc|gpu|ltc|lts|sm|smsp|tex)__[^.:]+")
_AS_TODAY: Final = re.compile(r"smsp__pcsamp_|sm(?:sp)?__maximum_warps_")
_MOST_LISTED: Final = 4


def todays_name(name: str) -> str:
    """Return a metric's name of today; the name itself where no other is known."""
    return TODAY[name][0] if name in TODAY else name


def unit_of(name: str, unit: str) -> str:
    """Return the unit of a metric, where its report may not give one."""
    return unit or (TODAY[name][1] if name in TODAY else "")


def describe_left_out(names: Sequence[str]) -> str:
    """Return a sentence that names metrics without a name of today; empty without any."""
    if not any(name in TODAY for name in names):
        return ""
    unknown = [
        name
        for name in names
        if name not in TODAY and _UNITS_OF_CHIP.fullmatch(name) and not _AS_TODAY.match(name)
    ]
    if not unknown:
        return ""
    return (
        "The metrics have old names (Pascal, or before Nsight Compute 2019.1). Metrics without a "
        f"current equivalent were ignored: {first_few(unknown, _MOST_LISTED)}."
    )
