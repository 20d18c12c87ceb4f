"""debug-build: the kernel was compiled with -G, so its profile is not that of optimized code."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice

FIXED_WAIT = rules.Threshold(
    "stall wait, cycles per instruction",
    11.0,
    "cycle",
    "12 kernels built with -G (RTX 3060, ncu 2024.1): 13.3 to 14.7 cycles; the maximum of 1,100 "
    "launches of optimized code is 8.3 (steps_of_chains in cuda/pairs)",
)

LEAST_SHARE = rules.Threshold(
    "stall wait, share of warp time",
    0.2,
    "share",
    "30 to 66 % in the 12 RTX 3060 kernels and in two cuda/pairs kernels built with -G (H200)",
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    wait = context.facts["stall_wait"]
    cycles = context.units.warps.cycles_per_instruction
    built_so = (wait >= FIXED_WAIT.value) & (wait >= cycles * LEAST_SHARE.value)
    gain = (cycles / (cycles - wait).at_least(1.0)).at_least(1.0)
    return rules.RuleFinding(
        # What is not known to be so does not stand against other rules.
        gain=gain.where(built_so, 1.0).low_only(),
        gain_reason="the warp time that would remain without the fixed latency of each instruction",
        overrules=built_so,
        evidence=lambda: (
            rules.EvidenceItem(
                "stall_wait",
                "cycles that each instruction waits for the previous one",
                wait,
                "cycle",
                ">=",
                FIXED_WAIT.value,
                phrase="each instruction waits {n} cycles for the previous one",
            ),
        ),
    )


FIXES = (
    Advice("Compile without -G (-lineinfo keeps source lines), and profile again."),
    Advice("In CMake, use RelWithDebInfo or Release instead of Debug."),
)

RULE = rules.Rule(
    slug="debug-build",
    title="Built for debugging",
    order=5,
    subsystem=rules.Subsystem.INSTRUCTIONS,
    headline=rules.Headline(
        plain="The kernel was compiled for debugging (-G): its profile does not represent "
        "optimized code.",
        numbered="The kernel was compiled for debugging (-G): each instruction waits {x} cycles "
        "for the previous one. The profile does not represent optimized code.",
        metric="stall_wait",
        unit="cycle",
    ),
    detects="The device code was compiled with -G. Without optimization, every instruction waits "
    "for the previous one.",
    matters="Debug code is several times slower than release code. Its bottleneck differs from "
    "that of the optimized kernel.",
    example="nvcc -G -o app app.cu: the default of some debugger and editor build tasks. The "
    "profile then shows 13 to 15 cycles of stall wait per instruction.",
    fixes=FIXES,
    caller=FIXES,
    wrong_when="Optimized code could trigger this rule only if nearly every instruction had a "
    "fixed latency of eleven cycles or more. None of our captures contains such a kernel.",
    references=(
        "CUDA Compiler Driver NVCC: --device-debug (-G)",
        "Nsight Compute, Warp State Statistics: Stall Wait",
    ),
    requires=("stall_wait",),
    thresholds=(FIXED_WAIT, LEAST_SHARE),
    evaluate=evaluate,
)
