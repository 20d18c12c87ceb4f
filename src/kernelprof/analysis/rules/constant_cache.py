"""constant-cache: threads of a warp read different constants and are served one after the other."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice
from kernelprof.analysis.metrics import groups

BUSY = rules.Threshold(
    "cache of indexed constants",
    groups.BUSY_CONSTANTS,
    "share of cycles",
    "capture tests/captures/validation/raw.csv.gz: 67 % in table_constant, which a table in shared "
    "memory makes 184x faster; up to 53 % where warps do not queue for it",
)

QUEUE = rules.Threshold(
    "warp time in the MIO queue",
    groups.LONG_QUEUE,
    "share",
    "Nsight Compute 2025.3, rule CPIStall: a stall that takes 30 % of a warp's time; 79 % in "
    "table_constant",
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units = context.units
    waiting = units.constant_queue
    others = units.busiest_except("constant_cache", "adu_pipe", "sm")
    gone = (waiting + units.warps.queue_share("short_scoreboard")).at_most(1.0)
    relief = context.gains.by_relief(others).at_most(1.0 / (1.0 - gone).at_least(1e-3))
    return rules.RuleFinding(
        gain=relief.at_least(1.0).where(units.constant_unit > 0.0, 1.0),
        gain_reason="warps that no longer queue for constants or wait for them, until the busiest "
        "other unit is full",
        evidence=lambda: (
            rules.percent(
                "constant_cache", "cache of indexed constants", units.constant_cache, ">=", BUSY
            ),
            rules.percent(
                "stall_mio_throttle",
                "warp time queueing for it",
                waiting,
                ">",
                QUEUE,
                formula="mio_throttle / cycles per instruction",
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
        plain="Threads of a warp read different constants, which are served one after the other.",
        numbered="Threads of a warp read different constants, which are served one after the "
        "other: warps spend {x} of their time queueing for them.",
        metric="stall_mio_throttle",
    ),
    detects="Reads of __constant__ memory with an index that differs between the threads of a "
    "warp.",
    matters="The constant cache delivers one address a cycle to a whole warp. 32 different "
    "addresses take 32 turns, and more where the table does not fit into the 2 KB of the SM's own "
    "cache.",
    example="__constant__ float table[4096]; table[hash & 4095] in every thread; the same table "
    "copied to shared memory is 184x faster on an H200.",
    fixes=(
        Advice(
            "Copy the table to shared memory, where 32 banks serve different addresses at once."
        ),
        Advice("Read it from global memory through L1 (const __restrict__, __ldg)."),
        Advice(
            "Let all threads of a warp use the same index, and keep what a thread needs again in a "
            "register."
        ),
    ),
    wrong_when="Constants that all threads read at one address are as fast as registers, however "
    "many there are.",
    references=(
        "CUDA C++ Programming Guide, Device Memory Accesses: Constant Memory",
        "Nsight Compute, Memory Tables: IDC, indexed constant cache",
    ),
    requires=("constant_cache",),
    thresholds=(BUSY, QUEUE),
    evaluate=evaluate,
)
