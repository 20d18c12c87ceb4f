"""The JSON of an optimization: what was proposed, and what became of it."""

from __future__ import annotations

from typing import Annotated, Literal

from kernelprof.model.gate import Outcome  # noqa: TC001 (read for the schema)
from kernelprof.model.optimization import Basis, Decision, Ended  # noqa: TC001
from kernelprof.model.records import about
from kernelprof.report.json_schema_changes import SideVerdict  # noqa: TC001
from kernelprof.report.json_schema_parts import Amount, Object, Tool, Version


class Attempt(Object):
    """One proposal."""

    number: Annotated[Amount, about("The round, from 1.")]
    decision: Decision
    reason: Annotated[str, about("Why it was decided so.")]
    seconds: Annotated[float, about("From asking for it to the decision.")]
    gate: Annotated[Outcome | None, about("null where it was not judged.")]
    ratio: Annotated[
        float | None, about("Time after over before, of the round; null where none was measured.")
    ]
    verdict: SideVerdict | None
    diff: Annotated[str, about("Against the source that the command was given.")]
    printed: Annotated[str, about("The last that the command printed.")]


class Optimization(Object):
    """What `kernelprof optimize --format json` writes."""

    schema_version: Version
    kind: Literal["optimization"]
    tool: Tool
    source: str
    command: str
    basis: Annotated[Basis, about("What decided whether a proposal is kept.")]
    ended: Ended
    attempts: list[Attempt]
    first: Annotated[SideVerdict, about("The verdict of the source as it was.")]
    last: Annotated[SideVerdict, about("That of the best source.")]
    ratio: Annotated[
        float | None, about("The best one's time over the original's; null where none is known.")
    ]
    seconds: float
    notes: list[str]
    applied: Annotated[bool, about("Whether the best source replaced the original.")]
    changed: Annotated[
        list[str], about("Files of the kernel that something else changed meanwhile.")
    ]
    saved: Annotated[str, about("A folder that has them as they were; empty without any.")]
    diff: Annotated[str, about("The best source against the original.")]
    text: Annotated[str, about("The best source.")]
