"""Pages of rules and presets, and the committed copy of the former."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kernelprof.analysis.advice import Advice, Condition
from kernelprof.analysis.advice.lines import CALLER
from kernelprof.analysis.metrics.catalogue import Metric, Preset, load_metrics, presets
from kernelprof.analysis.rules import Headline, Rule, RuleFinding, Subsystem, Threshold, load_rules
from kernelprof.report.documents import presets as preset_documents
from kernelprof.report.documents import rule as rules
from kernelprof.report.writers import markdown, terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

REPORT = Path(__file__).parents[2] / "reports" / "rules.md"

METRICS = {
    "waves": Metric("waves", ("launch__waves",), "1", "How often the grid fills the GPU.", "x"),
    "duration": Metric("duration", ("gpu__time.sum", "gpu__time.avg"), "ns", "Weighs.", "x"),
}

RULE = Rule(
    slug="small-grid",
    title="Grid too small for the GPU",
    order=1,
    subsystem=Subsystem.WAITING,
    headline=Headline("The launch is too small."),
    detects="Launches with fewer blocks than\nthe GPU holds at once.",
    matters="SMs without a block do nothing.",
    example="Four blocks:\n\n```\nsum<<<4, 128>>>(x);\n\nother<<<1, 1>>>(x);\n```",
    fixes=(
        Advice("Launch more blocks.", unless=Condition("it is full", lambda _: False)),
        Advice("Split the sum | combine."),
    ),
    caller=(
        Advice(
            "Batch it.",
            when=Condition("it is short", lambda _: True),
            number=lambda _: 2.0,
            measured="It takes {x} us.",
        ),
    ),
    wrong_when="A persistent kernel.",
    references=("Best Practices Guide, 10.3",),
    requires=("waves",),
    evaluate=lambda context: RuleFinding(context.facts["duration"]),
    thresholds=(
        Threshold("waves", 1.0, "wave", "a capture | of ours"),
        Threshold("notable waste", 0.25, "share of sectors", "a second capture"),
    ),
)

PAGE = """\
Launches with fewer blocks than the GPU holds at once.

### Why it matters

SMs without a block do nothing.

### Example

Four blocks:

```
sum<<<4, 128>>>(x);

other<<<1, 1>>>(x);
```

### What to do

- Launch more blocks (unless it is full).
- Split the sum &#124; combine.

### If the kernel belongs to a library

#### If it is short

- Batch it.

For any bottleneck: [kernels-of-libraries](#kernels-of-libraries).

### When it is wrong

A persistent kernel.

### Thresholds

- waves: 1 wave (a capture &#124; of ours)
- notable waste: 25 % of sectors (a second capture)

### Required metrics

- `waves`, `launch__waves`: How often the grid fills the GPU.

### Optional metrics

1 more metric of the preset `full`, used if present.

### References

- Best Practices Guide, 10.3
"""

TEXT = """\
small-grid: Grid too small for the GPU
Launches with fewer blocks than the GPU holds at
once.

Why it matters ─────────────────────────────────
SMs without a block do nothing.

Example ────────────────────────────────────────
Four blocks:
sum<<<4, 128>>>(x);

other<<<1, 1>>>(x);

What to do ─────────────────────────────────────
- Launch more blocks (unless it is full).
- Split the sum | combine.

If the kernel belongs to a library ─────────────

If it is short
  - Batch it.

GENERAL
When it is wrong ───────────────────────────────
A persistent kernel.

Thresholds ─────────────────────────────────────
- waves: 1 wave (a capture | of ours)
- notable waste: 25 % of sectors (a second
  capture)

Required metrics ───────────────────────────────
- `waves`, `launch__waves`: How often the grid
  fills the GPU.

Optional metrics ───────────────────────────────
1 more metric of the preset `full`, used if
present.

References ─────────────────────────────────────
- Best Practices Guide, 10.3
"""


def explain_text(rule: Rule, metrics: Mapping[str, Metric], *, width: int = 80) -> str:
    return terminal.write(rules.document(rule, metrics), terminal.Screen(width))


def preset_list(found: Iterable[Preset], *, width: int = 80) -> str:
    return terminal.write(preset_documents.index(found), terminal.Screen(width))


def preset_page(preset: Preset) -> str:
    return terminal.write(preset_documents.document(preset))


def all_pages(every: Mapping[str, Rule], metrics: Mapping[str, Metric]) -> str:
    return markdown.write(rules.all_pages(every, metrics), largest=None, level=1)


def test_a_rule_in_markdown() -> None:
    page = markdown.write(rules.document(RULE, METRICS), level=2)
    start, _, after = page.partition("- Batch it.\n\n")
    before, _, rest = PAGE.partition("- Batch it.\n\n")
    assert start == "## small-grid: Grid too small for the GPU\n\n" + before
    # A page alone has the lines for every kernel of a library; the page of all has them once.
    assert after.startswith("#### If it is a matrix product or convolution\n\n- Let the library")
    assert after.endswith(rest.partition("kernels-of-libraries).\n")[2])


def test_a_rule_as_text() -> None:
    before, after = TEXT.split("GENERAL\n")
    text = explain_text(RULE, METRICS, width=48)
    assert text.startswith(before)
    assert text.endswith(after)
    assert text.count("\n  - ") == TEXT.count("\n  - ") + len(CALLER)


def test_all_rules_in_markdown() -> None:
    text = all_pages({"small-grid": RULE}, METRICS)
    assert "- [small-grid](#small-grid): Grid too small for the GPU\n" in text
    page = "## small-grid\n\n**Grid too small for the GPU**\n\n" + PAGE
    assert f"{page}\n## kernels-of-libraries\n" in text
    assert text.count("triton.autotune") == 1
    assert rules.COMMAND in text


def test_the_committed_report_is_current() -> None:
    assert REPORT.read_text(encoding="utf-8") == all_pages(load_rules(), load_metrics()), (
        f"reports/rules.md is out of date: run `{rules.COMMAND}`"
    )


@pytest.mark.parametrize("slug", list(load_rules()))
def test_every_rule_has_a_complete_page(slug: str) -> None:
    rule = load_rules()[slug]
    page = rules.document(rule, load_metrics())
    for text in (markdown.write(page), terminal.write(page)):
        for heading in ("Why it matters", "Example", "What to do", "When it is wrong"):
            assert heading in text
    assert all(len(line) <= 80 for line in explain_text(rule, load_metrics()).split("\n"))


def test_the_index_lists_every_rule() -> None:
    title, _, _, *lines = terminal.write(rules.index(load_rules())).splitlines()
    assert title == "Bottlenecks"
    assert [line.split(" ")[0] for line in lines] == list(load_rules())
    assert "uncoalesced-global-access Uncoalesced global memory access" in lines


def test_a_list_of_presets() -> None:
    short = Preset("dram", "Device memory", "Bytes to and from device memory.", (METRICS["waves"],))
    longer = Preset("speed-of-light", "Speed of light", "How near each unit runs.", ())
    more = Preset("full", "Full", "All.", (METRICS["waves"],), samples=True)
    assert preset_list([more]).endswith(
        "full         1 All. Also collects samples by source line.\n"
    )
    assert preset_list([short, longer], width=50) == (
        "Metric presets\n"
        "\n"
        "preset         metrics purpose\n"
        "dram                 1 Bytes to and from device\n"
        "                       memory.\n"
        "speed-of-light       0 How near each unit runs.\n"
    )


def test_a_preset() -> None:
    special = Metric(
        "cycles",
        ("sm__cycles.avg",),
        "cycle",
        "Cycles.",
        "x",
        section="SpeedOfLight",
        architectures={"tu102": (), "gb202": ("sm__cycles.max",)},
    )
    preset = Preset("few", "Few", "Just a few.", (METRICS["duration"], special))
    assert preset_page(preset) == (
        "few: Few\n"
        "Just a few.\n"
        "\n"
        "duration (ns)\n"
        "gpu__time.sum or gpu__time.avg\n"
        "Weighs.\n"
        "\n"
        "cycles (cycle)\n"
        "sm__cycles.avg\n"
        "on tu102: not available\n"
        "on gb202: sm__cycles.max\n"
        "collected with section SpeedOfLight\n"
        "Cycles.\n"
    )


def test_a_preset_with_samples() -> None:
    preset = Preset("few", "Few", "Just a few.", (METRICS["waves"],), samples=True)
    assert preset_page(preset).endswith(
        "\n"
        "samples by source line\n"
        "group:smsp__pcsamp_warp_stall_reasons\n"
        "Warp samples by source line and stall reason, from the section SourceCounters.\n"
        "Verdicts use them to name source lines.\n"
    )


@pytest.mark.parametrize("name", list(presets()))
def test_every_metric_of_a_preset_is_listed(name: str) -> None:
    text = preset_page(presets()[name])
    assert all(f"\n{metric.name}" in text for metric in presets()[name].metrics)
