"""The corpus as a table for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.corpus.pairs import Pair


def pair_table(pairs: Sequence[Pair]) -> str:
    """A line a pair: its folder, its kind, and the bottleneck that it is about."""
    name = max((len(pair.name) for pair in pairs), default=0)
    lines = [f"{pair.name:<{name}}  {pair.kind:<8}{_about(pair)}" for pair in pairs]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _about(pair: Pair) -> str:
    if pair.second is not None:
        return f"{pair.bottleneck} and {pair.second}"
    if pair.never:
        return f"not {', '.join(pair.never)}"
    return pair.bottleneck or ""
