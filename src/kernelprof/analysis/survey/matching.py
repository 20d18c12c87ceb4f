"""What was measured beside what was surveyed: shares of the time, and launches of each kernel."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from msgspec import structs

from kernelprof.model.kernel_name import function_name

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from kernelprof.model.diagnosis import Diagnosis, KernelDiagnosis
    from kernelprof.model.survey import Coverage, Survey, SurveyedKernel

    _Dimensions = tuple[int, int, int] | None
    _Key = tuple[str, _Dimensions, _Dimensions]

_WORD: Final = re.compile(r"\w+")


def with_survey(diagnosis: Diagnosis, survey: Survey) -> Diagnosis:
    """Return the diagnosis with shares of the whole program, and the survey with what was measured.

    ``ncu`` writes names otherwise than the C++ runtime: kernels are the same where the name of the
    function, grid and block are; of several, those with the most words in common.
    """
    matched = list(diagnosis.kernels)
    entries: dict[_Key, list[int]] = defaultdict(list)
    for number, each in enumerate(diagnosis.kernels):
        entries[each.name, each.grid, each.block].append(number)
    measured: dict[int, int] = {}
    for key, position in _pairs(entries, survey.kernels).items():
        seen, mine = survey.kernels[position], entries[key]
        measured[position] = sum(matched[number].launches for number in mine)
        with_count = structs.replace(seen, measured=measured[position])
        # Launches of one configuration can have several verdicts, and differ in what they take.
        for number, part in zip(mine, _parts([matched[each] for each in mine]), strict=True):
            matched[number] = replace(matched[number], share=seen.share * part, surveyed=with_count)
    matched.sort(key=lambda each: -(each.share or 0.0) if each.surveyed else 0.0)
    kernels = [
        structs.replace(each, measured=measured.get(position, 0))
        for position, each in enumerate(survey.kernels)
    ]
    whole = structs.replace(
        survey, kernels=tuple(kernels), coverage=_coverage(survey.coverage, kernels)
    )
    return replace(diagnosis, kernels=tuple(matched), survey=whole)


def _parts(kernels: Sequence[KernelDiagnosis]) -> list[float]:
    """The part of their time that each takes, as far as their measured launches tell."""
    times = [each.duration_ns.median * each.launches for each in kernels if each.duration_ns]
    if len(times) < len(kernels) or not sum(times):
        times = [float(each.launches) for each in kernels]
    return [each / sum(times) for each in times]


def _coverage(coverage: Coverage | None, kernels: Iterable[SurveyedKernel]) -> Coverage | None:
    measured = [each for each in kernels if each.measured]
    return coverage and structs.replace(
        coverage,
        kernels=len(measured),
        launches=sum(each.measured for each in measured),
        share=sum(each.share for each in measured),
    )


def _pairs(entries: Iterable[_Key], surveyed: Sequence[SurveyedKernel]) -> dict[_Key, int]:
    """For each measured kernel the position of the surveyed one that it is."""
    candidates: dict[Hashable, list[int]] = defaultdict(list)
    for position, each in enumerate(surveyed):
        candidates[function_name(each.name), each.grid, each.block].append(position)
    likely = sorted(
        (-_likeness(key[0], surveyed[position].name), number, position)
        for number, key in enumerate(entries)
        for position in candidates.get((function_name(key[0]), *key[1:]), ())
    )
    keys = list(entries)
    pairs: dict[_Key, int] = {}
    for _, number, position in likely:
        if keys[number] not in pairs and position not in pairs.values():
            pairs[keys[number]] = position
    return pairs


def _likeness(one: str, other: str) -> float:
    mine, theirs = Counter(_WORD.findall(one)), Counter(_WORD.findall(other))
    whole = (mine | theirs).total()
    return (mine & theirs).total() / whole if whole else 0.0
