"""A page as a picture, taken by a browser that is installed: for pull requests and slides."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kernelprof import tools
from kernelprof.errors import MissingToolError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH: Final = 1200
MOST_HEIGHT: Final = 4000
_SCALE: Final = 1.5
"""Pixels of the picture for each of the page: text stays sharp where it is shown smaller."""

_FLAGS: Final = (
    "--headless",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    f"--force-device-scale-factor={_SCALE}",
)
_HEIGHT: Final = re.compile(r'<html[^>]* data-height="(\d{1,6})"')
_MAGIC: Final = b"\x89PNG\r\n\x1a\n"


def check_place(file: Path | None) -> None:
    """Refuse a name that is none of a picture, and a machine without a browser, before anything."""
    if file is None:
        return
    if file.suffix.lower() != ".png":
        raise UsageError(
            "a picture is a PNG file", where=str(file), hint="give it a name that ends in .png"
        )
    tools.find_browser()


def taken(result: Any) -> bytes:
    """The answer of a page with its first figures, without what needs a click.

    Raises :class:`MissingToolError` where there is no browser.
    """
    from kernelprof.report.render import page

    browser = tools.find_browser()
    text = page(result).replace("<html ", '<html class="picture" ', 1)
    with tempfile.TemporaryDirectory(prefix="kernelprof-") as folder:
        source, target = Path(folder) / "page.html", Path(folder) / "page.png"
        source.write_text(text, encoding="utf-8")
        common = [browser, *_FLAGS, f"--user-data-dir={folder}/profile"]
        # A browser does not start as root in its sandbox; the page runs one script, which is ours.
        for sandbox in ([], ["--no-sandbox"]):
            height = _height([*common, *sandbox, source.as_uri()])
            if height is None:
                continue
            size = f"--window-size={WIDTH},{min(height, MOST_HEIGHT)}"
            shot = [*common, *sandbox, size, f"--screenshot={target}", source.as_uri()]
            tools.ask(*shot)
            if target.exists() and (data := target.read_bytes()).startswith(_MAGIC):
                return data
    raise MissingToolError(
        "the browser took no picture", where=browser, hint="write the page with -o, and open that"
    )


def _height(command: Sequence[str]) -> int | None:
    """How high the page is at the picture's width, which its own script notes."""
    *start, address = command
    done = tools.ask(*start, f"--window-size={WIDTH},900", "--dump-dom", address)
    found = _HEIGHT.search(done.stdout) if done is not None else None
    return None if found is None else int(found[1])
