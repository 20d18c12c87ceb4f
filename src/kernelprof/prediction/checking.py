"""The result of a kernel at its check sizes, beside its reference: as on a GPU, without one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelprof.launch.check.arrays import decode
from kernelprof.launch.check.results import (
    compare_outputs,
    load_version,
    reference_results,
    refuse_wrong,
)
from kernelprof.launch.run.trial import CheckedOutput
from kernelprof.model.specification import NO_REFERENCE, is_version
from kernelprof.prediction.binding import bind_arguments, track_uninitialized_outputs
from kernelprof.prediction.fault_messages import translate_faults
from kernelprof.prediction.machine_code import compile_kernel
from sassim.sanitizer.watchdog import Watchdog
from sassim.simulator import run_blocks, run_sanitized

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kernelprof.launch.specification.spec import LaunchSpec
    from kernelprof.prediction.binding import BoundLaunch


def check_results(
    spec: LaunchSpec, bound: BoundLaunch, folder: Path, source: Path, arch: str
) -> tuple[tuple[CheckedOutput, ...], frozenset[int]]:
    """Run the whole grid, and compare each output with the reference.

    Another version of the kernel, as a reference, is compiled for ``arch``. Returns also the
    addresses of the basic blocks that ran.

    Raises :class:`kernelprof.launch.run.trial.LaunchError` for a wrong result and for what
    ``compute-sanitizer`` would find, and what the machine raises for what it cannot carry out.
    """
    where = str(source)
    if spec.reference == NO_REFERENCE:
        return (), run_sanitized_check(spec, bound, source)
    if is_version(spec.reference):
        wanted: Mapping[str, Any] = run_version(spec, folder, arch)
    else:
        arrays = bound.resolved.arrays
        inputs = {
            name: bound.array(name) for name in arrays if arrays[name].argument.fill is not None
        }
        wanted = reference_results(spec, bound.resolved, inputs, folder, where)
    blocks = run_sanitized_check(spec, bound, source)
    comparisons = compare_outputs(spec, wanted, bound.array)
    refuse_wrong(comparisons, bound.resolved, where, spec.reference)
    outputs = tuple(CheckedOutput(each.name, each.error, each.tolerance) for each in comparisons)
    return outputs, blocks


def run_version(spec: LaunchSpec, folder: Path, arch: str) -> dict[str, Any]:
    """What another version of the kernel gives for the same arguments, at the check sizes."""
    source, other = load_version(spec, folder)
    made = compile_kernel(source, other, arch)
    bound = bind_arguments(
        made.code, made.built, other.resolve(other.check_sizes), folder, str(source)
    )
    with translate_faults(bound, source, other.kernel):
        run_blocks(bound.launch, Watchdog())
    return {each.name: decode(bound.array(each.name), each.element) for each in spec.outputs}


def run_sanitized_check(spec: LaunchSpec, bound: BoundLaunch, source: Path) -> frozenset[int]:
    """Run every block of the grid, and refuse what no kernel may do; returns what ran of it."""
    track_uninitialized_outputs(bound)
    with translate_faults(bound, source, spec.kernel):
        return run_sanitized(bound.launch)
