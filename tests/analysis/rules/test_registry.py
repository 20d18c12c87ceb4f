"""Every rule is complete, and what it looks at is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.captures import captured

from kernelprof.analysis import rules
from kernelprof.analysis.metrics.catalogue import load_metrics, presets
from kernelprof.analysis.metrics.facts import Facts
from kernelprof.analysis.rules import Rule, RuleContext, load_rules

SLUGS = {
    "uncoalesced-global-access", "shared-bank-conflicts", "local-memory-traffic",
    "atomic-contention", "dram-bandwidth", "l2-bandwidth", "l1-throughput",
    "shared-memory-throughput", "fp32-throughput", "fp64-throughput", "tensor-throughput",
    "sfu-throughput", "integer-throughput", "instruction-issue", "warp-divergence",
    "barrier-stalls", "memory-latency", "dependency-latency", "low-occupancy", "small-grid",
    "workload-imbalance", "instruction-fetch", "async-pipeline-stalls", "constant-cache",
}  # fmt: skip
"""The names that other people's scripts rely on; a new rule need not be listed."""


def test_no_published_name_is_gone() -> None:
    assert set(load_rules()) >= SLUGS


def test_each_rule_is_the_file_of_its_name() -> None:
    folder = Path(rules.__file__).parent
    for slug in load_rules():
        assert (folder / f"{slug.replace('-', '_')}.py").is_file()


def test_exact_ties_have_an_order() -> None:
    orders = [rule.order for rule in load_rules().values()]
    assert orders == sorted(set(orders))


@pytest.mark.parametrize("rule", load_rules().values(), ids=lambda rule: rule.slug)
class TestEachRule:
    def test_its_page_has_every_part(self, rule: Rule) -> None:
        for part in (rule.detects, rule.matters, rule.example, rule.wrong_when):
            assert len(part) > 40
            assert part.endswith(".")
        assert rule.fixes
        assert rule.references

    def test_its_thresholds_have_unit_and_source(self, rule: Rule) -> None:
        assert rule.thresholds
        for threshold in rule.thresholds:
            assert threshold.unit
            assert len(threshold.source) > 20

    def test_its_metrics_are_in_the_catalogue_and_in_the_full_preset(self, rule: Rule) -> None:
        full = {metric.name for metric in presets()["full"].metrics}
        assert rule.requires
        for name in rule.metrics:
            assert name in load_metrics()
            assert name in full

    def test_what_it_reads_is_found_out(self, rule: Rule) -> None:
        """On a launch without metrics it looks at all that it looks at on a complete one."""
        facts = Facts(captured("gemm_series.full.raw.csv"))
        rule.evaluate(RuleContext(facts))
        assert set(facts.read) <= set(rule.metrics)

    def test_what_it_requires_comes_first_and_is_read(self, rule: Rule) -> None:
        assert rule.metrics[: len(rule.requires)] == rule.requires
        assert set(rule.metrics) == set(rule.reads())
