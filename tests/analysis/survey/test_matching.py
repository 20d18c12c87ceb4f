"""What ``ncu`` measured is found again in the survey, although it writes names otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs
from tests.support.surveys import trace

from kernelprof.analysis.survey.answer import survey_program
from kernelprof.analysis.survey.matching import with_survey
from kernelprof.model.diagnosis import (
    Confidence,
    Diagnosis,
    DurationRange,
    KernelDiagnosis,
    Status,
    Verdict,
)
from kernelprof.model.survey import SurveyedKernel

GRID, BLOCK = (1024, 1, 1), (128, 1, 1)
ADD = "void at::vectorized_elementwise_kernel<4, at::CUDAFunctor_add<float>, char *>(int, T2, T3)"
FILL = "void at::vectorized_elementwise_kernel<4, at::FillFunctor<float>, char *>(int, T2, T3)"
NATIVE = "void at::native::vectorized_elementwise_kernel<4, at::native::{}<float>, char*>(int)"


def _measured(
    name: str, launches: int, bottleneck: str | None = None, time: DurationRange | None = None
) -> KernelDiagnosis:
    verdict = Verdict(Status.BOTTLENECK, bottleneck or "dram-bandwidth", Confidence.HIGH)
    rows = tuple(range(launches))
    return KernelDiagnosis(
        rows, tuple(map(str, rows)), name, GRID, BLOCK, None, (9, 0), time, 1.0, verdict
    )


def _surveyed(name: str, launches: int, share: float) -> SurveyedKernel:
    return SurveyedKernel(name, GRID, BLOCK, (), launches, launches * 1000, 1000.0, share, 0)


def test_names_of_one_template_are_told_apart_by_their_words() -> None:
    survey = survey_program(trace("jacobi"), 1.0)
    kernels = (
        _surveyed(NATIVE.format("FillFunctor"), 50, 0.7),
        _surveyed(NATIVE.format("CUDAFunctor_add"), 90, 0.3),
    )
    survey = structs.replace(survey, seconds=1.0, kernels=kernels, groups=(), warnings=(), ended="")
    found = with_survey(Diagnosis((_measured(ADD, 2), _measured(FILL, 3)), "x"), survey)
    assert [each.name for each in found.kernels] == [FILL, ADD]
    assert [each.share for each in found.kernels] == [0.7, 0.3]
    assert [each.surveyed and each.surveyed.launches for each in found.kernels] == [50, 90]
    assert found.survey is not None
    assert [each.measured for each in found.survey.kernels] == [3, 2]


def test_launches_of_one_configuration_with_several_verdicts_share_its_time() -> None:
    survey = survey_program(trace("jacobi"), 1.0)
    kernels = (_surveyed(NATIVE.format("FillFunctor"), 50, 0.8),)
    survey = structs.replace(survey, seconds=1.0, kernels=kernels, groups=(), warnings=(), ended="")
    measured = (_measured(FILL, 3), _measured(FILL, 1, "memory-latency"))
    found = with_survey(Diagnosis(measured, "x"), survey)
    assert [each.share for each in found.kernels] == pytest.approx([0.6, 0.2])
    timed = (
        _measured(FILL, 3, time=DurationRange(100.0, 90.0, 110.0)),
        _measured(FILL, 1, "memory-latency", time=DurationRange(900.0, 900.0, 900.0)),
    )
    found = with_survey(Diagnosis(timed, "x"), survey)
    assert [each.launches for each in found.kernels] == [1, 3]
    assert [each.share for each in found.kernels] == pytest.approx([0.6, 0.2])
    damaged = tuple(replace(each, duration_ns=DurationRange(0.0, 0.0, 0.0)) for each in timed)
    found = with_survey(Diagnosis(damaged, "x"), survey)
    assert [each.share for each in found.kernels] == pytest.approx([0.6, 0.2])


def test_a_kernel_that_the_survey_did_not_see_keeps_its_share() -> None:
    survey = survey_program(trace("jacobi"), 1.0)
    found = with_survey(Diagnosis((_measured("other(int)", 1),), "x"), survey)
    (kernel,) = found.kernels
    assert kernel.surveyed is None
    assert kernel.share == 1.0
