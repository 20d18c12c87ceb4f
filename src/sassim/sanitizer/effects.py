"""Comparisons that had one outcome, clamps that never clamped, and masks that changed nothing."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from sassim.interpreter.context import Observer
from sassim.interpreter.def_use import find_def_use
from sassim.interpreter.operand_access import read_f32, read_guard, read_u32
from sassim.opcodes import MEMORY, flagged_opcodes
from sassim.sass.operands import ZERO, Register

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.operations import Step
    from sassim.sass.listing import Instruction
    from sassim.sass.program import Program

    Look = Callable[[ExecutionContext], list[Array]]

_CLAMPS: Final = flagged_opcodes("chooses") | {"FMNMX"}
_MASKS: Final = frozenset(("I2I", "LOP3", "PRMT", "SGXT", "ULOP3", "UPRMT"))
"""What may give back one of its operands as it is."""
_TOUCHED: Final = 32
"""Values at the bound of a clamp and none beyond: the bound is that of the values."""


class EffectRecord(Observer):
    """Notes what each comparison and clamp gave, and whether a mask ever changed its operand."""

    def __init__(self, program: Program, ignored: Collection[int]) -> None:
        """Those at ``ignored`` addresses are not looked at."""
        super().__init__()
        self._program = program
        self._ignored = ignored
        self._instructions: dict[int, Instruction] = {}
        self._outcomes: dict[int, dict[int, set[bool]]] = defaultdict(lambda: defaultdict(set))
        """By the identity of an instruction: what was seen of each predicate or operand of it."""
        self._touched: dict[int, int] = defaultdict(int)

    def without_effect(self) -> Iterator[Instruction]:
        """Yield instructions that ran and did the same each time."""
        for at, i in self._instructions.items():
            single = {True} in (seen := self._outcomes[at].values())
            if i.opcode not in _MASKS:
                single = (single or {False} in seen) and self._touched[at] < _TOUCHED
            if single:
                yield i

    def wrap(self, i: Instruction, step: Step) -> Step:
        """Look at the results of comparisons, clamps and masks."""
        if i.opcode in MEMORY or self._program.addresses[id(i)] in self._ignored:
            return step
        written = find_def_use(i).written
        if written and all("P" in each for each in written):
            return self._record_results(i, step, lambda _: [], _read_predicates(written))
        if i.opcode not in _CLAMPS | _MASKS:
            return step
        place, *sources = [each for each in i.operands if isinstance(each, Register)]
        result = read_u32(i, place)
        if i.opcode in _CLAMPS:
            read = read_f32 if i.opcode == "FMNMX" else read_u32
            result, sides = read(i, place), [read(i, 1), read(i, 2)]
        else:
            sides = [read_u32(i, each) for each in sources if each.index != ZERO]
        return self._record_results(
            i, step, lambda c: [each(c) for each in sides], lambda c: [result(c)] * len(sides)
        )

    def _record_results(self, i: Instruction, step: Step, look: Look, result: Look) -> Step:
        guard, outcomes = read_guard(i), self._outcomes[id(i)]
        self._instructions[id(i)] = i

        settled = False

        def recorded(c: ExecutionContext) -> None:
            nonlocal settled
            if settled:
                step(c)
                return
            active = c.active_lanes if (held := guard(c)) is None else c.active_mask(held)
            before = look(c)
            step(c)
            if i.opcode in _CLAMPS:
                same = c.broadcast(before[0] == before[1])
                self._touched[id(i)] += int((same & active).sum())
                active = active & ~same
            for at, value in enumerate(result(c)):
                seen = c.broadcast(value == before[at] if before else value)[active]
                outcomes[at] |= {bool(seen.any()), bool(seen.all())} if seen.size else set()
            settled = bool(outcomes) and all(len(each) > 1 for each in outcomes.values())

        return recorded


def _read_predicates(names: Collection[str]) -> Look:
    places = [(each.startswith("U"), int(each.lstrip("UP"))) for each in sorted(names)]
    return lambda c: [(c.q if uniform else c.p)[index] for uniform, index in places]
