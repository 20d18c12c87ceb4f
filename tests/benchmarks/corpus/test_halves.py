"""Thresholds chosen on one half of the pairs and scored on the other."""

from __future__ import annotations

from importlib import import_module

import pytest
from benchmarks.corpus.halves import KNOBS, Knob, halves
from benchmarks.corpus.pairs import corpus
from benchmarks.corpus.stored import FOLDER, load


def now(place: str) -> float:
    module, _, constant = place.rpartition(".")
    value = getattr(import_module(f"kernelprof.analysis.{module}"), constant)
    assert isinstance(value, float)
    return value


@pytest.mark.parametrize("knob", KNOBS, ids=lambda each: each.name)
def test_each_threshold_is_one_that_the_rules_use(knob: Knob) -> None:
    assert {now(place) for place in knob.places} <= set(knob.values)
    assert len({now(place) for place in knob.places}) == 1


@pytest.mark.slow("reads half of the corpus")
def test_the_halves_are_drawn_alike_and_leave_the_thresholds_alone() -> None:
    pairs = [pair for pair in corpus() if pair.bottleneck in {"dram-bandwidth", "l2-bandwidth"}]
    before = [now(place) for knob in KNOBS for place in knob.places]
    loaded = load(pairs, FOLDER)
    found = halves(pairs, loaded, draws=2)
    assert found == halves(pairs, loaded, draws=2)
    assert [now(place) for knob in KNOBS for place in knob.places] == before
    planted = sum(pair.kind in {"pair", "two"} for pair in pairs)
    assert found.chosen_on[1] + found.scored_on[1] == 2 * planted
    assert found.least <= found.scored_on[0] / found.scored_on[1] <= found.most
