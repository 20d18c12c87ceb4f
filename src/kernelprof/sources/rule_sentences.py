"""Numbers that Nsight Compute's own rules print in sentences on the details page.

The page shows few metrics, but its rules quote many that it does not show. Each sentence gives
values under raw-page names where the raw page has the same number (checked by value on launches
exported as both pages), else under names of our own that begin with ``kernelprof__reported_``.
A sentence that is not there says nothing: rules keep silent below their thresholds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from kernelprof.model.capture import OWN_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable

PREFIX: Final = f"{OWN_COLUMNS}reported_"
_ELAPSED: Final = "avg.pct_of_peak_sustained_elapsed"
_N: Final = r"(\d[\d,]*(?:\.\d+)?)"


@dataclass(frozen=True, slots=True)
class Number:
    """A value from a sentence. ``share_of`` makes it a factor of another metric's value."""

    metric: str
    value: float
    unit: str
    share_of: str | None = None


@dataclass(frozen=True, slots=True)
class Sentence:
    """What one sentence says in numbers and in words (name, value)."""

    numbers: tuple[Number, ...] = ()
    words: tuple[tuple[str, str], ...] = ()


_STALLS: Final = (
    ("long_scoreboard", "scoreboard dependency on an? l1tex"),
    ("short_scoreboard", "scoreboard dependency on an? mio"),
    ("lg_throttle", r"(?:l1 instruction queue for )?local(?: and |/)global (?:\(lg\)|instruction)"),
    ("tex_throttle", "(?:l1 instruction queue for texture|l1tex instruction queue)"),
    ("mio_throttle", r"mio (?:\(memory input/output\) )?instruction queue"),
    ("math_pipe_throttle", "(?:the execution pipe|a math execution pipeline) to be available"),
    ("wait", "fixed latency execution dependency"),
    ("barrier", "sibling warps at a cta barrier"),
    ("membar", "on a memory barrier"),
    ("not_selected", "(?:micro scheduler to select|not being selected by the scheduler)"),
    ("no_instruction", "(?:to fetch an instruction|instruction cache miss|next instruction fetch)"),
    ("branch_resolving", "branch target to be computed"),
    ("dispatch_stall", "dispatch stall"),
    ("drain", "(?:after|exit).{0,60}outstanding memory"),
    ("imc_miss", "immediate constant cache"),
    ("sleeping", "sleep state"),
    ("gmma", "gmma|warpgroup"),
    ("misc", "miscellaneous hardware reason"),
)
"""How ncu words each stall reason, 2021 to 2025; looked for in the clause after "stalled"."""

_PIPE_CYCLES: Final = {
    "ALU": "sm__pipe_alu_cycles_active",
    "FMA": "sm__pipe_fma_cycles_active",
    "FP64": "sm__pipe_fp64_cycles_active",
    "Shared": "sm__pipe_shared_cycles_active",
    "Tensor": "sm__pipe_tensor_cycles_active",
}
_PIPE_INSTRUCTIONS: Final = {
    "ALU": "sm__inst_executed_pipe_alu",
    "FMA": "sm__inst_executed_pipe_fma",
    "FP64": "sm__inst_executed_pipe_fp64",
    "LSU": "sm__inst_executed_pipe_lsu",
    "Tensor (DP)": "sm__inst_executed_pipe_tensor_op_dmma",
    "Tensor (FP)": "sm__inst_executed_pipe_tensor_op_hmma",
    "Uniform": "sm__inst_executed_pipe_uniform",
    "XU": "sm__inst_executed_pipe_xu",
}

_IMBALANCED: Final = {
    "sms": "sm", "smsps": "smsp", "l1 slices": "l1tex", "l2 slices": "lts", "drams": "dram",
    "dram slices": "dram",
}  # fmt: skip


@lru_cache(maxsize=65536)
def read_sentence(rule: str, text: str) -> Sentence:
    """The numbers in what the rule ``rule`` (its identifier on the page) said."""
    reader = _READERS.get(rule)
    return reader(text) if reader is not None else Sentence()


def _value(digits: str) -> float:
    return float(digits.replace(",", ""))


def _search(pattern: str, text: str) -> re.Match[str] | None:
    return re.search(pattern, text, re.IGNORECASE | re.DOTALL)


def _stall(text: str) -> Sentence:
    match = _search(rf"spends {_N} cycles being stalled (.*?)(?:\.\s|\.$|$)", text)
    if match is None:
        return Sentence()
    numbers = []
    for reason, wording in _STALLS:
        if _search(wording, match[2]):
            name = f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"
            numbers.append(Number(name, _value(match[1]), "inst"))
            break
    total = _search(rf"total average of {_N} cycles", text)
    if total is not None:
        name = "smsp__average_warp_latency_per_inst_issued.ratio"
        numbers.append(Number(name, _value(total[1]), "cycle"))
    return Sentence(tuple(numbers))


def _excess(text: str, kind: str, all_of: str, ideal: str) -> Sentence:
    match = _search(rf"total of {_N} excessive {kind} \({_N}% of the total {_N} {kind}\)", text)
    if match is None:
        return Sentence()
    excessive, total = _value(match[1]), _value(match[3])
    return Sentence((Number(all_of, total, "sector"), Number(ideal, total - excessive, "sector")))


def _uncoalesced_global(text: str) -> Sentence:
    name = "memory_l2_theoretical_sectors_global"
    return _excess(text, "sectors", name, f"{name}_ideal")


def _uncoalesced_shared(text: str) -> Sentence:
    name = "memory_l1_wavefronts_shared"
    return _excess(text, "wavefronts", name, f"{name}_ideal")


def _bank_conflicts(text: str) -> Sentence:
    match = _search(
        rf"across all {_N} shared (load|store) requests.*?results in {_N} bank conflicts"
        rf".*?overall {_N} wavefronts",
        text,
    )
    if match is None:
        return Sentence()
    way = {"load": "ld", "store": "st"}[match[2].lower()]
    return Sentence(
        (
            Number(f"smsp__sass_inst_executed_op_shared_{way}.sum", _value(match[1]), "inst"),
            Number(
                f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{way}.sum",
                _value(match[3]),
                "",
            ),
            Number(
                f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{way}.sum", _value(match[4]), ""
            ),
        )
    )


def _access_pattern(text: str) -> Sentence:
    match = _search(
        rf"for (global|local) (load|store)s? (?:from|to) \w+.*?only {_N} of the {_N} bytes", text
    )
    if match is None:
        return Sentence()
    space = match[1].lower()
    way = {"load": "ld", "store": "st"}[match[2].lower()]
    name = f"smsp__sass_average_data_bytes_per_sector_mem_{space}_op_{way}.ratio"
    numbers = [Number(name, _value(match[3]), "byte/sector")]
    missed = _search(rf"applies to the {_N}% of sectors missed in L1TEX", text)
    if missed is not None:
        ours = f"{PREFIX}l1_missed_sectors_mem_{space}_op_{way}_pct"
        numbers.append(Number(ours, _value(missed[1]), "%"))
    return Sentence(tuple(numbers))


def _pipes(text: str) -> Sentence:
    under = f"{PREFIX}pipes_underutilized"
    if _search("all compute pipelines are under-utilized", text):
        return Sentence((Number(under, 1.0, ""),))
    match = _search(rf"^(.{{1,40}}?) is the highest-utilized pipeline \({_N}%\)", text)
    if match is None:
        return Sentence()
    pipe, percent = match[1].strip(), _value(match[2])
    of_active = _search("highest-utilized pipeline .{0,20}based on active cycles", text)
    numbers = [Number(under, 0.0, "")]
    if of_active:
        numbers.append(Number(f"{PREFIX}highest_pipe_of_active_pct", percent, "%"))
    else:
        numbers.append(Number(f"{PREFIX}highest_pipe_pct", percent, "%"))
        if pipe in _PIPE_CYCLES:
            numbers.append(Number(f"{_PIPE_CYCLES[pipe]}.{_ELAPSED}", percent, "%"))
    words = [(f"{PREFIX}highest_pipe", pipe)]
    part = _search(r"dominated by its (.{1,40}?) sub-pipeline", text)
    if part is not None:
        words.append((f"{PREFIX}highest_pipe_part", part[1]))
    by_count = _search(
        rf"number of executed instructions, the highest utilized pipeline \({_N}%\) is ([^.]+)\.",
        text,
    )
    if by_count is not None:
        words.append((f"{PREFIX}highest_pipe_by_instructions", by_count[2].strip()))
        numbers.append(
            Number(f"{PREFIX}highest_pipe_by_instructions_pct", _value(by_count[1]), "%")
        )
        raw = _PIPE_INSTRUCTIONS.get(by_count[2].strip())
        if raw is not None and not of_active:
            numbers.append(Number(f"{raw}.{_ELAPSED}", _value(by_count[1]), "%"))
    return Sentence(tuple(numbers), tuple(words))


def _roofline(text: str) -> Sentence:
    found = re.findall(rf"{_N}% of (?:this device's|its) (FP\d+|\w+) peak", text, re.IGNORECASE)
    numbers = tuple(
        Number(f"{PREFIX}{kind.lower()}_peak_pct", _value(percent), "%")
        for percent, kind in found
        if kind.lower() in {"fp16", "fp32", "fp64"}
    )
    return Sentence(numbers)


def _divergence(text: str) -> Sentence:
    numbers = []
    active = _search(rf"average of {_N} threads being active", text)
    if active is not None:
        name = "smsp__thread_inst_executed_per_inst_executed.ratio"
        numbers.append(Number(name, _value(active[1]), ""))
    reduced = _search(rf"further reduced to {_N} threads per warp", text)
    if reduced is not None:
        name = "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"
        numbers.append(Number(name, _value(reduced[1]), ""))
    return Sentence(tuple(numbers))


def _fused(text: str) -> Sentence:
    match = _search(rf"executes {_N} fused and {_N} non-fused (FP\d+) instructions", text)
    if match is None:
        return Sentence()
    kind = f"{PREFIX}{match[3].lower()}"
    return Sentence(
        (
            Number(f"{kind}_fused_inst", _value(match[1]), "inst"),
            Number(f"{kind}_nonfused_inst", _value(match[2]), "inst"),
        )
    )


def _imbalance(text: str) -> Sentence:
    """``max`` is "above the average" by a share of the maximum, ``min`` by one of the average."""
    match = _search(
        rf"one or more (.+?) have a.*?{_N}% above the average.*?{_N}% below the average", text
    )
    unit = _IMBALANCED.get(match[1].strip().lower()) if match is not None else None
    if match is None or unit is None:
        return Sentence()
    above, below = _value(match[2]), _value(match[3])
    mean = f"{unit}__cycles_active.avg"
    numbers = [
        Number(f"{PREFIX}imbalance_{unit}_max_pct", above, "%"),
        Number(f"{PREFIX}imbalance_{unit}_min_pct", below, "%"),
        Number(f"{unit}__cycles_active.min", 1.0 - below / 100.0, "cycle", share_of=mean),
    ]
    if above < 100.0:
        factor = 1.0 / (1.0 - above / 100.0)
        numbers.append(Number(f"{unit}__cycles_active.max", factor, "cycle", share_of=mean))
    return Sentence(tuple(numbers))


def _occupancy(text: str) -> Sentence:
    numbers = []
    theoretical = _search(rf"theoretical(?: occupancy)? \({_N}%\)", text)
    if theoretical is not None:
        numbers.append(
            Number("sm__maximum_warps_per_active_cycle_pct", _value(theoretical[1]), "%")
        )
    achieved = _search(rf"measured achieved occupancy \({_N}%\)", text)
    if achieved is not None:
        name = "sm__warps_active.avg.pct_of_peak_sustained_active"
        numbers.append(Number(name, _value(achieved[1]), "%"))
    limits = re.findall(r"is limited by ([^.]+)\.", text, re.IGNORECASE)
    words = ((f"{PREFIX}occupancy_limiter", "; ".join(limits)),) if limits else ()
    return Sentence(tuple(numbers), words)


def _launch(text: str) -> Sentence:
    few = _search(rf"execute only {_N} blocks?.*?less than the GPU's {_N} multiproc", text)
    if few is not None:
        return Sentence(
            (
                Number("launch__grid_size", _value(few[1]), ""),
                Number("launch__sm_count", _value(few[2]), "SM"),
            )
        )
    tail = _search(
        rf"partial wave of {_N} thread blocks.*?up to {_N}% of the total (?:kernel )?runtime", text
    )
    if tail is None:
        return Sentence()
    return Sentence(
        (
            Number(f"{PREFIX}partial_wave_blocks", _value(tail[1]), "block"),
            Number(f"{PREFIX}partial_wave_pct", _value(tail[2]), "%"),
        )
    )


def _issue_slots(text: str) -> Sentence:
    numbers = []
    active = _search(rf"allocates an average of {_N} active warps per scheduler", text)
    if active is not None:
        name = "smsp__warps_active.avg.per_cycle_active"
        numbers.append(Number(name, _value(active[1]), "warp"))
    eligible = _search(rf"only an average of {_N} warps were eligible", text)
    if eligible is not None:
        name = "smsp__warps_eligible.avg.per_cycle_active"
        numbers.append(Number(name, _value(eligible[1]), "warp"))
    return Sentence(tuple(numbers))


_READERS: Final[dict[str, Callable[[str], Sentence]]] = {
    "CPIStall": _stall,
    "UncoalescedGlobalAccess": _uncoalesced_global,
    "UncoalescedSharedAccess": _uncoalesced_shared,
    "SharedMemoryConflicts": _bank_conflicts,
    "MemoryCacheAccessPattern": _access_pattern,
    "HighPipeUtilization": _pipes,
    "SOLFPRoofline": _roofline,
    "ThreadDivergence": _divergence,
    "FPInstructions": _fused,
    "WorkloadImbalance": _imbalance,
    "TheoreticalOccupancy": _occupancy,
    "AchievedOccupancy": _occupancy,
    "LaunchConfiguration": _launch,
    "IssueSlotUtilization": _issue_slots,
}
