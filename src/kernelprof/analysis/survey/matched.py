"""What was measured beside what was surveyed: shares of the time, and launches of each kernel."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kernelprof.model.kernel_name import function_name

if TYPE_CHECKING:
    from collections.abc import Hashable

    from kernelprof.model.diagnosis import Diagnosis, KernelDiagnosis
    from kernelprof.model.survey import Survey

_WORD: Final = re.compile(r"\w+")


def with_survey(diagnosis: Diagnosis, survey: Survey) -> Diagnosis:
    """The diagnosis with the shares of the whole program, and the survey with what was measured.

    ``ncu`` writes names otherwise than the C++ runtime: kernels are the same where the name of the
    function, grid and block are; of several, those with the most words in common.
    """
    known: dict[Hashable, list[int]] = defaultdict(list)
    for position, each in enumerate(survey.kernels):
        known[function_name(each.name), each.grid, each.block].append(position)
    pairs = []
    for number, kernel in enumerate(diagnosis.kernels):
        key = function_name(kernel.name), kernel.grid, kernel.block
        for position in known.get(key, ()):
            likeness = _likeness(kernel.name, survey.kernels[position].name)
            pairs.append((-likeness, number, position))
    kernels: dict[int, KernelDiagnosis] = {}
    measured: dict[int, int] = {}
    for _, number, position in sorted(pairs):
        if number in kernels or position in measured:
            continue
        kernel, seen = diagnosis.kernels[number], survey.kernels[position]
        measured[position] = kernel.launches
        told = replace(seen, measured=kernel.launches)
        kernels[number] = replace(kernel, share=seen.share, surveyed=told)
    found = [kernels.get(number, each) for number, each in enumerate(diagnosis.kernels)]
    found.sort(key=lambda each: -(each.surveyed.time if each.surveyed else 0))
    all_kernels = [
        replace(each, measured=measured.get(position, 0))
        for position, each in enumerate(survey.kernels)
    ]
    return replace(
        diagnosis, kernels=tuple(found), survey=replace(survey, kernels=tuple(all_kernels))
    )


def _likeness(one: str, other: str) -> float:
    """The part of the words of two names that both have."""
    mine, theirs = Counter(_WORD.findall(one)), Counter(_WORD.findall(other))
    whole = (mine | theirs).total()
    return (mine & theirs).total() / whole if whole else 0.0
