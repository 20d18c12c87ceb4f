"""Which kernels of a baseline a candidate of sources is held against."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

import pytest
from tests.comparison.predicted import kernel, predicted, side

from kernelprof.comparison.sides import ends_with, report_unjudged, split_by_sources
from kernelprof.model.gate import Code, Outcome

if TYPE_CHECKING:
    from kernelprof.model.snapshot import KernelSnapshot

TEXT = ("one",)


def of(path: str, name: str, arch: str = "sm_90") -> KernelSnapshot:
    found: KernelSnapshot = kernel(predicted(TEXT, arch=arch))
    assert found.inputs is not None
    return replace(found, name=name, inputs=replace(found.inputs, path=path))


GEMM, SCAN = of("kernels/gemm.cu", "gemm"), of("kernels/scan.cu", "scan(int)")


@pytest.mark.parametrize(
    ("candidate", "kept"),
    [
        (of("kernels/gemm.cu", "gemm"), [GEMM]),
        (of("/home/me/kernels/gemm.cu", "gemm_tiled"), [GEMM]),
        (of("gemm.cu", "gemm_tiled"), [GEMM]),
        (of("moved.cu", "scan(int)"), [SCAN]),
        (of("other.cu", "other"), []),
        (of("my-gemm.cu", "other"), []),
    ],
    ids=["path", "absolute", "from its folder", "name", "neither", "longer name"],
)
def test_a_source_is_held_against_its_own_entries(candidate, kept) -> None:
    found, others = split_by_sources(side(GEMM, SCAN), side(candidate))
    assert list(found.kernels) == kept
    assert {each.name for each in (*kept, *others)} == {"gemm", "scan(int)"}


def test_an_entry_for_another_architecture_is_of_the_source_too() -> None:
    older = of("kernels/gemm.cu", "gemm", "sm_80")
    found, others = split_by_sources(side(GEMM, older, SCAN), side(GEMM))
    assert (found.kernels, others) == ((GEMM, older), (SCAN,))


def test_a_kernel_whose_source_is_gone_is_not_left_out() -> None:
    found, others = split_by_sources(side(GEMM, SCAN), side(GEMM), is_gone=SCAN.inputs.path.__eq__)
    assert (found.kernels, others) == ((GEMM, SCAN), ())


def test_a_kernel_that_was_renamed_is_found_by_its_old_name() -> None:
    new = of("moved.cu", "prefix_sum(int)")
    for texts in (["scan=prefix_sum"], ["scan(int)=prefix_sum(int)"]):
        assert split_by_sources(side(GEMM, SCAN), side(new), renamed=texts)[0].kernels == (SCAN,)


def test_what_was_not_judged_is_told() -> None:
    assert report_unjudged(()) == ()
    (finding,) = report_unjudged([of("a.cu", name) for name in ("a", "b", "b", "c", "d", "e")])
    assert (finding.code, finding.outcome) == (Code.IGNORED, Outcome.PASS)
    text = "kernels not judged, because their sources were not named: a, b, c and 2 more"
    assert finding.text == text


def test_a_path_ends_with_whole_names() -> None:
    assert ends_with(PurePath("a/b/c.cu"), PurePath("b/c.cu"))
    assert not ends_with(PurePath("a/bb/c.cu"), PurePath("b/c.cu"))
    assert not ends_with(PurePath("c.cu"), PurePath("b/c.cu"))
    assert not ends_with(PurePath("c.cu"), PurePath())
