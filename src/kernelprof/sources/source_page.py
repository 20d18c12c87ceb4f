"""The source page of ``ncu --csv``: a capture of instructions, without counters of whole kernels.

It decides no verdict, and says what the warps of its kernels wait for. Put together with a page
that has the counters (``diagnose --merge``), it gives those verdicts their lines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelprof.sources.source import NoCaptureError, Source

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from kernelprof.model.capture import Capture
    from kernelprof.sources.source import Input

_BEGINS: Final = re.compile(
    rb'^"File Path",.*\r?\n"Function Name",|^"Kernel Name",.*\r?\n"Address",', re.MULTILINE
)
_NO_COUNTERS: Final = (
    "A source page has no counters of whole kernels, which a verdict needs: put the raw page of "
    "the same report beside it, with --merge."
)


def recognises(target: Input) -> bool:
    """Whether a text begins with a source page, behind what the program and ``ncu`` printed."""
    return _BEGINS.search(target.head) is not None


def read(target: Input, _only: Container[str] | None) -> Capture:
    """The kernels of a page, one launch each: launches of the same code are added up."""
    from kernelprof.model.capture import Capture, Launch, Launches
    from kernelprof.model.sampled import PAGE
    from kernelprof.sources.ncu.instructions import read_instructions

    code = read_instructions(_lines(target))
    if not code:
        raise NoCaptureError("the source page holds no instruction")
    launches = [Launch(str(number), each.function) for number, each in enumerate(code)]
    return Capture(
        Launches.from_sequence(launches),
        columns={},
        origin=target.origin,
        page=PAGE,
        warnings=(_NO_COUNTERS,),
        code=code,
    )


def _lines(target: Input) -> Iterator[str]:
    for block in target.blocks():
        yield from block.decode("utf-8", "replace").split("\n")


SOURCE: Final = Source("source page", "the source page as CSV", 5, recognises, read)
