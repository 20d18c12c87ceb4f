"""What is to be profiled and how: plain values, the command, and what is checked before it.

Where something is missing on this machine, the error holds the commands for one that has it.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelprof.analysis.metrics.catalogue import SAMPLES, SAMPLES_SECTION
from kernelprof.collect.commands import DEFAULT_CLOCKS, LaunchFilters
from kernelprof.errors import MissingToolError, UsageError
from kernelprof.launch.specification.overrides import LaunchOverrides
from kernelprof.model.manifest import PresetFacts
from kernelprof.tools import find_ncu

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.analysis.metrics.catalogue import Preset
    from kernelprof.collect.drill import DrillDown
    from kernelprof.collect.environment import LocalMachine
    from kernelprof.launch.specification.spec import LaunchSpec
    from kernelprof.model.capture import Capture, SampledLine
    from kernelprof.model.diagnosis import Diagnosis
    from kernelprof.model.manifest import Manifest

_OF_A_RECORD = ("--size", "--define", "--kernel", "--time-limit")
_OF_A_PREDICTION = (*_OF_A_RECORD, "--against")


class NotMeasurableError(MissingToolError):
    """A source cannot be measured here and was not recorded; ``lacking`` is such as ``no GPU``."""

    lacking = ""


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """What to profile, a program or a source, and how.

    ``keep`` is the capture directory, or the folder of captures where ``repeat`` is above 1.
    ``budget`` are the seconds for measuring a surveyed program; ``None`` measures all launches, 0
    none. ``perfetto`` is a file for the trace of the survey.
    ``arguments`` and ``flags`` are for a source with ``main``, ``build`` for a program.
    """

    application: tuple[str, ...] = ()
    source: Path | None = None
    overrides: LaunchOverrides = field(default_factory=LaunchOverrides)
    keep: Path | None = None
    force: bool = False
    filters: LaunchFilters = field(default_factory=LaunchFilters)
    clock_control: str = DEFAULT_CLOCKS
    time_limit: float | None = None
    samples: bool = False
    repeat: int = 1
    budget: float | None = None
    perfetto: Path | None = None
    arguments: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    build: tuple[str, ...] = ()

    @property
    def several(self) -> bool:
        """Whether more than one capture is made."""
        return self.repeat > 1


@dataclass(frozen=True, slots=True)
class ProfileResult:
    """A capture, its drill-down and samples, and the diagnosis together with a survey, if any.

    ``recorded`` is a capture that was not made now and here.
    """

    capture: Capture
    manifest: Manifest
    drill_down: DrillDown | None = None
    recorded: bool = False
    lines: tuple[SampledLine, ...] | None = None
    diagnosis: Diagnosis | None = None


def preset_facts(preset: Preset) -> PresetFacts:
    """Return a preset's name and the hash of its metrics, names, sections and samples."""
    content: list[object] = [
        {
            "name": metric.name,
            "ncu": metric.ncu,
            "unit": metric.unit,
            "section": metric.section,
            "architectures": dict(sorted(metric.architectures.items())),
            "only_on": metric.only_on,
            "not_on": metric.not_on,
        }
        for metric in sorted(preset.metrics, key=lambda metric: metric.name)
    ]
    if preset.samples:
        content += [SAMPLES, SAMPLES_SECTION]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return PresetFacts(preset.name, hashlib.sha256(text.encode()).hexdigest())


@dataclass(frozen=True, slots=True)
class LocalTools:
    """What this machine has; ``machine`` is ``None`` where no GPU was asked for."""

    ncu: str | None
    problem: MissingToolError | None = None
    machine: LocalMachine | None = None

    @property
    def missing(self) -> tuple[str, ...]:
        """``GPU`` and ``ncu``, as far as they are missing."""
        gpu = self.machine is not None and not self.machine.gpus
        return ("GPU",) * gpu + ("ncu",) * (self.ncu is None)

    def missing_here(self, *which: str) -> str:
        """What is missing, as a sentence."""
        shown = {
            "GPU": "no NVIDIA GPU (nvidia-smi is missing or reports no GPU)",
            "ncu": "no ncu (Nsight Compute)",
        }
        return f"this machine has {' and '.join(shown[each] for each in which or self.missing)}"

    def describe(self) -> str:
        """What is missing, within a sentence: ``no GPU``, ``no GPU and no ncu``."""
        return " and ".join(f"no {each}" for each in self.missing)


def local_tools(*, for_source: bool) -> LocalTools:
    """Look for ``ncu``, and for a GPU where a source is to be launched."""
    from kernelprof.collect import environment

    info = environment.query_machine() if for_source else None
    try:
        return LocalTools(find_ncu(), machine=info)
    except MissingToolError as error:
        return LocalTools(None, error, info)


def check_request(request: ProfileRequest, preset: str | None) -> LaunchSpec | None:
    """Refuse what is wrong on any machine; the specification of a source that has one."""
    from kernelprof.analysis.metrics.catalogue import preset as known_preset

    if preset is not None:
        known_preset(preset)
    if request.keep is not None:
        from kernelprof.collect.store import refuse_existing

        refuse_existing(request.keep.expanduser(), force=request.force, several=request.several)
    if request.source is not None:
        spec = _specification(request.source, request.overrides)
        if spec is not None and (request.arguments or request.flags):
            raise UsageError(
                "--flags, and arguments after --, apply only to a .cu file with its own main()",
                where=str(request.source),
                hint="leave them out: the launch specification has the arguments and compile flags",
            )
        if request.build:
            raise UsageError(
                "--build applies only to a program after --",
                where=str(request.source),
                hint="leave out --build: kernelprof compiles .cu files with nvcc",
            )
        return spec
    if not request.application:
        raise UsageError(
            "there is no program after --",
            hint="name a program: kernelprof diagnose -- ./app args...",
        )
    if request.flags:
        raise UsageError(
            "--flags applies only to a .cu file, which nvcc compiles",
            where=shlex.join(request.flags),
            hint="leave out --flags; build the program yourself or with --build",
        )
    return None


def check_recordable(request: ProfileRequest, tools: LocalTools) -> None:
    """Refuse options that only a measurement can follow, where a record takes its place."""
    if options := only_measured(request):
        raise MissingToolError(
            f"{' and '.join(options)} cannot be used with a recorded capture, and this machine "
            f"has {tools.describe()} to make a new capture",
            where=str(request.source),
            hint=f"leave out {' and '.join(options)} to diagnose the recorded capture, or run the "
            "same command on a machine with a GPU and ncu",
        )


def only_measured(request: ProfileRequest, *, predicted: bool = False) -> list[str]:
    """Return the options that only a measurement can follow, and no record or prediction."""
    given = [option for option, _ in _options(request, None)]
    options = ["--keep"] * (request.keep is not None)
    followed = _OF_A_PREDICTION if predicted else _OF_A_RECORD
    return options + [each for each in dict.fromkeys(given) if each not in followed]


def program_error(
    request: ProfileRequest, preset: str | None, tools: LocalTools
) -> MissingToolError:
    """Say that ``ncu`` is missing here, and how to measure the program on another machine."""
    problem = tools.problem
    return MissingToolError(
        "" if problem is None else problem.what,
        where=None if problem is None else problem.where,
        hint=f"{_remedy(tools)}or capture on a machine with a GPU and ncu, and diagnose the "
        f"capture here:\n{_profile_command(request, preset)}",
    )


def source_error(
    request: ProfileRequest,
    preset: str | None,
    tools: LocalTools,
    *,
    diagnosing: bool,
    why: str = "",
) -> NotMeasurableError:
    """Say what is missing here, why no record helps, and the commands for a machine with a GPU."""
    source = str(request.source)
    if diagnosing:
        options, program = _words(request, preset)
        keep = [] if request.keep is None else ["--keep", str(request.keep)]
        diagnose = shlex.join(["kernelprof", "diagnose", source, *options, *keep, *program])
        hint = f"run this on a machine with a GPU and ncu:\n{diagnose}\nor capture there"
    else:
        hint = "capture on a machine with a GPU and ncu"
    error = NotMeasurableError(
        f"{source} cannot be measured here: {tools.missing_here()}" + (f"; {why}" if why else ""),
        where=source,
        hint=f"{_remedy(tools)}{hint}, and diagnose the capture here:\n"
        f"{_profile_command(request, preset)}",
    )
    error.lacking = tools.describe()
    return error


def _profile_command(request: ProfileRequest, preset: str | None) -> str:
    """Return the commands that make a capture elsewhere and diagnose it here, a line each."""
    options, program = _words(request, preset)
    if request.source is not None:
        target, stem = [str(request.source)], request.source.stem
    else:
        target, stem = [], "capture"
    folder = str(request.keep or stem)
    profile = shlex.join(["kernelprof", "profile", *target, *options, "-o", folder, *program])
    return f"{profile}\n{shlex.join(['kernelprof', 'diagnose', folder])}"


def _words(request: ProfileRequest, preset: str | None) -> tuple[list[str], list[str]]:
    """Return the options of a request, and what comes after them: ``--`` and a program."""
    options = [word for option in _options(request, preset) for word in option]
    if request.flags:
        options.append(f"--flags={shlex.join(request.flags)}")
    if request.build:
        options += ["--build", shlex.join(request.build)]
    program = request.application or request.arguments
    return options, ["--", *program] if program else []


def _specification(source: Path, overrides: LaunchOverrides) -> LaunchSpec | None:
    from kernelprof.launch.build.compilation import check_arguments
    from kernelprof.launch.run.prepare import is_program
    from kernelprof.launch.signature import choose
    from kernelprof.launch.source import kernels_of, read_source, refuse_other_than_file

    refuse_other_than_file(source, hint="name a .cu file, or a program after --")
    if is_program(source, overrides):
        return None
    spec = overrides.specified(source)
    declared = kernels_of(source, read_source(source), spec.compile.flags)
    check_arguments(spec, choose(declared, spec.kernel, str(source)))
    return spec


def _remedy(tools: LocalTools) -> str:
    # How to get `ncu`, where that is all that is missing; a line, or nothing
    if tools.problem is None or "GPU" in tools.missing:
        return ""
    before = "" if tools.machine is None else f"{tools.problem.what}: "
    return f"{before}{tools.problem.hint}\n"


def _options(request: ProfileRequest, preset: str | None) -> list[tuple[str, str]]:
    filters, changes = request.filters, request.overrides.options()
    clocks = None if request.clock_control == DEFAULT_CLOCKS else request.clock_control
    given = (
        ("--sanitize", request.overrides.sanitizers),
        ("--repeat", (request.repeat if request.several else None,)),
        ("--preset", (preset,)),
        ("--kernel", (filters.kernel or request.overrides.chosen,)),
        ("--launch-skip", (filters.launch_skip,)),
        ("--launch-count", (filters.launch_count,)),
        ("--nvtx-include", filters.nvtx_include),
        ("--clock-control", (clocks,)),
        ("--time-limit", (request.time_limit,)),
    )
    options = [(name, str(each)) for name, values in given for each in values if each is not None]
    return [*zip(changes[::2], changes[1::2], strict=True), *options]
