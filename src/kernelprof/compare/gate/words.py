"""Sentences of the gate that comparisons do not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.compare.counters import unit_of
from kernelprof.compare.gate.policy import PER_REQUEST
from kernelprof.report.numbers import quantity

if TYPE_CHECKING:
    from kernelprof.compare.gate.policy import Budget


def budget_text(budget: Budget, found: float | None) -> str:
    """A budget and what the candidate has."""
    limits = []
    unit = "sector/request" if budget.metric in PER_REQUEST else unit_of(budget.metric)
    if budget.at_most is not None:
        limits.append(f"at most {quantity(budget.at_most, unit)}")
    if budget.at_least is not None:
        limits.append(f"at least {quantity(budget.at_least, unit)}")
    has = "the candidate does not have it" if found is None else f"it is {quantity(found, unit)}"
    return f"{budget.metric} may be {' and '.join(limits)}: {has}"
