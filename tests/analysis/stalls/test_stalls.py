"""From where warps wait to what they wait for: small kernels, and real ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.captures import sampled_code

from kernelprof.analysis.rules import load_rules
from kernelprof.analysis.stalls import MOST_CALLS, LineBlame
from kernelprof.analysis.stalls.blame import BLAMED, StallAnalysis
from kernelprof.model.sampled import (
    STALLS,
    Counts,
    SampledCode,
    SampledInstruction,
    SourceLocation,
)

CAPTURES = Path(__file__).parents[2] / "captures" / "h200_lines"
SOURCES = Path(__file__).parents[3] / "cuda" / "pairs"


FILE = "k.cu"


def code(*rows: tuple[int, str, Counts] | tuple[int, str], whole: str = "") -> SampledCode:
    """A kernel ``k``: each row is a line, the instruction's text, and what was counted at it."""
    instructions = tuple(
        SampledInstruction(
            16 * number,
            row[1],
            (SourceLocation(FILE, row[0]),),
            row[2] if len(row) == 3 else Counts(),
        )
        for number, row in enumerate(rows)
    )
    return SampledCode("k", instructions, whole=whole)


def waits(executed: int = 1, **states: int) -> Counts:
    """Samples by state at an instruction that warps carried out so often."""
    return Counts(sum(states.values()), states, executed=executed, threads=32 * executed)


def blame_of(*rows: tuple[int, str, Counts] | tuple[int, str]) -> LineBlame:
    return LineBlame(code(*rows))


def _real(pair: str) -> LineBlame:
    found = sampled_code(CAPTURES / f"{pair}.json.gz")
    return LineBlame(
        replace(found, whole=(SOURCES / pair / "before.cu").read_text(encoding="utf-8"))
    )


def _lines(blame: LineBlame) -> list[tuple[int | None, float]]:
    return [(each.line, each.share) for each in blame.summarize_stalls().lines]


def test_a_wait_is_for_the_load_that_brings_the_operand() -> None:
    blame = blame_of(
        (1, "LDG.E R4, desc[UR6][R2.64]"),
        (2, "LDG.E R5, desc[UR6][R8.64]"),
        (3, "IADD3 R6, R6, 0x1, RZ"),
        (4, "FFMA R7, R5, R6, R7", waits(long_scoreboard=9, selected=1)),
    )
    (line,) = blame.summarize_stalls().lines
    assert (line.line, line.kind, line.share) == (2, "load", 1.0)
    assert line.instruction == "LDG.E R5, desc[UR6][R8.64]"
    assert (blame.summarize_stalls().samples, blame.summarize_stalls().waiting) == (10, 9)


def test_around_a_loop_and_by_two_ways() -> None:
    """A value from before the loop, or from its last round: by how often each was loaded."""
    blame = blame_of(
        (1, "LDG.E R4, desc[UR6][R2.64]", Counts(executed=1)),
        (2, "FADD R5, R4, R5", waits(4, long_scoreboard=8)),
        (3, "LDG.E R4, desc[UR6][R8.64]", Counts(executed=3)),
        (4, "@P0 BRA 0x10"),
        (5, "EXIT"),
    )
    assert _lines(blame) == [(3, 0.75), (1, 0.25)]


def test_a_guarded_load_does_not_hide_the_one_before() -> None:
    blame = blame_of(
        (1, "LDG.E R4, desc[UR6][R2.64]", Counts(executed=1)),
        (2, "@P0 LDG.E R4, desc[UR6][R8.64]", Counts(executed=1)),
        (3, "FADD R5, R4, R5", waits(long_scoreboard=8)),
    )
    assert _lines(blame) == [(1, 0.5), (2, 0.5)]


def test_a_register_that_is_still_read_is_waited_for() -> None:
    blame = blame_of((1, "STS [R12], R4"), (2, "IADD3 R4, R6, 0x1, RZ", waits(short_scoreboard=5)))
    assert _lines(blame) == [(1, 1.0)]


def test_what_cannot_be_told_is_not_guessed() -> None:
    blame = blame_of(
        (1, "LDG.E R4, desc[UR6][R2.64]"), (2, "BRA 0x0", waits(long_scoreboard=3, wait=1))
    )
    waiting = blame.summarize_stalls()
    assert waiting.unknown == 0.75
    assert [(each.line, each.share) for each in waiting.lines] == [(2, 0.25)]


def test_a_barrier_a_chain_and_a_full_queue() -> None:
    blame = blame_of(
        (1, "BAR.SYNC.DEFER_BLOCKING 0x0"),
        (2, "IADD3 R4, R4, 0x1, RZ", waits(barrier=6)),
        (3, "IADD3 R5, R4, 0x2, RZ", waits(wait=2)),
        (4, "LDG.E R6, desc[UR6][R8.64]", waits(lg_throttle=2)),
    )
    assert _lines(blame) == [(1, 0.6), (2, 0.2), (4, 0.2)]


def test_a_subroutine_has_the_line_of_its_call() -> None:
    blame = blame_of(
        (1, "LDG.E R4, desc[UR6][R2.64]"),
        (2, "CALL.REL.NOINC 0x40", Counts(executed=7)),
        (3, "EXIT"),
        (9, "NOP"),
        (9, "MUFU.RCP R7, R4"),
        (9, "FADD R8, R7, R8", waits(7, short_scoreboard=4)),
        (9, "RET.REL.NODEC R6, 0x0"),
    )
    (line,) = blame.summarize_stalls().lines
    assert (line.line, line.instruction) == (2, "MUFU.RCP R7, R4")


def test_waste_is_blamed_on_the_access_and_not_on_the_wait() -> None:
    wasteful = Counts(executed=10, sectors=320, ideal_sectors=40)
    blame = blame_of(
        (1, "LDG.E R4, desc[UR6][R2.64]", wasteful),
        (2, "LDG.E R5, desc[UR6][R8.64]", Counts(executed=10, sectors=40, ideal_sectors=40)),
        (3, "FADD R6, R5, R6", waits(long_scoreboard=90)),
    )
    line = blame.blamed_line("uncoalesced-global-access")
    assert line is not None
    assert (line.line, line.share, line.of) == (1, 1.0, "excess sectors")
    assert (line.sectors, line.ideal, line.wavefronts) == (32, 4, None)
    assert _lines(blame) == [(2, 1.0)]


def test_without_sectors_the_waits_for_memory_have_to_do() -> None:
    blame = blame_of(
        (1, "LDG.E R4, desc[UR6][R2.64]"), (2, "FADD R6, R4, R6", waits(long_scoreboard=90))
    )
    line = blame.blamed_line("uncoalesced-global-access")
    assert line is not None
    assert (line.line, line.of, line.sectors) == (1, "waiting", None)


def test_idle_threads_are_of_the_branch_or_exit_before_them() -> None:
    blame = blame_of(
        (1, "ISETP.NE.AND P0, PT, R20, 0x0, PT", Counts(executed=4, threads=128, divergent=0)),
        (2, "@P0 EXIT", Counts(executed=4, threads=96, divergent=0)),
        (3, "FADD R6, R4, R6", Counts(executed=4, threads=32, divergent=0)),
    )
    line = blame.blamed_line("warp-divergence")
    assert line is not None
    assert (line.line, line.kind, line.of) == (2, "branch", "idle threads")


def test_an_instruction_without_a_line_is_named_itself() -> None:
    found = code(
        (1, "LDG.E R4, desc[UR6][R2.64]"), (2, "FADD R6, R4, R6", waits(long_scoreboard=90))
    )
    bare = replace(
        found, instructions=tuple(replace(each, places=()) for each in found.instructions)
    )
    (line,) = LineBlame(bare).summarize_stalls().lines
    assert (line.file, line.line, line.function, line.offset) == (None, None, "k", 0)


def test_a_bottleneck_of_the_whole_kernel_has_no_line() -> None:
    blame = blame_of((1, "LDG.E R4, desc[UR6][R2.64]", waits(long_scoreboard=1)))
    none = set(load_rules()) - set(BLAMED)
    assert none == {
        *("dram-bandwidth", "l2-bandwidth", "low-occupancy", "small-grid", "workload-imbalance"),
        *("instruction-fetch", "debug-build"),
    }
    assert set(BLAMED) < set(load_rules())
    assert all(blame.blamed_line(slug) is None for slug in none)
    assert blame.blamed_line(None) is None


def test_samples_without_states_say_nothing_of_waits() -> None:
    waiting = LineBlame(code((1, "EXIT", Counts(samples=9)))).summarize_stalls()
    assert (waiting.samples, waiting.waiting, waiting.lines) == (9, 0, ())


# Real kernels


def test_a_helper_is_named_with_its_calls() -> None:
    line = _real("passage-search-product-by-product").blamed_line("async-pipeline-stalls")
    assert line is not None
    assert (line.line, line.helper, line.called_at) == (136, "products_wait", (236, 240))
    assert line.kind == "wait for products"
    assert len(line.called_at) <= MOST_CALLS


def test_code_of_a_header_has_the_line_that_calls_it() -> None:
    line = _real("edge-octants-global-bins").blamed_line("atomic-contention")
    assert line is not None
    assert (line.file, line.line) == ("cuda/pairs/edge-octants-global-bins/before.cu", 76)
    assert line.text == "atomicAdd(&bins[octant(gx, gy)], 1u);"


def test_a_division_is_at_the_line_that_divides() -> None:
    line = _real("polynomial-mean-modulo-and-short-loop").blamed_line("integer-throughput")
    assert line is not None
    assert line.line == 61
    assert "% modulus" in line.text


@pytest.mark.parametrize("pair", ["transpose-column-reads", "symbol-counts-thread-by-thread"])
def test_waits_add_up_to_the_samples(pair: str) -> None:
    found = sampled_code(CAPTURES / f"{pair}.json.gz")
    sums = Counter[tuple[str, int]]()
    for each in StallAnalysis(found).stalls:
        sums[each.state, each.at] += each.samples  # type: ignore[assignment]
    for number, instruction in enumerate(found.instructions):
        assert set(instruction.counts.stalls) <= set(STALLS)
        for state, samples in instruction.counts.stalls.items():
            if state not in ("selected", "not_selected"):
                assert sums[state, number] == pytest.approx(samples)


def test_nearly_all_waits_of_the_corpus_lead_somewhere() -> None:
    unknown = waiting = 0.0
    for path in sorted(CAPTURES.glob("*.json.gz"))[::4]:
        found = sampled_code(path)
        said = LineBlame(found).summarize_stalls()
        unknown, waiting = unknown + said.unknown * said.waiting, waiting + said.waiting
    assert waiting > 1_000_000
    assert unknown / waiting < 0.001
