"""The result of a kernel at its check sizes, beside its reference: as on a GPU, without one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from kernelprof.launch.results import compared, reference_results, refuse_wrong
from kernelprof.launch.trial import CheckedOutput
from kernelprof.model.specification import NO_REFERENCE
from kernelprof.predict.machine.arrays import LANES
from kernelprof.predict.machine.context import Counters
from kernelprof.predict.machine.machine import Machine

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.launch.spec import LaunchSpec
    from kernelprof.predict.bind import Bound

_LANES_AT_ONCE: Final = 1 << 16
"""Threads that run side by side; more take more memory and no less time."""


def check(spec: LaunchSpec, bound: Bound, folder: Path, where: str) -> tuple[CheckedOutput, ...]:
    """Run the whole grid, and compare each output with the reference.

    Raises what the machine raises, and :class:`kernelprof.launch.trial.LaunchError` for a wrong
    result.
    """
    before = {name: bound.array(name).copy() for name in bound.buffers}
    if spec.reference == NO_REFERENCE:
        run_all(bound)
        return ()
    wanted = reference_results(spec, bound.resolved, before, folder, where)
    run_all(bound)
    found = compared(spec, wanted, bound.array)
    refuse_wrong(found, bound.resolved, where, spec.reference)
    return tuple(CheckedOutput(each.name, each.error, each.tolerance) for each in found)


def run_all(bound: Bound) -> None:
    """Run every block of the grid, some of them at a time."""
    resolved = bound.resolved
    warps = -(-math.prod(resolved.block) // LANES)
    most = max(1, _LANES_AT_ONCE // (warps * LANES))
    for numbers in bound.launch.batches(most):
        Machine(bound.launch, numbers, Counters()).run()
