"""Pairs of variants on Blackwell GPUs: the cause of the slower is what the change took away.

An inconclusive launch counts by what it points to first.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from tests.analysis.verdict.test_blackwell import BLACKWELL, lead
from tests.support.captures import captured

from kernelprof.analysis.metrics.facts import Facts
from kernelprof.analysis.verdict import diagnose
from kernelprof.model.diagnosis import Confidence

if TYPE_CHECKING:
    from kernelprof.model.diagnosis import Verdict

PAIRS = tomllib.loads((BLACKWELL / "pairs.toml").read_text(encoding="utf-8"))["pair"]
LEAST_LESS_TRAFFIC = 1.3


def first_verdict(name: str) -> Verdict:
    return diagnose(captured(f"blackwell/{name}.gz")).kernels[0].verdict


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair["change"][:40])
def test_the_cause_of_the_slower_is_what_the_faster_changed(pair: dict[str, Any]) -> None:
    verdict = first_verdict(pair["slower"])
    assert (verdict.bottleneck or lead(verdict)) in pair["accept"]
    causes = {verdict.bottleneck, *(each.bottleneck for each in verdict.causes)}
    assert not causes.intersection(pair["reject"])


@pytest.mark.parametrize(
    "pair", [each for each in PAIRS if "traffic" in each], ids=lambda pair: pair["change"][:40]
)
def test_traffic_whose_loss_brought_nothing_is_no_cause_of_either(pair: dict[str, Any]) -> None:
    more, less = (
        Facts(captured(f"blackwell/{pair[each]}.gz")).values(pair["traffic"])[0]
        for each in ("slower", "faster")
    )
    assert more > LEAST_LESS_TRAFFIC * less
    for name in (pair["slower"], pair["faster"]):
        verdict = first_verdict(name)
        causes = {verdict.bottleneck, *(each.bottleneck for each in verdict.causes)}
        assert not causes.intersection(("dram-bandwidth", "l2-bandwidth"))


def test_no_pair_has_a_wrong_verdict_at_high_confidence() -> None:
    for pair in PAIRS:
        verdict = first_verdict(pair["slower"])
        if verdict.bottleneck is not None and verdict.bottleneck not in pair["accept"]:
            assert verdict.confidence is not Confidence.HIGH
