"""The list of rungs: a table for people, JSON for programs."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.ladder.registry import Rung


_INDENT = "   "
_NARROWEST = 40


def rung_table(rungs: Sequence[Rung], *, width: int, changes: bool) -> str:
    """A line a rung; below it what it changes in which other rung, if that is wished for."""
    numbers = {rung.file: rung.number for rung in rungs}
    rows = [("#", "file", "title")]
    rows += [(str(rung.number), str(rung.shown), rung.title) for rung in rungs]
    wide = max(len(row[1]) for row in rows)
    lines = [f"{number:>2} {file:<{wide}}  {title}" for number, file, title in rows]
    if not changes:
        return "\n".join(lines) + "\n"
    told = [lines[0]]
    for line, rung in zip(lines[1:], rungs, strict=True):
        after = "" if rung.after is None else f"After {numbers[rung.after]}. "
        told += ["", line, *_wrapped(after + rung.changes, width)]
    return "\n".join(told) + "\n"


def rung_json(rungs: Sequence[Rung]) -> str:
    """All that the registry says, with a path that can be given to ``kernelprof diagnose``."""
    entries = [
        {
            "number": rung.number,
            "file": rung.file,
            "path": str(rung.shown),
            "title": rung.title,
            "after": rung.after,
            "changes": rung.changes,
            "before": rung.before,
            "expected": rung.expected,
            "variants": [dict(variant) for variant in rung.variants],
        }
        for rung in rungs
    ]
    document = {"schema_version": "1", "rungs": entries}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        max(width, _NARROWEST),
        initial_indent=_INDENT,
        subsequent_indent=_INDENT,
        break_on_hyphens=False,
    )
