"""Which waste was looked for before a unit is said to do needed work at its limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.analysis.rules import EvidenceItem, Subsystem, percent

if TYPE_CHECKING:
    from kernelprof.analysis.rules import Rule, RuleContext


_WHAT = {
    "global_sectors": "needless sectors",
    "shared_wavefronts": "bank conflicts",
    "local_sectors": "local memory",
    "threads_per_instruction": "idle threads",
    "dfma_rate": "conversions to FP64",
}


def list_sought(context: RuleContext, rule: Rule) -> tuple[EvidenceItem, ...]:
    """Return the shares of work that could be needless on this rule's unit, in percent."""
    waste = context.waste
    shares = {"local_sectors": waste.local_part}
    match rule.subsystem:
        case Subsystem.DRAM:
            shares["global_sectors"] = 1.0 - waste.useful_dram_share
        case Subsystem.L2:
            shares["global_sectors"] = 1.0 - waste.useful_l2_share
        case Subsystem.L1:
            shares["global_sectors"] = waste.excess_sectors
            shares["shared_wavefronts"] = waste.bank_conflicts
        case Subsystem.SHARED:
            shares = {"shared_wavefronts": waste.bank_conflicts}
        case _:
            shares["threads_per_instruction"] = waste.idle_threads
    if rule.slug == "sfu-throughput":
        shares["dfma_rate"] = context.units.conversions_at_most
    formula = "needless / all"
    return tuple(
        percent(metric, _WHAT[metric], share, formula=formula) for metric, share in shares.items()
    )
