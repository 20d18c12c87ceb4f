"""The report of a run on a GPU, from its ``drilldown.json``.

``python -m tests.gpu.report build/gpu-test/drilldown.json > reports/gpu-tests-GPU.md``
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.gpu.support import named, same

_HEAD = (
    "kernel", "`--set full`", "preset `full`", "preset `triage`", "after the follow-ups", "rounds",
    "passes: triage + follow-ups", "passes: preset `full`", "passes: `--set full`",
)  # fmt: skip


def report(run: dict[str, Any]) -> str:
    """The page in ``reports/``."""
    machine = run["machine"]
    presets = [
        f"| {each['preset']} | {each['passes']} | {each['code']} | {_listed(each['absent'])} |"
        for each in run["presets"]
    ]
    durations = [f"| {name} | {seconds} |" for name, seconds in run["seconds"].items()]
    parts = [
        f"# Tests on a GPU: {machine['gpu']}",
        f"Written by `make gpu-test`, which builds the programs, runs everything below again and "
        f"leaves captures and this page in `build/gpu-test/`. This run: {machine['when']}, "
        f"{machine['gpu']} (compute capability {machine['compute capability']}), "
        f"driver {machine['driver']}, ncu {machine['ncu']}, nvcc {machine['nvcc']}, "
        f"`--clock-control none`.",
        _outcomes(run["outcomes"]),
        "## Presets",
        "The command that `kernelprof command --preset NAME` prints, run as printed on the three "
        "kernels of `tests/kernels/fixture.cu`. Exit codes of `kernelprof diagnose`: 0 all have a "
        "verdict, 3 some are inconclusive. Metrics that ncu did not give are those that this chip "
        "does not have: a command that is printed without a capture does not know the chip.",
        "\n".join(
            ["| preset | passes | exit code | not given |", "| --- | --- | --- | --- |", *presets]
        ),
        "## Kernels",
        "Launches of `tests/kernels/validation.cu`. From the triage on, each inconclusive kernel "
        "gets the command that its verdict prints, run as it stands; the captures are merged, and "
        f"so on for at most {run['most_rounds']} rounds. Passes are how often ncu ran the kernel.",
        table(run),
        summary(run),
        "## Seconds",
        "\n".join(["| what | s |", "| --- | --- |", *durations]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _outcomes(outcomes: dict[str, Any]) -> str:
    parts = [f"{outcomes['passed']} tests passed."]
    for name, tests in outcomes.items():
        if name != "passed":
            parts += [f"{len(tests)} {name}:", "\n".join(f"- `{test}`" for test in tests)]
    return "\n\n".join(parts)


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "-"


def table(run: dict[str, Any]) -> str:
    """Kernels and what was said about them after each amount of measuring."""
    lines = [f"| {' | '.join(_HEAD)} |", f"|{' --- |' * len(_HEAD)}"]
    lines += [f"| {' | '.join(_row(kernel))} |" for kernel in run["kernels"]]
    return "\n".join(lines)


def _row(kernel: dict[str, Any]) -> list[str]:
    steps = kernel.get("steps", [])
    counts = kernel.get("passes", {})
    follow_ups = "".join(f" + {step['passes']}" for step in steps)
    return [
        kernel["label"],
        *(_said(kernel.get(key)) for key in ("full set", "full", "triage", "final")),
        str(len(steps)),
        f"{counts.get('triage', '-')}{follow_ups}",
        str(counts.get("full", "-")),
        str(counts.get("full set", "-")),
    ]


def _said(answer: dict[str, Any] | None) -> str:
    if answer is None:
        return "not run"
    gain = "" if answer["gain"] is None else f" {answer['gain']:.3g}x"
    return f"{named(answer)}{gain} ({answer['confidence']})"


def summary(run: dict[str, Any]) -> str:
    """How many agree, and how much measuring it took."""
    kernels = [kernel for kernel in run["kernels"] if "final" in kernel and "full set" in kernel]
    if not kernels:
        return ""
    agree = [kernel for kernel in kernels if same(kernel["final"], kernel["full set"])]
    other = [kernel["label"] for kernel in kernels if kernel not in agree]
    spent = sum(
        kernel["passes"]["triage"] + sum(step["passes"] for step in kernel["steps"])
        for kernel in kernels
    )
    text = (
        f"{len(agree)} of {len(kernels)} kernels end at the verdict of `--set full`. All together "
        f"that took {spent} passes; the preset `full` takes "
        f"{sum(kernel['passes']['full'] for kernel in kernels)} and `--set full` "
        f"{sum(kernel['passes']['full set'] for kernel in kernels)}."
    )
    return f"{text} Not so: {', '.join(other)}." if other else text


if __name__ == "__main__":
    sys.stdout.write(report(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
