"""A kernel predicted from its source: compiled, checked, counted, and made a capture."""

from __future__ import annotations

import hashlib
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.errors import KernelprofError
from kernelprof.model.numbers import quantity
from kernelprof.model.specification import is_version
from kernelprof.prediction.binding import NotRunnableError, bind_arguments, count_bytes
from kernelprof.prediction.checking import check_results
from kernelprof.prediction.coverage import CheckedPaths, checked_paths, find_coverage
from kernelprof.prediction.fault_messages import translate_faults
from kernelprof.prediction.lines import SourcePaths, group_by_line
from kernelprof.prediction.metrics import build_capture
from kernelprof.prediction.worker_process import WorkerProcess
from sassim.counters.launch_counters import count_launch
from sassim.errors import SassimError
from sassim.interpreter.context import NotKnownError
from sassim.loops.backward_slice import slice_program
from sassim.loops.guards import plan_guards

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kernelprof.launch.run.trial import CheckedOutput
    from kernelprof.launch.specification.spec import ResolvedLaunch
    from kernelprof.model.capture import Capture
    from kernelprof.model.prediction import PathCoverage
    from kernelprof.prediction.lines import ByLine
    from kernelprof.prediction.machine_code import CompiledSource
    from sassim.counters.launch_counters import LaunchCounters
    from sassim.sass.program import Program

    Say = Callable[[str], object]

_MOST_NAMED: Final = 3
"""Arrays that a message names, the largest."""

_SECONDS: Final = 1.2
"""For counting, as the interpreter works them out: of a processor some seven times as many (the
median of 43 samples of the corpus that take over half a second)."""

_MOST_SECONDS: Final = 120.0
"""Of processor time. Blocks that wait for each other take longest: all of them have to be run."""


@dataclass(frozen=True)
class Prediction:
    """What is known of a kernel on one architecture without running it on a GPU."""

    compiled: CompiledSource
    capture: Capture
    """One launch, with predicted and compiler's values."""
    by_line: ByLine
    checked: tuple[CheckedOutput, ...]
    coverage: PathCoverage
    blocks: int
    blocks_run: int


def predict_kernel(compiled: CompiledSource, *, progress: Say) -> Prediction:
    """Check the result of a compiled kernel and count what it does.

    Raises what a launch on a GPU raises for a kernel that gives a wrong result or leaves its
    arrays, and :class:`NotRunnableError` for what only a GPU can run.
    """
    progress(f"{compiled.source.name}: checking its result")
    with suppress(SassimError, NotKnownError):  # which are raised again where they are explained
        plan_guards(compiled.code)  # once, for what checks as well
    # NVRTC, which compiles another version, is in a fork what it was made for no more.
    here = is_version(compiled.spec.reference)
    with WorkerProcess(lambda: _check_result(compiled), here=here) as checking:
        try:
            counters, capture = _count_launch(compiled, progress, checking.refuse_failed)
        except Exception:
            progress(f"{compiled.source.name}: checking its result")
            checking.result()  # what is wrong with it comes first
            raise
        progress(f"{compiled.source.name}: checking its result")
        checked, paths = checking.result()
        return Prediction(
            compiled=compiled,
            capture=capture,
            by_line=group_by_line(counters, compiled.source),
            checked=checked,
            coverage=find_coverage(counters, paths, compiled.source, _output_bytes(compiled)),
            blocks=sum(every for _, every in counters.sample.counts),
            blocks_run=len(counters.sample.blocks),
        )


def _check_result(compiled: CompiledSource) -> tuple[tuple[CheckedOutput, ...], CheckedPaths]:
    source, spec, folder = compiled.source, compiled.spec, compiled.folder
    with _explain_errors(compiled):
        small = bind_arguments(
            compiled.code, compiled.built, spec.resolve(spec.check_sizes), folder, str(source)
        )
        outputs, blocks = check_results(spec, small, folder, source, compiled.arch)
        return outputs, checked_paths(small, blocks) if outputs else CheckedPaths()


def _output_bytes(compiled: CompiledSource) -> int:
    arrays = compiled.spec.resolve().arrays
    return sum(count_bytes(arrays[each.name]) for each in compiled.spec.outputs)


def _count_launch(
    compiled: CompiledSource, progress: Say, meanwhile: Callable[[], None]
) -> tuple[LaunchCounters, Capture]:
    source, spec, built, code = compiled.source, compiled.spec, compiled.built, compiled.code
    progress(f"{source.name}: counting instructions and accesses")
    began = time.process_time()

    def look() -> None:
        meanwhile()
        if time.process_time() - began > _MOST_SECONDS:
            raise NotRunnableError(
                f"the simulation of {spec.kernel} was stopped after {_MOST_SECONDS:.0f} s of "
                "CPU time",
                where=str(source),
                hint=_smaller_sizes(spec.resolve())
                + ", or measure the kernel on a machine with a GPU",
            )

    with _explain_errors(compiled):
        bound = bind_arguments(code, built, spec.resolve(), compiled.folder, str(source))
        with translate_faults(bound, source, spec.kernel):
            counters = count_launch(
                bound.launch, slice_program(code), seconds=_SECONDS, meanwhile=look
            )
        progress(f"{source.name}: estimating the time")
        return counters, build_capture(counters, built.cubin, spec, bound.resolved, compiled.arch)


@contextmanager
def _explain_errors(compiled: CompiledSource) -> Iterator[None]:
    """Say where an instruction stands that cannot be carried out, and what memory is taken."""
    try:
        yield
    except MemoryError as error:
        raise _too_large(compiled) from error
    except NotKnownError as error:
        file, line = SourcePaths(compiled.source).place_of(error.instruction.lines)
        where = f"{file}:{line}" if line else str(compiled.source)
        raise NotRunnableError(error.what, where=where) from error
    except SassimError as error:
        raise KernelprofError(error.what, where=error.where, hint=error.hint) from error


def _too_large(compiled: CompiledSource) -> NotRunnableError:
    """That there is not the memory for a launch, and what its arrays take."""
    at = compiled.spec.resolve()
    sizes_in_bytes = {name: count_bytes(array) for name, array in at.arrays.items()}
    ordered = sorted(sizes_in_bytes, key=lambda name: -sizes_in_bytes[name])
    largest = ", ".join(
        f"{name} {quantity(sizes_in_bytes[name], 'byte')}" for name in ordered[:_MOST_NAMED]
    )
    return NotRunnableError(
        f"this machine has too little memory to simulate the kernel; largest arrays: {largest}",
        where=str(compiled.source),
        hint=_smaller_sizes(at),
    )


def _smaller_sizes(at: ResolvedLaunch) -> str:
    sizes = ", ".join(f"{name}={value}" for name, value in at.sizes.items())
    return f"choose a smaller --size (now {sizes})" if sizes else "make the kernel's arrays smaller"


def digest_code(code: Program) -> str:
    """A digest of all that decides what a kernel does beside its arguments: equal ones do the same.

    That is the instructions, without their lines, constants, values of variables, registers and
    shared memory.
    """
    text = "\n".join(
        f"{each.address:x} {each.guard} {each.text}"
        for function in code.functions
        for each in function.instructions
    )
    # Saved baselines have digests of the records' first names.
    image = repr(code.image).replace(
        "CubinImage(resources=KernelResources(", "Image(resources=Resources(", 1
    )
    return hashlib.sha256(f"{text}\n{image}".encode()).hexdigest()
