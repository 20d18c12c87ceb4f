"""What limits a kernel after the fix of its bottleneck."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import kernelprof
from kernelprof.analysis.metrics.facts import Facts
from kernelprof.analysis.rules import Effect, RuleContext, load_rules
from kernelprof.analysis.verdict.causes import list_causes
from kernelprof.analysis.verdict.projection import ProjectedFacts, project
from kernelprof.comparison.words import further_text
from kernelprof.model.diagnosis import Status

if TYPE_CHECKING:
    from kernelprof.model.diagnosis import Verdict

CAPTURES = Path(__file__).parents[2] / "captures"
FACTORS = CAPTURES / "h200_factors"
GRID = CAPTURES / "h200_two_causes" / "1_grid_layout.raw.csv.gz"
PRODUCT = CAPTURES / "h200_two_causes" / "7_redundant_uncoalesced.raw.csv.gz"


def verdict_of(path: Path) -> Verdict:
    return kernelprof.read(path).diagnose().kernels[0].verdict


def test_a_fix_that_alone_costs_time_pays_after_the_first() -> None:
    verdict = verdict_of(GRID)
    first, second = verdict.causes
    assert (first.bottleneck, second.bottleneck) == ("small-grid", "uncoalesced-global-access")
    assert (first.worse_alone, second.worse_alone) == (False, True)
    # Measured: 5.8x, 0.60x, 2.0x and 11.6x.
    assert first.gain == pytest.approx(776 / 135, rel=0.5)
    assert second.gain == pytest.approx(776 / 1300, rel=0.5)
    assert second.gain_after_previous == pytest.approx(135 / 67, rel=0.1)
    assert verdict.combined_gain == pytest.approx(776 / 67, rel=0.5)
    assert verdict.next_limit == "dram-bandwidth"
    assert first.gain == verdict.gain
    assert second.evidence
    assert second.advice


def test_the_second_of_two_alternatives_adds_little() -> None:
    verdict = verdict_of(PRODUCT)
    first, second = verdict.causes
    assert (first.bottleneck, second.bottleneck) == ("uncoalesced-global-access", "l1-throughput")
    assert second.alternative_to == "uncoalesced-global-access"
    assert second.gain_after_previous == pytest.approx(342 / 313, rel=0.5)


@pytest.mark.parametrize(
    ("program", "named"),
    [
        # Gathers that wait for one line after the other: fewer sectors would come no sooner.
        ("embedding-gather-two-limits", ["low-occupancy"]),
        ("dictionary-lookups-one-in-flight", ["small-grid"]),
        # Local memory, not the excess of global sectors, is most of the traffic of a full L2.
        ("frame-median-by-pixel", ["local-memory-traffic", "uncoalesced-global-access"]),
        # A table in constant memory hides what L2 is full of, and a conflict hides such a table.
        ("companded-samples-median-of-nine", ["constant-cache", "local-memory-traffic"]),
        ("reaction-rates-three-stages", ["shared-bank-conflicts", "constant-cache"]),
        # Steps of exponentials fill the issue slots, not the pipe of special functions.
        ("capped-attention-weights-each-channel", ["barrier-stalls", "sfu-throughput"]),
        ("sky-radiance-rows-by-block", ["workload-imbalance", "sfu-throughput"]),
    ],
)
def test_the_first_causes(program: str, named: list[str]) -> None:
    causes = verdict_of(FACTORS / f"{program}.raw.csv.gz").causes
    assert [each.bottleneck for each in causes[: len(named)]] == named


def test_more_blocks_hide_waits_at_barriers_too() -> None:
    first, second = verdict_of(FACTORS / "parcels-through-the-surest-hub.raw.csv.gz").causes
    assert (first.bottleneck, second.bottleneck) == ("small-grid", "shared-memory-throughput")
    # Measured: 7.2x and 1.83x.
    assert first.gain == pytest.approx(6.16, abs=0.01)
    assert second.gain_after_previous == pytest.approx(1.84, abs=0.01)


@pytest.mark.parametrize(
    ("program", "others"),
    [
        ("scanner-counts-to-attenuation", ["memory-latency"]),
        ("oscillators-register-cap", ["dependency-latency"]),
        # Shorter waits for the instruction before would not gain as much.
        ("neurons-fed-by-tiles", []),
        # Most SMs have no block: more work in a thread would not change that.
        ("signal-norms-sixteen-blocks", []),
    ],
)
def test_independent_work_in_each_thread_is_an_alternative_to_more_blocks(
    program: str, others: list[str]
) -> None:
    first, *rest = verdict_of(FACTORS / f"{program}.raw.csv.gz").causes
    assert first.bottleneck == "small-grid"
    assert [each.bottleneck for each in rest] == others
    for each in rest:
        assert each.alternative_to == "small-grid"
        assert each.gain_after_previous == 1.0


def test_an_alternative_limits_nothing_beside_the_first() -> None:
    verdict = verdict_of(FACTORS / "scanner-counts-to-attenuation.raw.csv.gz")
    without = replace(verdict, causes=verdict.causes[:1])
    assert further_text(without, verdict) == further_text(verdict, without) == ""
    layout = verdict_of(GRID)
    assert further_text(replace(layout, causes=layout.causes[:1]), layout) == (
        "now also limited by uncoalesced-global-access"
    )


def test_an_alternative_is_named_in_every_text(kernelprof) -> None:
    path = FACTORS / "scanner-counts-to-attenuation.raw.csv.gz"
    short, brief = (
        kernelprof(f"diagnose {path} --format {each}").out for each in ("text", "brief")
    )
    assert all("; or fix memory-latency instead" in told for told in (short, brief))


def test_idle_sms_have_one_name() -> None:
    causes = verdict_of(FACTORS / "document-scores-sorted-by-length.raw.csv.gz").causes
    named = [each.bottleneck for each in causes]
    assert named[0] == "workload-imbalance"
    assert "small-grid" not in named


def test_text_names_what_comes_next(kernelprof) -> None:
    kernelprof(
        f"diagnose {GRID}",
        says=[
            "then uncoalesced-global-access, 1.99x more (fixing only this would make "
            "the kernel slower)",
            "after these fixes, the limit is dram-bandwidth",
        ],
    )
    gain = "about 5.2x (3.1x to 8.8x); or fix l1-throughput instead"
    kernelprof(f"diagnose {PRODUCT}", says=gain)
    same = "fixing l1-throughput instead would save the same time"
    kernelprof(f"diagnose {PRODUCT} --explain", says=same)


def test_nothing_removed_leaves_every_counter() -> None:
    capture = kernelprof.read(GRID).rows([0])
    facts = Facts(capture)
    same = ProjectedFacts(project(facts, [(np.ones(1, np.bool_), Effect())], np.ones(1)))
    for name in ("duration", "l1_throughput", "global_sectors", "stall_long_scoreboard"):
        assert same.values(name) == pytest.approx(facts.values(name), rel=1e-3)


def test_half_the_time_doubles_what_is_left() -> None:
    facts = Facts(kernelprof.read(GRID).rows([0]))
    effect = Effect(units={"l1": 0.25}, waits=("long_scoreboard",))
    half = ProjectedFacts(project(facts, [(np.ones(1, np.bool_), effect)], np.array([2.0])))
    assert half.values("duration") == pytest.approx(facts.values("duration") / 2)
    assert half.values("dram_throughput") == pytest.approx(facts.values("dram_throughput") * 2)
    assert half.values("l1_throughput") == pytest.approx(facts.values("l1_throughput") / 2)
    cycles = half.values("warp_cycles_per_instruction")
    assert cycles == pytest.approx(facts.values("warp_cycles_per_instruction") / 2)
    assert half.values("stall_wait") == pytest.approx(facts.values("stall_wait"))


def test_without_its_divisions_a_kernel_does_the_same_arithmetic_with_fewer_instructions() -> None:
    # log-lines-parity-branches-remainder: 3.9 times as fast without divergence and remainders.
    capture = kernelprof.read(FACTORS / "log-lines-parity-branches-remainder.raw.csv.gz").rows([0])
    context = RuleContext(Facts(capture))
    effect = load_rules()["integer-throughput"].evaluate(context).effect(np.array([3.0]))
    assert effect.units["xu_pipe"] == 0.0
    assert effect.units["fp64_pipe"] == 1.0
    # 14.2 % of XU are the steps of 64-bit divisions: 3.5 times as much of the issue slots (74.6 %).
    assert effect.instructions == pytest.approx(1.0 - 3.5 * 14.2 / 74.57, rel=1e-3)
    (answer,) = list_causes(capture, [("integer-throughput", 3.0)])
    assert "instruction-issue" not in [each.slug for each in answer.causes]


def test_a_launch_without_a_verdict_has_no_causes() -> None:
    one, other = list_causes(kernelprof.read(GRID).rows([0, 1]), [None, ("small-grid", 4.8)])
    assert one.causes == []
    assert [each.slug for each in other.causes] == ["small-grid", "uncoalesced-global-access"]


def test_a_verdict_at_its_limit_says_which_waste_was_looked_for(kernelprof) -> None:
    capture = FACTORS / "waves-axpy.raw.csv.gz"
    verdict = verdict_of(capture)
    assert [(each.label, round(each.value)) for each in verdict.waste] == [
        ("local memory", 0),
        ("needless sectors", 0),
    ]
    kernelprof(
        f"diagnose {capture}", says="counters cannot show bytes that are read more than once"
    )


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("kmer-minimum-hashed-from-scratch", Status.BOTTLENECK),
        ("philox-counters", Status.AT_LIMIT),
    ],
    ids=["remainders", "multiplications alone"],
)
def test_a_pipe_full_of_integer_division_is_not_at_its_limit(name: str, status: Status) -> None:
    verdict = verdict_of(FACTORS / f"{name}.raw.csv.gz")
    assert (verdict.bottleneck, verdict.status) == ("integer-throughput", status)
    assert ("integer division" in verdict.advice[0]) == (status is Status.BOTTLENECK)
