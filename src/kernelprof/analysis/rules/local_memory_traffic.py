"""local-memory-traffic: spills and run-time-indexed arrays go through the memory system."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, Condition
from kernelprof.analysis.advice.lines import NO_SPILLS, SPILLS
from kernelprof.analysis.metrics import groups
from kernelprof.analysis.metrics.architectures import COMMON
from kernelprof.analysis.metrics.catalogue import SPILLING_SHARE

NOTABLE_LOCAL = rules.Threshold(
    "notable local traffic",
    groups.NOTABLE_WASTE,
    "share of sectors",
    "capture tests/captures/gemm_series.full.raw.csv: 99 % in kernel 'spill', 0 % in all others; "
    "the other waste rules use the same threshold",
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units, waste = context.units, context.waste
    unit = units.saturations
    local = waste.local_part
    needed_share = 1.0 - local
    remaining_parts = {
        "l1": 1.0 - local * (1.0 - waste.shared_part_of_l1),
        "l2": needed_share.at_least(waste.global_part_of_l2),
        "dram": needed_share.at_least(waste.global_part_of_dram),
    }
    remaining = units.busiest(
        units.busiest_except(*remaining_parts),
        *(unit[name] * part for name, part in remaining_parts.items()),
    )
    waiting = units.warps.stall_share("long_scoreboard", "lg_throttle") * local
    return rules.RuleFinding(
        gain=context.gains.by_waste(local, remaining, waiting),
        gain_reason="the utilization of the busiest unit once the local-memory sectors are removed",
        effect=lambda _: rules.Effect(
            units={**{name: part.middle for name, part in remaining_parts.items()}, "shared": 1.0},
            counters={
                **dict.fromkeys(
                    ("local_sectors", "local_load_sectors", "local_store_sectors"), 0.0
                ),
                "l2_sectors_from_l1": remaining_parts["l2"].middle,
            },
            waits=("lg_throttle", "long_scoreboard", "drain"),
        ),
        evidence=lambda: (
            rules.percent(
                "local_sectors",
                "sectors of local memory",
                local,
                ">",
                NOTABLE_LOCAL,
                formula="local sectors / (local + global sectors)",
                phrase="{x} of memory sectors are for local memory",
            ),
            rules.percent(
                "stall_long_scoreboard",
                "warp time spent waiting for memory",
                units.warps.stall_share("long_scoreboard", "lg_throttle"),
                formula="(long_scoreboard + lg_throttle) / cycles per instruction",
                phrase="{x} of warp time spent waiting for memory",
            ),
            rules.l1_utilization(context),
            rules.l2_stage(context),
        ),
    )


_ONLY_SPILLS = Condition(
    "most local accesses are spills", lambda launch: launch.raw(SPILLING_SHARE) >= 50.0
)
_MORE_REGISTERS = Condition(
    "a thread has fewer registers than the hardware allows",
    lambda launch: launch["registers_per_thread"] < COMMON.registers_per_thread,
)


RULE = rules.Rule(
    slug="local-memory-traffic",
    title="Local-memory traffic",
    order=30,
    subsystem=rules.Subsystem.L1,
    headline=rules.Headline(
        plain="Register spills, or arrays with run-time indices, move data through local memory.",
        numbered="Register spills, or arrays with run-time indices, cause {x} of the memory "
        "traffic.",
        metric="local_sectors",
    ),
    detects="Loads and stores of local memory dominate the time: register spills, and arrays "
    "indexed with values known only at run time.",
    matters="Local memory resides in device memory and is cached in L1 and L2. A value that "
    "should be in a register costs a memory access per thread, and 32 sectors per warp if "
    "its threads use different indices.",
    example="float a[64], indexed as a[i % 64] with a run-time i, resides in local memory. In a "
    "fully unrolled loop every index is a constant, and the array stays in registers.",
    fixes=(
        Advice(
            "Unroll loops over small arrays so that every index is a constant.", unless=_ONLY_SPILLS
        ),
        Advice("Move arrays with run-time indices to shared memory.", unless=_ONLY_SPILLS),
        Advice(
            "Keep fewer values live: use smaller tiles per thread, or split the kernel.",
            unless=NO_SPILLS,
        ),
        Advice(
            "Raise the register limit (__launch_bounds__, -maxrregcount).",
            when=SPILLS & _MORE_REGISTERS,
            number=lambda launch: launch["registers_per_thread"],
            measured="A thread has {x} registers.",
        ),
    ),
    wrong_when="Spills outside the hot loop cost little. The rule uses the share of local sectors, "
    "not the number of spills.",
    references=(
        "CUDA C++ Programming Guide, Device Memory Accesses: Local Memory",
        "nvcc -Xptxas -v prints spill stores and loads of each kernel",
    ),
    requires=("local_sectors", "global_sectors"),
    thresholds=(NOTABLE_LOCAL,),
    evaluate=evaluate,
)
