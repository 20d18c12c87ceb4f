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
    "capture tests/captures/gemm_series.full.raw.csv: 99 % in spill, 0 in every other kernel; a "
    "quarter of the sectors is what the other waste rules call notable",
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units, waste = context.units, context.waste
    unit = units.saturations
    local = waste.local_part
    needed_share = 1.0 - local
    remaining = units.busiest(
        units.busiest_except("l1", "l2", "dram"),
        unit["l1"] * (1.0 - local * (1.0 - waste.shared_part_of_l1)),
        unit["l2"] * needed_share.at_least(waste.global_part_of_l2),
        unit["dram"] * needed_share.at_least(waste.global_part_of_dram),
    )
    waiting = units.warps.stall_share("long_scoreboard", "lg_throttle") * local
    return rules.RuleFinding(
        gain=context.gains.by_waste(local, remaining, waiting),
        gain_reason="memory time without the local sectors",
        evidence=lambda: (
            rules.percent(
                "local_sectors",
                "sectors that are local memory",
                local,
                ">",
                NOTABLE_LOCAL,
                formula="local sectors / (local + global sectors)",
            ),
            rules.percent(
                "stall_long_scoreboard",
                "warp time waiting for memory",
                units.warps.stall_share("long_scoreboard", "lg_throttle"),
                formula="(long_scoreboard + lg_throttle) / cycles per instruction",
            ),
            rules.l1_utilization(context),
            rules.l2_stage(context),
        ),
    )


_ONLY_SPILLS = Condition(
    "most of the local accesses are spills", lambda launch: launch.raw(SPILLING_SHARE) >= 50.0
)
_MORE_REGISTERS = Condition(
    "a thread can have more of them",
    lambda launch: launch["registers_per_thread"] < COMMON.registers_per_thread,
)


RULE = rules.Rule(
    slug="local-memory-traffic",
    title="Local-memory traffic",
    order=30,
    subsystem=rules.Subsystem.L1,
    headline=rules.Headline(
        plain="Threads keep more data than fits into registers, and moving it to and from memory "
        "takes the time.",
        numbered="Threads keep more data than fits into registers, and {x} of the memory traffic "
        "only moves it out and back in.",
        metric="local_sectors",
    ),
    detects="Loads and stores of local memory: registers that the compiler spilled, and arrays "
    "that are indexed with values known only at run time.",
    matters="Local memory lives in device memory behind L1 and L2. What should cost nothing as a "
    "register costs a memory access per thread, and 32 sectors per warp if indices differ.",
    example="float a[64]; a[i % 64] with a run-time i lives in local memory; with a fully unrolled "
    "loop every index is a constant and the array stays in registers.",
    fixes=(
        Advice(
            "Unroll loops over small arrays so that every index is a constant.", unless=_ONLY_SPILLS
        ),
        Advice("Put arrays that need run-time indices into shared memory.", unless=_ONLY_SPILLS),
        Advice(
            "Keep fewer values live: smaller tiles per thread, or split the kernel.",
            unless=NO_SPILLS,
        ),
        Advice(
            "Raise the register budget (__launch_bounds__, -maxrregcount): a thread has {x}.",
            when=SPILLS & _MORE_REGISTERS,
            number=lambda launch: launch["registers_per_thread"],
        ),
    ),
    wrong_when="Spills outside the hot loop cost little: the share of sectors decides, not that "
    "there are some.",
    references=(
        "CUDA C++ Programming Guide, Device Memory Accesses: Local Memory",
        "nvcc -Xptxas -v prints spill stores and loads of each kernel",
    ),
    requires=("local_sectors", "global_sectors"),
    thresholds=(NOTABLE_LOCAL,),
    evaluate=evaluate,
)
