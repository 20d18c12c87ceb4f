"""A kernel predicted from its source: compiled, checked, counted, and made a capture."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.model.numbers import quantity
from kernelprof.predict.bind import bind, bytes_of
from kernelprof.predict.check import check
from kernelprof.predict.counts.counted import count
from kernelprof.predict.counts.needed import needed
from kernelprof.predict.lines import Places, by_line
from kernelprof.predict.machine.context import NotKnownError
from kernelprof.predict.metrics import capture_of
from kernelprof.predict.problems import NotRunnableError
from kernelprof.predict.watch.words import told

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.launch.trial import CheckedOutput
    from kernelprof.model.capture import Capture
    from kernelprof.predict.built import Compiled
    from kernelprof.predict.lines import ByLine
    from kernelprof.predict.sass.program import Program

    Say = Callable[[str], object]

_MOST_NAMED: Final = 3
"""Arrays that a message names, the largest."""

_SECONDS: Final = 6.0
"""For counting: a kernel whose blocks are alike takes a tenth of a second."""


@dataclass(frozen=True)
class Prediction:
    """What is known of a kernel on one architecture without running it on a GPU."""

    compiled: Compiled
    capture: Capture
    """One launch, with predicted and compiler's values."""
    by_line: ByLine
    checked: tuple[CheckedOutput, ...]
    blocks: int
    blocks_run: int


def predict(found: Compiled, *, progress: Say, seconds: float = _SECONDS) -> Prediction:
    """Check the result of a compiled kernel and count what it does.

    Raises what a launch on a GPU raises for a kernel that gives a wrong result or leaves its
    arrays, and :class:`kernelprof.predict.problems.NotRunnableError` for what only a GPU can run.
    """
    try:
        return _predicted(found, progress, seconds)
    except MemoryError as error:
        raise _too_large(found) from error
    except NotKnownError as error:
        file, line = Places(found.source).of(error.instruction.lines)
        where = f"{file}:{line}" if line else str(found.source)
        raise NotRunnableError(error.what, where=where) from error


def _predicted(found: Compiled, progress: Say, seconds: float) -> Prediction:
    source, spec, built, code = found.source, found.spec, found.built, found.code
    where, folder = str(source), (spec.path or source).parent
    progress(f"{source.name}: checking its result")
    small = bind(code, built, spec.resolve(spec.check_sizes), folder, where)
    checked = check(spec, small, folder, source, found.arch)
    progress(f"{source.name}: counting what it does")
    bound = bind(code, built, spec.resolve(), folder, where)
    with told(bound, source, spec.kernel):
        counted = count(bound.launch, needed(code), seconds=seconds)
    progress(f"{source.name}: working out how long it takes")
    capture = capture_of(counted, built.cubin, spec, bound.resolved, found.arch)
    return Prediction(
        compiled=found,
        capture=capture,
        by_line=by_line(counted, source),
        checked=checked,
        blocks=sum(every for _, every in counted.sample.counts),
        blocks_run=len(counted.sample.blocks),
    )


def _too_large(found: Compiled) -> NotRunnableError:
    """That there is not the memory for a launch, and what its arrays take."""
    at = found.spec.resolve()
    taken = {name: bytes_of(array) for name, array in at.arrays.items()}
    ordered = sorted(taken, key=lambda name: -taken[name])
    named = ", ".join(f"{name} {quantity(taken[name], 'byte')}" for name in ordered[:_MOST_NAMED])
    sizes = ", ".join(f"{name}={value}" for name, value in at.sizes.items())
    return NotRunnableError(
        f"there is not enough memory here to carry this out; its arrays take {named}",
        where=str(found.source),
        hint=f"take a smaller --size (it has {sizes})" if sizes else "make its arrays smaller",
    )


def digest(code: Program) -> str:
    """A digest of all that decides what a kernel does beside its arguments: equal ones do the same.

    That is the instructions, without their lines, constants, values of variables, registers and
    shared memory.
    """
    text = "\n".join(
        f"{each.address:x} {each.guard} {each.text}"
        for function in code.functions
        for each in function.instructions
    )
    return hashlib.sha256(f"{text}\n{code.image!r}".encode()).hexdigest()
