"""A kernel predicted from its source: compiled, checked, counted, and made a capture."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.launch.build import build
from kernelprof.launch.read_spec import load_spec
from kernelprof.predict.bind import bind
from kernelprof.predict.check import check
from kernelprof.predict.counts.counted import count
from kernelprof.predict.metrics import capture_of
from kernelprof.predict.sass.needed import needed
from kernelprof.predict.sass.program import program
from kernelprof.predict.watch.words import told

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kernelprof.launch.build import Built
    from kernelprof.launch.overrides import LaunchOverrides
    from kernelprof.launch.spec import LaunchSpec
    from kernelprof.launch.trial import CheckedOutput
    from kernelprof.model.capture import Capture
    from kernelprof.predict.counts.counted import Counted, Total
    from kernelprof.predict.sass.cubin import Resources
    from kernelprof.predict.sass.listing import Line

DEFAULT_ARCH: Final = "sm_90"
"""That of the newest GPU that the project has captures of, an H200."""

_SECONDS: Final = 6.0
"""For counting: a kernel whose blocks are alike takes a tenth of a second."""


@dataclass(frozen=True, slots=True)
class AccessLine:
    """What one instruction asks of memory in the whole launch, and the lines that it comes from."""

    lines: tuple[Line, ...]
    """Its line, then those that it was inlined at."""
    instruction: str
    space: str
    """``global``, ``shared``, ``local`` or ``constant``."""
    kind: str
    """``load``, ``store``, ``copy`` (global to shared), ``atomic``, ``reduction``, ..."""
    bytes_a_thread: int
    requests: Total
    sectors: Total | None
    """Sectors of global or local memory."""
    wavefronts: Total | None
    """Wavefronts of shared memory."""
    ideal: Total | None
    """Sectors or wavefronts that the same accesses would need with adjacent addresses."""


@dataclass(frozen=True)
class Prediction:
    """What is known of a kernel on one architecture without running it on a GPU."""

    source: Path
    spec: LaunchSpec
    built: Built
    arch: str
    capture: Capture
    """One launch, with predicted and compiler's values."""
    accesses: tuple[AccessLine, ...]
    """All accesses to memory, those first that move the most."""
    checked: tuple[CheckedOutput, ...]
    resources: Resources
    code: str
    """A digest of the machine code: equal ones run the same instructions."""
    blocks: int
    blocks_run: int


def predict(
    source: Path,
    overrides: LaunchOverrides,
    *,
    arch: str = DEFAULT_ARCH,
    progress: Callable[[str], None],
    seconds: float = _SECONDS,
) -> Prediction:
    """Compile a source with a launch specification, check its result and count what it does.

    ``progress`` is called with what is being done. Raises
    :class:`kernelprof.errors.MissingToolError` where the compiler's packages are not installed, and
    what a launch on a GPU raises for a kernel that does not compile, gives a wrong result or leaves
    its arrays; :class:`kernelprof.predict.problems.NotRunnableError` and
    :class:`kernelprof.predict.machine.context.NotKnownError` for what only a GPU can run.
    """
    from kernelprof.predict.compile import compiler
    from kernelprof.predict.toolchain import disassembled

    spec = overrides.applied_to(load_spec(source), source)
    where, folder = str(source), (spec.path or source).parent
    progress(f"{source.name}: compiling for {arch}")
    built = build(spec, source, arch, compiler())
    code = program(built.cubin, disassembled(built.cubin), built.entry)
    progress(f"{source.name}: checking its result")
    small = bind(code, built, spec.resolve(spec.check_sizes), folder, where)
    checked = check(spec, small, folder, source)
    progress(f"{source.name}: counting what it does")
    bound = bind(code, built, spec.resolve(), folder, where)
    with told(bound, source, spec.kernel):
        counted = count(bound.launch, needed(code), seconds=seconds)
    return Prediction(
        source=source,
        spec=spec,
        built=built,
        arch=arch,
        capture=capture_of(counted, spec, bound.resolved, arch),
        accesses=access_lines(counted),
        checked=checked,
        resources=code.image.resources,
        code=digest(code.functions),
        blocks=sum(every for _, every in counted.sample.counts),
        blocks_run=len(counted.sample.blocks),
    )


def access_lines(counted: Counted) -> tuple[AccessLine, ...]:
    """What each instruction asks of memory, those first that move the most."""
    found = []
    for each in counted.tally.accesses.values():
        totals = {name: counted.total(values) for name, values in each.counts.items()}
        found.append(
            AccessLine(
                lines=each.instruction.lines,
                instruction=each.instruction.text,
                space=each.space,
                kind=each.kind,
                bytes_a_thread=each.size,
                requests=totals["requests"],
                sectors=totals.get("sectors"),
                wavefronts=totals.get("wavefronts"),
                ideal=totals.get("ideal"),
            )
        )
    return tuple(sorted(found, key=_moved, reverse=True))


def _moved(each: AccessLine) -> float:
    most = each.sectors or each.wavefronts
    return 0.0 if most is None else most.value


def digest(functions: tuple[object, ...]) -> str:
    """A digest of instructions, without their lines."""
    text = "\n".join(
        f"{i.address:x} {i.guard} {i.text}"
        for function in functions
        for i in function.instructions  # type: ignore[attr-defined]
    )
    return hashlib.sha256(text.encode()).hexdigest()
