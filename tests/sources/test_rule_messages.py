"""What ncu's rules say in sentences; every sentence is quoted from a real report."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from kernelprof.sources.ncu.rule_messages import read_message

EXAMPLES = tomllib.loads(Path(__file__).with_name("rule_messages.toml").read_text("utf-8"))


def _numbers(rule: str, text: str) -> dict[str, float]:
    return {number.metric: number.value for number in read_message(rule, text).numbers}


@pytest.mark.parametrize(("clause", "reason"), EXAMPLES["stalls"].items())
def test_stall_reasons(clause: str, reason: str) -> None:
    text = (
        f"On average, each warp of this workload spends 14.4 cycles being stalled {clause}. A high "
        "number of warps waiting at a barrier, or for a scoreboard dependency on a L1TEX operation,"
        " is common. This stall type represents about 42.2% of the total average of 34.0 cycles "
        "between issuing two instructions."
    )
    assert _numbers("CPIStall", text) == {
        f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio": 14.4,
        "smsp__average_warp_latency_per_inst_issued.ratio": 34.0,
    }


@pytest.mark.parametrize("example", EXAMPLES["message"], ids=lambda each: each["rule"])
def test_numbers_and_texts(example: dict[str, Any]) -> None:
    assert _numbers(example["rule"], example["text"]) == example.get("numbers", {})
    texts = read_message(example["rule"], example["text"]).texts
    assert dict(texts) == example.get("texts", {})


def test_imbalance_is_relative_to_the_measured_mean() -> None:
    text = (
        "One or more SMs have a much lower number of active cycles than the average number of "
        "active cycles. Maximum instance value is 5.36% above the average, while the minimum "
        "instance value is 22.43% below the average."
    )
    numbers = {number.metric: number for number in read_message("WorkloadImbalance", text).numbers}
    assert numbers["kernelprof__reported_imbalance_sm_max_pct"].value == 5.36
    assert numbers["kernelprof__reported_imbalance_sm_min_pct"].value == 22.43
    most, least = numbers["sm__cycles_active.max"], numbers["sm__cycles_active.min"]
    assert most.share_of == least.share_of == "sm__cycles_active.avg"
    assert 447_240.02 * most.value == pytest.approx(472_570, rel=1e-4)
    assert 447_240.02 * least.value == pytest.approx(346_914, rel=1e-4)
