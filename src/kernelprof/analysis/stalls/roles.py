"""Roles of the warps of a warp-specialized kernel, and which of them waits for which.

Warps with different roles run different code: no path leads from the code of one to that of
another. Producers issue copies to shared memory, MMA warps the products, and the epilogue reads
tensor memory, if other warps do so. Roles wait for one another at mbarriers: producers for free
buffers, MMA warps for tiles, the epilogue for products.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.stalls.blame import COPIES, MBARRIER, kind
from kernelprof.model.waiting import RoleWait, WarpRole, WarpRoles
from sassim.opcodes import ASYNC_COPY, flagged_opcodes, select_opcodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kernelprof.analysis.stalls.blame import StallAnalysis

_MARKS: Final[Mapping[str, frozenset[str]]] = {
    "producer": COPIES & (flagged_opcodes("arrives") | {ASYNC_COPY}),
    "mma": select_opcodes(lambda row: row.kind == "tensor"),
    "epilogue": frozenset(("LDTM",)),
}
"""Instructions that tell the role of the warps that execute them."""
_AWAITED: Final = {"producer": "free buffers", "mma": "tiles", "epilogue": "products"}
"""What each role waits for at mbarriers."""
_OTHER_MBARRIERS: Final = "other mbarriers"
"""Of MMA warps outside their innermost loop: a free accumulator, or their turn."""
_STATES: Final = {
    "drain": "draining stores",
    "imc_miss": "constants",
    "no_instructions": "instruction fetch",
    "sleeping": "sleep",
}
"""States of a warp that no other instruction causes."""
_RUN_AHEAD: Final = select_opcodes(lambda row: row.kind == "tensor" and row.feature == "tcgen05")
"""Products that the warps that issue them do not wait for."""

MOST: Final = 0.5
"""Share of its time from which a role mostly waits for another."""
LITTLE: Final = 0.25
"""Share up to which it hardly does. Between both, no role is called the limit."""
LEAST_SAMPLES: Final = 100
"""Of each role: shares are exact to 10 points (binomial, 95 %)."""
MOST_WAITS: Final = 3
"""Things that a role waits for, which are listed."""
LEAST_SHARE: Final = 0.05
"""Of a role's time, for a wait to be listed."""
_DEEPEST: Final = 8
"""Loops inside each other that are looked at."""


def find_roles(analysis: StallAnalysis) -> WarpRoles | None:
    """Return the roles of a kernel's warps.

    ``None`` where all warps run the same code, and where a role has too few samples.
    """
    code = _RoleCode(analysis)
    instructions = analysis.code.instructions
    samples = {
        role: sum(instructions[n].counts.samples for n in members)
        for role, members in code.members.items()
    }
    if not samples or min(samples.values()) < LEAST_SAMPLES:
        return None
    waits = _waits(analysis, code)
    effects = analysis.flow.effects
    runs_ahead = any(effects[n].opcode in _RUN_AHEAD for n in code.members["mma"])
    roles = tuple(
        WarpRole(
            role,
            every,
            tuple(
                RoleWait(what, n / every)
                for what, n in waits[role].most_common(MOST_WAITS)
                if n / every >= LEAST_SHARE
            ),
        )
        for role, every in samples.items()
    )
    return WarpRoles(roles, _limit(waits, samples, runs_ahead=runs_ahead))


def _waits(analysis: StallAnalysis, code: _RoleCode) -> dict[str, Counter[str]]:
    """Return by role the samples of each thing that its warps wait for."""
    role_of = {n: role for role, members in code.members.items() for n in members}
    waits: dict[str, Counter[str]] = {role: Counter() for role in code.members}
    for each in analysis.stalls:
        role = role_of.get(each.at)
        if role is None or each.cause is None:
            continue
        opcode = analysis.flow.effects[each.cause].opcode
        what = _STATES.get(each.state) or kind(opcode).removeprefix("wait for ")
        if opcode == MBARRIER:
            is_outside = role == "mma" and each.cause not in code.innermost
            what = _OTHER_MBARRIERS if is_outside else _AWAITED[role]
        waits[role][what] += each.samples  # type: ignore[assignment]
    return waits


def _limit(
    waits: Mapping[str, Counter[str]], samples: Mapping[str, int], *, runs_ahead: bool
) -> str | None:
    """Return the role that the others wait for; ``None`` where that is not clear."""
    at_mbarriers = {role: waits[role][_AWAITED[role]] / every for role, every in samples.items()}
    elsewhere = waits["mma"][_OTHER_MBARRIERS] / samples["mma"]
    if at_mbarriers.get("epilogue", 1.0) <= LITTLE and elsewhere >= MOST:
        return "epilogue"
    if at_mbarriers["mma"] >= MOST and at_mbarriers["producer"] <= LITTLE:
        return "producer"
    if at_mbarriers["producer"] < MOST or runs_ahead:
        return None
    if at_mbarriers["mma"] >= MOST:
        return "copies"
    return "mma" if at_mbarriers["mma"] + elsewhere <= LITTLE else None


class _RoleCode:
    """The instructions of each role, and the innermost loop of the products.

    ``members`` is empty where no warps are producers alone.
    """

    def __init__(self, analysis: StallAnalysis) -> None:
        effects = analysis.flow.effects
        self._flow = analysis.flow
        marked = {
            role: [n for n, each in enumerate(effects) if each.opcode in opcodes]
            for role, opcodes in _MARKS.items()
        }
        with_products = self._related(marked["mma"])
        executed = [each.counts.executed or 0 for each in analysis.code.instructions]
        for role in ("producer", "epilogue"):
            alone = [n for n in marked[role] if n not in with_products]
            marked[role] = self._busiest(alone, executed)
        related = {role: self._related(marks) for role, marks in marked.items() if marks}
        if not {"producer", "mma"} <= related.keys():
            related = {}
        self.members = {
            role: mine.difference(*(other for name, other in related.items() if name != role))
            for role, mine in related.items()
        }
        mbarriers = [n for n, each in enumerate(effects) if each.opcode == MBARRIER]
        self.innermost = self._innermost_loops(marked["mma"], mbarriers) if self.members else set()

    def _related(self, marks: Sequence[int]) -> set[int]:
        """Instructions that lead to some or that these lead to: the same warps execute them."""
        return _reach(marks, self._flow.predecessors) | _reach(marks, self._flow.successors)

    def _busiest(self, marks: Iterable[int], executed: Sequence[int]) -> list[int]:
        """Of several groups of warps the one that executes most of these instructions."""
        groups: list[list[int]] = []
        for n in marks:
            related = self._related([n])
            same = [each for each in groups if not related.isdisjoint(each)]
            groups = [each for each in groups if each not in same]
            groups.append([*(m for each in same for m in each), n])
        return max(groups, key=lambda each: sum(executed[n] for n in each), default=[])

    def _innermost_loops(self, products: Sequence[int], mbarriers: Sequence[int]) -> set[int]:
        """The innermost loops with products and waits for tiles; without a loop all MMA code."""
        loops = [self.members["mma"]]
        for _ in range(_DEEPEST):
            inside = [
                each
                for loop in loops
                for each in self._loops(loop - self._entries(loop))
                if not (each.isdisjoint(products) or each.isdisjoint(mbarriers))
            ]
            if not inside:
                break
            loops = inside
        return set().union(*loops)

    def _entries(self, loop: set[int]) -> set[int]:
        """Instructions that are reached from outside; without them only inner loops are left."""
        return {n for n in loop if not loop.issuperset(self._flow.predecessors[n])}

    def _loops(self, members: set[int]) -> Iterator[set[int]]:
        """Yield strongly connected components of some instructions, but for single ones."""
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import connected_components

        numbers = sorted(members)
        index = {n: at for at, n in enumerate(numbers)}
        edges = [
            (index[a], index[b]) for b in numbers for a in self._flow.predecessors[b] if a in index
        ]
        rows, columns = zip(*edges, strict=True) if edges else ((), ())
        graph = csr_matrix(([1] * len(edges), (rows, columns)), shape=(len(numbers),) * 2)
        count, labels = connected_components(graph, directed=True, connection="strong")
        components: list[set[int]] = [set() for _ in range(count)]
        for n, label in zip(numbers, labels, strict=True):
            components[label].add(n)
        yield from (each for each in components if len(each) > 1)


def _reach(starts: Iterable[int], neighbours: Sequence[Sequence[int]]) -> set[int]:
    reached = set(starts)
    waiting = list(reached)
    while waiting:
        new = set(neighbours[waiting.pop()]) - reached
        reached |= new
        waiting += new
    return reached
