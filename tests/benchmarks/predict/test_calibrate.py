"""Intervals of models: as many values in them as asked, and the file that keeps them."""

from __future__ import annotations

import math
import random
import tomllib

from benchmarks.predict.calibrate import FEWEST, calibrated, to_toml

from kernelprof.prediction.metrics import ModelError


def pairs(count: int, seed: int) -> list[tuple[float, float]]:
    """Predictions, and measurements that are 1.1 times as high, give or take a factor."""
    lots = random.Random(seed)
    predicted = [lots.uniform(1, 100) for _ in range(count)]
    return [(each, each * 1.1 * math.exp(lots.gauss(0, 0.3))) for each in predicted]


def share_held(spread: ModelError, seen: list[tuple[float, float]]) -> float:
    ends = [(*spread.around(value), measured) for value, measured in seen]
    return sum(low <= measured <= high for low, high, measured in ends) / len(seen)


def test_as_many_values_are_in_it_as_asked_also_of_those_not_seen() -> None:
    spread = calibrated({"duration": pairs(400, 1)})["duration"]
    assert spread.kernels == 400
    assert 0.95 <= share_held(spread, pairs(400, 1)) < 0.97
    assert 0.92 < share_held(spread, pairs(4000, 2)) < 0.98


def test_a_metric_of_few_kernels_gets_the_widest_of_its_unit() -> None:
    alike = {"ffma_rate": pairs(100, 1), "fadd_rate": [(a, b * 3) for a, b in pairs(100, 2)]}
    found = calibrated({**alike, "hmul_rate": pairs(FEWEST - 1, 3)})
    assert found["hmul_rate"].low == min(found[each].low for each in alike)
    assert found["hmul_rate"].high == max(found[each].high for each in alike)


def test_one_that_is_alone_of_its_unit_gets_none() -> None:
    assert calibrated({"duration": pairs(FEWEST - 1, 1)}) == {}


def test_what_is_never_off_is_exact() -> None:
    assert calibrated({"sm_count": [(132.0, 132.0)] * 50})["sm_count"].around(132.0) == (132, 132)


def test_the_file_has_what_was_found() -> None:
    found = calibrated({"duration": pairs(50, 1), "issue_slots": pairs(60, 2)})
    assert {
        name: ModelError(**each) for name, each in tomllib.loads(to_toml(found)).items()
    } == found
