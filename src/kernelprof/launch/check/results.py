"""Expected results of a kernel, by a reference or another version, and the comparison."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from kernelprof.launch.check.arrays import compare, reference_case
from kernelprof.launch.check.references import compute_expected
from kernelprof.launch.run.trial import LaunchError, WrongResultError
from kernelprof.launch.signature import choose, kernels
from kernelprof.launch.source import find_block, read_source
from kernelprof.launch.specification.expressions import SpecError
from kernelprof.launch.specification.reader import read_spec
from kernelprof.model.numbers import count
from kernelprof.model.specification import NO_REFERENCE, sizes_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from kernelprof.launch.check.arrays import Array, OutputComparison
    from kernelprof.launch.check.references import Case
    from kernelprof.launch.specification.spec import LaunchSpec, ResolvedLaunch
    from kernelprof.launch.specification.tables import Argument


def reference_results(
    spec: LaunchSpec,
    launch: ResolvedLaunch,
    before: Mapping[str, Array],
    folder: Path,
    where: str,
) -> Mapping[str, Any]:
    """Compute each output's expected values from the stored arrays ``before`` the launch."""
    case = reference_case(launch, before)
    wanted = compute_expected(spec.reference, case, folder)
    refuse_circular(case, wanted, where, spec.reference)
    return wanted


def compare_outputs(
    spec: LaunchSpec, wanted: Mapping[str, Any], result: Callable[[str], Array]
) -> list[OutputComparison]:
    """Compare each output, as ``result`` returns it, with its expected values."""
    return [
        compare(n, each.element, result(n), wanted[n], spec.output_tolerance(each))
        for n, each in ((each.name, each) for each in spec.outputs)
    ]


def refuse_wrong(
    comparisons: Sequence[OutputComparison], launch: ResolvedLaunch, where: str, reference: str
) -> None:
    """Raise :class:`LaunchError` for the first wrong output."""
    for each in comparisons:
        if not each.passed:
            raise wrong_result(each, launch, where, reference)


def refuse_circular(case: Case, wanted: Mapping[str, Any], where: str, reference: str) -> None:
    """Refuse a reference that is NaN because it reads a poisoned output."""
    if any(bool(np.isnan(values).any()) for values in case.inputs.values()):
        return
    for name, values in wanted.items():
        if bool(np.isnan(values).any()):
            raise LaunchError(
                f"the reference {reference} gives NaN for {name}, although no input contains NaN",
                where=where,
                hint=f'if the kernel also reads {name}, initialize this array: fill = "random" or '
                '"zeros" in its [[arguments]] table',
            )


def wrong_result(
    comparison: OutputComparison, launch: ResolvedLaunch, where: str, reference: str
) -> WrongResultError:
    """Return the error for a wrong output."""
    allowed = "integers must be equal"
    if not comparison.exact:
        allowed = f"{comparison.tolerance:g} is allowed"
    what = f"differs from {reference} by {comparison.error:.3g} (relative; {allowed})"
    if math.isnan(comparison.error):
        kind = "NaN" if comparison.poisoned else "infinities or NaN"
        what = f"contains {kind} where {reference} has none,"
    sizes = sizes_text(launch.sizes)
    parts = [f"the kernel's result is wrong: {comparison.name} {what} at {sizes}"]
    if comparison.poisoned:
        never = (
            "was never written or is" if comparison.poisoned == 1 else "were never written or are"
        )
        elements = count(comparison.poisoned, "element")
        value = (
            "NaN" if math.isnan(comparison.error) else "0xCD in every byte, as before the launch"
        )
        parts.append(f"{elements} of {comparison.name} {never} {value}")
    if comparison.worst is not None and comparison.worst_value is not None:
        index = ", ".join(map(str, comparison.worst))
        parts.append(
            f"{comparison.name}[{index}] is {comparison.worst_value:.6g} and should be "
            f"{comparison.worst_expected:.6g}"
        )
    return WrongResultError(
        "; ".join(parts),
        where=where,
        hint="kernels with wrong results are not measured: correct the kernel, or choose [check] "
        "sizes that it supports; for rounding errors, raise the [check] tolerance",
    )


def load_version(spec: LaunchSpec, folder: Path) -> tuple[Path, LaunchSpec]:
    """Return the source of the reference version, and its launch with the same values.

    Raises :class:`SpecError` where it lacks a compared output or has another array.
    """
    source = folder / spec.reference
    text = read_source(source)
    block = find_block(source)
    if block is None:
        return source, _as_new(spec, source, text)
    own = read_spec(block)
    arguments = {each.name: each for each in _seeded(spec)}
    given = []
    for argument in own.arguments:
        own_argument = arguments.get(argument.name)
        if own_argument is None and argument.shape is not None:
            raise SpecError(
                f"the reference has an array {argument.name!r}, but the kernel does not",
                where=str(source),
                hint="use the same argument names in the specifications of both versions",
            )
        given.append(own_argument or argument)
    missing = [each.name for each in spec.outputs if each.name not in {g.name for g in given}]
    if missing:
        raise SpecError(
            f"the reference has no output {missing[0]!r}",
            where=str(source),
            hint="use the same argument names in the specifications of both versions",
        )
    return source, msgspec.structs.replace(
        own,
        arguments=tuple(given),
        sizes={**own.sizes, **spec.sizes},
        check=msgspec.structs.replace(spec.check, sizes={**own.check.sizes, **spec.check.sizes}),
        reference=NO_REFERENCE,
        path=spec.path,
    )


def _as_new(spec: LaunchSpec, source: Path, text: str) -> LaunchSpec:
    declared = kernels(text)
    plain, _, arguments = spec.kernel.partition("<")
    same_name = [each for each in declared if each.name == plain]
    kernel = same_name[0] if same_name else choose(declared, None, str(source))
    name = f"{kernel.name}<{arguments}" if arguments and kernel.template else kernel.name
    return msgspec.structs.replace(
        spec, kernel=name, reference=NO_REFERENCE, arguments=tuple(_seeded(spec))
    )


def _seeded(spec: LaunchSpec) -> list[Argument]:
    return [
        msgspec.structs.replace(each, seed=index)
        if each.shape is not None and each.seed is None
        else each
        for index, each in enumerate(spec.arguments)
    ]
