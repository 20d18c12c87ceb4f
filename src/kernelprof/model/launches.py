"""The launches of a capture as a table: what distinguishes few of them is kept once.

A training step launches a few hundred kernels a hundred thousand times. Each launch has an ID of
its own; everything else about it is one of few :class:`~kernelprof.model.capture.Launch` values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, overload

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    import numpy.typing as npt

    from kernelprof.model.capture import Launch

    IntArray = npt.NDArray[np.intp]


class Launches(Sequence["Launch"]):
    """A sequence of launches: row ``r`` is ``kinds[codes[r]]`` with the ID ``ids[r]``.

    The IDs of the ``kinds`` themselves say nothing.
    """

    def __init__(self, ids: Sequence[str], codes: IntArray, kinds: Sequence[Launch]) -> None:
        self.ids = ids
        self.codes = codes
        self.kinds = tuple(kinds)

    @staticmethod
    def of(launches: Sequence[Launch]) -> Launches:
        """Any sequence of launches in this form."""
        if isinstance(launches, Launches):
            return launches
        known: dict[Launch, int] = {}
        codes = [known.setdefault(replace(each, id=""), len(known)) for each in launches]
        return Launches([each.id for each in launches], np.array(codes, dtype=np.intp), list(known))

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: int) -> Launch: ...
    @overload
    def __getitem__(self, at: slice) -> Launches: ...
    def __getitem__(self, at: int | slice) -> Launch | Launches:
        if isinstance(at, slice):
            return Launches(self.ids[at], self.codes[at], self.kinds)
        kind: Launch = self.kinds[self.codes[at]]
        return replace(kind, id=self.ids[at])

    def __iter__(self) -> Iterator[Launch]:
        return (self[row] for row in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        return all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def take(self, rows: Iterable[int]) -> Launches:
        """The launches of these rows."""
        chosen = np.fromiter(rows, dtype=np.intp)
        return Launches([self.ids[row] for row in chosen.tolist()], self.codes[chosen], self.kinds)

    def codes_by(self, key: Callable[[Launch], Hashable]) -> IntArray:
        """A number a launch, the same for launches of the same ``key``, which ignores the ID."""
        known: dict[Hashable, int] = {}
        numbers = [known.setdefault(key(kind), len(known)) for kind in self.kinds]
        return np.array(numbers, dtype=np.intp)[self.codes]
