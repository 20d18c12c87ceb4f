"""Comparisons to render: of the captures of known changes, and made-up ones with hostile names."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from tests.support.captures import source_of

from kernelprof.comparison.compare import compare_snapshots
from kernelprof.comparison.gate.judge import judge_comparison
from kernelprof.comparison.gate.policy import Policy
from kernelprof.comparison.snapshots import make_snapshot
from kernelprof.model.comparison import (
    ComparedCounter,
    Comparison,
    InputChange,
    KernelComparison,
    Match,
    MetricChange,
    Samples,
    TimeChange,
    TimeOutcome,
)
from kernelprof.model.diagnosis import Confidence, Status, Verdict
from kernelprof.model.gate import Code, GateFinding, GateResult, KernelResult, Outcome
from kernelprof.model.snapshot import Inputs, KernelSnapshot, Snapshot
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import read_manifest

CHANGES = Path(__file__).parents[1] / "captures" / "h200_changes"

AWKWARD = (
    "<script>alert(1)</script>",
    "a|b",
    "f<`tick`>",
    "``double`` `",
    "new\nline",
    "]]><x/>&amp;",
    "</details></code>",
    "kernel::{lambda(int)#1}::operator()(int)",
    "[link](https://example.org)",
    "\"quoted\" 'name'",
    "bell\x07 escape\x1b[31m null\x00",
    "surrogate \udcff noncharacter \uffff",
    "```\n# heading",
)


@cache
def taken(label: str, run: str) -> Snapshot:
    """The snapshot of a run, with the text of its source."""
    place = CHANGES / label / run
    capture, manifest = read_capture(place), read_manifest(place)
    return make_snapshot(capture, manifest, text=source_of(place).decode())


@cache
def change(before: str, after: str) -> Comparison:
    """What happened from a label's first run to another's second one."""
    return compare_snapshots(taken(before, "1"), taken(after, "2"))


def gated(before: str, after: str, **policy: Any) -> GateResult:
    """The gate's answer on a change."""
    return judge_comparison(change(before, after), replace(Policy(), **policy))


def side(name: str, path: str = "kernel.cu", **other: Any) -> KernelSnapshot:
    """A kernel as it was before or after."""
    values: dict[str, Any] = {
        "grid": (64, 64, 1),
        "block": (16, 16, 1),
        "launches": 20,
        "verdict": Verdict(Status.BOTTLENECK, "l1-throughput", Confidence.HIGH, 1.5),
        "median_ns": 2_000.0,
        "inputs": Inputs(path, "0" * 64),
    }
    return KernelSnapshot(name=name, **(values | other))


def slower(name: str, path: str = "kernel.cu", **other: Any) -> KernelComparison:
    """A kernel that became twice as slow, with everything that a comparison can hold."""
    after = Verdict(Status.BOTTLENECK, "memory-latency", Confidence.LOW, 2.0)
    values: dict[str, Any] = {
        "match": Match.SAME,
        "before": side(name, path),
        "after": side(name, path, median_ns=4_000.0, verdict=after),
        "time": TimeChange(
            TimeOutcome.SLOWER,
            measured_by="CUDA events",
            before_ns=2_000.0,
            after_ns=4_000.0,
            ratio=2.0,
            ratio_low=1.9,
            ratio_high=2.1,
            p=1e-7,
            noise_floor=0.0025,
            noise_floor_from="scatter",
            samples=Samples(20, 20),
        ),
        "verdict_changed": True,
        "counters": (ComparedCounter("instructions", name, "inst", 0.0, 8.0, True),),
        "lacking": (name,),
        "metrics": (MetricChange(name, "%", 10.0, 80.0, 0.5),),
        "inputs": (InputChange("source", name, name, ""),),
        "diff": f"--- before\n+++ after\n-{name}\n+{name}",
        "notes": (name,),
    }
    return KernelComparison(**(values | other))


def comparison(*kernels: KernelComparison, **other: Any) -> Comparison:
    """A comparison of these kernels."""
    values: dict[str, Any] = {"before": "a.json", "after": "b", "kernels": kernels} | other
    values |= {side: Snapshot(values[side]) for side in ("before", "after")}
    return Comparison(**values)


def answer(*kernels: KernelComparison, **other: Any) -> GateResult:
    """A gate that calls each of these kernels a regression."""
    results = tuple(
        KernelResult(
            each,
            Outcome.REGRESSION,
            (
                GateFinding(Code.SLOWER, Outcome.REGRESSION, f"{each.name} is slower"),
                GateFinding(Code.FASTER, Outcome.PASS, each.name),
            ),
        )
        for each in kernels
    )
    values: dict[str, Any] = {
        "comparison": comparison(*kernels),
        "outcome": Outcome.REGRESSION if kernels else Outcome.PASS,
        "kernels": results,
    }
    return GateResult(**(values | other))


texts = st.text(st.characters(), max_size=60) | st.sampled_from(AWKWARD)
numbers = st.floats() | st.sampled_from([0.0, 1.0, 1e-12, 1e300])


def kernels() -> st.SearchStrategy[KernelComparison]:
    """Kernels with any names, texts and numbers."""
    return st.builds(
        lambda name, path, text, value, match, outcome, diff: slower(
            name,
            path,
            match=match,
            before=None if match is Match.APPEARED else side(name, path, median_ns=abs(value)),
            after=None if match is Match.VANISHED else side(text, path),
            time=TimeChange(outcome, ratio=value, before_ns=value, after_ns=1.0, reason=text),
            counters=(
                ComparedCounter("instructions", text, text, value, 2.0, None, None, value, 1.0),
            ),
            metrics=(MetricChange(text, "%", value, 1.0, min(abs(value), 1.0)),),
            inputs=(InputChange(text, text, text, text),),
            notes=(text,),
            diff=diff,
        ),
        texts,
        texts,
        texts,
        numbers,
        st.sampled_from(Match),
        st.sampled_from(TimeOutcome),
        st.text(st.characters(), max_size=400),
    )
