"""Surveys as traces that Perfetto opens."""

from __future__ import annotations

import json
from collections import Counter

from tests.support.surveys import trace

from kernelprof.collect.survey.perfetto import GPU_BASE, to_perfetto


def test_kernels_ranges_and_counters_are_where_they_ran() -> None:
    recorded = trace("mixed")
    events = json.loads(to_perfetto(recorded))["traceEvents"]
    kinds = Counter(each["ph"] for each in events)
    spans = len(recorded.kernels) + len(recorded.transfers) + len(recorded.ranges)
    assert kinds["X"] == spans + len(recorded.calls)
    names = {each["args"]["name"] for each in events if each["ph"] == "M"}
    assert "GPU 0: NVIDIA H100 80GB HBM3" in names
    kernel = next(each for each in events if each["pid"] == GPU_BASE and each["ph"] == "X")
    first = recorded.kernels[0]
    assert kernel["ts"] == first["start"] / 1e3
    assert kernel["dur"] == (first["end"] - first["start"]) / 1e3
    dram = [each["args"]["%"] for each in events if each["name"] == "dram__throughput %"]
    assert len(dram) == len(recorded.series[0].start)
    assert 85 < max(dram) <= 100
