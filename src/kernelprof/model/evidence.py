"""Facts that verdicts and answers rest on."""

from __future__ import annotations

from dataclasses import dataclass

from kernelprof.model.capture import Origin


@dataclass(frozen=True, slots=True)
class Evidence:
    """One measured fact that a verdict rests on: ``value op threshold unit``.

    ``metric`` is the canonical name, ``label`` what people call it. ``threshold`` is ``None`` for a
    fact that is shown without being compared; ``op`` is then ``"="``. A value that is worked
    out says how in ``formula``; any other is what the capture has for the metric. ``ends`` are the
    lowest and the highest that one can be that is predicted, and not exactly known.
    """

    metric: str
    label: str
    value: float
    unit: str
    op: str = "="
    threshold: float | None = None
    source: Origin = Origin.MEASURED
    formula: str = ""
    ends: tuple[float, float] | None = None
