"""Exact ``ncu`` command lines: just the metrics asked for, of just the kernels asked for."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from kernelprof.analysis.metrics.catalogue import SAMPLES, preset
from kernelprof.errors import UsageError
from kernelprof.model.kernel_name import kernel_filter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.analysis.metrics.catalogue import Metric

PLACEHOLDER = ("./app", "args...")
"""Stands for the program where it is not known."""


def ncu_command(
    metrics: str | Iterable[Metric],
    *,
    compute_capability: tuple[int, int] | None = None,
    kernel: str | None = None,
    launch_skip: int | None = None,
    launch_count: int | None = None,
    clock_control: str | None = None,
    nvtx_include: Sequence[str] = (),
    application: Sequence[str] | None = None,
    output: str = "capture.csv",
) -> list[str]:
    """The command that collects ``metrics`` (a preset's name, or metrics) into ``output``.

    ``kernel`` is a name as a capture shows it. With it and without ``launch_skip``, launches are
    counted for each launch configuration by itself: one kernel with two grids is two entries of a
    diagnosis, and the launches of the first are not to use up the count of the second.
    Options that are ``None`` are left to ``ncu``'s own default.
    """
    command = ["ncu", *collection(metrics, compute_capability)]
    if kernel is not None:
        command += kernel_filter(kernel)
    if launch_skip is not None:
        command += ["--launch-skip", str(launch_skip)]
    elif kernel is not None and launch_count is not None:
        command += ["--filter-mode", "per-launch-config"]
    if launch_count is not None:
        command += ["--launch-count", str(launch_count)]
    if clock_control is not None:
        command += ["--clock-control", clock_control]
    if nvtx_include:
        command.append("--nvtx")
    for expression in nvtx_include:
        command += ["--nvtx-include", expression]
    command += ["--csv", "--page", "raw", "--print-units", "auto", "--log-file", output]
    return [*command, *(application or PLACEHOLDER)]


def quote(command: Sequence[str]) -> str:
    """The command as one line for a POSIX shell."""
    return shlex.join(command)


def collection(
    metrics: str | Iterable[Metric],
    compute_capability: tuple[int, int] | None = None,
    *,
    samples: bool = False,
) -> list[str]:
    """The options that make ``ncu`` collect these metrics on this architecture.

    With ``samples`` also where in the source warps are; a preset knows that of itself.
    """
    if isinstance(metrics, str):
        named = preset(metrics)
        wanted, samples = named.metrics, samples or named.samples
    else:
        wanted = tuple(metrics)
    names: dict[str, None] = {}
    sections: dict[str, None] = {}
    for metric in wanted:
        on_chip = metric.ncu_names(compute_capability)
        if on_chip and metric.section is not None:
            sections[metric.section] = None
        elif on_chip:
            names[on_chip[0]] = None
    if not (names or sections):
        raise UsageError(
            "there is nothing to collect: this architecture has none of the metrics asked for",
            hint="ask for another preset; 'kernelprof presets' lists them",
        )
    if samples:
        names[SAMPLES] = None
    options = ["--metrics", ",".join(names)] if names else []
    for section in sections:
        options += ["--section", section]
    return options
