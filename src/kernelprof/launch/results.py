"""A kernel's results beside its reference: what has to come out, and what did."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelprof.launch.arrays import case_of, compare
from kernelprof.launch.references import expected
from kernelprof.launch.trial import LaunchError, WrongResultError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from kernelprof.launch.arrays import Array, Comparison
    from kernelprof.launch.references import Case
    from kernelprof.launch.resolved import ResolvedLaunch
    from kernelprof.launch.spec import LaunchSpec


def reference_results(
    spec: LaunchSpec,
    launch: ResolvedLaunch,
    before: Mapping[str, Array],
    folder: Path,
    where: str,
) -> Mapping[str, Any]:
    """What each output has to be; ``before`` are the arrays as they lie in memory at first."""
    case = case_of(launch, before)
    wanted = expected(spec.reference, case, folder)
    refuse_circular(case, wanted, where, spec.reference)
    return wanted


def compared(
    spec: LaunchSpec, wanted: Mapping[str, Any], result: Callable[[str], Array]
) -> list[Comparison]:
    """Each output, as ``result`` gives it, beside what it has to be."""
    return [
        compare(n, each.element, result(n), wanted[n], spec.tolerance_of(each))
        for n, each in ((each.name, each) for each in spec.outputs)
    ]


def refuse_wrong(
    found: Sequence[Comparison], launch: ResolvedLaunch, where: str, reference: str
) -> None:
    """Raise :class:`LaunchError` for the first output that is not as it has to be."""
    for each in found:
        if not each.passed:
            raise wrong_result(each, launch, where, reference)


def refuse_circular(case: Case, wanted: Mapping[str, Any], where: str, reference: str) -> None:
    """Refuse a reference that is NaN because it reads an output that starts without values.

    The poison of an output that the kernel never wrote would be taken for right.
    """
    if any(bool(np.isnan(values).any()) for values in case.inputs.values()):
        return
    for name, values in wanted.items():
        if bool(np.isnan(values).any()):
            raise LaunchError(
                f"the reference {reference} gives NaN for {name}, and no input holds one",
                where=where,
                hint=f"if {name} is read as well as written, give it its values: fill = "
                '"random" or "zeros" under its [[arguments]]',
            )


def wrong_result(
    found: Comparison, launch: ResolvedLaunch, where: str, reference: str
) -> WrongResultError:
    """The error for a kernel whose result is not that of the reference."""
    allowed = "whole numbers have to be equal"
    if not found.exact:
        allowed = f"{found.tolerance:g} is allowed"
    what = f"differs from {reference} by {found.error:.3g} (relative; {allowed})"
    if math.isnan(found.error):
        kind = "NaN" if found.unwritten else "infinities or NaN"
        what = f"holds {kind} where {reference} has none,"
    sizes = sizes_text(launch.sizes)
    parts = [f"the kernel's result is wrong: {found.name} {what} at {sizes}"]
    if found.unwritten:
        parts.append(f"{found.unwritten} of its elements were never written")
    if found.worst is not None and found.worst_value is not None:
        place = ", ".join(map(str, found.worst))
        parts.append(
            f"{found.name}[{place}] is {found.worst_value:.6g} and should be "
            f"{found.worst_expected:.6g}"
        )
    return WrongResultError(
        "; ".join(parts),
        where=where,
        hint="a wrong kernel is not measured: correct it, or choose [check] sizes that it is made "
        "for; a rounding error may need another [check] tolerance",
    )


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Sizes for a message."""
    return ", ".join(f"{name}={value}" for name, value in sizes.items()) or "its fixed sizes"
