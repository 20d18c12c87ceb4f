"""The commands of ``ncu``: what measures which launches, and what prints a report."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.ncu_command import collection_options
from kernelprof.model.kernel_name import function_name, kernel_filter
from kernelprof.model.survey import Replay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.analysis.metrics.catalogue import Metric
    from kernelprof.analysis.survey.selection import ChosenName

FIRST_WITH_SETTINGS: Final = [2021, 2]
"""The version of ``ncu`` from which on it has the option ``--config-file``."""

DEFAULT_CLOCKS = "none"
"""The GPU's clocks are left alone: a time under the profiler is then one at the clocks that the
program itself gets, and comparable with times by CUDA events. ``base`` locks them, which needs a
permission, changes the GPU for everyone on it, and gives times that the program never has."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Launches that a survey chose: kernels, and numbers of launches of each, else the first.

    With ``ends`` the program is ended once all of them are measured.
    """

    kernels: tuple[ChosenName, ...]
    numbers: tuple[int, ...]
    ends: bool

    def only(self, kernels: Sequence[str]) -> Chosen:
        """The launches of these kernels, by the names that a capture shows; all if it has none."""
        functions = set(map(function_name, kernels))
        kernels_left = tuple(each for each in self.kernels if each.function in functions)
        return replace(self, kernels=kernels_left or self.kernels)


@dataclass(frozen=True, slots=True)
class LaunchFilters:
    """Which launches are profiled: ``chosen`` by a survey, or by a pattern for the full name."""

    kernel: str | None = None
    launch_skip: int | None = None
    launch_count: int | None = None
    nvtx_include: tuple[str, ...] = ()
    chosen: Chosen | None = None

    @property
    def any(self) -> bool:
        return self != LaunchFilters()

    @property
    def by_number(self) -> bool:
        """Whether launches are counted, so that leaving out a kernel would choose others."""
        return self.launch_skip is not None or self.launch_count is not None


def profile_command(
    ncu: str,
    application: Sequence[str],
    metrics: Sequence[Metric],
    *,
    report: str,
    log: str,
    filters: LaunchFilters,
    narrowed: Sequence[str] | None = None,
    clock_control: str = DEFAULT_CLOCKS,
    compute_capability: tuple[int, int] | None = None,
    samples: bool = False,
    sets: Sequence[str] = (),
    version: str | None = None,
    replay: Replay = Replay.KERNEL,
) -> list[str]:
    """Return the command that collects ``metrics``, and ``sets`` of ``ncu``'s sections.

    ``narrowed`` are kernels by the names of a capture; filters that count launches are kept,
    because the count would be of others. ``replay`` is what is repeated for each pass.
    """
    command = [ncu, *_no_settings_of_others(version)]
    if metrics or not sets:
        command += collection_options(metrics, compute_capability, samples=samples)
    for each in sets:
        command += ["--set", each]
    if filters.chosen is not None:
        chosen = filters.chosen
        command += _these(chosen if narrowed is None else chosen.only(narrowed))
    elif narrowed is not None and not filters.by_number:
        command += _only(narrowed)
    elif filters.kernel is not None:
        command += ["--kernel-name-base", "demangled", "--kernel-name", f"regex:{filters.kernel}"]
    if filters.launch_skip is not None:
        command += ["--launch-skip", str(filters.launch_skip)]
    if filters.launch_count is not None:
        command += ["--launch-count", str(filters.launch_count)]
    if filters.nvtx_include:
        command.append("--nvtx")
    for expression in filters.nvtx_include:
        command += ["--nvtx-include", expression]
    if replay is not Replay.KERNEL:
        command += ["--replay-mode", replay.value]
    command += ["--clock-control", clock_control, "--target-processes", "all"]
    command += ["--export", report, "--log-file", log]
    return [*command, *application]


def _no_settings_of_others(version: str | None) -> list[str]:
    # The option that has `ncu` read no `config.ncu-cfg` of the current folder. That file can be a
    # stranger's: it sets any option, a folder of rules in Python among them
    numbers = [int(each) for each in re.findall(r"\d+", version or "")]
    return ["--config-file", "off"] if numbers >= FIRST_WITH_SETTINGS else []


def import_command(ncu: str, report: str, page: str = "raw") -> list[str]:
    """The command that prints a page of a report in base units."""
    return [ncu, "--import", report, "--csv", "--page", page, "--print-units", "base"]


def source_page_command(ncu: str, report: str, printed: str = "cuda,sass") -> list[str]:
    """Return the command that prints the source page, or ``sass`` alone."""
    page = ["--page", "source", "--print-source", printed]
    return [ncu, "--import", report, "--csv", *page]


def _these(chosen: Chosen) -> list[str]:
    # The options for chosen launches; `ncu` counts those of each kernel from 1 on. It counts in
    # each process, context and stream by itself
    names = f"regex:^({'|'.join(re.escape(each.mangled) for each in chosen.kernels)})$"
    numbers = "|".join(map(str, chosen.numbers))
    which = ["--kernel-id", f"::{names}:^({numbers})$"] if numbers else ["--kernel-name", names]
    options = ["--kernel-name-base", "mangled", *which]
    launches = sum(each.launches for each in chosen.kernels)
    ends = ["--launch-count", str(launches), "--kill", "yes"] if chosen.ends else []
    return [*options, *ends]


def _only(kernels: Sequence[str]) -> list[str]:
    if len(kernels) == 1:
        return kernel_filter(kernels[0])
    if any(kernel.startswith("_Z") for kernel in kernels):
        return []
    names = dict.fromkeys(re.escape(function_name(kernel)) for kernel in kernels)
    return ["--kernel-name", f"regex:^({'|'.join(names)})$"]
