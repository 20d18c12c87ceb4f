"""Pages of rules and presets, and the committed copy of the former."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelprof.analysis.metrics.catalogue import catalogue, presets
from kernelprof.analysis.metrics.presets import Metric, Preset
from kernelprof.analysis.rules import Docs, Rule, Threshold, registry
from kernelprof.report.explain import explain_text, index_text
from kernelprof.report.preset_pages import preset_list, preset_page
from kernelprof.report.rule_pages import COMMAND, all_pages, rule_page

REPORT = Path(__file__).parents[2] / "reports" / "rules.md"

METRICS = {
    "waves": Metric("waves", ("launch__waves",), "1", "How often the grid fills the GPU.", "x"),
    "duration": Metric("duration", ("gpu__time.sum", "gpu__time.avg"), "ns", "Weighs.", "x"),
}

RULE = Rule(
    slug="small-grid",
    title="Grid too small for the GPU",
    order=1,
    docs=Docs(
        detects="Launches with fewer blocks than\nthe GPU holds at once.",
        matters="SMs without a block do nothing.",
        example="Four blocks:\n\n```\nsum<<<4, 128>>>(x);\n\nother<<<1, 1>>>(x);\n```",
        fixes=("Launch more blocks.", "Split the sum | combine."),
        wrong_when="A persistent kernel.",
        references=("Best Practices Guide, 10.3",),
    ),
    requires=("waves",),
    uses=("duration",),
    evaluate=lambda _scene: pytest.fail("a page needs no evaluation"),
    thresholds=(Threshold("waves", 1.0, "wave", "a capture | of ours"),),
)

PAGE = """\
# small-grid

**Grid too small for the GPU**

Launches with fewer blocks than
the GPU holds at once.

**Why it matters.** SMs without a block do nothing.

**Example.** Four blocks:

```
sum<<<4, 128>>>(x);

other<<<1, 1>>>(x);
```

**What to do.**

- Launch more blocks.
- Split the sum | combine.

**When it is wrong.** A persistent kernel.

**Thresholds.**

| threshold | value | source |
| --- | --- | --- |
| `waves` | 1 wave | a capture \\| of ours |

**Metrics.**

| needed metric | unit | `ncu` name |
| --- | --- | --- |
| `waves` | - | `launch__waves` |

Used where the capture has them: `duration`.

**References.**

- Best Practices Guide, 10.3
"""

TEXT = """\
small-grid: Grid too small for the GPU

Launches with fewer blocks than the GPU
holds at once.

Why it matters
  SMs without a block do nothing.

Example
  Four blocks:
  ```
  sum<<<4, 128>>>(x);
  other<<<1, 1>>>(x);
  ```

What to do
  - Launch more blocks.
  - Split the sum | combine.

When it is wrong
  A persistent kernel.

Thresholds
  - waves = 1 wave: a capture | of ours

Needs
  - waves (launch__waves): How often the
    grid fills the GPU.

Uses where the capture has them (kernelprof presets full)
  duration

References
  - Best Practices Guide, 10.3
"""


def test_a_rule_in_markdown() -> None:
    assert rule_page(RULE, METRICS) == PAGE


def test_a_rule_as_text() -> None:
    assert explain_text(RULE, METRICS, width=40) == TEXT


def test_all_rules_in_markdown() -> None:
    text = all_pages({"small-grid": RULE}, METRICS)
    assert "- [small-grid](#small-grid): Grid too small for the GPU\n" in text
    assert text.endswith(PAGE.replace("# small-grid", "## small-grid"))
    assert COMMAND in text


def test_the_committed_report_is_current() -> None:
    assert REPORT.read_text(encoding="utf-8") == all_pages(registry(), catalogue()), (
        f"reports/rules.md is out of date: run `{COMMAND}`"
    )


@pytest.mark.parametrize("slug", list(registry()))
def test_every_rule_has_a_complete_page(slug: str) -> None:
    rule = registry()[slug]
    for text in (rule_page(rule, catalogue()), explain_text(rule, catalogue())):
        for heading in ("Why it matters", "Example", "What to do", "When it is wrong"):
            assert heading in text
    assert all(
        len(line) <= 80 or "__" in line for line in explain_text(rule, catalogue()).split("\n")
    )


def test_the_index_lists_every_rule() -> None:
    lines = index_text(registry()).splitlines()
    assert len(lines) == len(registry())
    assert "uncoalesced-global-access  Uncoalesced global memory access" in lines


def test_a_list_of_presets() -> None:
    short = Preset("dram", "Device memory", "Bytes to and from device memory.", (METRICS["waves"],))
    longer = Preset("speed-of-light", "Speed of light", "How near each unit runs.", ())
    more = Preset("full", "Full", "All.", (METRICS["waves"],), samples=True)
    assert preset_list([more]) == "full  All. (1 metric and samples by source line)\n"
    assert preset_list([short, longer], width=50) == (
        "dram            Bytes to and from device memory.\n"
        "                (1 metric)\n"
        "speed-of-light  How near each unit runs. (0\n"
        "                metrics)\n"
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
        "few: Just a few.\n"
        "\n"
        "duration (ns)\n"
        "  gpu__time.sum or gpu__time.avg\n"
        "  Weighs.\n"
        "\n"
        "cycles (cycle)\n"
        "  sm__cycles.avg\n"
        "  on tu102: not there\n"
        "  on gb202: sm__cycles.max\n"
        "  collected with section SpeedOfLight\n"
        "  Cycles.\n"
    )


def test_a_preset_with_samples() -> None:
    preset = Preset("few", "Few", "Just a few.", (METRICS["waves"],), samples=True)
    assert preset_page(preset).endswith(
        "\n"
        "samples by source line\n"
        "  group:smsp__pcsamp_warp_stall_reasons\n"
        "  Where in the source warps spend their time, for the lines that a report marks.\n"
        "  Costs one pass.\n"
    )


@pytest.mark.parametrize("name", list(presets()))
def test_every_metric_of_a_preset_is_listed(name: str) -> None:
    text = preset_page(presets()[name])
    assert all(f"\n{metric.name}" in text for metric in presets()[name].metrics)
