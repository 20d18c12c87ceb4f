"""What several JSON documents have in common, so that it reads the same in each of them."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import kernelprof

if TYPE_CHECKING:
    from kernelprof.model.comparison import CounterChange, TimeChange
    from kernelprof.model.diagnosis import Verdict

    Json = dict[str, Any]


def written(document: Json) -> str:
    """A document as its text; a number that is none is a mistake of ours."""
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def tool() -> Json:
    """Who wrote a document."""
    return {"name": "kernelprof", "version": kernelprof.__version__}


def finite(value: float | None) -> float | None:
    """JSON has neither NaN nor infinity: a number that is none is ``null``."""
    return value if value is not None and math.isfinite(value) else None


def verdict(verdict: Verdict) -> Json:
    """A verdict of a snapshot."""
    return {
        "status": verdict.status,
        "bottleneck": verdict.bottleneck,
        "confidence": verdict.confidence,
        "also": [each.bottleneck for each in verdict.also],
        "estimated_gain": finite(verdict.gain),
    }


def time(change: TimeChange) -> Json:
    """Times before and after."""
    before, after = change.samples
    return {
        "outcome": change.outcome.value,
        "measured_by": change.how,
        "before_ns": finite(change.before_ns),
        "after_ns": finite(change.after_ns),
        "ratio": finite(change.ratio),
        "ratio_low": finite(change.low),
        "ratio_high": finite(change.high),
        "p": finite(change.p),
        "noise_floor": finite(change.floor),
        "noise_floor_from": change.floor_from,
        "samples": {"before": before, "after": after},
        "reason": change.reason,
    }


def counter(change: CounterChange) -> Json:
    """An exact counter before and after."""
    return {
        "metric": change.metric,
        "label": change.label,
        "unit": change.unit,
        "before": finite(change.before),
        "after": finite(change.after),
        "worse": change.worse,
    }
