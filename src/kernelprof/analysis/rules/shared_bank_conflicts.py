"""shared-bank-conflicts: shared-memory accesses serialize on few banks."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, Condition, LaunchValues
from kernelprof.analysis.advice.lines import MATRIX_TILES
from kernelprof.analysis.metrics import groups
from kernelprof.analysis.metrics.catalogue import SHARED_ROOM

NOTABLE_CONFLICTS = rules.Threshold(
    "notable conflicts",
    groups.NOTABLE_WASTE,
    "share of wavefronts",
    "capture tests/captures/gemm_series.full.raw.csv: up to 14 % from arbitration alone, in "
    "conflict-free stores of kernel gemm_tiled<32>; 97 % in kernel bank_conflict, stride 32",
)


_WAVEFRONTS = (
    "shared_wavefronts", "shared_wavefronts_measured", "shared_load_wavefronts",
    "shared_store_wavefronts",
)  # fmt: skip


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
        gain_reason="the utilization of the busiest unit once the extra wavefronts are removed",
        effect=lambda _: rules.Effect(
            units={
                "l1": (1.0 - conflicts * waste.shared_part_of_l1).middle,
                "shared": (1.0 - conflicts).middle,
            },
            counters={
                **dict.fromkeys(_WAVEFRONTS, (1.0 - conflicts).middle),
                "shared_bank_conflicts": 0.0,
            },
            waits=("mio_throttle", "short_scoreboard"),
        ),
        evidence=lambda: (
            rules.percent(
                "shared_wavefronts",
                "shared-memory wavefronts caused by bank conflicts",
                conflicts,
                ">",
                NOTABLE_CONFLICTS,
                formula="1 - ideal / actual shared-memory wavefronts, excluding atomics",
                phrase="{x} of shared-memory wavefronts are caused by bank conflicts",
            ),
            rules.l1_utilization(context),
            rules.measured(
                context,
                "shared_wavefronts_share",
                "L1 data stage used by shared memory",
                phrase="shared memory uses {x} of the L1 data stage",
            ),
        ),
    )


def _padding_costs_a_block(launch: LaunchValues) -> bool:
    block, room = (launch.raw(name) for name in SHARED_ROOM)
    padded = launch["block_limit_shared_mem"] * block * 33 / 32
    return launch.limited_by("shared_mem") and padded > room


_SCARCE = Condition("padded rows leave an SM room for fewer blocks", _padding_costs_a_block)

RULE = rules.Rule(
    slug="shared-bank-conflicts",
    title="Shared-memory bank conflicts",
    order=20,
    subsystem=rules.Subsystem.SHARED,
    headline=rules.Headline(
        plain="Shared-memory bank conflicts serialize the accesses of a warp.",
        numbered="Shared-memory bank conflicts cause {x} of the shared-memory wavefronts.",
        metric="shared_wavefronts",
    ),
    detects="Several threads of a warp access different words of one shared-memory bank. An access "
    "then takes several wavefronts, and the shared-memory pipe is the limit.",
    matters="Shared memory serves 32 banks of 4 bytes per cycle. A 32-way conflict takes 32 "
    "cycles of the data stage that L1 and shared memory share.",
    example="tile[threadIdx.x][k] with rows of 32 floats maps a whole warp to one bank. Rows of "
    "33 floats distribute the warp over all 32 banks.",
    fixes=(
        Advice(
            "Pad rows by 16 bytes, or swizzle their 16-byte chunks by the row index: ldmatrix "
            "reads 16 aligned bytes from each of eight rows at a time.",
            when=MATRIX_TILES,
        ),
        Advice(
            "Pad rows by one element: __shared__ float tile[32][33].",
            unless=MATRIX_TILES | _SCARCE,
        ),
        Advice("Swizzle the column index with the row index: tile[y][x ^ y].", unless=MATRIX_TILES),
        Advice(
            "Padding by one word in 32 leaves an SM room for fewer blocks.",
            when=_SCARCE,
            number=lambda launch: launch["block_limit_shared_mem"],
            measured="Shared memory now has room for {x} per SM.",
        ),
        Advice("Read along the dimension that is contiguous in shared memory."),
    ),
    wrong_when="Even without conflicts, an 8-byte access takes 2 wavefronts and a 16-byte access "
    "takes 4. The rule counts only wavefronts beyond this ideal. The conflict counter includes "
    "arbitration, so a few percent are not significant. Conflicts off the critical path cost "
    "nothing.",
    references=(
        "CUDA C++ Best Practices Guide, Shared Memory and Memory Banks",
        "Nsight Compute, Source Counters: L1 Wavefronts Shared Excessive",
    ),
    requires=("shared_wavefronts", "shared_wavefronts_ideal"),
    thresholds=(NOTABLE_CONFLICTS,),
    evaluate=evaluate,
)
