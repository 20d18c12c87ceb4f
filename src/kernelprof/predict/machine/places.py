"""Where in the code threads can go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernelprof.predict.machine.arrays import Array


class Places:
    """Threads by the address at which they go on.

    Threads of one warp that came to a place apart go on apart, one group after the other: on a GPU,
    too, they come together at convergence barriers alone. Groups of different warps go together.
    """

    def __init__(self) -> None:
        self._groups: dict[int, list[Array]] = {}

    def __bool__(self) -> bool:
        return bool(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    def add(self, at: int, lanes: Array) -> None:
        """Threads, as warps by 32 lanes, that go on at an address: one group of each warp."""
        groups = self._groups.setdefault(at, [])
        for n, there in enumerate(groups):
            met = there.any(axis=1, keepdims=True) & lanes.any(axis=1, keepdims=True)
            groups[n] = there | (lanes & ~met)
            lanes = lanes & met
            if not lanes.any():
                return
        groups.append(lanes)

    def groups(self) -> list[tuple[int, Array]]:
        """All groups of threads, each with its address."""
        return [(at, lanes) for at, groups in self._groups.items() for lanes in groups]

    def lowest(self) -> int:
        """The first address in the code."""
        return min(self._groups)

    def turn(self, number: int) -> int:
        """Another address each time."""
        return list(self._groups)[number % len(self._groups)]

    def take(self, at: int) -> Array:
        """Threads that go on at an address: at most one group of each warp."""
        groups = self._groups[at]
        lanes = groups.pop(0)
        if not groups:
            del self._groups[at]
        return lanes
