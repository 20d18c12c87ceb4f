"""Counts under the names that ``ncu`` gives them: a capture of one launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernelprof.launch.resolved import ResolvedLaunch
    from kernelprof.launch.spec import LaunchSpec
    from kernelprof.model.capture import Capture
    from kernelprof.predict.counts.counted import Counted


def capture_of(counted: Counted, spec: LaunchSpec, resolved: ResolvedLaunch, arch: str) -> Capture:
    """The capture that a GPU of an architecture would give, as far as it is known."""
    raise NotImplementedError
