"""Pictures of the pages that ``make reports`` builds, one of them for README.md.

    python web/screenshots.py

Needs Chromium, Playwright and Pillow (the extra ``browser``). What a picture looks like in detail
depends on the fonts of the machine, so no test compares them.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 1200
PHONE = 390
MOST_BYTES = 200_000
COLOURS = 256


@dataclass(frozen=True)
class Shot:
    """A picture from ``first`` to the end of ``last``, or of so many pixels from the top on."""

    name: str
    report: str
    first: str | None = None
    last: str | None = None
    height: int | None = None
    fragment: str = ""
    dark: bool = False
    width: int = WIDTH


CAUSES = ".panel:has([data-chart=waterfall])"
MEMORY = ".panel:has([data-chart=memory])"
ROOFLINE = ".panel:has([data-chart=roofline])"
SOURCE = ".panel:has(table.source)"
EVIDENCE = ".panel:has(h3:text-is('Evidence'))"
OVERVIEW = "[data-chart=overview]"
SHOTS = (
    Shot("one-kernel", "one-kernel.html", first=".top", last=EVIDENCE),
    Shot("roofline-and-memory", "one-kernel.html", first=MEMORY, last=ROOFLINE),
    Shot("hot-lines", "source.html", first=SOURCE, last=SOURCE),
    Shot("ladder", "ladder-h200.html", first=".top", last=".panel:has([data-chart=climb])"),
    Shot(
        "ladder-bf16",
        "ladder-bf16-h200.html",
        first=".top",
        last=".panel:has([data-chart^=climb])",
    ),
    Shot("ladder-roofline", "ladder-h200.html", first=ROOFLINE, last=ROOFLINE),
    Shot("comparison", "comparison.html", first=".top", last=CAUSES),
    Shot(
        "inconclusive",
        "inconclusive.html",
        first="#kernel-1 .hero",
        last="#kernel-1 .panel",
        fragment="#kernel-1",
    ),
    Shot("many-kernels-dark", "many-kernels.html", height=860, dark=True),
    Shot("beside-the-list", "many-kernels.html", height=900, fragment="#kernel-2", width=1280),
    Shot("frameworks", "frameworks.html", first=".top", last=OVERVIEW),
    Shot("phone-one-kernel", "one-kernel.html", height=844, width=PHONE),
    Shot("phone-many-kernels", "many-kernels.html", height=844, width=PHONE),
)
IN_README = ("one-kernel",)
MARGIN = 16


def main() -> None:
    """Take all pictures."""
    committed, built = ROOT / "reports", ROOT / "build" / "reports"
    (built / "screenshots").mkdir(parents=True, exist_ok=True)
    program = os.environ.get("KERNELPROF_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        taken = {shot.name: taken_of(browser, shot) for shot in SHOTS}
        browser.close()
    phones = [taken.pop(name) for name in ("phone-one-kernel", "phone-many-kernels")]
    taken["phone"] = side_by_side(phones)
    for name, picture in taken.items():
        folder = committed if name in IN_README else built
        target = folder / "screenshots" / f"{name}.png"
        target.write_bytes(small(picture))
        sys.stdout.write(f"{target}: {picture.width} x {picture.height}, ")
        sys.stdout.write(f"{target.stat().st_size:,} bytes\n")


def taken_of(browser: Browser, shot: Shot) -> Image.Image:
    """One picture of a page, with a card open where its address names one."""
    page = browser.new_page(
        viewport={"width": shot.width, "height": 900},
        color_scheme="dark" if shot.dark else "light",
        reduced_motion="reduce",
    )
    folders = (ROOT / "build" / "reports", ROOT / "reports")
    report = next(each / shot.report for each in folders if (each / shot.report).exists())
    page.goto(report.as_uri() + shot.fragment)
    if shot.fragment:
        page.locator(f"{shot.fragment} .hero").wait_for()
    page.evaluate("document.activeElement?.blur(); scrollTo(0, 0)")
    page.wait_for_timeout(200)
    data = page.screenshot(full_page=True, clip=clip(page, shot))
    page.close()
    return Image.open(io.BytesIO(data)).convert("RGB")


def clip(page: Page, shot: Shot) -> dict[str, float]:
    """The part of the page that a picture shows."""
    if shot.first is None or shot.last is None:
        return {"x": 0, "y": 0, "width": shot.width, "height": float(shot.height or 900)}
    above, below = (
        page.locator(selector).first.evaluate(
            """(part) => {
                const {top, bottom} = part.getBoundingClientRect();
                return [top + scrollY, bottom + scrollY];
            }"""
        )
        for selector in (shot.first, shot.last)
    )
    start = max(0.0, above[0] - MARGIN)
    return {"x": 0, "y": start, "width": shot.width, "height": below[1] + MARGIN - start}


def side_by_side(pictures: list[Image.Image]) -> Image.Image:
    """Pictures beside one another on a quiet ground."""
    gap = 2 * MARGIN
    width = sum(each.width for each in pictures) + gap * (len(pictures) + 1)
    height = max(each.height for each in pictures) + 2 * gap
    whole = Image.new("RGB", (width, height), "#d5d9de")
    x = gap
    for each in pictures:
        whole.paste(each, (x, gap))
        x += each.width + gap
    return whole


def small(picture: Image.Image) -> bytes:
    """The picture as PNG with a palette that has the colours of small points too."""
    packed = picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    packed.save(buffer, "PNG", optimize=True)
    if buffer.tell() > MOST_BYTES:
        raise SystemExit(f"a picture has {buffer.tell():,} bytes; at most {MOST_BYTES:,}")
    return buffer.getvalue()


if __name__ == "__main__":
    main()
