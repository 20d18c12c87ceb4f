"""Metrics as Nsight Compute called them before 2019.1 (on Pascal to the end), by today's names.

Only those that are the same quantity, which is known in one of three ways. NVIDIA's rule scripts of
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

if TYPE_CHECKING:
    from collections.abc import Sequence

_STALLS: Final = {
    "barrier": "barrier",
    "dispatch_stall": "dispatch_stall",
    "drain": "drain",
    "imc_miss": "imc_miss",
    "long_scoreboard": "long_scoreboard",
    "math_pipe_throttle": "math_pipe_throttle",
    "membar": "membar",
    "mio_throttle": "mio_throttle",
    "misc": "misc",
    "no_instructions": "no_instruction",
    "not_selected": "not_selected",
    "selected": "selected",
    "short_scoreboard": "short_scoreboard",
    "tex_throttle": "tex_throttle",
    "wait": "wait",
}
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
_NAMED: Final = 4


def todays_name(name: str) -> str:
    """What a metric is called today; the name itself where that is not known to be another."""
    return TODAY[name][0] if name in TODAY else name


def unit_of(name: str, unit: str) -> str:
    """The unit of a metric, where its report may not give one."""
    return unit or (TODAY[name][1] if name in TODAY else "")


def left_out(names: Sequence[str]) -> str:
    """A sentence that names metrics of those versions without a counterpart; empty without any."""
    if not any(name in TODAY for name in names):
        return ""
    unknown = [
        name
        for name in names
        if name not in TODAY and _UNITS_OF_CHIP.fullmatch(name) and not _AS_TODAY.match(name)
    ]
    if not unknown:
        return ""
    more = len(unknown) - _NAMED
    return (
        "The metrics have the names of Nsight Compute before 2019.1. Those that are known to mean "
        "the same as today's were used; the others were not, such as "
        f"{', '.join(unknown[:_NAMED])}{f' and {more} more' if more > 0 else ''}."
    )
