"""Which lines of the source are hot in a kernel, and which of them are worth a sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelprof.model.kernel_name import function_name
from kernelprof.model.names import middle, printable, short_name
from kernelprof.report.html.view import HotLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MARKED_FROM: Final = 0.01
_TOLD_UP_TO: Final = 0.5
_MOST_TOLD: Final = 3
_WIDEST: Final = 80
_CAST: Final = re.compile(r"\([A-Za-z_][A-Za-z0-9_: ]*\)(?=-?[0-9])")


def hot_of(
    kernel: str, hot: Mapping[str, Mapping[int, float]] | None
) -> Mapping[int, float] | None:
    """The shares of a kernel's lines; ``None`` where no samples were taken.

    The source page may name a kernel otherwise than the capture, with casts in template arguments.
    """
    if hot is None:
        return None
    if kernel in hot:
        return hot[kernel]
    for form in (_plain, function_name):
        alike = [name for name in hot if form(name) == form(kernel)]
        if len(alike) == 1:
            return hot[alike[0]]
    return {}


def marked(hot: Mapping[int, float], lines: int) -> tuple[tuple[int, float], ...]:
    """Lines of a source of so many lines that a reader should see, in their order."""
    return tuple(
        (line, min(share, 1.0))
        for line, share in sorted(hot.items())
        if 1 <= line <= lines and share >= MARKED_FROM
    )


def hottest(hot: Iterable[tuple[int, float]], text: Sequence[str]) -> tuple[HotLine, ...]:
    """The lines with half of the samples, at most three, the hottest first."""
    found: list[HotLine] = []
    for line, share in sorted(hot, key=lambda each: (-each[1], each[0])):
        if len(found) == _MOST_TOLD or sum(each.share for each in found) >= _TOLD_UP_TO:
            break
        found.append(HotLine(line, share, middle(printable(text[line - 1].strip()), _WIDEST)))
    return tuple(found)


def _plain(name: str) -> str:
    return _CAST.sub("", short_name(name)).replace(" ", "")
