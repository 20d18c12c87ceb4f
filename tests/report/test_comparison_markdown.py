"""Comparisons and the gate's answer as Markdown, read back by a Markdown parser."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.report.changes import (
    AWKWARD,
    answer,
    change,
    comparison,
    gated,
    kernels,
    side,
    slower,
    texts,
)

from kernelprof.model.comparison import (
    ComparedCounter,
    InputChange,
    Match,
    MetricChange,
    TimeChange,
    TimeOutcome,
)
from kernelprof.model.diagnosis import Confidence, Status, Verdict
from kernelprof.model.gate import Code, GateFinding, KernelResult, Outcome
from kernelprof.report.documents import comparison as documents
from kernelprof.report.documents import gate as gate_documents
from kernelprof.report.documents.changed_kernel import DIFF_LINES
from kernelprof.report.documents.comparison import Detail
from kernelprof.report.writers import html as page_writer
from kernelprof.report.writers import markdown
from kernelprof.report.writers import terminal as terminal_writer
from kernelprof.report.writers.markdown import COMMENT

if TYPE_CHECKING:
    from kernelprof.model.comparison import Comparison
    from kernelprof.model.gate import GateResult

GITHUB = 65_536


def render_comparison_markdown(found: Comparison) -> str:
    return markdown.write(documents.document(found, Detail.COMMENT))


def render_gate_markdown(result: GateResult) -> str:
    return markdown.write(gate_documents.document(result, Detail.COMMENT))


EXPECTED = """\
### kernelprof gate: regression

**Regression: 1 worse.** `fma_chain`: as fast as before; more global load sectors; still \
fp32-throughput at its limit.

Before: `{before}`, after: `{after}`.

| kernel | before | after | time | verdict | outcome | why |
| :-- | --: | --: | :-- | :-- | :-- | :-- |
| `fma_chain` | 1.1 ms | 1.1 ms | as fast as before | `fp32-throughput (at limit)` | regression \
| more global load sectors |

<details><summary><code>fma_chain</code>: as fast as before; more global load sectors; still \
fp32-throughput at its limit</summary>

`fma_chain"""


def _rendered(text: str) -> str:
    return MarkdownIt("commonmark").enable("table").render(text)


def _cells(page: str) -> list[str]:
    table = page[page.index("<table>") : page.index("</table>")]
    return [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", table, re.DOTALL)]


def test_the_verdict_comes_first() -> None:
    result = gated("chain", "chain-strides")
    text = render_gate_markdown(result)
    sides = {"before": result.comparison.before.origin, "after": result.comparison.after.origin}
    assert text.startswith(EXPECTED.format(**sides))
    assert "- regression `counter-worse`: global load sectors: 4 to 32 sector/request\n" in text


def test_a_comparison_has_the_times_and_what_changed_with_them() -> None:
    text = render_comparison_markdown(change("coalesced", "naive"))
    assert text.startswith(
        "### kernelprof compare\n\n**`sgemm_naive`: 13.1x slower; more global load sectors; "
        "l1-throughput is gone; now uncoalesced-global-access**\n"
    )
    assert (
        "| `sgemm_naive` | 2.71 ms | 35.32 ms | 13.1x slower | "
        "`l1-throughput` → `uncoalesced-global-access` |\n"
    ) in text
    assert (
        "| global load sectors | 2.5 sector/request | 16.5 sector/request | 6.6x as much | "
        "worse |\n"
    ) in text
    assert "| `l1_throughput` | 76.36 % | 96.04 % | +19.68 points |\n" in text
    assert "explains" not in text
    assert "| source | `cuda/ladder/02_coalesced.cu` | `cuda/ladder/01_naive.cu` |\n" in text
    assert "```diff\n--- before\n+++ after\n" in text
    assert '+extern "C" __global__ void sgemm_naive(' in text
    assert "**Time:** 13.1x slower: 2.71 ms to 35.32 ms (ratio 13.0541, 95 % interval" in text


def test_every_format_names_the_same_causes_which_add_up_to_the_change() -> None:
    made = change("tile", "tile-barrier")
    text = render_comparison_markdown(made)
    told = re.search(r"\*\*What changed it:\*\*\n\n((?:- .*\n)+)", text)
    assert told is not None
    lines = told[1].removesuffix("\n").split("\n")
    assert lines == [
        "- ready but not selected: +436 µs, 38 %",
        "- waiting at barriers: +216 µs, 19 %",
        "- queueing for arithmetic pipes: +137 µs, 12 %",
        "- everything else: +369 µs, 31 %",
    ]
    assert sum(int(line.rsplit(" ", 2)[1]) for line in lines) == 100
    page = html.unescape(page_writer.write(documents.document(made, Detail.FULL)))
    terminal = " ".join(terminal_writer.write(documents.document(made)).split())
    for line in lines:
        name, _, part = line.removeprefix("- ").partition(": ")
        assert f"{name}: {part}" in terminal
        assert name in page
        assert part in page


def test_what_passed_is_short() -> None:
    result = gated("coalesced", "coalesced")
    assert render_gate_markdown(result) == (
        "### kernelprof gate: pass\n\n"
        "**Pass: 1 passed.** `sgemm_coalesced`: as fast as before; still l1-throughput; "
        "smallest detectable: 0.91 %.\n\n"
        f"Before: `{result.comparison.before.origin}`, "
        f"after: `{result.comparison.after.origin}`.\n\n"
        "| kernel | before | after | time | verdict | outcome |\n"
        "| :-- | --: | --: | :-- | :-- | :-- |\n"
        "| `sgemm_coalesced` | 2.71 ms | 2.7 ms | as fast as before | `l1-throughput` | pass |\n"
    )


def test_an_inconclusive_answer_says_what_the_policy_makes_of_it() -> None:
    unknown = TimeChange(TimeOutcome.NOT_COMPARABLE, reason="different GPU (A before, B after)")
    kernel = slower("f", time=unknown)
    finding = GateFinding(
        Code.TIME_UNKNOWN, Outcome.INCONCLUSIVE, "times not comparable (different GPU)"
    )
    result = replace(
        answer(kernel),
        outcome=Outcome.INCONCLUSIVE,
        kernels=(KernelResult(kernel, Outcome.INCONCLUSIVE, (finding,)),),
    )
    first = "### kernelprof gate: inconclusive\n\n**Inconclusive: 1 inconclusive.{}** "
    why = "`f`: times not comparable (different GPU)"
    assert render_gate_markdown(result).startswith(f"{first.format('')}{why}.\n")
    passes = render_gate_markdown(replace(result, inconclusive_passes=True))
    says = " The policy allows inconclusive results."
    assert passes.startswith(
        f"{first.format(says)}{why} (the policy allows inconclusive results).\n"
    )
    fails = render_gate_markdown(replace(result, outcome=Outcome.REGRESSION))
    assert "different GPU) (inconclusive, which the policy counts as a failure).\n" in fails
    verdicts = "`l1-throughput` → `memory-latency`"
    assert f"| not comparable | {verdicts} | inconclusive | time unknown |\n" in fails


def test_nothing_compared() -> None:
    finding = GateFinding(
        Code.VANISHED, Outcome.INCONCLUSIVE, "the two sides have no kernel in common"
    )
    result = replace(answer(), outcome=Outcome.INCONCLUSIVE, general=(finding,))
    assert render_gate_markdown(result) == (
        "### kernelprof gate: inconclusive\n\n**Inconclusive: no kernel.** The two sides have no "
        "kernel in common.\n\nBefore: `a.json`, after: `b`.\n"
    )


def test_kernels_on_one_side_and_ignored_ones() -> None:
    gone = slower(
        "gone", match=Match.VANISHED, after=None, time=TimeChange(TimeOutcome.NOT_MEASURED)
    )
    left_out = slower("left_out")
    ignored = GateFinding(Code.IGNORED, Outcome.PASS, "the policy excludes this kernel")
    result = replace(
        answer(gone, left_out),
        kernels=(
            KernelResult(gone, Outcome.PASS, ()),
            KernelResult(left_out, Outcome.PASS, (ignored,)),
        ),
        outcome=Outcome.PASS,
    )
    text = render_gate_markdown(result)
    assert "| `gone` | 2 µs | - | vanished | `l1-throughput` | pass |\n" in text
    assert "memory-latency` | ignored |\n" in text
    assert "; 1 excluded by the policy.\n" in text
    assert "<code>left_out</code>" not in text


def test_launches_of_one_name_are_told_apart() -> None:
    small = side("f(int)", block=(8, 8, 1))
    text = render_comparison_markdown(
        comparison(slower("f(int)"), slower("f(int)", before=small, after=small))
    )
    assert "| `f 16x16` |" in text
    assert "| `f 8x8` |" in text
    assert "grid 64x64, block 8x8, 20 launches\n" in text


def test_machines_that_differ_are_told() -> None:
    machine = (InputChange("GPU", "different GPU", "A|B", "<b>"),)
    text = render_comparison_markdown(
        comparison(slower("f"), machine=machine, notes=("times are not compared",))
    )
    assert (
        "\n\n- Warning: times are not compared\n"
        "- Warning: different GPU: <code>A&#124;B</code> before, `<b>` after\n" in text
    )


@pytest.mark.parametrize("name", AWKWARD)
def test_a_name_stays_where_it_is(name: str) -> None:
    kernel = slower(name, name)
    for text, columns in (
        (render_comparison_markdown(comparison(kernel, before=name, after=name)), 5),
        (render_gate_markdown(answer(kernel)), 7),
    ):
        page = _rendered(text)
        assert len(_cells(page)) == columns
        assert "<script" not in page
        assert "<a " not in page
        assert "<x/>" not in page
        assert "<h1>" not in page
        assert page.count("<details>") == page.count("</details>") == 1
        assert page.rstrip().endswith("</details>")
        assert "\x00" not in text
        assert "\x1b" not in text


@pytest.mark.parametrize("name", AWKWARD)
def test_a_diff_cannot_leave_its_block(name: str) -> None:
    diff = f"--- before\n+++ after\n {name}\n+{name}\n</details>"
    page = _rendered(f"{render_comparison_markdown(comparison(slower('f', diff=diff)))}\n\nafter")
    assert page.count("<pre>") == 1
    assert page.endswith("</code></pre>\n</details>\n<p>after</p>\n")
    assert "<script" not in page


def test_a_long_diff_is_cut() -> None:
    diff = "\n".join(f"+line {number}" for number in range(DIFF_LINES + 7))
    text = render_comparison_markdown(comparison(slower("f", diff=diff)))
    lines = text[text.index("```diff") : text.rindex("```") + 3].split("\n")
    assert len(lines) == DIFF_LINES + 3
    assert lines[-3:] == [f"+line {DIFF_LINES - 1}", "... 7 more lines", "```"]


def test_many_kernels_are_counted() -> None:
    text = render_gate_markdown(answer(*(slower(f"kernel_{number}") for number in range(500))))
    assert text.count("| regression |") == 30
    assert "\nand 470 more kernels: 470 regression\n" in text
    assert text.count("<details>") == 20
    assert text.endswith(
        "\nThe details of 480 more kernels are left out: `--format json` has them.\n"
    )
    assert "**Regression: 500 worse.** `kernel_0`: " in text
    assert "; 499 more kernels with this outcome.\n" in text


def test_a_diff_that_does_not_fit_goes_before_its_card_does() -> None:
    wide = "\n".join("+" + "…" * 199 for _ in range(DIFF_LINES))
    text = render_comparison_markdown(comparison(slower("f", diff=wide)))
    assert "```diff" not in text
    assert "\nThis text is left out for lack of room.\n" in text
    assert "**Time:** 2.0x slower: 2 µs to 4 µs" in text


def test_long_lists_are_cut_and_counted() -> None:
    kernel = slower(
        "f",
        counters=tuple(ComparedCounter(f"c{n}", f"c{n}", "", 1.0, 2.0, True) for n in range(25)),
        metrics=tuple(MetricChange(f"m{n}", "%", 1.0, 2.0, None) for n in range(25)),
    )
    text = render_comparison_markdown(comparison(kernel))
    assert "| c19 | 1 | 2 | 2x as much | worse |\n" in text
    assert "| c20 |" not in text
    assert "Left out: 5 more counters, 15 more metrics.\n" in text


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(kernels(), max_size=3), texts, st.sampled_from([1, 2, 40]))
def test_a_comment_is_never_too_long_and_stays_whole(found, text, times) -> None:
    many = tuple(found * times)
    for page in (
        render_comparison_markdown(comparison(*many, before=text, after=text, notes=(text,))),
        render_gate_markdown(answer(*many)),
    ):
        assert len(page.encode()) <= COMMENT < GITHUB
        shown = _rendered(page)
        assert shown.count("<details>") == shown.count("</details>")
        assert "<script" not in shown


@pytest.mark.parametrize("character", ["x", "|", "\x1b", "𝄞"])
@pytest.mark.parametrize(
    "amount", [1, pytest.param(30, marks=pytest.mark.exhaustive("the same for 30 kernels"))]
)
def test_nothing_of_strangers_fills_the_comment(character: str, amount: int) -> None:
    endless = character * 3_000
    said = Verdict(Status.BOTTLENECK, endless, Confidence.HIGH)
    kernel = slower(
        endless,
        endless,
        before=side(endless, verdict=said),
        after=side(endless, verdict=replace(said, bottleneck=endless + "y")),
        notes=(endless,) * 50,
        diff="\n".join([endless] * 300),
    )
    changes = (InputChange(endless, endless, endless, endless),) * 50
    whole = comparison(
        *[kernel] * amount, before=endless, after=endless, machine=changes, notes=(endless,) * 50
    )
    told = (GateFinding(Code.VANISHED, Outcome.INCONCLUSIVE, endless),) * 50
    for page in (
        render_comparison_markdown(whole),
        render_gate_markdown(replace(answer(*[kernel] * amount), comparison=whole, general=told)),
    ):
        assert len(page.encode()) <= COMMENT
