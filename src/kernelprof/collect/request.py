"""What to collect of which launches of which program: plain values."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelprof.analysis.metrics.catalogue import SAMPLES
from kernelprof.analysis.ncu_command import collection
from kernelprof.launch.overrides import LaunchOverrides
from kernelprof.model.kernel_name import function_name, kernel_filter
from kernelprof.model.manifest import PresetFacts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kernelprof.analysis.metrics.catalogue import Metric, Preset

DEFAULT_CLOCKS = "none"
"""The GPU's clocks are left alone: a time under the profiler is then one at the clocks that the
program itself gets, and comparable with times by CUDA events. ``base`` locks them, which needs a
permission, changes the GPU for everyone on it, and gives times that the program never has."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which launches are profiled; ``kernel`` is a regular expression for the full name."""

    kernel: str | None = None
    launch_skip: int | None = None
    launch_count: int | None = None
    nvtx_include: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        return self != Filters()

    @property
    def by_number(self) -> bool:
        """Whether launches are counted, so that leaving out a kernel would choose others."""
        return self.launch_skip is not None or self.launch_count is not None


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """What is to be profiled and how; either ``application`` or ``source`` is given.

    ``overrides`` are for a source. ``keep`` is the capture directory to write, ``None`` for none.
    With ``samples`` a drill-down samples in its first run where in the source warps are; a preset
    says that of itself.
    """

    application: tuple[str, ...] = ()
    source: Path | None = None
    overrides: LaunchOverrides = field(default_factory=LaunchOverrides)
    keep: Path | None = None
    force: bool = False
    filters: Filters = field(default_factory=Filters)
    clock_control: str = DEFAULT_CLOCKS
    time_limit: float | None = None
    samples: bool = False


def profile_command(
    ncu: str,
    application: Sequence[str],
    metrics: Sequence[Metric],
    *,
    report: str,
    log: str,
    filters: Filters,
    narrowed: Sequence[str] | None = None,
    clock_control: str = DEFAULT_CLOCKS,
    compute_capability: tuple[int, int] | None = None,
    samples: bool = False,
    sets: Sequence[str] = (),
) -> list[str]:
    """The command that collects ``metrics`` into a report, with ``samples`` by source line.

    ``sets`` are sets of ``ncu``'s own sections that are collected as well, or instead of metrics.

    ``narrowed`` are kernels, by the names that a capture shows, to which the run is limited;
    ``filters`` that count launches are kept as they are then, because the count would be of others.
    """
    command = [ncu]
    if metrics or not sets:
        command += collection(metrics, compute_capability, samples=samples)
    for each in sets:
        command += ["--set", each]
    if narrowed is not None and not filters.by_number:
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
    command += ["--clock-control", clock_control, "--target-processes", "all"]
    command += ["--export", report, "--log-file", log]
    return [*command, *application]


def import_command(ncu: str, report: str, page: str = "raw") -> list[str]:
    """The command that prints a page of a report in base units."""
    return [ncu, "--import", report, "--csv", "--page", page, "--print-units", "base"]


def source_page_command(ncu: str, report: str) -> list[str]:
    """The command that prints a report's source page: lines, and the instructions below each."""
    page = ["--page", "source", "--print-source", "cuda,sass"]
    return [ncu, "--import", report, "--csv", *page]


def preset_facts(preset: Preset) -> PresetFacts:
    """A preset's name and the hash of its metrics with all their names and sections.

    Samples by source line are part of it where a preset asks for them.
    """
    asked: list[object] = [
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
        asked.append(SAMPLES)
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    return PresetFacts(preset.name, hashlib.sha256(text.encode()).hexdigest())


def _only(kernels: Sequence[str]) -> list[str]:
    """The filter for these kernels: exact for one, by function name for several."""
    if len(kernels) == 1:
        return kernel_filter(kernels[0])
    if any(kernel.startswith("_Z") for kernel in kernels):
        return []
    names = dict.fromkeys(re.escape(function_name(kernel)) for kernel in kernels)
    return ["--kernel-name", f"regex:^({'|'.join(names)})$"]
