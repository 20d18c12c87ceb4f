"""debug-build: the code was compiled for debugging, so no other verdict about it means anything."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice

FIXED_WAIT = rules.Threshold(
    "cycles of a warp in the state wait, per instruction",
    11.0,
    "cycle",
    "12 kernels built with -G (RTX 3060, ncu 2024.1) wait 13.3 to 14.7 cycles; of 1,100 launches "
    "of optimized code in our captures the longest waits 8.3 (steps_of_chains in cuda/pairs)",
)

LEAST_SHARE = rules.Threshold(
    "share of a warp's time in the state wait",
    0.2,
    "share",
    "30 to 66 % in the same 12 kernels and in two of cuda/pairs (H200); each instruction waits, so "
    "a large part of the time is this",
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    wait = context.facts["stall_wait"]
    cycles = context.units.warps.cycles_per_instruction
    built_so = (wait >= FIXED_WAIT.value) & (wait >= cycles * LEAST_SHARE.value)
    gain = (cycles / (cycles - wait).at_least(1.0)).at_least(1.0)
    return rules.RuleFinding(
        # What is not known to be so does not stand against other rules.
        gain=gain.where(built_so, 1.0).low_only(),
        gain_reason="instructions that no longer wait for the one before",
        overrules=built_so,
        evidence=lambda: (
            rules.EvidenceItem(
                "stall_wait",
                "cycles that each instruction waits for the one before",
                wait,
                "cycle",
                ">=",
                FIXED_WAIT.value,
            ),
        ),
    )


FIXES = (
    Advice("Compile without -G (use -lineinfo to see source lines), and measure again."),
    Advice("In CMake, build RelWithDebInfo or Release instead of Debug."),
)

RULE = rules.Rule(
    slug="debug-build",
    title="Built for debugging",
    order=5,
    subsystem=rules.Subsystem.INSTRUCTIONS,
    headline=rules.Headline(
        plain="The kernel was compiled for debugging, so nothing else about it means anything.",
        numbered="The kernel was compiled for debugging: each instruction waits {x} for the one "
        "before it. Nothing else about it means anything.",
        metric="stall_wait",
        unit="cycle",
    ),
    detects="Device code that was compiled with -G: without optimization, every instruction waits "
    "for the one before it.",
    matters="Such code is several times slower than what users get, and slower for other reasons. "
    "A bottleneck of it says nothing of the optimized kernel.",
    example="nvcc -G -o app app.cu, as debuggers and some editors' build tasks do; the profile "
    "then shows 13 to 15 cycles of the state wait for each instruction.",
    fixes=FIXES,
    caller=FIXES,
    wrong_when="Optimized code in which nearly every instruction has a fixed latency of eleven "
    "cycles or more has not been seen.",
    references=(
        "CUDA Compiler Driver NVCC: --device-debug (-G)",
        "Nsight Compute, Warp State Statistics: Stall Wait",
    ),
    requires=("stall_wait",),
    thresholds=(FIXED_WAIT, LEAST_SHARE),
    evaluate=evaluate,
)
