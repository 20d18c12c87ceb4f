"""What this machine lacks for a measurement, and the commands for one that has it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelprof.collect.request import DEFAULT_CLOCKS
from kernelprof.collect.tool import find_ncu
from kernelprof.errors import MissingToolError

if TYPE_CHECKING:
    from kernelprof.collect.environment import Machine
    from kernelprof.collect.session import Order


@dataclass(frozen=True, slots=True)
class Here:
    """What this machine has; ``problem`` says why there is no ``ncu``.

    ``machine`` is ``None`` where nobody asked for a GPU: whether a program needs one is its own
    affair.
    """

    ncu: str | None
    problem: MissingToolError | None = None
    machine: Machine | None = None

    @property
    def lacks(self) -> tuple[str, ...]:
        """``GPU`` and ``ncu``, as far as they are missing."""
        gpu = self.machine is not None and not self.machine.gpus
        return ("GPU",) * gpu + ("ncu",) * (self.ncu is None)

    def describe(self) -> str:
        """What is missing, within a sentence: ``no GPU``, ``no GPU and no ncu``."""
        return " and ".join(f"no {each}" for each in self.lacks)


def look(*, for_source: bool) -> Here:
    """Look for ``ncu``, and for a GPU where a source is to be launched."""
    from kernelprof.collect import environment

    machine = environment.machine() if for_source else None
    try:
        return Here(find_ncu(), machine=machine)
    except MissingToolError as error:
        return Here(None, error, machine)


def for_program(order: Order, preset: str, here: Here) -> MissingToolError:
    """What is missing here, and the command of ``ncu`` that makes the capture elsewhere."""
    from kernelprof.analysis.ncu_command import ncu_command, quote

    problem, before, application = here.problem, "", order.application
    what, where = ("", None) if problem is None else (problem.what, problem.where)
    if order.source is not None:
        what, where = f"{order.source} cannot be measured here: {_missing(here)}", str(order.source)
        name = order.source.stem
        build = quote(["nvcc", "-O3", "-lineinfo", "-o", name, str(order.source)])
        before, application = f"build {name} from it ({build}), then ", (f"./{name}",)
    filters = order.filters
    command = ncu_command(
        preset,
        launch_skip=filters.launch_skip,
        launch_count=filters.launch_count,
        clock_control=order.clock_control,
        nvtx_include=filters.nvtx_include,
        application=application,
    )
    if filters.kernel is not None:
        # Like --kernel, and unlike ncu's default, this looks at the whole demangled name.
        command[1:1] = [
            "--kernel-name-base",
            "demangled",
            "--kernel-name",
            f"regex:{filters.kernel}",
        ]
    return MissingToolError(
        what,
        where=where,
        hint=f"{_remedy(here)}on a machine with a GPU {before}make capture.csv with the command "
        f"below, and then diagnose that: kernelprof diagnose capture.csv\n{quote(command)}",
    )


def for_source(
    order: Order, preset: str | None, here: Here, *, diagnosing: bool, why: str = ""
) -> MissingToolError:
    """What is missing here, why no record helps, and the commands for a machine with a GPU."""
    assert order.source is not None
    source, options = str(order.source), _options(order, preset)
    folder = str(order.keep or order.source.stem)
    keep = [] if order.keep is None else ["--keep", folder]
    diagnose = shlex.join(["kernelprof", "diagnose", source, *options, *keep])
    profile = shlex.join(["kernelprof", "profile", source, *options, "-o", folder])
    later = shlex.join(["kernelprof", "diagnose", folder])
    if diagnosing:
        hint = f"on a machine with a GPU and ncu:\n{diagnose}\nor capture there"
    else:
        hint = "capture on a machine with a GPU and ncu"
    return MissingToolError(
        f"{source} cannot be measured here: {_missing(here)}" + (f"; {why}" if why else ""),
        where=source,
        hint=f"{_remedy(here)}{hint}, and diagnose here the folder that it writes:\n"
        f"{profile}\n{later}",
    )


def _missing(here: Here) -> str:
    shown = {
        "GPU": "no NVIDIA GPU (none answers nvidia-smi)",
        "ncu": "no ncu (Nsight Compute)",
    }
    return f"this machine has {' and '.join(shown[each] for each in here.lacks)}"


def _remedy(here: Here) -> str:
    """How to get ``ncu``, where that is all that is missing; a line, or nothing."""
    if here.problem is None or "GPU" in here.lacks:
        return ""
    before = "" if here.machine is None else f"{here.problem.what}: "
    return f"{before}{here.problem.hint}\n"


def _options(order: Order, preset: str | None) -> list[str]:
    """The options of a measurement, as they were given."""
    from kernelprof.launch.changes import arguments

    filters = order.filters
    clocks = None if order.clock_control == DEFAULT_CLOCKS else order.clock_control
    words = list(arguments(order.wishes.sizes, order.wishes.defines))
    for option, values in (
        ("--sanitize", order.wishes.sanitizers),
        ("--preset", (preset,)),
        ("--kernel", (filters.kernel,)),
        ("--launch-skip", (filters.launch_skip,)),
        ("--launch-count", (filters.launch_count,)),
        ("--nvtx-include", filters.nvtx_include),
        ("--clock-control", (clocks,)),
        ("--time-limit", (order.time_limit,)),
    ):
        for value in values:
            if value is not None:
                words += [option, str(value)]
    return words
