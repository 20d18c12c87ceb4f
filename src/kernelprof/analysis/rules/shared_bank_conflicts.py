"""shared-bank-conflicts: shared-memory accesses serialize on the banks they hit."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice
from kernelprof.analysis.metrics import groups

NOTABLE_CONFLICTS = rules.Threshold(
    "notable conflicts",
    groups.NOTABLE_WASTE,
    "share of wavefronts",
    "capture tests/captures/gemm_series.full.raw.csv: arbitration alone shows up to 14 % in stores "
    "of gemm_tiled<32>, which has no conflicting addresses; bank_conflict with stride 32 has 97 %",
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units, waste = context.units, context.waste
    # Atomics on one word serialize as conflicts do, but better addresses are not the way out.
    conflicts = waste.bank_conflicts * (1.0 - waste.shared_atomic_part)
    remaining = units.busiest(
        units.busiest_except("l1"),
        units.saturations["l1"] * (1.0 - conflicts * waste.shared_part_of_l1),
    )
    waiting = units.warps.stall_share("short_scoreboard", "mio_throttle") * conflicts
    return rules.RuleFinding(
        gain=context.gains.by_waste(conflicts, remaining, waiting),
        gain_reason="the busiest unit after the extra wavefronts are gone",
        evidence=lambda: (
            rules.percent(
                "shared_wavefronts",
                "wavefronts added by bank conflicts",
                conflicts,
                ">",
                NOTABLE_CONFLICTS,
                formula="1 - ideal / actual wavefronts of shared memory, without atomics",
            ),
            rules.l1_utilization(context),
            rules.measured(
                context, "shared_wavefronts_share", "L1 data stage filled by shared memory"
            ),
        ),
    )


RULE = rules.Rule(
    slug="shared-bank-conflicts",
    title="Shared-memory bank conflicts",
    order=20,
    subsystem=rules.Subsystem.SHARED,
    headline=rules.Headline(
        plain="Threads of a warp want different words of one shared-memory bank and have to take "
        "turns.",
        numbered="Threads of a warp want different words of one shared-memory bank and have to "
        "take turns, which makes up {x} of the accesses' work.",
        metric="shared_wavefronts",
    ),
    detects="Shared-memory accesses in which several threads of a warp want different words of the "
    "same bank, so that one access takes several wavefronts, while that pipe is the limit.",
    matters="Shared memory serves 32 banks of 4 bytes a cycle. A 32-way conflict makes one access "
    "take 32 cycles of the data stage that L1 and shared memory have in common.",
    example="tile[threadIdx.x][k] with rows of 32 floats puts a whole warp into one bank; rows of "
    "33 floats spread it over all 32.",
    fixes=(
        Advice("Pad rows by one element: __shared__ float tile[32][33]."),
        Advice("Swizzle the column with the row: tile[y][x ^ y]."),
        Advice("Read along the dimension that is contiguous in shared memory."),
    ),
    wrong_when="Wide accesses (8 and 16 bytes per thread) need 2 and 4 wavefronts by nature; they "
    "are compared with that ideal. The conflict counter also counts arbitration, so a few percent "
    "mean nothing, and conflicts off the critical path cost nothing.",
    references=(
        "CUDA C++ Best Practices Guide, Shared Memory and Memory Banks",
        "Nsight Compute, Source Counters: L1 Wavefronts Shared Excessive",
    ),
    requires=("shared_wavefronts", "shared_wavefronts_ideal"),
    thresholds=(NOTABLE_CONFLICTS,),
    evaluate=evaluate,
)
