"""Verdicts with the lines that they blame, where a capture has the kernels' instructions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelprof.analysis.waiting import Blame
from kernelprof.model.names import named_alike

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.model.diagnosis import KernelDiagnosis
    from kernelprof.model.sampled import SampledCode


def placed(
    kernels: Sequence[KernelDiagnosis], codes: Sequence[SampledCode]
) -> tuple[KernelDiagnosis, ...]:
    """The same kernels with what their warps wait for, and the line that each verdict blames.

    Samples are those of all launches of a kernel, whatever their grid: the source page does not
    tell launches apart. Of several codes under one name that with most samples counts.
    """
    most: dict[str, SampledCode] = {}
    for code in codes:
        if code.function not in most or code.samples > most[code.function].samples:
            most[code.function] = code
    blames: dict[str, Blame] = {}
    found = []
    for kernel in kernels:
        name = named_alike(kernel.name, most)
        if name is None:
            found.append(kernel)
            continue
        blame = blames[name] = blames.get(name) or Blame(most[name])
        waiting = blame.waiting() if most[name].samples else None
        place = blame.line_of(kernel.verdict.bottleneck)
        found.append(replace(kernel, place=place, waiting=waiting))
    return tuple(found)
