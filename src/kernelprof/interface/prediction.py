"""Kernels without a GPU: predicted from their sources, for a diagnosis or for the gate."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, Unpack, cast, overload

from kernelprof.errors import ExitCode, KernelprofError, MissingToolError, UsageError
from kernelprof.interface import prediction_cache
from kernelprof.interface.requests import is_source, launch_overrides
from kernelprof.results import Capture, Diagnosis, as_result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kernelprof.collect.progress import Progress
    from kernelprof.collect.request import NotMeasurableError, ProfileRequest
    from kernelprof.interface.requests import MeasurementOptions, PredictionOptions
    from kernelprof.launch.specification.overrides import LaunchOverrides
    from kernelprof.model import capture
    from kernelprof.model.prediction import PredictionFacts
    from kernelprof.prediction.machine_code import CompiledSource
    from kernelprof.results import PathLike

    T = TypeVar("T")


@overload
def predict(
    target: PathLike,
    *,
    arch: str | None = None,
    **options: Unpack[PredictionOptions],
) -> Capture: ...


@overload
def predict(
    target: PathLike,
    *,
    arch: list[str] | tuple[str, ...],
    **options: Unpack[PredictionOptions],
) -> tuple[Capture, ...]: ...


def predict(
    target: PathLike,
    *,
    arch: str | list[str] | tuple[str, ...] | None = None,
    **options: Unpack[PredictionOptions],
) -> Capture | tuple[Capture, ...]:
    """What a kernel in a ``.cu`` file does, from its machine code: no GPU is needed.

    Compiled for the architecture ``arch`` (``sm_90`` without it; of several names the captures come
    in a tuple), its result is checked against its reference, and some of its blocks are run. The
    capture has the counters that follow from that, each with its interval, and ``prediction`` has
    each access to memory with its line. Of a source without a launch specification the one that
    ``kernelprof init`` would write is used, if it has no blank; ``kernel`` then names one of
    several.

    Raises :class:`MissingToolError` where the compiler's packages are not installed (``pip install
    'kernelprof[predict]'``) and for what only a GPU can run; :class:`UsageError` for an unknown
    architecture; and what a launch raises for a kernel that is wrong.
    """
    _refuse_other_than_source(target)
    architecture_names = unique_architectures(arch)
    changes = launch_overrides(options, has_source=True)
    kernel, progress = options.get("kernel"), options.get("progress")
    captures = _predict(target, architecture_names, changes, kernel, progress)
    return captures[0] if arch is None or isinstance(arch, str) else captures


def _refuse_other_than_source(target: PathLike) -> None:
    if not is_source(target):
        raise UsageError(
            "only a .cu file can be predicted",
            where=os.fspath(target),
            hint="name the .cu file of a kernel",
        )


def _predict(
    target: PathLike,
    architecture_names: Sequence[str],
    changes: LaunchOverrides,
    kernel: str | None,
    progress: Progress | None,
) -> tuple[Capture, ...]:
    from kernelprof.interface.inferred import explaining_inferred, with_launch

    changes = with_launch(changes, target, kernel, progress, programs=True)
    with explaining_inferred(changes, target):
        sources = [
            LaunchedSource(Path(target), changes, each, progress) for each in architecture_names
        ]
        return tuple(map(predict_capture, sources))


def unique_architectures(arch: str | Sequence[str] | None) -> tuple[str, ...]:
    """The architectures that are named, each once; the default one without any.

    Raises :class:`UsageError` for one that is not known.
    """
    from kernelprof.prediction.architectures import DEFAULT_ARCH, PREDICTED_ARCHS, similar_arch

    given = (arch,) if isinstance(arch, str) else tuple(arch or ())
    # The compiler gets sm_100a for sm_100 by itself where nvcc has it.
    names = [
        re.sub(r"^(sm_\d+)[af]$", r"\1", name.strip()) for each in given for name in each.split(",")
    ]
    for each in names:
        if each not in PREDICTED_ARCHS:
            similar = similar_arch(each)
            meant = "" if similar is None else f"did you mean --arch {similar}? "
            raise UsageError(
                f"kernelprof cannot predict for the architecture {each!r}",
                hint=f"{meant}available: {', '.join(PREDICTED_ARCHS)}",
            )
    return tuple(dict.fromkeys(names)) or (DEFAULT_ARCH,)


def header_folders() -> Sequence[Path]:
    """Folders of CUDA's headers, which sources include; empty where nothing can be predicted."""
    from kernelprof.prediction.toolchain import find_headers

    try:
        return find_headers()
    except MissingToolError:
        return ()


def compile_for_prediction(
    target: PathLike, changes: LaunchOverrides, arch: str, progress: Progress | None
) -> CompiledSource:
    """The machine code of a source with a launch specification; nothing is run."""
    from kernelprof.collect.progress import Progress
    from kernelprof.launch.source import refuse_other_than_file
    from kernelprof.prediction.machine_code import compile_source

    refuse_other_than_file(Path(target), hint="name a .cu file")
    with progress or Progress() as shown:
        return compile_source(
            Path(target), changes, arch=arch, progress=shown.say, meanwhile=_load_what_follows()
        )


_FOLLOW: Final = (
    "numpy",
    "elftools.elf.elffile",
    "elftools.elf.relocation",
    "sassim.counters.counters",
    "kernelprof.prediction.predictor",
    "kernelprof.prediction.facts",
    "kernelprof.analysis.verdict",
    "kernelprof.report.measurement",
    "kernelprof.report.render",
    "kernelprof.report.documents.diagnosis",
    "kernelprof.report.documents.prediction",
    "rich.table",
    "numpy.random",
)
"""Each is a step: what the predictor imports is named as well, so that none takes long."""


def _load_what_follows() -> Iterator[object]:
    """Import what runs and judges a kernel, step by step: a third of a short prediction."""
    yield from map(import_module, _FOLLOW)
    yield import_module("sassim.interpreter.operations").operations()
    yield import_module("sassim.interpreter.control_flow").endings()
    for rule in import_module("kernelprof.analysis.rules").load_rules().values():
        yield rule.metrics


@dataclass
class LaunchedSource:
    """A source, launched in a way and for an architecture, which is compiled when asked."""

    source: Path
    overrides: LaunchOverrides
    arch: str
    progress: Progress | None

    @cached_property
    def code(self) -> CompiledSource:
        """Its machine code."""
        return compile_for_prediction(self.source, self.overrides, self.arch, self.progress)

    @property
    def version(self) -> prediction_cache.KernelVersion:
        """What identifies it in the cache."""
        return prediction_cache.KernelVersion(self.source, self.overrides, self.arch)


def predict_capture(launched: LaunchedSource) -> Capture:
    """The capture of a kernel, and what is known beside it; from the cache if it is there."""
    from kernelprof.launch.source import read_source
    from kernelprof.model.inferred import describe_assumptions
    from kernelprof.report.measurement import measurement_facts as lines_of_facts
    from kernelprof.sources.source import Contents

    source = launched.source
    predicted, facts = prediction_cache.recall(
        "capture",
        [launched.version],
        lambda: prediction_cache.capture_values(*count_launch(launched)),
        prediction_cache.capture_of_values,
    )
    return as_result(
        Capture,
        replace(
            predicted,
            origin=f"{source} as predicted for {launched.arch}",
            application=str(source),
            options=tuple(launched.overrides.command_options()),
            warnings=(*predicted.warnings, *describe_assumptions(facts.source)),
        ),
        contents=Contents(source, source_text=read_source(source), prediction=facts),
        remarks=tuple(lines_of_facts(None, facts.correctness, facts.source)),
    )


def recall_answer(
    target: PathLike,
    case: tuple[str | None, str | None],
    options: MeasurementOptions,
    request: list[object],
    make: Callable[[], T],
) -> T:
    """Recall what a command made for a kernel and an architecture: JSON values."""
    from kernelprof.interface.inferred import with_launch

    if not prediction_cache.caching.get():
        return make()
    kernel, arch = case
    changes = with_launch(
        launch_overrides(options, has_source=True), target, kernel, None, programs=True
    )
    version = prediction_cache.KernelVersion(Path(target), changes, arch or "")
    what = f"answer to {kernel} {request} {sorted(options.items())}"
    return prediction_cache.recall(what, [version], make, lambda values: cast("T", values))


def count_launch(launched: LaunchedSource) -> tuple[capture.Capture, PredictionFacts]:
    """Predict a launch without the cache."""
    from kernelprof.prediction import nvrtc

    nvrtc.start()
    code = launched.code  # with a progress of its own; what follows is imported meanwhile
    from kernelprof.collect.progress import Progress
    from kernelprof.prediction.facts import summarize_prediction
    from kernelprof.prediction.predictor import predict_kernel

    with launched.progress or Progress() as shown:
        prediction = predict_kernel(code, progress=shown.say)
    return prediction.capture, summarize_prediction(prediction)


def diagnose_prediction(
    request: ProfileRequest, preset: str | None, progress: Progress | None, arch: str | None = None
) -> Diagnosis:
    """What limits a kernel by its prediction. Raises what :func:`predict` raises."""
    from kernelprof.collect.request import only_measured
    from kernelprof.interface.inferred import qualify_verdicts

    source, kernel = request.source, request.filters.kernel
    if given := only_measured(request, predicted=True):
        raise UsageError(
            f"{' and '.join(given)} cannot be used with predictions: nothing is measured",
            where=None if source is None else str(source),
            hint=f"leave out {' and '.join(given)}, or measure without --predict on a machine "
            "with a GPU",
        )
    if source is None:
        raise UsageError(
            "a program cannot be predicted",
            hint="name a .cu file: kernelprof diagnose KERNEL.cu --predict",
        )
    _refuse_for_main(request)
    _refuse_other_than_source(source)
    (capture,) = _predict(source, unique_architectures(arch), request.overrides, kernel, progress)
    return qualify_verdicts(capture.diagnose(None if capture.inferred else kernel, preset=preset))


def _refuse_for_main(request: ProfileRequest) -> None:
    options = {
        "arguments after --": request.arguments,
        "--flags": request.flags,
        "--build": request.build,
    }
    if given := [option for option, value in options.items() if value]:
        raise UsageError(
            f"{' and '.join(given)} cannot be used with a prediction: main() is not run",
            where=str(request.source),
            hint="write arguments and compiler flags into the launch specification "
            "(docs/launch-specification.md)",
        )


def diagnose_instead(
    error: NotMeasurableError,
    request: ProfileRequest,
    preset: str | None,
    progress: Progress | None,
) -> Diagnosis:
    """Predict a kernel that can be neither measured here nor was recorded, which ``error`` says.

    Where it cannot be predicted either, that is an error which says both.
    """
    from kernelprof.collect.request import only_measured

    if only_measured(request, predicted=True):
        raise error
    if request.arguments or request.flags:
        error.hint = (
            f"{error.hint}\nor predict the kernels in this file here, without running main():\n"
            f"{shlex.join(['kernelprof', 'diagnose', str(request.source), '--predict'])}"
        )
        raise error
    try:
        diagnosis = diagnose_prediction(replace(request, application=()), preset, progress)
    except KernelprofError as problem:
        if problem.exit_code is not ExitCode.ENVIRONMENT:
            raise
        what, where, hint = error.what, error.where, problem.hint
        if isinstance(problem, MissingToolError):
            hint = f"to predict the kernel here, without a GPU: {hint}"
        else:
            what += f"; the kernel cannot be predicted either: {problem.what}"
            where = problem.where or where
        hint = "\n".join(filter(None, (hint, error.hint)))
        raise MissingToolError(what, where=where, hint=hint) from problem
    origin = f"{diagnosis.capture.origin} ({error.lacking} here)"
    measure = shlex.join(["kernelprof", "diagnose", str(request.source)])
    remark = (
        f"predicted: this machine has {error.lacking}; to measure the kernel, run this on a "
        f"machine with a GPU: {measure}"
    )
    capture = replace(
        diagnosis.capture, origin=origin, remarks=(*diagnosis.capture.remarks, remark)
    )
    return replace(diagnosis, origin=origin, capture=capture)
