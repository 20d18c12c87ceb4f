"""Lines of source, and what warps wait for there: plain values."""

from __future__ import annotations

from typing import Annotated

from kernelprof.model.json_types import JsonStruct, NonNegative, Positive, Share, about, added


class SourceLocation(JsonStruct, order=True, frozen=True):
    """A line of a source, from 1."""

    file: str
    line: Positive


class BlamedLine(JsonStruct, frozen=True):
    """A line of source, or a machine instruction without one, and its part of something."""

    file: Annotated[str | None, about("null without line information.")]
    line: Positive | None
    text: Annotated[str, about("The line's source; empty where it is not known.")]
    function: Annotated[str, about("The kernel.")]
    instruction: Annotated[
        str, about("The machine instruction with the largest share on that line.")
    ]
    offset: Annotated[NonNegative, about("Offset in the kernel's code, in bytes.")]
    kind: Annotated[str, about("load, store, atomic, barrier, branch and the like.")]
    share: Share
    of: Annotated[
        str,
        about(
            "The total that `share` is a fraction of: waiting, excess sectors, idle threads and "
            "the like."
        ),
    ]
    helper: Annotated[
        str, about("The inlined function that the line is in; empty for the kernel itself.")
    ] = ""
    called_at: Annotated[
        tuple[int, ...], about("Lines of the same file that call the inlined function, if known.")
    ] = ()
    sectors: Annotated[float | None, about("32-byte sectors per request of a warp.")] = None
    wavefronts: Annotated[
        float | None, about("Shared-memory wavefronts per request of a warp.")
    ] = None
    ideal: Annotated[
        float | None, about("The fewest sectors or wavefronts that the access could need.")
    ] = None


class RoleWait(JsonStruct, frozen=True):
    """One thing that the warps of a role wait for."""

    waits_for: Annotated[
        str,
        about(
            "`free buffers`, `tiles`, `products` and `other mbarriers` are waits at mbarriers for "
            "warps with other roles; all other values are waits elsewhere."
        ),
    ]
    share: Annotated[Share, about("Share of the role's samples.")]


class WarpRole(JsonStruct, frozen=True):
    """Warps of a warp-specialized kernel that run the same code."""

    role: Annotated[str, about("producer, mma or epilogue.")]
    samples: NonNegative
    waits: Annotated[tuple[RoleWait, ...], about("The longest waits first, at most three.")]


class WarpRoles(JsonStruct, frozen=True):
    """The roles of a warp-specialized kernel, and which of them the others wait for."""

    roles: tuple[WarpRole, ...]
    limit: Annotated[
        str | None,
        about(
            "The role that the others wait for; `copies` if producers wait for free buffers "
            "while MMA warps wait for tiles; null if unclear."
        ),
    ]


class StallSummary(JsonStruct, frozen=True):
    """What the warps of a kernel wait for."""

    samples: Annotated[NonNegative, about("Warp samples over all launches.")]
    waiting: Annotated[NonNegative, about("Samples of warps that waited.")]
    unknown: Annotated[Share, about("Share of waiting samples whose reason is unknown.")]
    lines: Annotated[
        tuple[BlamedLine, ...], about("The lines with the most waiting, at most five.")
    ]
    roles: Annotated[
        WarpRoles | None,
        added("null if all warps run the same code or a role has too few samples."),
    ] = None
