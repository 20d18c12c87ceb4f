"""What of a program has to be carried out for those who only count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class BackwardSlice:
    """What has to be executed to count (:mod:`sassim.loops.backward_slice`)."""

    instructions: frozenset[int]
    """Addresses of instructions that have to be carried out."""
    unused: frozenset[int]
    """Addresses of accesses whose values nothing depends on."""
    reads_arrays: bool
    """Whether it depends on what arrays in global memory hold."""
    live: Mapping[int, frozenset[str]]
    """Registers that are needed where a basic block begins, by its address."""
    assumes: frozenset[str] = frozenset()
    """The kinds of memory in which it is assumed that nothing is read that an unused access stores:
    :class:`SliceError` is raised where that is not so."""
    decides: frozenset[int] = frozenset()
    """Addresses of atomics on global memory whose result says where threads go on: what a block
    does depends on others."""


class SliceError(Exception):
    """Something reads what accesses were to store that were taken for unused.

    ``stores`` are those in global memory, by identity.
    """

    def __init__(self, stores: frozenset[int] = frozenset()) -> None:
        super().__init__()
        self.stores = stores
