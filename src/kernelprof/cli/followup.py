"""The commands of a diagnosis, widened to a preset."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from kernelprof.capture.command import ncu_command, quote
from kernelprof.metrics.catalogue import metrics_for, preset

if TYPE_CHECKING:
    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis, KernelDiagnosis


def with_preset(diagnosis: Diagnosis, capture: Capture, name: str) -> Diagnosis:
    """The same verdicts; their commands collect the preset besides what is missing."""
    kernels = tuple(_widened(kernel, capture, name) for kernel in diagnosis.kernels)
    return replace(diagnosis, kernels=kernels, preset=name)


def _widened(kernel: KernelDiagnosis, capture: Capture, name: str) -> KernelDiagnosis:
    verdict = kernel.verdict
    if verdict.command is None:
        return kernel
    wanted = [metric.name for metric in preset(name).metrics]
    wanted += [missing.metric for missing in verdict.missing]
    command = ncu_command(
        metrics_for(wanted, kernel.compute_capability),
        compute_capability=kernel.compute_capability,
        kernel=kernel.name,
        launch_count=1,
        clock_control=capture.clock_control,
        application=_application(capture.application),
    )
    return replace(kernel, verdict=replace(verdict, command=quote(command)))


def _application(line: str | None) -> list[str] | None:
    try:
        return shlex.split(line) if line else None
    except ValueError:
        return None
