"""Values that some blocks write at the measured size, by which two versions are compared."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.launch.check.arrays import decode
from kernelprof.launch.specification.elements import is_floating
from kernelprof.launch.specification.spec import ResolvedArray
from kernelprof.model.prediction import OutputSample
from kernelprof.model.specification import TOLERANCE
from kernelprof.prediction.binding import bind_arguments, count_bytes
from sassim.errors import SassimError
from sassim.interpreter.context import Observer
from sassim.interpreter.interpreter import Interpreter
from sassim.opcodes import select_opcodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from kernelprof.launch.specification.spec import ResolvedLaunch
    from kernelprof.launch.specification.tables import Argument
    from kernelprof.prediction.binding import BoundLaunch
    from kernelprof.prediction.machine_code import CompiledSource
    from sassim.counters.sampling import Sample

    Array = npt.NDArray[Any]

_SECONDS: Final = 3.0
"""For running blocks in full, as the interpreter works it out."""
_MOST_BYTES: Final = 1 << 31
"""Of all arrays, which are filled for it."""
_MOST_BLOCKS: Final = 96
"""Clusters have at most 16 blocks."""
_MOST_OTHERS: Final = 32
_FEW: Final = 3
"""Blocks of a region that are all compared."""
_FIRST_BLOCKS: Final = 4
_GOLDEN: Final = np.uint64(0x9E37_79B9_7F4A_7C15)
"""Multiplicative hashing (Knuth, The Art of Computer Programming 3, 6.4)."""
_RETURNING: Final = select_opcodes(
    lambda row: row.category == "atomic" and row.space != "shared" and row.results != "none"
)
_REDUCTIONS: Final = select_opcodes(
    lambda row: row.category == "atomic" and row.space != "shared" and row.results == "none"
)


def choose_blocks(sample: Sample) -> tuple[int, ...]:
    """Blocks of a sample whose results are compared: rare ones, ends of regions, then others."""
    starts = np.cumsum([0, *(some for some, _ in sample.counts)])[:-1]
    regions = np.split(sample.blocks, starts[1:])[::-1]
    ends = [each if len(each) <= _FEW else each[[0, -1]] for each in regions]
    others = sample.blocks[:: max(1, len(sample.blocks) // _MOST_OTHERS)]
    return tuple(dict.fromkeys(int(each) for part in (*ends, others) for each in part))


def sample_outputs(
    compiled: CompiledSource, blocks: Sequence[int], most: int
) -> tuple[OutputSample, ...]:
    """Up to ``most`` values of each output, those of the same places in each version.

    Nothing of outputs that blocks share by atomics, and nothing where it takes too long.
    """
    spec = compiled.spec
    resolved = spec.resolve()
    outputs = _independent_outputs(compiled)
    if not outputs or sum(map(count_bytes, resolved.arrays.values())) > _MOST_BYTES:
        return ()
    bound = bind_arguments(
        compiled.code, compiled.built, resolved, compiled.folder, str(compiled.source)
    )
    for each in outputs:
        buffer = bound.buffers[each.name]
        buffer.written = np.zeros(len(buffer.data), np.uint8)
    places: dict[str, list[Array]] = {each.name: [] for each in outputs}
    for _ in _run_blocks(bound, blocks):
        for name, parts in places.items():
            parts.append(_take_written(bound, name))
    return tuple(
        _read_values(
            bound, each, _pick_places(places[each.name], most), spec.output_tolerance(each)
        )
        for each in outputs
        if places[each.name]
    )


def _independent_outputs(compiled: CompiledSource) -> list[Argument]:
    # What an atomic returns follows from other blocks
    opcodes = {i.opcode for each in compiled.code.functions for i in each.instructions}
    if opcodes & _RETURNING:
        return []
    alone = not opcodes & _REDUCTIONS
    return [each for each in compiled.spec.outputs if alone or each.fill is None]


def _run_blocks(bound: BoundLaunch, blocks: Sequence[int]) -> Iterator[None]:
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
        interpreter = Interpreter(launch, now, Observer())

        def stop(running: Interpreter = interpreter, before: float = spent) -> None:
            if before + running.seconds > _SECONDS:
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
    places = np.flatnonzero(written[: count * size].reshape(count, size).any(axis=1))
    written[:] = 0
    return places


def _pick_places(parts: Sequence[Array], most: int) -> Array:
    places: Array = np.unique(np.concatenate(parts))
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
    return hashlib.sha256(repr(given).encode()).hexdigest()[:16]
