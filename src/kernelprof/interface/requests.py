"""Options that travel from a caller or a command to whoever measures, predicts or judges."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, TypeGuard

from kernelprof.errors import UsageError
from kernelprof.files import SOURCES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelprof.collect.progress import Progress
    from kernelprof.collect.request import ProfileRequest
    from kernelprof.launch.specification.overrides import LaunchOverrides
    from kernelprof.results import PathLike

LAUNCH_OPTIONS: Final = frozenset({"size", "define", "sanitize", "against"})
"""Options of a measurement that change a launch, and need a source."""
BUDGET_S: Final = 120.0
"""Seconds that measuring a surveyed program may take."""


class MeasurementOptions(TypedDict, total=False):
    """How something is measured.

    ``size``, ``define`` (``NAME=VALUE`` each), ``sanitize`` (tools of compute-sanitizer) and
    ``against`` (another version of the kernel, whose results are the reference) are for a source.
    ``keep`` is the capture directory to write, ``force`` replaces one. ``launch_skip``,
    ``launch_count`` and ``nvtx_include`` choose launches. ``clock_control`` is ``ncu``'s option,
    ``time_limit`` the seconds that one run may take. A program is surveyed first, and measuring it
    may then take ``budget`` seconds; ``None`` measures every launch, without a survey, and 0 none.
    ``perfetto`` is a file for the trace of the survey.
    ``arguments`` are for a source with its own ``main``, ``flags`` more options of ``nvcc`` for it,
    and ``build`` is run before a program is.
    """

    size: Sequence[str] | None
    define: Sequence[str] | None
    sanitize: Sequence[str] | None
    against: PathLike | None
    keep: PathLike | None
    force: bool
    launch_skip: int | None
    launch_count: int | None
    nvtx_include: Sequence[str] | None
    clock_control: str
    time_limit: float | None
    samples: bool
    budget: float | None
    perfetto: PathLike | None
    arguments: Sequence[str] | None
    flags: str | None
    build: str | None


class ProfileOptions(MeasurementOptions, total=False):
    """What is profiled, how, and with which ``preset``; ``kernel`` is a regular expression."""

    program: Sequence[str] | None
    preset: str
    kernel: str | None
    progress: Progress | None


class PredictionOptions(TypedDict, total=False):
    """How a source is launched for a prediction.

    ``size`` and ``define`` have ``NAME=VALUE`` each. The results of ``against``, another version of
    the kernel, stand in for its reference. ``progress`` shows what is being done.
    """

    size: Sequence[str] | None
    define: Sequence[str] | None
    against: PathLike | None
    kernel: str | None
    progress: Progress | None


class ComparisonOptions(TypedDict, total=False):
    """How two versions are built and paired.

    ``size`` and ``define`` (``NAME=VALUE`` each) are for two sources that are measured; with
    ``predict`` they are predicted, for the architectures ``arch``. ``rename`` has ``OLD=NEW`` for
    each kernel that got another name.
    """

    size: Sequence[str] | None
    define: Sequence[str] | None
    rename: Sequence[str]
    predict: bool
    arch: Sequence[str] | None


class BaselineOptions(TypedDict, total=False):
    """Which kernels go into a baseline, and under which policy.

    ``policy`` is a TOML file or its content; without it the ``pyproject.toml`` here counts, if it
    has one. ``kernels`` are regular expressions for the names of kernels, none for all. With
    ``predict`` sources are predicted, for the architectures ``arch`` or the default one.
    """

    policy: PathLike | Mapping[str, Any] | None
    kernels: Sequence[str]
    predict: bool
    arch: Sequence[str] | None


class GateOptions(BaselineOptions, total=False):
    """What a candidate is judged by.

    ``rename`` has ``OLD=NEW`` for each kernel that got another name. What ``against``, another
    version of the kernel, gives is what a predicted candidate has to give. The proposed two are
    what the change itself would put in the place of baseline and policy: they are compared with
    them, and judge only with ``accept_proposed``.
    """

    rename: Sequence[str]
    against: PathLike | None
    proposed_baseline: PathLike | None
    proposed_policy: PathLike | None
    accept_proposed: bool


class OptimizationOptions(TypedDict, total=False):
    """How proposals are asked for and judged.

    At most so many ``rounds``, none after ``budget`` seconds, each of at most ``command_limit``
    seconds. With ``predict``, for the architecture ``arch``, they are judged by what machine code
    counts, without a GPU. ``policy`` is the gate's.
    """

    rounds: int
    budget: float | None
    command_limit: float
    predict: bool
    arch: str | None
    policy: PathLike | Mapping[str, Any] | None


def is_source(target: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether a target is one file to be built and launched, or predicted."""
    return isinstance(target, str | os.PathLike) and os.fspath(target).endswith(SOURCES)


def profile_request(
    program: Sequence[str] | None,
    target: Any,
    kernel: str | None,
    options: MeasurementOptions,
    *,
    repeat: int = 1,
) -> ProfileRequest:
    """Return what is to be profiled and how, as plain values that were checked."""
    from kernelprof.collect.commands import DEFAULT_CLOCKS, LaunchFilters
    from kernelprof.collect.request import ProfileRequest

    has_source = target is not None
    keep = options.get("keep")
    return ProfileRequest(
        application=tuple(program or ()),
        source=Path(target) if has_source else None,
        overrides=launch_overrides(options, has_source=has_source),
        keep=None if keep is None else Path(keep),
        force=options.get("force", False),
        filters=LaunchFilters(
            kernel,
            options.get("launch_skip"),
            options.get("launch_count"),
            tuple(options.get("nvtx_include") or ()),
        ),
        clock_control=options.get("clock_control", DEFAULT_CLOCKS),
        time_limit=options.get("time_limit"),
        samples=options.get("samples", False),
        repeat=repeat,
        budget=options.get("budget", BUDGET_S),
        perfetto=None if (perfetto := options.get("perfetto")) is None else Path(perfetto),
        arguments=tuple(options.get("arguments") or ()),
        flags=_words(options.get("flags"), "options of nvcc"),
        build=_words(options.get("build"), "the command that builds the program"),
    )


def launch_overrides(options: Mapping[str, object], *, has_source: bool) -> LaunchOverrides:
    """Return the changes of a launch; they are refused where there is no source to build."""
    from kernelprof.launch.specification.overrides import parse_overrides

    given: dict[str, Any] = {name: options.get(name) for name in LAUNCH_OPTIONS}
    return parse_overrides(**given, has_source=has_source)


def _words(text: str | None, what: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text or ""))
    except ValueError as error:
        raise UsageError(f"{what}: {error}", where=text, hint="close the quotes") from error
