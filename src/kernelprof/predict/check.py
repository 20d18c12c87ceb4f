"""The result of a kernel at its check sizes, beside its reference: as on a GPU, without one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from kernelprof.launch.arrays import decode
from kernelprof.launch.results import compared, reference_results, refuse_wrong
from kernelprof.launch.trial import CheckedOutput
from kernelprof.launch.versions import version
from kernelprof.model.specification import NO_REFERENCE, is_version
from kernelprof.predict.bind import bind
from kernelprof.predict.built import machine_code
from kernelprof.predict.machine.arrays import LANES
from kernelprof.predict.machine.machine import Machine
from kernelprof.predict.watch import Together
from kernelprof.predict.watch.barriers import Barriers
from kernelprof.predict.watch.cells import Cells
from kernelprof.predict.watch.copies import Copies
from kernelprof.predict.watch.endless import Endless
from kernelprof.predict.watch.races import Races
from kernelprof.predict.watch.unwritten import Unwritten, watch_outputs
from kernelprof.predict.watch.words import told

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kernelprof.launch.spec import LaunchSpec
    from kernelprof.predict.bind import Bound
    from kernelprof.predict.machine.context import Counters

_LANES_AT_ONCE: Final = 1 << 16
"""Threads that run side by side; more take more memory and no less time."""


def check(
    spec: LaunchSpec, bound: Bound, folder: Path, source: Path, arch: str
) -> tuple[CheckedOutput, ...]:
    """Run the whole grid, and compare each output with the reference.

    Another version of the kernel, as a reference, is compiled for ``arch``.

    Raises :class:`kernelprof.launch.trial.LaunchError` for a wrong result and for what
    ``compute-sanitizer`` would find, and what the machine raises for what it cannot carry out.
    """
    where = str(source)
    if spec.reference == NO_REFERENCE:
        watched(spec, bound, source)
        return ()
    if is_version(spec.reference):
        wanted: Mapping[str, Any] = results_of_version(spec, folder, arch)
    else:
        arrays = bound.resolved.arrays
        filled = {
            name: bound.array(name) for name in arrays if arrays[name].argument.fill is not None
        }
        wanted = reference_results(spec, bound.resolved, filled, folder, where)
    watched(spec, bound, source)
    found = compared(spec, wanted, bound.array)
    refuse_wrong(found, bound.resolved, where, spec.reference)
    return tuple(CheckedOutput(each.name, each.error, each.tolerance) for each in found)


def results_of_version(spec: LaunchSpec, folder: Path, arch: str) -> dict[str, Any]:
    """What another version of the kernel gives for the same arguments, at the check sizes."""
    source, other = version(spec, folder)
    made = machine_code(source, other, arch)
    bound = bind(made.code, made.built, other.resolve(other.check_sizes), folder, str(source))
    with told(bound, source, other.kernel):
        run_all(bound, Endless())
    return {each.name: decode(bound.array(each.name), each.element) for each in spec.outputs}


def watched(spec: LaunchSpec, bound: Bound, source: Path) -> None:
    """Run every block of the grid, and refuse what no kernel may do."""
    watch_outputs(bound)
    cells = Cells(bound.launch)
    races = Races(cells)
    parts = (cells, Unwritten(), Copies(cells, races), races, Barriers(), Endless())
    watchers = Together(parts)
    with told(bound, source, spec.kernel):
        run_all(bound, watchers)


def run_all(bound: Bound, counters: Counters) -> None:
    """Run every block of the grid, some of them at a time."""
    resolved = bound.resolved
    warps = -(-math.prod(resolved.block) // LANES)
    most = max(1, _LANES_AT_ONCE // (warps * LANES))
    for numbers in bound.launch.batches(most):
        Machine(bound.launch, numbers, counters).run()
