"""The sentence at the top of a report of several kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelprof.report.html.build.summary import summary

if TYPE_CHECKING:
    from kernelprof.report.html.view import Page


def test_it_names_what_takes_most_of_the_time(series: Page) -> None:
    held = [card for card in series.kernels if card.bottleneck == "uncoalesced-global-access"]
    time = sum(card.time_share or 0 for card in held)
    assert (len(held), round(100 * time)) == (5, 60)
    assert series.headline == (
        "uncoalesced-global-access holds 5 of 26 kernels back, which take 60 % of the time. "
        "4 kernels are at the limit of the GPU."
    )


def test_it_says_where_nothing_is_decided(eight: Page) -> None:
    assert eight.headline == (
        "This capture does not show what holds any of the 24 kernels back; each one's page has the "
        "command that settles it."
    )


def test_a_single_kernel_speaks_for_itself(naive: Page) -> None:
    assert naive.headline == ""


def test_every_kernel_may_be_at_its_limit(series: Page) -> None:
    full = [card for card in series.kernels if card.status == "at-limit"]
    assert summary(full) == "All of them are at the limit of the GPU."
    some = [replace(full[0], time_share=None, status="bottleneck"), full[1]]
    assert summary(some) == (
        f"{full[0].bottleneck} holds 1 of 2 kernels back. 1 kernel is at the limit of the GPU."
    )
