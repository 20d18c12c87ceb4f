"""The Markdown output, read back by a Markdown parser where names are awkward."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from kernelprof.model.diagnosis import Diagnosis
from kernelprof.report.documents.diagnosis import document
from kernelprof.report.writers.markdown import code, fenced, prose, write


def render_markdown(diagnoses: list[Diagnosis], *, top: int | None = None) -> str:
    return "\n".join(write(document(each, top)) for each in diagnoses)


EXPECTED = """\
### kernelprof: `gemm_series.full.raw.csv`

**`gemm_bad 32x32`: Limited by uncoalesced-global-access.** Confidence: high. \
Gain: about 12.7x (7.6x to 21.6x).

4 kernels in 20,003 launches on NVIDIA H200 (compute capability 9.0).

- Warning: The last row is cut off in the middle and was left out.

| # | kernel | launches | time | share | verdict | confidence | gain |
| --: | :-- | --: | --: | --: | :-- | :-- | --: |
| 1 | `gemm_bad 32x32` | 1 | 35.31 ms | 61 % | `uncoalesced-global-access` | high | 12.7x |
| 2 | `gemm_bad 16x16` | 1 | 17.65 ms | 30 % | `uncoalesced-global-access` | high | 12.7x |
| 3 | `bank_conflict<(int)32>` | 20,000 | 2.13 µs | 7.0 % | `inconclusive` | low | - |
| 4 | `copy_vec4` | 1 | 544.1 µs | &#126;0 % | `dram-bandwidth` | medium | limit |

<details><summary>1 <code>gemm_bad 32x32</code>: Limited by uncoalesced-global-access. \
Confidence: high.</summary>

`gemm_bad(const float *, const float *, float *, int, int, int)`

grid 64x64, block 32x32, 1 launch (ID 0), 35.31 ms, 61 % of the time

| evidence | metric |
| :-- | :-- |
| 4.23 of 32 bytes used per sector (threshold 16) | `load_bytes` |
| L1 throughput 99 % (threshold 80 %) | `l1_throughput` |
| 4,563,402,752 sectors loaded | `load_sectors` |
| 8.5 sectors loaded per sector needed (threshold 1.25) | `excess` |

**Computed:** sectors per sector needed: sectors loaded / sectors needed

**Why:** Neighbouring threads of a warp read addresses that lie a row apart.

**What to do:**

- Let threadIdx.x run along the columns.
- Or stage a tile in shared memory.

**Gain:** about 12.7x (7.6x to 21.6x), computed from L1, 99 % busy, and its sectors, 92 % waste

**Runner-up:** memory-latency

</details>
"""

AWKWARD = [
    "operator|(a|b)",
    "f<`tick`>",
    "<script>alert(1)</script>",
    "__launch__*bold*_x_[y](z)",
    "a\\|b",
    "~~x~~ @everyone #1 &amp;",
    "``double`` `",
    "new\nline",
]


def _rendered(text: str) -> str:
    return MarkdownIt("commonmark").enable("table").enable("strikethrough").render(text)


def test_verdict_first_then_table_then_details(samples) -> None:
    text = render_markdown([samples.diagnosis()])
    assert text.startswith(EXPECTED)
    assert text.count("<details>") == 2
    assert text.endswith(
        "and 2 more kernels (7.1 % of the time), 1 of them inconclusive: `--top 4` shows them\n"
    )


def test_an_inconclusive_card_has_the_command_in_a_block(samples) -> None:
    text = render_markdown([samples.diagnosis()], top=3)
    assert (
        "**Missing:** l1tex__data_pipe_lsu_wavefronts_mem_shared.sum: tells conflicts from plain "
        "traffic\n\n</details>\n\n"
        f"To get a verdict for 1 kernel:\n\n```sh\n{samples.command}\n```\n"
    ) in text


@pytest.mark.parametrize("name", AWKWARD)
def test_a_name_stays_in_its_cell(samples, name: str) -> None:
    kernel = samples.kernel(name, samples.at_limit)
    page = _rendered(render_markdown([Diagnosis((kernel,), "x.csv")]))
    table = page[page.index("<table>") : page.index("</table>")]
    cells = [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", table, re.DOTALL)]
    assert len(cells) == 8
    assert "<script>" not in page
    shown = re.sub(r"</?code>", "", cells[1])
    assert shown in {name.replace("\n", " "), name.partition("(")[0]}


@pytest.mark.parametrize("text", AWKWARD)
def test_prose_is_shown_as_it_is_written(text: str) -> None:
    page = _rendered(f"x {prose(text)} y")
    shown = html.unescape(re.sub(r"</?(p|code)>", "", page)).strip()
    expected = text.replace("\n", " ")
    assert shown in {f"x {expected} y", f"x {expected.replace('`', '')} y"}


def test_prose_keeps_code_and_plain_underscores() -> None:
    assert prose("Drop `__syncthreads()` in l1tex__t_sectors") == (
        "Drop `__syncthreads()` in l1tex__t_sectors"
    )
    assert prose("__syncthreads") == "&#95;&#95;syncthreads"


def test_code_without_awkward_characters_stays_readable() -> None:
    assert code("gemm<16, 0>") == "`gemm<16, 0>`"
    assert code("") == ""
    assert code("a|b") == "<code>a&#124;b</code>"


def test_a_fence_is_longer_than_what_it_holds() -> None:
    assert fenced("ncu ./app") == "```sh\nncu ./app\n```"
    assert fenced("echo ```") == "````sh\necho ```\n````"


def test_a_comment_stays_small(samples) -> None:
    many = render_markdown([samples.many(20_000)])
    assert len(many) < 20_000
    assert many.count("\n| ") == 32 + 5 * 3
    assert "and 19,970 more kernels (100 % of the time)" in many
    long = replace(samples.diagnosis(), kernels=(samples.kernel("x" * 9_000, samples.at_limit),))
    assert len(render_markdown([long])) < 3_000


def test_a_capture_without_kernels(samples) -> None:
    empty = replace(samples.diagnosis(), kernels=(), warnings=())
    assert render_markdown([empty]) == (
        "### kernelprof: `gemm_series.full.raw.csv`\n\n0 kernels in 0 launches.\n"
    )


def test_several_captures(samples) -> None:
    one = render_markdown([samples.diagnosis()])
    assert render_markdown([samples.diagnosis(), samples.diagnosis()]) == f"{one}\n{one}"


def test_what_to_do_with_the_file_that_the_command_writes(samples) -> None:
    command = "ncu --csv --log-file more.csv ./app"
    kernel = samples.kernel("f(int)", replace(samples.inconclusive, command=command))
    text = render_markdown([Diagnosis((kernel,), "a.csv")])
    assert text.endswith(
        "To get a verdict:\n\n```sh\nncu --csv --log-file more.csv ./app\n"
        "kernelprof diagnose a.csv more.csv --merge\n```\n"
    )
