"""What of a program has to be carried out for those who only count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Needed:
    """What has to be carried out to count (:func:`kernelprof.predict.counts.needed.needed`)."""

    instructions: frozenset[int]
    """Addresses of instructions that have to be carried out."""
    unused: frozenset[int]
    """Addresses of accesses whose values nothing depends on."""
    reads_arrays: bool
    """Whether it depends on what arrays in global memory hold."""
    live: Mapping[int, frozenset[str]]
    """Registers that are needed where a straight piece of code begins, by its address."""
