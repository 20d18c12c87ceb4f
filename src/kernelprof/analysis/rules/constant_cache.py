"""constant-cache: threads of a warp read different constants, and the reads serialize."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice
from kernelprof.analysis.metrics import groups

BUSY = rules.Threshold(
    "utilization of the indexed constant cache",
    groups.BUSY_CONSTANTS,
    "share of cycles",
    "capture tests/captures/validation/raw.csv.gz: 67 % in table_constant, which is 184x faster "
    "with the table in shared memory; up to 53 % in kernels whose warps do not queue for this "
    "cache",
)

QUEUE = rules.Threshold(
    "warp time spent waiting for the MIO queue",
    groups.LONG_QUEUE,
    "share",
    "Nsight Compute 2025.3, rule CPIStall: reports a stall that takes 30 % of warp time; "
    "table_constant has 79 %",
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units = context.units
    waiting = units.constant_queue
    others = units.busiest_except("constant_cache", "adu_pipe", "sm")
    gone = (waiting + units.warps.queue_share("short_scoreboard")).at_most(1.0)
    relief = context.gains.by_relief(others).at_most(1.0 / (1.0 - gone).at_least(1e-3))
    adu = context.facts.fraction("adu_pipe").at_least(1e-3)
    constants_of_adu = (units.constant_cache / adu).at_most(1.0)
    return rules.RuleFinding(
        gain=relief.at_least(1.0).where(units.constant_unit > 0.0, 1.0),
        # The table moves to another memory; all its requests passed the ADU pipe.
        effect=lambda _: rules.Effect(
            units={"constant_cache": 0.0, "adu_pipe": (1.0 - constants_of_adu).middle},
            waits=("mio_throttle", "short_scoreboard"),
        ),
        gain_reason="the utilization of the busiest other unit, and the waits for constants",
        evidence=lambda: (
            rules.percent(
                "constant_cache",
                "indexed constant cache utilization",
                units.constant_cache,
                ">=",
                BUSY,
            ),
            rules.percent(
                "stall_mio_throttle",
                "warp time spent queueing for constants",
                waiting,
                ">",
                QUEUE,
                formula="mio_throttle / cycles per instruction",
                phrase="{x} of warp time spent queueing for constants",
            ),
            rules.issue_slots(context),
            rules.l1_utilization(context),
        ),
    )


RULE = rules.Rule(
    slug="constant-cache",
    title="Constant cache",
    order=25,
    subsystem=rules.Subsystem.INSTRUCTIONS,
    headline=rules.Headline(
        plain="Threads of a warp read different constants, and the reads serialize.",
        numbered="Threads of a warp read different constants, and the reads serialize: warps spend "
        "{x} of their time queueing for constants.",
        metric="stall_mio_throttle",
    ),
    detects="The threads of a warp read __constant__ memory at different addresses, and the reads "
    "serialize.",
    matters="The constant cache serves one address per cycle: 32 different addresses in a "
    "warp take 32 cycles. The reads take longer if the table exceeds the SM's own 2 KB "
    "constant cache.",
    example="Every thread reads table[hash & 4095] of __constant__ float table[4096]. The same "
    "table in shared memory is 184x faster on an H200.",
    fixes=(
        Advice("Copy the table to shared memory: its 32 banks serve different addresses at once."),
        Advice("Read the table from global memory through L1 (const __restrict__, __ldg)."),
        Advice(
            "Use the same index in all threads of a warp, and keep reused constants in registers."
        ),
    ),
    wrong_when="If all threads of a warp read the same address, a cached constant is as fast as a "
    "register.",
    references=(
        "CUDA C++ Programming Guide, Device Memory Accesses: Constant Memory",
        "Nsight Compute, Memory Tables: IDC, indexed constant cache",
    ),
    requires=("constant_cache",),
    thresholds=(BUSY, QUEUE),
    evaluate=evaluate,
)
