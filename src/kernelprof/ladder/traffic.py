"""The traffic of a launch of the ladder; for its kernels what the threads ask for is exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernelprof.analysis.metrics.traffic import Traffic
    from kernelprof.model.capture import Capture


def traffic_of(capture: Capture, row: int) -> Traffic:
    """The traffic of one launch; what a counter is missing for is ``None``."""
    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.analysis.metrics.traffic import traffic_at

    return traffic_at(Facts(capture), row)
