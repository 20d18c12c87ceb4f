"""Numbers in the messages that Nsight Compute's own rules print on the details page.

The page shows few metrics, but its rules quote many that it does not show. Each message gives
values under raw-page names where the raw page has the same number (checked by value on launches
exported as both pages), else under names of our own that begin with ``kernelprof__reported_``.
No message is no evidence: rules print nothing below their thresholds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from kernelprof.model.capture import OWN_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Wording = tuple[str, *tuple[tuple[str, str], ...]]

PREFIX: Final = f"{OWN_COLUMNS}reported_"
_ELAPSED: Final = "avg.pct_of_peak_sustained_elapsed"
_N: Final = r"(\d[\d,]*(?:\.\d+)?)"


@dataclass(frozen=True, slots=True)
class ReportedNumber:
    """A value from a message.

    It is multiplied by the metric ``share_of`` and divided by ``share_by``; without these on the
    page it is dropped.
    """

    metric: str
    value: float
    unit: str
    share_of: str | None = None
    share_by: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """The numbers in one message, and its texts by name."""

    numbers: tuple[ReportedNumber, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()


@lru_cache(maxsize=65536)
def read_message(rule: str, text: str) -> Message:
    """Parse a message of the rule ``rule`` (its identifier on the page)."""
    if rule in _READERS:
        return _READERS[rule](text)
    return Message(tuple(_match_wordings(_WORDINGS.get(rule, ()), text)))


def recognise_message(text: str) -> str:
    """Find the rule of a message, where the page does not name it; empty where none is known."""
    rules = (*_READERS, *_WORDINGS)
    return next((rule for rule in rules if read_message(rule, text).numbers), "")


def _match_wordings(wordings: Iterable[Wording], text: str) -> Iterator[ReportedNumber]:
    """Yield the numbers in a message: the n-th of a wording is of its n-th metric (name, unit).

    What named groups found, as ``ncu`` abbreviates it, goes into the braces of the names.
    """
    for wording, *metrics in wordings:
        for match in re.finditer(wording, text, re.IGNORECASE | re.DOTALL):
            words = {name: each.lower() for name, each in match.groupdict().items()}
            short = {name: _SHORT.get(word, word) for name, word in words.items()}
            named_groups = set(match.re.groupindex.values())
            numbers = [each for at, each in enumerate(match.groups(), 1) if at not in named_groups]
            for (name, unit), number in zip(metrics, numbers, strict=True):
                if number is not None:
                    yield ReportedNumber(name.format(**short), _parse_value(number), unit)


_SHORT: Final = {"load": "ld", "store": "st"}

_WORDINGS: Final[dict[str, tuple[Wording, ...]]] = {
    "SharedMemoryConflicts": (
        (
            rf"across all {_N} shared (?P<way>load|store) requests.*?results in {_N} bank conflicts"
            rf".*?overall {_N} wavefronts",
            ("smsp__sass_inst_executed_op_shared_{way}.sum", "inst"),
            ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{way}.sum", ""),
            ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{way}.sum", ""),
        ),
    ),
    "MemoryCacheAccessPattern": (
        (
            r"for (?P<space>global|local) (?P<way>load|store)s? (?:from|to) \w+"
            rf".*?only {_N} of the \d[\d,.]* bytes"
            rf"(?:.*?applies to the {_N}% of sectors missed in L1TEX)?",
            ("smsp__sass_average_data_bytes_per_sector_mem_{space}_op_{way}.ratio", "byte/sector"),
            (f"{PREFIX}l1_missed_sectors_mem_{{space}}_op_{{way}}_pct", "%"),
        ),
    ),
    "ThreadDivergence": (
        (
            rf"average of {_N} threads being active",
            ("smsp__thread_inst_executed_per_inst_executed.ratio", ""),
        ),
        (
            rf"further reduced to {_N} threads per warp",
            ("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio", ""),
        ),
    ),
    "FPInstructions": (
        (
            rf"executes {_N} fused and {_N} non-fused (?P<kind>FP\d+) instructions",
            (f"{PREFIX}{{kind}}_fused_inst", "inst"),
            (f"{PREFIX}{{kind}}_nonfused_inst", "inst"),
        ),
    ),
    "SOLFPRoofline": (
        (
            rf"{_N}% of (?:this device's|its) (?P<kind>FP(?:16|32|64)) peak",
            (f"{PREFIX}{{kind}}_peak_pct", "%"),
        ),
    ),
    "LaunchConfiguration": (
        (
            rf"execute only {_N} blocks?.*?less than the GPU's {_N} multiproc",
            ("launch__grid_size", ""),
            ("launch__sm_count", "SM"),
        ),
        (
            rf"partial wave of {_N} thread blocks.*?up to {_N}% of the total (?:kernel )?runtime",
            (f"{PREFIX}partial_wave_blocks", "block"),
            (f"{PREFIX}partial_wave_pct", "%"),
        ),
    ),
    "IssueSlotUtilization": (
        (
            rf"allocates an average of {_N} active warps per scheduler",
            ("smsp__warps_active.avg.per_cycle_active", "warp"),
        ),
        (
            rf"only an average of {_N} warps were eligible",
            ("smsp__warps_eligible.avg.per_cycle_active", "warp"),
        ),
    ),
}
"""Rules whose messages are read by their wording alone: an expression, and the metrics in it."""

_OCCUPANCY: Final[tuple[Wording, ...]] = (
    (
        rf"theoretical(?: occupancy)? \({_N}%\)",
        ("sm__maximum_warps_per_active_cycle_pct", "%"),
    ),
    (
        rf"measured achieved occupancy \({_N}%\)",
        ("sm__warps_active.avg.pct_of_peak_sustained_active", "%"),
    ),
)

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

_LATENCY: Final = (
    rf"total average of {_N} cycles",
    ("smsp__average_warp_latency_per_inst_issued.ratio", "cycle"),
)

_PIPES_WITH_CYCLES: Final = ("ALU", "FMA", "FP64", "Shared", "Tensor")
_PIPE_INSTRUCTIONS: Final = {
    **{pipe: pipe.lower() for pipe in ("ALU", "FMA", "FP64", "LSU", "Uniform", "XU")},
    "Tensor (DP)": "tensor_op_dmma",
    "Tensor (FP)": "tensor_op_hmma",
}
"""Pipelines as messages call them, and in the names ``sm__inst_executed_pipe_*``."""

_IMBALANCED: Final = {
    "sms": "sm", "smsps": "smsp", "l1 slices": "l1tex", "l2 slices": "lts", "drams": "dram",
    "dram slices": "dram",
}  # fmt: skip


def _parse_value(digits: str) -> float:
    return float(digits.replace(",", ""))


def _search(pattern: str, text: str) -> re.Match[str] | None:
    return re.search(pattern, text, re.IGNORECASE | re.DOTALL)


def _read_stall(text: str) -> Message:
    match = _search(rf"spends {_N} cycles being stalled (.*?)(?:\.\s|\.$|$)", text)
    if match is None:
        return Message()
    numbers = list(_match_wordings((_LATENCY,), text))
    reason = next((each for each, wording in _STALLS if _search(wording, match[2])), None)
    if reason is not None:
        name = f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"
        numbers.insert(0, ReportedNumber(name, _parse_value(match[1]), "inst"))
    return Message(tuple(numbers))


def _read_excess(text: str, kind: str, name: str) -> Message:
    match = _search(rf"total of {_N} excessive {kind} \({_N}% of the total {_N} {kind}\)", text)
    if match is None:
        return Message()
    excessive, total = _parse_value(match[1]), _parse_value(match[3])
    ideal = ReportedNumber(f"{name}_ideal", total - excessive, "sector")
    return Message((ReportedNumber(name, total, "sector"), ideal))


def _read_pipes(text: str) -> Message:
    under = f"{PREFIX}pipes_underutilized"
    if _search("all compute pipelines are under-utilized", text):
        return Message((ReportedNumber(under, 1.0, ""),))
    match = _search(rf"^(.{{1,40}}?) is the highest-utilized pipeline \({_N}%\)", text)
    if match is None:
        return Message()
    pipe, percent = match[1].strip(), _parse_value(match[2])
    of_active = _search("highest-utilized pipeline .{0,20}based on active cycles", text)
    numbers = [
        ReportedNumber(under, 0.0, ""),
        _over_elapsed(f"{PREFIX}highest_pipe_pct", percent, of_active),
    ]
    if pipe in _PIPES_WITH_CYCLES:
        name = f"sm__pipe_{pipe.lower()}_cycles_active.{_ELAPSED}"
        numbers.append(_over_elapsed(name, percent, of_active))
    texts = [(f"{PREFIX}highest_pipe", pipe)]
    sub_pipeline = _search(r"dominated by its (.{1,40}?) sub-pipeline", text)
    if sub_pipeline is not None:
        texts.append((f"{PREFIX}highest_pipe_part", sub_pipeline[1]))
    by_count = _search(
        rf"number of executed instructions, the highest utilized pipeline \({_N}%\) is ([^.]+)\.",
        text,
    )
    if by_count is not None:
        pipe, percent = by_count[2].strip(), _parse_value(by_count[1])
        texts.append((f"{PREFIX}highest_pipe_by_instructions", pipe))
        numbers.append(ReportedNumber(f"{PREFIX}highest_pipe_by_instructions_pct", percent, "%"))
        if pipe in _PIPE_INSTRUCTIONS:
            name = f"sm__inst_executed_pipe_{_PIPE_INSTRUCTIONS[pipe]}.{_ELAPSED}"
            numbers.append(_over_elapsed(name, percent, of_active))
    return Message(tuple(numbers), tuple(texts))


def _over_elapsed(name: str, percent: float, of_active: re.Match[str] | None) -> ReportedNumber:
    """A utilization over all cycles, also where a message has it over those of active SMs."""
    both = (
        (None, None) if of_active is None else ("sm__cycles_active.avg", "gpc__cycles_elapsed.max")
    )
    return ReportedNumber(name, percent, "%", *both)


def _read_imbalance(text: str) -> Message:
    """``max`` is "above the average" by a share of the maximum, ``min`` by one of the average."""
    match = _search(
        rf"one or more (.+?) have a.*?{_N}% above the average.*?{_N}% below the average", text
    )
    unit = _IMBALANCED.get(match[1].strip().lower()) if match is not None else None
    if match is None or unit is None:
        return Message()
    above, below = _parse_value(match[2]), _parse_value(match[3])
    mean = f"{unit}__cycles_active.avg"
    numbers = [
        ReportedNumber(f"{PREFIX}imbalance_{unit}_max_pct", above, "%"),
        ReportedNumber(f"{PREFIX}imbalance_{unit}_min_pct", below, "%"),
        ReportedNumber(f"{unit}__cycles_active.min", 1.0 - below / 100.0, "cycle", share_of=mean),
    ]
    if above < 100.0:
        factor = 1.0 / (1.0 - above / 100.0)
        numbers.append(ReportedNumber(f"{unit}__cycles_active.max", factor, "cycle", share_of=mean))
    return Message(tuple(numbers))


def _read_occupancy(text: str) -> Message:
    limits = re.findall(r"is limited by ([^.]+)\.", text, re.IGNORECASE)
    texts = ((f"{PREFIX}occupancy_limiter", "; ".join(limits)),) if limits else ()
    return Message(tuple(_match_wordings(_OCCUPANCY, text)), texts)


_READERS: Final[dict[str, Callable[[str], Message]]] = {
    "CPIStall": _read_stall,
    "UncoalescedGlobalAccess": partial(
        _read_excess, kind="sectors", name="memory_l2_theoretical_sectors_global"
    ),
    "UncoalescedSharedAccess": partial(
        _read_excess, kind="wavefronts", name="memory_l1_wavefronts_shared"
    ),
    "HighPipeUtilization": _read_pipes,
    "WorkloadImbalance": _read_imbalance,
    "TheoreticalOccupancy": _read_occupancy,
    "AchievedOccupancy": _read_occupancy,
}
"""Rules whose messages need more than that."""
