"""Series of hardware counters as NVIDIA's package gives them, from values of public reports."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "captures" / "series"
NAMES = sorted(each.stem for each in FOLDER.glob("*.json"))


@dataclass
class FakeMetric:
    """A metric of the package, with its instances."""

    value: float | None = None
    times: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def has_value(self) -> bool:
        return self.value is not None

    def as_double(self, at: int | None = None) -> float:
        return self.values[at] if at is not None else self.value or 0.0

    def has_correlation_ids(self) -> bool:
        return bool(self.times)

    def num_instances(self) -> int:
        return len(self.times)

    def correlation_ids(self) -> FakeMetric:
        return self

    def as_uint64(self, at: int) -> int:
        return self.times[at]


@dataclass
class FakeAction:
    """A launch of a report."""

    metrics: dict[str, FakeMetric]

    def metric_names(self) -> list[str]:
        return list(self.metrics)

    def metric_by_name(self, name: str) -> FakeMetric | None:
        return self.metrics.get(name)


def stored(name: str) -> dict[str, Any]:
    """Read the values of one launch."""
    document: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return document


def action_of(document: dict[str, Any]) -> FakeAction:
    """Put them as the package does."""
    metrics = {name: FakeMetric(value) for name, value in document["scalars"].items()}
    passes = [list(accumulate(steps, initial=start)) for start, steps in document["passes"]]
    for name, (number, values) in document["series"].items():
        metrics[name] = FakeMetric(None, list(passes[number]), list(values))
    for kind in ("starts", "ends"):
        for number, time in enumerate(document[kind]):
            name = f"profiler__timestamp_workload_{kind[:-1]}_{number}"
            metrics[name] = FakeMetric(1.0, [time], [0.0])
    return FakeAction(metrics)
