"""Guards: comparisons that depend on a thread's place and the launch alone, for all blocks.

They are computed without running the kernel: an instruction can be evaluated where each register
that it reads has one definition, which can be evaluated as well, and none comes from memory, from
other threads or around a loop. So the blocks of a grid that take another path are known before
some of them are sampled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.errors import SassimError
from sassim.interpreter.context import ExecutionContext, Observer
from sassim.interpreter.def_use import find_def_use
from sassim.interpreter.lanes import LANES
from sassim.interpreter.operand_access import read_u32
from sassim.interpreter.operations import operations
from sassim.interpreter.special_registers import axes_of_grid
from sassim.interpreter.state import ResidentBlocks
from sassim.loops.backward_slice import PROGRAMS, effects_of, successors
from sassim.loops.reaching_definitions import UNINITIALIZED, ReachingDefinitions, written_by
from sassim.opcodes import (
    MEMORY,
    find_opcode,
    flagged_opcodes,
    opcodes_of_category,
    opcodes_with_flow,
)
from sassim.sass.operands import TRUE, Predicate, Special

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from sassim.interpreter.def_use import DefUse
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.launch import KernelLaunch
    from sassim.interpreter.operand_access import Read
    from sassim.interpreter.operations import Step
    from sassim.sass.listing import Instruction
    from sassim.sass.program import Program

_LANES_AT_ONCE: Final = 1 << 18
"""Threads that are evaluated side by side: of more of them a register does not fit into caches."""
_MOST_WORK: Final = 4_000_000_000
"""Instructions of threads that are evaluated: several seconds, where no operand is uniform."""
_MOST_RESULTS: Final = 1 << 24
"""Outcomes of guards in blocks, each of which takes 9 bytes, or 16."""
_BY_THREAD: Final = opcodes_of_category(
    "integer", "fp32", "fp64", "fp16", "bits", "special", "conversion", "move", "constant"
)
_UNIFORM: Final = opcodes_of_category("uniform")
_BY_WARP: Final = flagged_opcodes("by-warp")
_COMPARISONS: Final = flagged_opcodes("compares")
_CHOICES: Final = flagged_opcodes("chooses")
"""What takes one of two numbers, without a predicate."""
_PATHS: Final = opcodes_with_flow("jump", "exit", "state", "reconverge")
_PLACES: Final = flagged_opcodes("places")
_FORKS: Final = opcodes_with_flow("jump", "indirect", "indirect-uniform", "return")
_COMBINES: Final = flagged_opcodes("combines")
"""What makes one predicate of others."""
_NONE: Final = -2

SOME_FALSE: Final = 1
SOME_TRUE: Final = 2

Definitions = dict[str, frozenset[int]]
"""Addresses of the instructions that a register's value can come from, by the register's name."""


@dataclass(frozen=True)
class _Evaluation:
    """An instruction that is evaluated, with the definitions of what it reads."""

    address: int
    instruction: Instruction
    reads: Mapping[str, int]
    written: frozenset[str]


@dataclass(frozen=True)
class GuardPlan:
    """What is evaluated of a program, and which of it is a guard."""

    evaluations: tuple[_Evaluation, ...]
    """In an order in which each comes after what it reads."""
    predicates: frozenset[int]
    """Addresses of those that write a predicate."""
    numbers: Mapping[int, tuple[_Evaluation, Read]]
    """By address: comparisons of which one side is known, and how to read that."""
    branches: Mapping[int, tuple[int, bool]]
    """By address of an instruction at the end of a basic block: the definition of its guard, and
    whether that is negated."""
    selections: frozenset[int]
    """Guards that select values, and not only where to go on."""
    alike: frozenset[int]
    """Addresses of ends of basic blocks that decide alike in all threads of a launch."""
    carries: frozenset[int]
    """Addresses of what writes a predicate that is only the carry of a sum."""


@dataclass
class GuardValues:
    """The values of guards in all blocks of a grid."""

    outcomes: dict[int, Array] = field(default_factory=dict)
    """By address: :data:`SOME_FALSE` and :data:`SOME_TRUE` of each block's threads."""
    patterns: dict[int, Array] = field(default_factory=dict)
    """By address: a number of each block that is the same where the same threads are true."""
    numbers: dict[int, tuple[Array, Array]] = field(default_factory=dict)
    """By address: the least and the largest of each block."""
    complete: bool = True
    """Whether they are of all blocks."""


@lru_cache(maxsize=PROGRAMS)
def plan_guards(program: Program) -> GuardPlan:
    """Find what can be evaluated of a program."""
    return _Planner(program).plan()


def evaluate_guards(launch: KernelLaunch, plan: GuardPlan) -> GuardValues:
    """Evaluate the guards of a plan in all blocks, or as many as the work allows."""
    parts = _divide_by_axes(plan)
    if not parts:
        return GuardValues()
    lanes = -(-math.prod(launch.block) // LANES) * LANES
    executions = sum(
        len(part.evaluations) * math.prod(launch.grid[axis] for axis in axes)
        for axes, part in parts.items()
    )
    results = math.prod(launch.grid) * (len(plan.predicates) + len(plan.numbers))
    if lanes * executions > _MOST_WORK or results > _MOST_RESULTS:
        return GuardValues(complete=False)
    values = GuardValues()
    for axes, part in parts.items():
        _evaluate_along(axes, part, launch, values)
    return values


def _divide_by_axes(plan: GuardPlan) -> dict[frozenset[int], GuardPlan]:
    """Parts of a plan, by the axes of the grid along which guards differ."""
    axes: dict[int, frozenset[int]] = {UNINITIALIZED: frozenset()}

    def axes_of(each: _Evaluation) -> frozenset[int]:
        return frozenset[int]().union(*(axes[at] for at in each.reads.values()))

    for each in plan.evaluations:
        names = [own.name for own in each.instruction.operands if isinstance(own, Special)]
        axes[each.address] = axes_of(each).union(*map(axes_of_grid, names))
    by_guard = {at: axes[at] for at in plan.predicates}
    by_guard |= {at: axes_of(side) for at, (side, _) in plan.numbers.items()}
    by_address = {each.address: each for each in plan.evaluations}
    parts = {}
    for along in sorted(set(by_guard.values()), key=sorted):
        predicates = frozenset(at for at in plan.predicates if by_guard[at] == along)
        numbers = {at: each for at, each in plan.numbers.items() if by_guard[at] == along}
        parts[along] = replace(
            plan,
            evaluations=_required(by_address, predicates, numbers),
            predicates=predicates,
            numbers=numbers,
        )
    return parts


def _evaluate_along(
    axes: frozenset[int], plan: GuardPlan, launch: KernelLaunch, values: GuardValues
) -> None:
    """Evaluate guards that are the same in blocks that differ only along other axes."""
    x, y, z = (np.arange(n if axis in axes else 1) for axis, n in enumerate(launch.grid))
    blocks = x + launch.grid[0] * (y[:, None] + launch.grid[1] * z[:, None, None])

    def everywhere(parts: Iterable[Array]) -> Array:
        whole = np.concatenate(list(parts)).reshape(blocks.shape)
        return np.broadcast_to(whole, launch.grid[::-1]).reshape(-1)

    lanes = -(-math.prod(launch.block) // LANES) * LANES
    batches = np.array_split(blocks.reshape(-1), -(-blocks.size * lanes // _LANES_AT_ONCE))
    with np.errstate(all="ignore"):
        results = [_Evaluator(launch, numbers).run(plan) for numbers in batches]
    # What fails may do so in a part of the blocks alone.
    for at in frozenset.intersection(*(frozenset(each.outcomes) for each in results)):
        values.outcomes[at] = everywhere(each.outcomes[at] for each in results)
    for at in frozenset.intersection(*(frozenset(each.patterns) for each in results)):
        values.patterns[at] = everywhere(each.patterns[at] for each in results)
    for at in frozenset.intersection(*(frozenset(each.numbers) for each in results)):
        low, high = zip(*(each.numbers[at] for each in results), strict=True)
        values.numbers[at] = everywhere(low), everywhere(high)


def reachable_blocks(
    program: Program,
    plan: GuardPlan,
    values: GuardValues,
    *,
    ran: Collection[int] = (),
    closed: frozenset[int] = frozenset(),
) -> frozenset[int]:
    """Return the basic blocks that some thread may run, after guards that decide alike for all.

    Those that are only reached by way of ``closed`` ones are left out, and where ``ran`` are those
    of a sample, what ends of blocks that decide alike did not lead to there.
    """
    follow = successors(program)
    seen: set[int] = set()
    waiting = [0]
    while waiting:
        start = waiting.pop()
        if start in seen or start in closed:
            continue
        seen.add(start)
        after = _possible(program, start, follow[start], plan, values)
        end = program.blocks[start].end
        if end is not None and start in ran:
            address = program.base(program.blocks[start].function) + end.address
            if address in plan.alike:
                after = [each for each in after if each in ran]
        waiting += after
    return frozenset(seen)


def _possible(
    program: Program, start: int, follow: list[int], plan: GuardPlan, values: GuardValues
) -> Iterable[int]:
    block = program.blocks[start]
    end = block.end
    if end is None or len(end.operands) > 1:
        return follow
    address = program.base(block.function) + end.address
    definition, negated = plan.branches.get(address, (_NONE, False))
    codes = values.outcomes.get(definition)
    if codes is None or not values.complete:
        return follow
    seen = int(np.bitwise_or.reduce(codes))
    yes, no = (SOME_FALSE, SOME_TRUE) if negated else (SOME_TRUE, SOME_FALSE)
    left = follow if seen & yes else [each for each in follow if each == block.follows]
    return left if seen & no else [each for each in left if each != block.follows]


def _only(definitions: frozenset[int]) -> int:
    """The one definition, :data:`_NONE` where there are several."""
    return next(iter(definitions)) if len(definitions) == 1 else _NONE


class _Planner:
    """Looks at each instruction once, in the order of addresses."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._evaluable: dict[int, _Evaluation] = {}
        self._numbers: dict[int, tuple[_Evaluation, Read]] = {}
        self._branches: dict[int, tuple[int, bool]] = {}
        self._selections: set[int] = set()
        self._used: set[int] = set()
        """Definitions of predicates that are read, and not only as the carry of a sum."""
        self._reads: dict[int, tuple[Instruction, Definitions]] = {}
        """Of every instruction."""
        self._effects = effects_of(program)

    def plan(self) -> GuardPlan:
        """Return what can be evaluated."""
        reaching = ReachingDefinitions(self._program, self._effects)
        for start in reaching.blocks:
            block = self._program.blocks[start]
            base, here = self._program.base(block.function), Definitions()
            for i in block.instructions:
                address = base + i.address
                effects = self._effects[address]
                names = effects.read | effects.addressing
                names |= effects.written if effects.partial else set()
                reads = {name: here.get(name) or reaching.at(start, name) for name in names}
                self._reads[address] = i, reads
                self._note_uses(address, i, reads, ends=i is block.end)
                if _is_by_thread(i):
                    self._evaluate(
                        address, i, effects, {name: _only(at) for name, at in reads.items()}
                    )
                here |= dict.fromkeys(written_by(i, effects), frozenset((address,)))
        writers = {
            at for at, each in self._evaluable.items() if any("P" in n for n in each.written)
        }
        carries = frozenset(
            at
            for at in writers - self._used
            if self._evaluable[at].instruction.opcode not in _COMPARISONS
        )
        choices = {
            at for at, each in self._evaluable.items() if each.instruction.opcode in _CHOICES
        }
        predicates = frozenset(choices | (writers - carries))
        return GuardPlan(
            _required(self._evaluable, predicates, self._numbers),
            predicates,
            self._numbers,
            self._branches,
            frozenset(self._selections & predicates),
            self._alike(),
            carries,
        )

    def _note_uses(self, address: int, i: Instruction, reads: Definitions, *, ends: bool) -> None:
        """Take note of what a guard decides: where to go on, or which value is taken."""
        guard = "" if i.guard is None else _name(i.guard)
        predicates = {name: at for name, at in reads.items() if "P" in name}
        self._used |= frozenset[int]().union(
            *(at for name, at in predicates.items() if name == guard or not i.has("X"))
        )
        if ends and i.guard is not None:
            definition = _only(reads.get(guard, frozenset()))
            if definition in self._evaluable:
                self._branches[address] = definition, i.guard.negated
        elif i.opcode in _CHOICES:
            self._selections.add(address)
        elif not ends and i.opcode not in _COMBINES:
            self._selections |= frozenset[int]().union(*predicates.values())

    def _alike(self) -> frozenset[int]:
        """Ends of basic blocks that decide alike in all threads of a launch.

        What they read comes from parameters alone, also around loops, and which of several
        definitions holds was decided alike as well, as far as branches between them show.
        """
        ends = {
            self._program.base(block.function) + block.end.address
            for block in self._program.blocks.values()
            if block.end is not None
        }
        differ = {at for at, (i, _) in self._reads.items() if _differs_by_itself(i)}
        while True:
            forks = sorted(at for at in differ & ends if self._reads[at][0].opcode in _FORKS)
            more = {
                at
                for at, (_, reads) in self._reads.items()
                if at not in differ and any(
                    each & differ or (len(each) > 1 and _between(forks, each, at))
                    for each in reads.values()
                )
            }  # fmt: skip
            if not more:
                return frozenset(ends & self._reads.keys() - differ)
            differ |= more

    def _evaluate(
        self, address: int, i: Instruction, effects: DefUse, reads: dict[str, int]
    ) -> None:
        unknown = {name for name, at in reads.items() if at not in self._evaluable}
        if effects.partial:
            unknown -= {name for name in effects.written if reads[name] == UNINITIALIZED}
        if unknown and i.opcode in _COMPARISONS and i.guard is None and not i.has("EX"):
            # It is combined with another condition: by itself it is a guard as well.
            alone = _without_combination(i)
            own = find_def_use(alone)
            left = {name for name in own.read if reads.get(name, _NONE) not in self._evaluable}
            if left:
                self._note_known_side(address, i, reads, left)
                return
            i, effects, unknown = alone, own, set()
            reads = {name: reads[name] for name in own.read}
        if not unknown:
            self._evaluable[address] = _Evaluation(address, i, reads, effects.written)

    def _note_known_side(
        self, address: int, i: Instruction, reads: dict[str, int], unknown: set[str]
    ) -> None:
        for operand in i.operands[2:4]:
            moved = replace(i, operands=(*i.operands[:2], operand, operand, *i.operands[4:]))
            names = find_def_use(_without_combination(moved)).read
            has_value = all(reads.get(each) in self._evaluable for each in names)
            if names and has_value and not names & unknown:
                side = _Evaluation(address, i, {each: reads[each] for each in names}, frozenset())
                self._numbers[address] = side, read_u32(i, operand)


def _required(
    evaluable: Mapping[int, _Evaluation],
    predicates: Iterable[int],
    numbers: Mapping[int, tuple[_Evaluation, Read]],
) -> tuple[_Evaluation, ...]:
    """What guards depend on, in order."""
    wanted: set[int] = set()
    waiting = list(predicates)
    waiting += [at for each, _ in numbers.values() for at in each.reads.values()]
    while waiting:
        address = waiting.pop()
        if address in wanted or address == UNINITIALIZED:
            continue
        wanted.add(address)
        waiting += evaluable[address].reads.values()
    return tuple(each for address, each in evaluable.items() if address in wanted)


def _differs_by_itself(i: Instruction) -> bool:
    """Whether its result can differ between threads that read the same values."""
    return i.opcode in _PLACES or not (_is_by_thread(i) or i.opcode in _PATHS)


def _between(forks: list[int], definitions: frozenset[int], use: int) -> bool:
    """Whether a fork lies between definitions and what reads them, by address."""
    low, high = min(*definitions, use), max(*definitions, use)
    return any(low < fork < high for fork in forks)


def _without_combination(i: Instruction) -> Instruction:
    always = Predicate(TRUE)
    operands = (
        *i.operands[:4],
        *(always if isinstance(each, Predicate) else each for each in i.operands[4:]),
    )
    return replace(i, operands=operands)


def _is_by_thread(i: Instruction) -> bool:
    """Whether its result depends on the thread's own operands, and on nothing that changes."""
    if i.opcode in _BY_WARP or (
        i.opcode in MEMORY and find_opcode(i.opcode).category != "constant"
    ):
        return False
    return i.opcode in _BY_THREAD or i.opcode in _UNIFORM


class _Evaluator:
    """Evaluates a plan for some blocks."""

    def __init__(self, launch: KernelLaunch, numbers: Array) -> None:
        self._blocks = ResidentBlocks(launch, numbers)
        lanes = np.ones((self._blocks.warps, LANES), np.bool_)
        self._context = ExecutionContext(self._blocks, Observer(), lanes)
        self._values: dict[tuple[int, str], Array] = {}
        self._result = GuardValues()

    def run(self, plan: GuardPlan) -> GuardValues:
        """Evaluate all that can be; what the interpreter does not know is left out."""
        failed: set[int] = set()
        table = operations()
        for each in plan.evaluations:
            step = table.get(each.instruction.opcode)
            if step is None or failed.intersection(each.reads.values()):
                failed.add(each.address)
                continue
            try:
                self._evaluate(each, step(each.instruction))
            except (SassimError, KeyError):
                failed.add(each.address)
                continue
            if each.instruction.opcode in _CHOICES:
                self._note_outcomes(each.address, self._is_first(each))
            elif each.address in plan.predicates:
                name = next(name for name in sorted(each.written) if "P" in name)
                first = each.instruction.operands[0]
                if isinstance(first, Predicate) and first.index != TRUE:
                    name = _name(first)
                self._note_outcomes(each.address, self._values[each.address, name])
        for address, (side, read) in plan.numbers.items():
            if not failed.intersection(side.reads.values()):
                self._load(side)
                ends = self._ends(read(self._context), side.instruction)
                self._result.numbers[address] = ends
        return self._result

    def _evaluate(self, each: _Evaluation, step: Step) -> None:
        self._load(each)
        step(self._context)
        for name in each.written:
            file, index = self._file(name)
            self._values[each.address, name] = file[index]

    def _is_first(self, each: _Evaluation) -> Array:
        """Whether the first of two numbers was taken."""
        i = each.instruction
        (name,) = (name for name in each.written if "P" not in name)
        self._load(each)
        first: Array = read_u32(i, i.operands[1])(self._context) == self._values[each.address, name]
        return first

    def _load(self, each: _Evaluation) -> None:
        for name, at in each.reads.items():
            file, index = self._file(name)
            if at == UNINITIALIZED:
                file.pop(index, None)
            else:
                file[index] = self._values[at, name]

    def _file(self, name: str) -> tuple[dict[int, Array], int]:
        prefix = name.rstrip("0123456789")
        c = self._context
        return {"R": c.r, "P": c.p, "UR": c.u, "UP": c.q}[prefix], int(name[len(prefix) :])

    def _note_outcomes(self, address: int, values: Array) -> None:
        yes = self._of_blocks(values)
        some, others = yes.any(axis=1), self._of_blocks(~values).any(axis=1)
        count = len(self._blocks.numbers)
        codes = SOME_TRUE * some + SOME_FALSE * others
        self._result.outcomes[address] = np.broadcast_to(codes, count).astype(np.uint8)
        if len(yes) == count:
            weights = np.random.default_rng(0).integers(1 << 40, size=yes.shape[1])
            patterns = np.where(some, -1.0, 0.0)
            mixed = some & others
            patterns[mixed] = yes[mixed] @ weights.astype(np.float64)
            self._result.patterns[address] = patterns

    def _of_blocks(self, values: Array) -> Array:
        """One row a block, of its threads alone; one row in all where all are alike."""
        blocks = self._blocks
        if values.shape[1] == LANES:
            values = np.broadcast_to(values, (blocks.warps, LANES))
            if blocks.threads % LANES:
                values = values & blocks.alive
        elif values.shape[0] == 1:
            return values
        return values.reshape(len(blocks.numbers), -1)

    def _ends(self, values: Array, i: Instruction) -> tuple[Array, Array]:
        signed = values.view(np.uint32 if i.has("U32") else np.int32).astype(np.int64)
        blocks = self._blocks
        if signed.shape[1] == LANES:
            whole = np.broadcast_to(signed, (blocks.warps, LANES))
            outside = ~blocks.alive
            high, low = (np.where(outside, each, whole) for each in (-(1 << 40), 1 << 40))
        else:
            high = low = np.broadcast_to(signed, (blocks.warps, 1))
        count = len(blocks.numbers)
        return low.reshape(count, -1).min(axis=1), high.reshape(count, -1).max(axis=1)


def _name(predicate: Predicate) -> str:
    return f"{'U' * predicate.uniform}P{predicate.index}"
