"""Pages from captures, and what holds for every one of them."""

from __future__ import annotations

import json
from dataclasses import asdict, fields, is_dataclass
from typing import TYPE_CHECKING

from kernelprof.analysis.verdict import diagnose
from kernelprof.report.html.build import build_page

if TYPE_CHECKING:
    from kernelprof.model.capture import Capture
    from kernelprof.report.html.view import KernelView, Page


def page_of(capture: Capture) -> Page:
    """The page of a capture without a manifest."""
    return build_page(capture, diagnose(capture))


def card_of(page: Page, launch: str) -> KernelView:
    """The card of the kernel with a launch of this ID."""
    return next(card for card in page.kernels if f"(ID {launch})" in card.launch)


def check(page: Page) -> None:
    """What holds for every page: plain JSON without NaN, and shares that are shares."""
    json.dumps(asdict(page), allow_nan=False)
    json.loads(page.json)
    for card in page.kernels:
        _shares(card)


def _shares(value: object) -> None:
    names = {"share", "hit_rate", "excess", "theoretical", "achieved", "fill", "mark", "time_share"}
    if isinstance(value, tuple):
        for each in value:
            _shares(each)
    elif is_dataclass(value):
        for each in fields(value):
            found = getattr(value, each.name)
            if each.name in names:
                assert found is None or 0.0 <= found <= 1.0, (value, each.name)
            _shares(found)
