"""The sentence at the top of a report of several kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelprof.model.diagnosis import Status
from kernelprof.report.documents.kernels_overview import kernel_titles, summarize_limits

if TYPE_CHECKING:
    from tests.report.html_views.helpers import Page


def test_it_names_what_takes_most_of_the_time(series: Page) -> None:
    kernels = [card.kernel for card in series.kernels]
    found = [each for each in kernels if each.verdict.bottleneck == "uncoalesced-global-access"]
    time = sum(each.share or 0 for each in found)
    assert (len(found), round(100 * time)) == (5, 60)
    assert series.headline == (
        "uncoalesced-global-access limits 5 of 26 kernels (60 % of the time). "
        "Largest possible saving: gemm_bad 32x32, about 24 % of the total time. "
        "First: Map threadIdx.x to the dimension that is contiguous in memory. "
        "4 kernels are at the limit of the GPU."
    )


def test_it_says_where_nothing_is_decided(eight: Page) -> None:
    assert eight.headline == "No verdict is conclusive. Run the command shown with each kernel."


def test_a_single_kernel_speaks_for_itself(naive: Page) -> None:
    assert naive.headline == ""


def test_every_kernel_may_be_at_its_limit(series: Page) -> None:
    kernels = [card.kernel for card in series.kernels]
    full = [each for each in kernels if each.verdict.status is Status.AT_LIMIT]
    assert summarize_limits(full, kernel_titles(full)) == "All kernels are at the limit of the GPU."
    limited = replace(full[0].verdict, status=Status.BOTTLENECK)
    some = [replace(full[0], share=None, verdict=limited), full[1]]
    assert summarize_limits(some, kernel_titles(some)) == (
        f"{limited.bottleneck} limits 1 of 2 kernels. 1 kernel is at the limit of the GPU."
    )
