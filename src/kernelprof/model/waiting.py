"""What warps wait for, and the line that a verdict blames: plain values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Blamed:
    """A line of source, or an instruction without one, and its part of something.

    ``of`` says of what ``share`` (0 to 1) is a part: of the ``waiting``, of ``excess sectors``.
    ``kind`` is what stands there: a load, a barrier, a branch. ``file`` and ``line`` are ``None``
    without line information; ``text`` is the line's source where that is known, ``instruction`` the
    one of most weight and ``offset`` where it stands in the code of ``function``, in bytes.
    ``helper`` is the function of the source that an inlined line is in, and ``called_at`` the lines
    of the same file that call it. ``sectors`` and ``wavefronts`` are those of a request, that is of
    an instruction that a warp carries out, with the ``ideal`` of the same access; ``None`` where
    the report has none.
    """

    file: str | None
    line: int | None
    text: str
    function: str
    instruction: str
    offset: int
    kind: str
    share: float
    of: str
    helper: str = ""
    called_at: tuple[int, ...] = ()
    sectors: float | None = None
    wavefronts: float | None = None
    ideal: float | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """What the warps of a kernel wait for.

    ``samples`` are all that were taken of them, ``waiting`` those of warps that waited. ``lines``
    have most of the waiting, the largest share first; ``unknown`` is the share of which no
    instruction is known that it waits for.
    """

    function: str
    samples: int
    waiting: int
    lines: tuple[Blamed, ...]
    unknown: float
