"""The terminal output at fixed widths."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from textwrap import dedent

import pytest

from kernelprof.analysis.verdict import diagnose
from kernelprof.model.diagnosis import (
    Candidate,
    Confidence,
    Diagnosis,
    MetricFinding,
    MissingMetric,
    Verdict,
)
from kernelprof.report.documents.diagnosis import MOST_ROWS, document
from kernelprof.report.writers import Screen
from kernelprof.report.writers.terminal import write
from kernelprof.sources import read_bytes


def render_text(
    diagnoses: list[Diagnosis],
    screen: Screen | None = None,
    top: int | None = None,
    *,
    explain: bool = True,
) -> str:
    return "\n".join(write(document(each, top, explain=explain), screen) for each in diagnoses)


def text_of(samples, verdict: Verdict, *, explain: bool = True, origin: str = "x.csv") -> str:
    """What is said of one kernel with this verdict."""
    return render_text([Diagnosis((samples.kernel("f(int)", verdict),), origin)], explain=explain)


HEAD_80 = """\
gemm_series.full.raw.csv
gemm_bad 32x32: Limited by uncoalesced-global-access. Confidence: high. Gain:
about 12.7x (7.6x to 21.6x).
4 kernels in 20,003 launches on NVIDIA H200 (compute capability 9.0).
warning: The last row is cut off in the middle and was left out.

"""
TABLE_80 = """\
# kernel                 n     time share verdict                   conf    gain
1 gemm_bad 32x32         1 35.31 ms  61 % uncoalesced-global-access high   12.7x
2 gemm_bad 16x16         1 17.65 ms  30 % uncoalesced-global-access high   12.7x
3 bank_conflict<32> 20,000  2.13 µs 7.0 % inconclusive              low        -
4 copy_vec4              1 544.1 µs  ~0 % dram-bandwidth            medium limit
"""

CARD_80 = """\
1 gemm_bad 32x32 ───────────────────────────────────────────────────────────────
Limited by uncoalesced-global-access. Confidence: high.
gemm_bad(const float *, const float *, float *, int, int, int)
grid 64x64, block 32x32, 1 launch (ID 0), 35.31 ms, 61 % of the time

  4.23 of 32 bytes used per sector (threshold 16)        load_bytes
  L1 throughput 99 % (threshold 80 %)                    l1_throughput
  4,563,402,752 sectors loaded                           load_sectors
  8.5 sectors loaded per sector needed (threshold 1.25)  excess

Computed     sectors per sector needed: sectors loaded / sectors needed
Why          Neighbouring threads of a warp read addresses that lie a row apart.
What to do   - Let threadIdx.x run along the columns.
             - Or stage a tile in shared memory.
Gain         about 12.7x (7.6x to 21.6x), computed from L1, 99 % busy, and its
             sectors, 92 % waste
Runner-up    memory-latency
"""

HEAD_60 = """\
gemm_series.full.raw.csv
gemm_bad 32x32: Limited by uncoalesced-global-access.
Confidence: high. Gain: about 12.7x (7.6x to 21.6x).
4 kernels in 20,003 launches on NVIDIA H200 (compute
capability 9.0).
warning: The last row is cut off in the middle and was left
out.

"""
TABLE_60 = """\
# kernel            share verdict                    gain
1 gemm_bad 32x32     61 % uncoalesced-global-access 12.7x
2 gemm_bad 16x16     30 % uncoalesced-global-access 12.7x
3 bank_conflict<32> 7.0 % inconclusive                  -
4 copy_vec4          ~0 % dram-bandwidth            limit
"""

CARD_60 = """\
1 gemm_bad 32x32 ───────────────────────────────────────────
Limited by uncoalesced-global-access. Confidence: high.
gemm_bad(const float *, const float *, float *, int, int,
int)
grid 64x64, block 32x32, 1 launch (ID 0), 35.31 ms, 61 % of
the time

  4.23 of 32 bytes used per sector (threshold  load_bytes
  16)
  L1 throughput 99 % (threshold 80 %)          l1_throughput
  4,563,402,752 sectors loaded                 load_sectors
  8.5 sectors loaded per sector needed         excess
  (threshold 1.25)

Computed     sectors per sector needed: sectors loaded /
             sectors needed
Why          Neighbouring threads of a warp read addresses
             that lie a row apart.
What to do   - Let threadIdx.x run along the columns.
             - Or stage a tile in shared memory.
Gain         about 12.7x (7.6x to 21.6x), computed from L1,
             99 % busy, and its sectors, 92 % waste
Runner-up    memory-latency
"""

UNDECIDED_80 = """\
3 bank_conflict<(int)32> ───────────────────────────────────────────────────────
Most likely shared-bank-conflicts (stores touch 32 sectors per request) or
shared-memory-throughput; not proven: the metrics to confirm it are missing.
Confidence: low.
void bank_conflict<(int)32>(const float *[4], int)
grid 64x64, block 32x32, 20,000 launches (ID 2, 3, 4, 5, ...), median 2.13 µs
(2.09 µs to 2.19 µs), 7.0 % of the time

  memory throughput 98 %  memory_throughput

- Loads touch 16 sectors per request.
- L1/TEX is at 97 % of peak.
- The grid has 0.77 waves.

Missing      l1tex__data_pipe_lsu_wavefronts_mem_shared.sum: tells conflicts
             from plain traffic
"""


SHORT_80 = """\
gemm_series.full.raw.csv
4 kernels in 20,003 launches on NVIDIA H200 (compute capability 9.0).
warning: The last row is cut off in the middle and was left out.

1 gemm_bad 32x32, 35.31 ms, 61 % of the time ───────────────────────────────────
Limited by uncoalesced-global-access. Confidence: high.
  4.23 of 32 bytes used per sector (threshold 16)
  L1 throughput 99 % (threshold 80 %)
  4,563,402,752 sectors loaded
What to do   - Let threadIdx.x run along the columns.
             - Or stage a tile in shared memory.
Gain         about 12.7x (7.6x to 21.6x)

"""
SHORT_UNDECIDED_80 = """\
3 bank_conflict<(int)32>, 20,000 launches of 2.13 µs, 7.0 % of the time ────────
Most likely shared-bank-conflicts (stores touch 32 sectors per request) or
shared-memory-throughput; not proven: the metrics to confirm it are missing.
Confidence: low.
  - Loads touch 16 sectors per request.
  - L1/TEX is at 97 % of peak.
  - The grid has 0.77 waves.
"""
SHORT_FULL_80 = """\

4 copy_vec4, 544.1 µs, ~0 % of the time ────────────────────────────────────────
At its limit: dram-bandwidth. Confidence: medium.
  DRAM throughput 92 % (threshold 85 %)
What to do   Move fewer bytes.
Waste        needless sectors 1.5 %; counters cannot show bytes that are read
             more than once
Less work    up to 2.0x with half the work, 3.7x with even less
"""
SHORT_HINT = """\

`--explain` shows the reasons and all evidence
"""


def test_in_short_a_kernel_takes_a_few_lines(samples) -> None:
    text = render_text([samples.diagnosis()], top=4, explain=False)
    assert text.startswith(SHORT_80)
    end = f"\nTo get a verdict for 1 kernel:\n{samples.command}\n{SHORT_HINT}"
    assert text.endswith(f"{SHORT_UNDECIDED_80}{SHORT_FULL_80}{end}")


def test_in_short_what_is_left_out_is_said(samples) -> None:
    assert render_text([samples.diagnosis()], explain=False).endswith(
        "and 2 more kernels (7.1 % of the time), 1 of them inconclusive: `--top 4` shows\n"
        "all, `--top 0` a table, `--explain` the reasons\n"
    )
    table = render_text([samples.diagnosis()], top=0, explain=False)
    assert table.endswith(f"left out.\n\n{TABLE_80}")


def test_in_short_five_kernels_fit_on_a_screen(samples) -> None:
    text = render_text([samples.many(20_000)], explain=False)
    assert text.count("Confidence:") == 5
    assert text.count("\n") <= 50


def test_in_short_advice_is_two_lines_at_most(samples) -> None:
    long, short = "Store records as a structure of arrays, " * 2, "Or load wider."
    verdict = replace(samples.uncoalesced, advice=(long.strip(), short))
    text = text_of(samples, verdict, explain=False)
    assert short not in text
    verdict = replace(samples.uncoalesced, advice=(short, short, "A third."))
    text = text_of(samples, verdict, explain=False)
    assert text.count(short) == 2
    assert "A third." not in text


def test_a_verdict_of_low_confidence_has_what_single_values_say_beside_its_evidence(
    samples,
) -> None:
    seen = MetricFinding("The memory system is at 97.8 %.", "dram_throughput")
    verdict = replace(
        samples.at_limit,
        confidence=Confidence.LOW,
        findings=(seen, *samples.inconclusive.findings),
        notes=("based on DRAM utilization alone",),
    )
    short = text_of(samples, verdict, explain=False)
    assert "At its limit: dram-bandwidth. Confidence: low.\n" in short
    assert seen.text not in short, "the row of evidence says so already"
    assert short.count("  - ") == 3
    assert "\nNote         based on DRAM utilization alone\n" in short
    assert f"- {seen.text}\n- Stores touch 32 sectors per request.\n" in text_of(samples, verdict)


def test_a_debug_build_is_no_limit_of_the_kernel(samples) -> None:
    verdict = replace(samples.uncoalesced, bottleneck="debug-build", gain=None, gain_interval=None)
    assert (
        "Compiled for debugging (debug-build): profile a build without -G instead.\n"
        "Confidence: high.\n"
    ) in text_of(samples, verdict, explain=False)


def test_gains_of_runners_up_are_estimates_or_not_told(samples) -> None:
    also = (
        Candidate("memory-latency", 1.2, 1.3),
        Candidate("low-occupancy", 1.0, 4.0),
        Candidate("small-grid", 1.25, 1.25),
    )
    verdict = replace(samples.uncoalesced, also=also)
    text = text_of(samples, verdict)
    assert (
        "Runner-up    memory-latency (1.20x to 1.30x), low-occupancy, small-grid (about\n"
        "             1.25x)\n"
    ) in text
    assert "up to" not in text


@pytest.mark.parametrize(
    ("width", "head", "card"),
    [(80, HEAD_80 + TABLE_80, CARD_80), (60, HEAD_60 + TABLE_60, CARD_60)],
)
def test_a_table_and_then_a_card(samples, width: int, head: str, card: str) -> None:
    text = render_text([samples.diagnosis()], Screen(width))
    assert text.startswith(f"{head}\n{card}\n")


def test_an_inconclusive_card_ends_in_a_command_that_can_be_copied(samples) -> None:
    text = render_text([samples.diagnosis()], top=3)
    assert f"{UNDECIDED_80}\nTo get a verdict for 1 kernel:\n{samples.command}\n" in text
    assert len(samples.command) > 80


def test_a_unit_at_its_limit_is_no_bottleneck(samples) -> None:
    text = render_text([samples.diagnosis()], top=4)
    assert "At its limit: dram-bandwidth." in text
    assert (
        "Less work    up to 2.0x with half the work, 3.7x with even less, computed from\n"
        "             the busiest unit beside device memory\n"
    ) in text
    assert "  DRAM throughput 92 % (threshold 85 %)  dram_throughput" in text


@pytest.mark.parametrize("width", [48, 60, 72, 80, 100, 140])
def test_nothing_but_the_command_is_wider_than_the_screen(samples, width: int) -> None:
    text = render_text([samples.diagnosis()], Screen(width), top=4)
    assert all(len(line) <= width for line in text.split("\n") if line != samples.command)


def test_a_narrower_screen_than_the_table_needs_is_taken_as_wide_enough(samples) -> None:
    narrow = render_text([samples.diagnosis()], Screen(10))
    assert narrow == render_text([samples.diagnosis()], Screen(48))


def test_cards_cover_nine_tenths_of_the_time(samples) -> None:
    text = render_text([samples.diagnosis()])
    assert text.count("Confidence:") == 1 + 2
    assert text.endswith(
        "and 2 more kernels (7.1 % of the time), 1 of them inconclusive: `--top 4` shows\nthem\n"
    )


def test_top_says_how_many_cards(samples) -> None:
    assert render_text([samples.diagnosis()], top=1).count("Confidence:") == 1 + 1
    assert render_text([samples.diagnosis()], top=99).count("Confidence:") == 1 + 4
    without = [line for line in HEAD_80.splitlines(keepends=True) if "Limited" not in line]
    table_only = "".join(each for each in without if not each.startswith("about")) + TABLE_80
    assert render_text([samples.diagnosis()], top=0) == table_only


def test_twenty_thousand_kernels_fit_on_a_few_screens(samples) -> None:
    text = render_text([samples.many(20_000)])
    assert text.count("Confidence:") == 1 + 5
    assert text.count("\n") < 150
    assert f"and {20_000 - MOST_ROWS:,} more kernels (100 % of the time)" in text
    assert text.endswith(
        "and 19,995 more kernels (100 % of the time), all of them inconclusive: `--top\n"
        "20000` shows them\n"
    )


def test_without_durations_the_first_five_kernels_are_explained(samples) -> None:
    kernels = tuple(
        samples.kernel(f"kernel_{row}(int)", samples.at_limit, duration=None, share=None)
        for row in range(7)
    )
    text = render_text([Diagnosis(kernels, "no-durations.csv")])
    assert text.count("Confidence:") == 1 + 5
    assert "1 kernel_0 1    -     - dram-bandwidth medium limit\n" in text
    assert "and 2 more kernels: `--top 7` shows them" in text


def test_a_capture_without_kernels(samples) -> None:
    text = render_text([replace(samples.diagnosis(), kernels=(), warnings=())])
    assert text == "gemm_series.full.raw.csv\n0 kernels in 0 launches.\n"


def test_several_captures_follow_each_other(samples) -> None:
    one = render_text([samples.diagnosis()])
    assert render_text([samples.diagnosis(), samples.diagnosis()]) == f"{one}\n{one}"


def test_brackets_and_emoji_codes_in_a_name_are_kept(samples) -> None:
    name = "void [red]f<(T)1>[/red]:smile:(int[4])"
    text = render_text([Diagnosis((samples.kernel(name, samples.at_limit),), "[bold]x.csv")])
    assert f"\n{name}\n" in text
    assert text.startswith("[bold]x.csv\n")


def test_a_name_cannot_send_escape_codes(samples) -> None:
    kernel = samples.kernel("evil\x1b[2J\x07\nname", samples.at_limit)
    text = render_text([Diagnosis((kernel,), "x\x1b[31m.csv")], Screen(color=True))
    assert "\x1b[2J" not in text
    assert "x\\x1b[31m.csv" in text
    assert "evil\\x1b[2J\\x07 name" in text


def test_ascii_where_the_encoding_has_no_more(samples) -> None:
    text = render_text([samples.diagnosis()], Screen(encoding="ascii"), top=4)
    assert text.isascii()
    assert "1 gemm_bad 32x32 ---------" in text
    assert "median 2.13 us\n(2.09 us to 2.19 us)" in text
    assert "3 bank_conflict<32> 20,000  2.13 us" in text


def test_colour_only_when_asked_for(samples) -> None:
    plain = render_text([samples.diagnosis()])
    colored = render_text([samples.diagnosis()], Screen(color=True))
    assert "\x1b" not in plain
    assert "\x1b[1;31mLimited by uncoalesced-global-access.\x1b[0m" in colored


def test_the_colour_of_the_environment_does_not_count(samples, monkeypatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in render_text([samples.diagnosis()])


def test_many_warnings_are_cut_short(samples) -> None:
    noisy = replace(samples.diagnosis(), warnings=tuple(f"warning {i}" for i in range(500)))
    text = render_text([noisy], top=0)
    assert text.count("warning: ") == 11
    assert "warning: 490 more warnings not shown" in text


@pytest.mark.parametrize(
    ("status", "metrics", "shown", "more"),
    [("inconclusive", 40, 12, 28), ("at_limit", 9, 4, 5)],
)
def test_missing_metrics_are_cut_short_but_the_command_has_all(
    samples, status: str, metrics: int, shown: int, more: int
) -> None:
    missing = tuple(MissingMetric(f"m{i}", f"metric_{i}.sum", "helps") for i in range(metrics))
    verdict = replace(getattr(samples, status), missing=missing, command=samples.command)
    text = text_of(samples, verdict)
    assert text.count(": helps") == shown
    assert f"- and {more} more, collected by the command below" in text


def test_missing_metrics_of_a_verdict_would_raise_its_confidence(samples) -> None:
    verdict = replace(
        samples.uncoalesced, missing=samples.inconclusive.missing, command=samples.command
    )
    text = text_of(samples, verdict)
    assert "Missing      l1tex__data_pipe_lsu_wavefronts_mem_shared.sum: tells" in text
    assert text.endswith(f"\nTo raise confidence:\n{samples.command}\n")


def test_lines_carry_no_trailing_blanks(samples) -> None:
    text = render_text([samples.diagnosis()], top=4)
    assert not [line for line in text.split("\n") if line != line.rstrip()]
    assert not [pair for pair in pairwise(text.split("\n")) if pair == ("", "")][:-1]
    assert dedent(text) == text


def test_what_to_do_with_the_file_that_the_command_writes(samples) -> None:
    verdict = replace(samples.inconclusive, command="ncu --csv --log-file more.csv ./app")
    assert text_of(samples, verdict, origin="my dir/a.csv").endswith(
        "\nTo get a verdict:\nncu --csv --log-file more.csv ./app\n"
        "kernelprof diagnose 'my dir/a.csv' more.csv --merge\n"
    )
    for origin in ("<stdin>", "a.csv + b.csv"):
        text = text_of(samples, verdict, origin=origin)
        assert "diagnose CAPTURE more.csv --merge" in text


def test_names_with_wide_characters_are_not_cut() -> None:
    """A text page may be called as the heading above it, in any script."""
    page = b'"ID","Kernel Name","gpu__time_duration.sum"\n"","","ns"\n"0","%s","5000"\n'
    name = "Naive 实现"
    text = render_text([diagnose(read_bytes(page % name.encode(), "x.csv"))])
    assert f"1 {name} 1" in text
