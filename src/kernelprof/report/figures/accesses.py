"""What a prediction knows of each access to memory: how much of what it moves is needless."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.rules.local_memory_traffic import NOTABLE_LOCAL
from kernelprof.analysis.rules.shared_bank_conflicts import NOTABLE_CONFLICTS
from kernelprof.analysis.rules.uncoalesced_global_access import NOTABLE_EXCESS
from kernelprof.model.numbers import number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.analysis.rules import Threshold
    from kernelprof.model.prediction import Access, PredictionFacts

GLOBAL: Final = "global"
SHARED: Final = "shared"
LOCAL: Final = "local"

_RULES: Final[dict[str, tuple[str, Threshold]]] = {
    GLOBAL: ("uncoalesced-global-access", NOTABLE_EXCESS),
    SHARED: ("shared-bank-conflicts", NOTABLE_CONFLICTS),
    LOCAL: ("local-memory-traffic", NOTABLE_LOCAL),
}
"""The bottleneck that a needless part speaks for, and from which part of the whole it is notable.
"""


class Waste(StrEnum):
    """How much of an access is needless, the worst first."""

    OF_THE_KERNEL = "of the kernel"
    """So much that the whole path of the kernel has a notable needless part by this line alone."""
    OF_THE_LINE = "of the line"
    """A notable part of what this line moves, and not of what the kernel does."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Moved:
    """An access with what it means for the kernel.

    ``a_request`` and ``ideal`` are sectors, or wavefronts of shared memory, for each request;
    ``ideal`` is ``None`` where adjacent addresses are no measure.
    """

    access: Access
    a_request: float
    ideal: float | None
    bottleneck: str
    waste: Waste

    @property
    def text(self) -> str:
        """What a request takes: ``32 sectors``."""
        unit = "wavefront" if self.access.space == SHARED else "sector"
        return f"{number(self.a_request)} {unit}{'' if self.a_request == 1 else 's'}"


def accesses(prediction: PredictionFacts | None) -> list[Moved]:
    """The accesses that move sectors or wavefronts, those with most that is needless first."""
    if prediction is None:
        return []
    known = [each for each in prediction.counted.accesses if each.space in _RULES and each.moved]
    totals = _totals(known)
    found = [_moved(each, totals) for each in known if each.requests.value]
    return sorted(found, key=lambda each: (list(Waste).index(each.waste), -_needless(each.access)))


def _totals(accesses: Iterable[Access]) -> dict[bool, float]:
    """What all of them move: sectors, and wavefronts of shared memory."""
    totals: dict[bool, float] = defaultdict(float)
    for each in accesses:
        totals[each.space == SHARED] += each.moved.value if each.moved else 0.0
    return totals


def _moved(each: Access, totals: dict[bool, float]) -> Moved:
    bottleneck, notable = _RULES[each.space]
    moved = each.moved.value if each.moved else 0.0
    whole = totals[each.space == SHARED]
    waste = Waste.NONE
    if whole and _needless(each) / whole >= notable.value:
        waste = Waste.OF_THE_KERNEL
    elif (each.needless or 0.0) >= notable.value:
        waste = Waste.OF_THE_LINE
    ideal = None if each.ideal is None else each.ideal.value / each.requests.value
    return Moved(each, moved / each.requests.value, ideal, bottleneck, waste)


def _needless(each: Access) -> float:
    """Sectors or wavefronts beyond what adjacent addresses need."""
    return (each.needless or 0.0) * (each.moved.value if each.moved else 0.0)
