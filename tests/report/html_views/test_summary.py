"""The sentence at the top of a report of several kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelprof.model.diagnosis import Status
from kernelprof.report.documents.kernels_overview import summarize_limits

if TYPE_CHECKING:
    from tests.report.html_views.helpers import Page


def test_it_names_what_takes_most_of_the_time(series: Page) -> None:
    kernels = [card.kernel for card in series.kernels]
    found = [each for each in kernels if each.verdict.bottleneck == "uncoalesced-global-access"]
    time = sum(each.share or 0 for each in found)
    assert (len(found), round(100 * time)) == (5, 60)
    assert series.headline == (
        "uncoalesced-global-access limits 5 of 26 kernels, which take 60 % of the time. "
        "gemm_bad 32x32 has most to save: about 24 % of all time. "
        "First: Let threadIdx.x run along the dimension that is contiguous in memory. "
        "4 kernels are at the limit of the GPU."
    )


def test_it_says_where_nothing_is_decided(eight: Page) -> None:
    assert eight.headline == (
        "This capture does not show what limits any of the 26 kernels; each one's card has the "
        "command that settles it."
    )


def test_a_single_kernel_speaks_for_itself(naive: Page) -> None:
    assert naive.headline == ""


def test_every_kernel_may_be_at_its_limit(series: Page) -> None:
    kernels = [card.kernel for card in series.kernels]
    full = [each for each in kernels if each.verdict.status is Status.AT_LIMIT]
    assert summarize_limits(full) == "All of them are at the limit of the GPU."
    limited = replace(full[0].verdict, status=Status.BOTTLENECK)
    some = [replace(full[0], share=None, verdict=limited), full[1]]
    assert summarize_limits(some) == (
        f"{limited.bottleneck} limits 1 of 2 kernels. 1 kernel is at the limit of the GPU."
    )
