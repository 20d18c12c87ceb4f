"""Facts that verdicts and answers rest on."""

from __future__ import annotations

import operator
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from kernelprof.model.capture import Origin
from kernelprof.model.json_types import CanonicalName, JsonStruct, about, added

_RELATIONS: Final = {
    ">": (operator.gt, "<="),
    "<": (operator.lt, ">="),
    ">=": (operator.ge, "<"),
    "<=": (operator.le, ">"),
}


class Evidence(JsonStruct, frozen=True):
    """A fact: value op threshold unit. Where nothing is compared, op is "=", threshold null."""

    metric: CanonicalName
    label: Annotated[str, about("Display name of the metric.")]
    value: float
    unit: str
    op: Annotated[str, Meta(extra_json_schema={"enum": ["<", "<=", "=", ">", ">="]})] = "="
    threshold: float | None = None
    source: Origin = Origin.MEASURED
    formula: Annotated[
        str, added("How the value was computed; empty if it is the metric itself.")
    ] = ""
    low: Annotated[
        float | None, added("Lower bound of a predicted value; null where it is exact.")
    ] = None
    high: Annotated[float | None, added("Upper bound of a predicted value.")] = None

    def __post_init__(self) -> None:
        """Turn a comparison around that does not hold: a fact may speak against a rule."""
        if self.threshold is None or self.op not in _RELATIONS:
            return
        compare, opposite = _RELATIONS[self.op]
        if not compare(self.value, self.threshold):
            msgspec.structs.force_setattr(self, "op", opposite)

    @property
    def ends(self) -> tuple[float, float] | None:
        """The lowest and the highest that the value can be; ``None`` where it is exact."""
        return None if self.low is None or self.high is None else (self.low, self.high)
