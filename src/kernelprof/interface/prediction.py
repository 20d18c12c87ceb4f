"""Kernels without a GPU: predicted from their sources, for a diagnosis or for the gate."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, overload

from kernelprof.errors import ExitCode, KernelprofError, MissingToolError, UsageError
from kernelprof.interface.profiling import is_source, request
from kernelprof.results import Capture, Diagnosis, as_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.collect.progress import Progress
    from kernelprof.collect.request import NotMeasurableError, ProfileRequest
    from kernelprof.interface.profiling import Profiling
    from kernelprof.launch.overrides import LaunchOverrides
    from kernelprof.predict.built import Compiled
    from kernelprof.results import PathLike


@overload
def predict(
    target: PathLike,
    *,
    arch: str | None = None,
    size: Sequence[str] | None = None,
    define: Sequence[str] | None = None,
    against: PathLike | None = None,
    kernel: str | None = None,
    progress: Progress | None = None,
) -> Capture: ...


@overload
def predict(
    target: PathLike,
    *,
    arch: list[str] | tuple[str, ...],
    size: Sequence[str] | None = None,
    define: Sequence[str] | None = None,
    against: PathLike | None = None,
    kernel: str | None = None,
    progress: Progress | None = None,
) -> tuple[Capture, ...]: ...


def predict(
    target: PathLike,
    *,
    arch: str | list[str] | tuple[str, ...] | None = None,
    size: Sequence[str] | None = None,
    define: Sequence[str] | None = None,
    against: PathLike | None = None,
    kernel: str | None = None,
    progress: Progress | None = None,
) -> Capture | tuple[Capture, ...]:
    """What a kernel in a ``.cu`` file does, from its machine code: no GPU is needed.

    Compiled for the architecture ``arch`` (``sm_90`` without it; of several names the captures come
    in a tuple), its result is checked against its reference, and some of its blocks are run. The
    capture has the counters that follow from that, each with its interval, and ``prediction`` has
    each access to memory with its line. ``size`` and ``define`` have ``NAME=VALUE`` each. The
    results of ``against``, another version of the kernel, stand in for its reference. Of a source
    without a launch specification the one that ``kernelprof init`` would write is taken, if it has
    no blank; ``kernel`` then names one of several.

    Raises :class:`MissingToolError` where the compiler's packages are not installed (``pip install
    'kernelprof[predict]'``) and for what only a GPU can run; :class:`UsageError` for an unknown
    architecture; and what a launch raises for a kernel that is wrong.
    """
    from kernelprof.interface.inferred import asked_about, with_launch
    from kernelprof.launch.overrides import overrides

    if not is_source(target):
        raise UsageError(
            "only a .cu file can be predicted",
            where=os.fspath(target),
            hint="name the source of a kernel",
        )
    several = arch is not None and not isinstance(arch, str)
    wanted = architectures(arch)
    changes = overrides(size, define, None, has_source=True, against=against)
    changes = with_launch(changes, target, kernel, progress, programs=True)
    with asked_about(changes, target):
        found = tuple(
            predicted(compiled(target, changes, each, progress), progress) for each in wanted
        )
    return found if several else found[0]


def architectures(arch: str | Sequence[str] | None) -> tuple[str, ...]:
    """The architectures that are named, each once; the default one without any.

    Raises :class:`UsageError` for one that is not known.
    """
    from kernelprof.predict.architectures import DEFAULT_ARCH, KNOWN

    given = (arch,) if isinstance(arch, str) else tuple(arch or ())
    named = [part.strip() for each in given for part in each.split(",")]
    for each in named:
        if each not in KNOWN:
            raise UsageError(
                f"{each!r} is no architecture that kernels are predicted for",
                hint=f"there are: {', '.join(KNOWN)}",
            )
    return tuple(dict.fromkeys(named)) or (DEFAULT_ARCH,)


def compiled(
    target: PathLike, changes: LaunchOverrides, arch: str, progress: Progress | None
) -> Compiled:
    """The machine code of a source with a launch specification; nothing is run."""
    from kernelprof.collect.progress import Progress
    from kernelprof.launch.source import refuse_other_than_file
    from kernelprof.predict.built import compiled as compile_it

    refuse_other_than_file(Path(target), hint="name a .cu file")
    with progress or Progress() as shown:
        return compile_it(
            Path(target), changes, arch=arch, progress=shown.say, meanwhile=_load_what_follows
        )


_FOLLOW: Final = (
    "elftools.elf.elffile",
    "elftools.elf.relocation",
    "kernelprof.predict.prediction",
    "kernelprof.predict.facts",
    "kernelprof.analysis.verdict",
    "kernelprof.report.measurement",
    "kernelprof.report.render",
    "numpy.random",
)


def _load_what_follows() -> None:
    """Import what runs and judges a kernel: a tenth of the time of a short prediction."""
    for name in _FOLLOW:
        import_module(name)
    import_module("kernelprof.predict.machine.operations").operations()
    import_module("kernelprof.predict.machine.control").endings()
    import_module("kernelprof.analysis.rules").registry()


def predicted(code: Compiled, progress: Progress | None) -> Capture:
    """The capture of a kernel's machine code, and what is known beside it."""
    from kernelprof.collect.progress import Progress
    from kernelprof.launch.source import read_source
    from kernelprof.model.inferred import sentences
    from kernelprof.predict.facts import facts
    from kernelprof.predict.prediction import predict as run
    from kernelprof.report.measurement import facts as told
    from kernelprof.sources.source import Contents

    with progress or Progress() as shown:
        found = run(code, progress=shown.say)
    known = facts(found)
    return as_result(
        Capture,
        replace(
            found.capture,
            origin=f"{code.source} as predicted for {code.arch}",
            application=str(code.source),
            options=tuple(code.overrides.said()),
            warnings=(*found.capture.warnings, *sentences(known.source)),
        ),
        contents=Contents(code.source, source_text=read_source(code.source), prediction=known),
        remarks=tuple(told(None, known.correctness, known.source)),
    )


# A diagnosis


def diagnose(
    target: Any, arch: str | None, kernel: str | None, preset: str | None, options: Profiling
) -> Diagnosis:
    """What limits a kernel by its prediction. Raises what :func:`predict` raises."""
    from kernelprof.collect.request import only_measured
    from kernelprof.interface.inferred import qualified

    wanted = request(None, target, kernel, options)
    if given := only_measured(wanted):
        raise UsageError(
            f"{' and '.join(given)} cannot be done with a prediction: nothing is measured",
            where=None if target is None else os.fspath(target),
            hint="leave it out, or leave out --predict and measure on a machine with a GPU",
        )
    if target is None:
        raise UsageError(
            "a program cannot be predicted",
            hint="name a .cu file: kernelprof diagnose KERNEL.cu --predict",
        )
    _refuse_for_main(wanted)
    capture = predict(
        target,
        arch=arch,
        size=options.get("size"),
        define=options.get("define"),
        against=options.get("against"),
        kernel=kernel,
        progress=options.get("progress"),
    )
    chosen = None if capture.inferred else kernel
    return qualified(capture.diagnose(chosen, preset=preset))


def _refuse_for_main(wanted: ProfileRequest) -> None:
    """Refuse what only a source that runs by itself is given."""
    options = {
        "arguments after --": wanted.arguments,
        "--flags": wanted.flags,
        "--build": wanted.build,
    }
    if given := [option for option, value in options.items() if value]:
        raise UsageError(
            f"{' and '.join(given)} cannot be used with a prediction: it launches one kernel by "
            "its launch specification, and runs no main()",
            where=str(wanted.source),
            hint="leave it out: the specification says what the kernel is given, and flags of the "
            "compiler (docs/launch-specification.md)",
        )


def diagnose_instead(
    error: NotMeasurableError,
    target: Any,
    kernel: str | None,
    preset: str | None,
    options: Profiling,
) -> Diagnosis:
    """The same where a kernel can be neither measured here nor was recorded, which ``error`` says.

    Where it cannot be predicted either, that is an error which says both.
    """
    from kernelprof.collect.request import only_measured

    if only_measured(request(None, target, kernel, options)):
        raise error
    try:
        found = diagnose(target, None, kernel, preset, options)
    except KernelprofError as problem:
        if problem.exit_code is not ExitCode.ENVIRONMENT:
            raise
        what, where, hint = error.what, error.where, problem.hint
        if isinstance(problem, MissingToolError):
            hint = f"to predict it here, without a GPU: {hint}"
        else:
            what += f"; it cannot be predicted either: {problem.what}"
            where = problem.where or where
        hint = "\n".join(filter(None, (hint, error.hint)))
        raise MissingToolError(what, where=where, hint=hint) from problem
    origin = f"{found.capture.origin} ({error.lacking} here)"
    capture = replace(found.capture, origin=origin)
    return replace(found, origin=origin, capture=capture)
