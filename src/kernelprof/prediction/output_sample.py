"""Values that some blocks write at the measured size, by which two versions are compared."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.launch.check.arrays import RANDOM_INTEGERS, decode, storage_type
from kernelprof.launch.specification.elements import is_floating
from kernelprof.launch.specification.spec import ResolvedArray, ResolvedScalar
from kernelprof.model.prediction import OneSided, OutputSample
from kernelprof.model.specification import TOLERANCE
from kernelprof.prediction.binding import bind_arguments, count_bytes
from kernelprof.prediction.lines import SourcePaths
from sassim.errors import SassimError
from sassim.interpreter.interpreter import Interpreter
from sassim.interpreter.lanes import distinct
from sassim.loops.guards import plan_guards
from sassim.opcodes import select_opcodes
from sassim.sanitizer.effects import EffectRecord
from sassim.sass.operands import Constant, Immediate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy.typing as npt

    from kernelprof.launch.specification.spec import ResolvedLaunch
    from kernelprof.launch.specification.tables import Argument
    from kernelprof.prediction.binding import BoundLaunch
    from kernelprof.prediction.machine_code import CompiledSource
    from sassim.counters.sampling import Sample
    from sassim.interpreter.context import Access, Observer
    from sassim.sass.listing import Instruction

    Array = npt.NDArray[Any]

_SECONDS: Final = 3.0
"""For running blocks in full, as the interpreter works it out."""
_EXTREME_SECONDS: Final = 1.0
_MOST_BYTES: Final = 1 << 31
"""Of all arrays, which are filled for it."""
_MOST_BLOCKS: Final = 96
"""Clusters have at most 16 blocks."""
_MOST_OTHERS: Final = 32
_FEW: Final = 3
"""Blocks of a region that are all compared."""
_FIRST_BLOCKS: Final = 4
_MOST_EXTREME: Final = 12
"""Blocks that are run again with larger values."""
_SECTOR: Final = 32
_EVERY: Final = 5
"""No power of two: places in warps and rows differ."""
_LARGER: Final = 1024
"""Times the values of a specification: beyond exp's range of float32, and within that of sums."""
_GOLDEN: Final = np.uint64(0x9E37_79B9_7F4A_7C15)
"""Multiplicative hashing (Knuth, The Art of Computer Programming 3, 6.4)."""
_COMPARES: Final = re.compile("SET|MNMX")
_RETURNING: Final = select_opcodes(
    lambda row: row.category == "atomic" and row.space != "shared" and row.results != "none"
)
_REDUCTIONS: Final = select_opcodes(
    lambda row: row.category == "atomic" and row.space != "shared" and row.results == "none"
)
"""Blocks that do the same part of the work add the same."""


def choose_blocks(sample: Sample) -> tuple[int, ...]:
    """Blocks of a sample whose results are compared: rare ones, ends of regions, then others."""
    starts = np.cumsum([0, *(some for some, _ in sample.counts)])[:-1]
    regions = np.split(sample.blocks, starts[1:])[::-1]
    ends = [each if len(each) <= _FEW else each[[0, -1]] for each in regions]
    others = sample.blocks[:: max(1, len(sample.blocks) // _MOST_OTHERS)]
    return tuple(dict.fromkeys(int(each) for part in (*ends, others) for each in part))


def list_thresholds(codes: Iterable[CompiledSource]) -> tuple[float, ...]:
    """List numbers that comparisons in some versions of a kernel have in the instruction."""
    texts = {
        operand.text
        for code in codes
        for function in code.code.functions
        for i in function.instructions
        if _COMPARES.search(i.opcode)
        for operand in i.operands
        if isinstance(operand, Immediate) and "N" not in operand.text  # infinite, or no number
    }
    return tuple(sorted(int(each, 0) if "x" in each else float(each) for each in texts))


def sample_outputs(
    compiled: CompiledSource, blocks: Sequence[int], thresholds: Sequence[float], most: int
) -> tuple[tuple[OutputSample, ...], tuple[OneSided, ...]]:
    """Up to ``most`` values of each output, those of the same places in each version.

    Nothing where values follow from the order of blocks, or where it takes too long. Returns also
    the instructions that had one outcome.
    """
    resolved = compiled.spec.resolve()
    if sum(map(count_bytes, resolved.arrays.values())) > _MOST_BYTES:
        return (), ()
    bound = bind_arguments(
        compiled.code, compiled.built, resolved, compiled.folder, str(compiled.source)
    )
    for each in compiled.spec.outputs:
        if each.fill is None:
            buffer = bound.buffers[each.name]
            buffer.written = np.zeros(buffer.capacity, np.uint8)
    samples, record = _sample(compiled, bound, blocks, most)
    places = SourcePaths(compiled.source)
    one_sided = sorted(
        OneSided(*places.place_of(i.lines), _describe(i))
        for i in record.without_effect()
        if i.lines
    )
    given = [each.value for each in resolved.arguments if isinstance(each, ResolvedScalar)]
    _enlarge_inputs(bound, np.array([*thresholds, *given]))
    extreme, _ = _sample(compiled, bound, blocks[:_MOST_EXTREME], most, extreme=True)
    return (*samples, *extreme), tuple(one_sided)


class _Blocks(EffectRecord):
    """Notes also which sectors of arrays are read: others are those of another part of the work."""

    def __init__(self, bound: BoundLaunch, *, reads: bool, effects: bool) -> None:
        program = bound.launch.program
        # What follows from a thread's place was looked at in all blocks.
        plan = plan_guards(program)
        ignored = plan.predicates | plan.carries if effects else program.addresses.values()
        super().__init__(program, frozenset(ignored))
        buffers = bound.buffers.values() if reads else ()
        self._sectors = [(each, np.zeros(each.size // _SECTOR + 1, np.bool_)) for each in buffers]

    def on_access(self, access: Access) -> None:
        if self._sectors and access.space == "global" and access.kind == "load":
            at = np.broadcast_to(access.addresses, access.lanes.shape)[access.lanes]
            for buffer, read in self._sectors:
                inside = at[(at >= buffer.base) & (at < buffer.end)]
                read[(inside - buffer.base) // _SECTOR] = True

    def digest_reads(self) -> str:
        """Return a digest of what was read."""
        return _digest(b"".join(read.tobytes() for _, read in self._sectors))


def _sample(
    compiled: CompiledSource,
    bound: BoundLaunch,
    blocks: Sequence[int],
    most: int,
    *,
    extreme: bool = False,
) -> tuple[list[OutputSample], _Blocks]:
    opcodes = {i.opcode for each in compiled.code.functions for i in each.instructions}
    adds = bool(opcodes & _REDUCTIONS)
    # What an atomic returns follows from other blocks.
    outputs = [] if opcodes & _RETURNING else compiled.spec.outputs
    record = _Blocks(bound, reads=adds, effects=not extreme)
    before = {each.name: bound.array(each.name).reshape(-1).copy() for each in outputs if each.fill}
    places: dict[str, list[Array]] = {each.name: [] for each in outputs}
    for _ in _run_blocks(bound, blocks, record, _EXTREME_SECONDS if extreme else _SECONDS):
        for name, parts in places.items():
            if name in before:
                parts[:] = [np.flatnonzero(bound.array(name).reshape(-1) != before[name])]
            else:
                parts.append(_take_written(bound, name))
    samples = []
    for each in outputs:
        if parts := places[each.name]:
            tolerance = compiled.spec.output_tolerance(each)
            sample = _read_values(bound, each, _pick_places(parts, most), tolerance)
            if each.name in before and adds:
                inputs = f"{sample.inputs} {record.digest_reads()}"
                sample = replace(sample, inputs=inputs, shared=len(sample.places) < most)
            samples.append(replace(sample, extreme=extreme))
    return samples, record


def _enlarge_inputs(bound: BoundLaunch, thresholds: Array) -> None:
    """Have half of the integers be the largest that are drawn, and floating-point numbers larger.

    Others, between them, are what the kernel compares them with.

    Fills that a kernel may rely on (offsets, files and functions of integers) stay as they are.
    """
    for name, array in bound.resolved.arrays.items():
        values, kind = bound.array(name), storage_type(array.argument.element)
        if array.argument.fill is None or array.argument.output or bound.buffers[name].changed:
            continue
        if kind.kind == "f":
            with np.errstate(over="ignore"):
                np.multiply(values, kind.type(_LARGER), out=values)
            _scatter(values, thresholds)
        elif kind.kind in "iu" and array.argument.fill == "random":
            most = array.limit or RANDOM_INTEGERS
            values[values.astype(np.uint8) % 2 != 0] = most - 1
            _scatter(values, thresholds[(thresholds >= 0) & (thresholds < most)])


def _scatter(values: Array, some: Array) -> None:
    for at, each in enumerate(some):
        values.reshape(-1)[at * _EVERY :: len(some) * _EVERY] = each


def _describe(i: Instruction) -> str:
    numbers = [
        each.text if isinstance(each, Immediate) else f"c{each.bank}:{each.offset}"
        for each in i.operands
        if isinstance(each, Immediate | Constant)
    ]
    return " ".join((i.opcode, *i.modifiers, *numbers))


def _run_blocks(
    bound: BoundLaunch, blocks: Sequence[int], observer: Observer, seconds: float
) -> Iterator[None]:
    # Batches of whole clusters that grow, as long as there is time
    launch = bound.launch
    every = np.arange(math.prod(launch.grid))
    clusters = launch.cluster_of(every)
    chosen = dict.fromkeys(clusters[[each for each in blocks if each < len(every)]].tolist())
    size = math.prod(launch.cluster or (1,))
    members = np.argsort(clusters, kind="stable").reshape(-1, size)
    numbers = members[list(chosen)[: _MOST_BLOCKS // size]]
    first, step, spent = 0, -(-_FIRST_BLOCKS // size), 0.0
    while first < len(numbers):
        now = numbers[first : first + step].reshape(-1)
        interpreter = Interpreter(launch, now, observer)

        def stop(running: Interpreter = interpreter, before: float = spent) -> None:
            if before + running.seconds > seconds:
                raise _OverBudgetError("the blocks take too long")

        try:
            interpreter.run(stop)
        except SassimError:  # counting the launch, or checking its result, says what is wrong
            return
        yield
        spent += interpreter.seconds
        first, step = first + step, 2 * step


class _OverBudgetError(SassimError):
    pass


def _take_written(bound: BoundLaunch, name: str) -> Array:
    # Elements of an array that were written since this was last asked
    written = bound.buffers[name].written
    assert written is not None  # it is tracked
    count = math.prod(bound.resolved.arrays[name].shape)
    size = bound.buffers[name].size // count
    # As words: numpy's any() takes 30 times as long along rows of a few bytes.
    word = math.gcd(size, 8)
    words = np.flatnonzero(written[: count * size].view(f"u{word}"))
    written[:] = 0
    return distinct(words * word // size)


def _pick_places(parts: Sequence[Array], most: int) -> Array:
    places: Array = distinct(np.concatenate(parts))
    with np.errstate(over="ignore"):
        order = np.argsort(places.astype(np.uint64) * _GOLDEN, kind="stable")
    return places[order[:most]]


def _read_values(
    bound: BoundLaunch, output: Argument, places: Array, tolerance: float
) -> OutputSample:
    values = decode(bound.array(output.name).reshape(-1)[places], output.element)
    exact = not is_floating(output.element) and tolerance <= TOLERANCE
    return OutputSample(
        output.name,
        _digest_inputs(bound.resolved),
        0.0 if exact else tolerance,
        tuple(places.tolist()),
        tuple(each if math.isfinite(each) else None for each in values.tolist()),
    )


def _digest_inputs(resolved: ResolvedLaunch) -> str:
    """A digest of what the kernel is given: other inputs give other results."""
    given = [
        (each.argument.seed, each.index, each.argument.fill, each.shape, each.limit)
        if isinstance(each, ResolvedArray)
        else repr(each)
        for each in resolved.arguments
        if not isinstance(each, ResolvedArray) or each.argument.fill is not None
    ]
    return _digest(repr(given).encode())


def _digest(values: bytes) -> str:
    return hashlib.sha256(values).hexdigest()[:16]
