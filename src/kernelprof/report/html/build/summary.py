"""The sentence at the top of a report of several kernels."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from kernelprof.model.numbers import count, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.report.html.view import KernelView


def summary(kernels: Sequence[KernelView]) -> str:
    """What holds most of the time back; empty for a single kernel, which says so itself."""
    if len(kernels) < 2:
        return ""
    held = defaultdict[str, list["KernelView"]](list)
    for kernel in kernels:
        if kernel.status == "bottleneck" and kernel.bottleneck is not None:
            held[kernel.bottleneck].append(kernel)
    at_limit = sum(kernel.status == "at-limit" for kernel in kernels)
    undecided = sum(kernel.status == "inconclusive" for kernel in kernels)
    if undecided == len(kernels):
        return (
            f"This capture does not show what holds any of the {len(kernels):,} kernels back; each "
            "one's page has the command that settles it."
        )
    sentences = []
    if held:
        slug = max(held, key=lambda each: (_time(held[each]), len(held[each])))
        time = _time(held[slug])
        sentences.append(
            f"{slug} holds {len(held[slug]):,} of {count(len(kernels), 'kernel')} back"
            + (f", which take {share(time)} of the time." if time > 0 else ".")
        )
    if at_limit:
        sentences.append(f"{_are(at_limit, len(kernels))} at the limit of the GPU.")
    if undecided:
        sentences.append(f"{_are(undecided, len(kernels))} undecided by this capture.")
    return " ".join(sentences)


def _time(kernels: Sequence[KernelView]) -> float:
    return sum(kernel.time_share or 0.0 for kernel in kernels)


def _are(some: int, whole: int) -> str:
    if some == whole:
        return "All of them are"
    return f"{count(some, 'kernel')} {'is' if some == 1 else 'are'}"
