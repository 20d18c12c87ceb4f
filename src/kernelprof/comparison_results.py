"""What comparing captures returns: a comparison, what the gate says, a history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from kernelprof.model import comparison, gate, history
from kernelprof.results import Shown

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, repr=False)
class ComparisonView(Shown, comparison.Comparison):
    """Two captures side by side, the kernels that matter most first."""

    def to_pandas(self) -> pd.DataFrame:
        """One row a kernel: times in ns, their ratio with its 95 % interval, and both verdicts."""
        import pandas as pd

        return pd.DataFrame([_compared_row(kernel) for kernel in self.kernels])


def _compared_row(kernel: comparison.KernelComparison) -> dict[str, Any]:
    time = kernel.time
    sides = (kernel.before, kernel.after)
    before, after = (None if each is None else each.verdict for each in sides)
    return {
        "kernel": kernel.name,
        "match": kernel.match.value,
        "time": time.outcome.value,
        "before_ns": time.before_ns,
        "after_ns": time.after_ns,
        "ratio": time.ratio,
        "ratio_low": time.ratio_low,
        "ratio_high": time.ratio_high,
        "p": time.p,
        "before": None if before is None else before.bottleneck or before.status.value,
        "after": None if after is None else after.bottleneck or after.status.value,
        "verdict_changed": kernel.verdict_changed,
        "counters_worse": [each.metric for each in kernel.counters if each.worse],
        "counters_better": [each.metric for each in kernel.counters if each.worse is False],
    }


@dataclass(frozen=True, slots=True, repr=False)
class GateView(Shown, gate.GateResult):
    """What the gate says: pass, regression or inconclusive, and why."""

    @property
    def line(self) -> str:
        """The outcome and how many kernels have which, in a line."""
        from kernelprof.comparison.words import gate_line

        return gate_line(self)

    def to_pandas(self) -> pd.DataFrame:
        """One row a finding: the kernel (``None`` for all), outcome, code and a sentence."""
        import pandas as pd

        of_kernels = [
            (each.kernel.name, finding) for each in self.kernels for finding in each.findings
        ]
        return pd.DataFrame(
            [
                {
                    "kernel": name,
                    "outcome": finding.outcome.value,
                    "code": finding.code.value,
                    "finding": finding.text,
                }
                for name, finding in [(None, each) for each in self.general] + of_kernels
            ],
            columns=["kernel", "outcome", "code", "finding"],
        )


@dataclass(frozen=True, slots=True, repr=False)
class HistoryView(Shown, history.History):
    """All kernels of a folder or of a baseline's commits, those that take most time first."""

    def to_pandas(self) -> pd.DataFrame:
        """One row a measurement of a kernel: when, on which GPU, the time, and what changed."""
        import pandas as pd

        table = pd.DataFrame(
            [_history_row(kernel, row) for kernel in self.kernels for row in kernel.rows]
        )
        if len(table):
            table["date"] = pd.to_datetime(table["date"], utc=True)
        return table


def _history_row(kernel: history.KernelHistory, row: history.HistoryRow) -> dict[str, Any]:
    verdict, time = row.kernel.verdict, row.time
    return {
        "kernel": kernel.name,
        "detail": kernel.detail,
        "date": row.moment.date,
        "origin": row.moment.origin,
        "gpu": row.moment.machine.gpu,
        "median_ns": row.kernel.median_ns,
        "low_ns": row.low_ns,
        "high_ns": row.high_ns,
        "verdict": verdict.bottleneck or verdict.status.value,
        "confidence": verdict.confidence.value,
        "verdict_changed": row.verdict_changed,
        "time": None if time is None else time.outcome.value,
        "ratio": None if time is None else time.ratio,
    }


Comparison: TypeAlias = ComparisonView
GateResult: TypeAlias = GateView
History: TypeAlias = HistoryView
