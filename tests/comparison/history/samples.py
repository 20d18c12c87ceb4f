"""Moments of known captures, with other dates, machines and launches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import structs
from tests.comparison.gate.planted import taken

from kernelprof.comparison.history.rows import RowSelection, build_history
from kernelprof.comparison.history.store import HistoryCache
from kernelprof.model.diagnosis import Confidence, Status, Verdict
from kernelprof.model.history import HistoryOrigin, Moment, MomentKind

if TYPE_CHECKING:
    from typing import Any

    from kernelprof.model.history import History
    from kernelprof.model.snapshot import KernelSnapshot

GPU = "NVIDIA H200"
HOSTILE = "=<img src=x onerror=alert(1)>|`*_[x](y)\x1b[31m\n"


def moment(day: int, label: str, run: str = "1", **machine: Any) -> Moment:
    """A capture as if it had been made on a day of September."""
    snapshot = taken(label, run)
    return Moment(
        date=f"2026-09-{day:02}T10:00:00Z",
        origin=f"{label}/{run}",
        kind=MomentKind.CAPTURE,
        machine=structs.replace(snapshot.machine, **machine),
        kernels=snapshot.kernels,
    )


def with_kernels(found: Moment, **changes: Any) -> Moment:
    """The same with all its kernels changed."""
    return structs.replace(found, kernels=tuple(replace(each, **changes) for each in found.kernels))


def together(first: Moment, *kernels: KernelSnapshot) -> Moment:
    """The moment with more kernels."""
    return structs.replace(first, kernels=(*first.kernels, *kernels))


def history(
    *moments: Moment, wanted: RowSelection | None = None, origin: str = "captures"
) -> History:
    """The history of some moments."""
    with HistoryCache(None) as store:
        return build_history(origin, HistoryOrigin.FOLDER, moments, wanted or RowSelection(), store)


def eventful() -> History:
    """Slower, faster, equal, on another GPU, with another ncu, inconclusive, and hostile names."""
    worse = moment(3, "three-blocks")
    strange = with_kernels(moment(6, "naive"), name=HOSTILE)
    unknown = moment(7, "naive", "2")
    undecided = Verdict(Status.INCONCLUSIVE, None, Confidence.LOW)
    return history(
        moment(1, "four-blocks"),
        moment(2, "four-blocks", "2"),
        worse,
        moment(4, "four-blocks", "3", gpu="NVIDIA A100"),
        moment(5, "four-blocks", "4"),
        strange,
        with_kernels(unknown, verdict=undecided, passed=False),
        moment(8, "four-blocks", "5", ncu="2026.1.0.0"),
    )
