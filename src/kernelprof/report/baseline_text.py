"""A baseline for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.report.names import printable, short_name
from kernelprof.report.numbers import quantity

if TYPE_CHECKING:
    from kernelprof.compare.gate.baseline import Baseline
    from kernelprof.model.snapshot import Acceptance, KernelSnapshot


def render_baseline(baseline: Baseline) -> str:
    """The machine, a line for each kernel, and what was accepted, the newest first."""
    machine = baseline.machine
    lines = [
        f"{len(baseline.kernels)} kernel{'s' if len(baseline.kernels) != 1 else ''} on "
        f"{machine.gpu or 'an unknown GPU'}, Nsight Compute {machine.ncu or 'unknown'}, "
        f"{baseline.created}"
    ]
    lines += map(_kernel, baseline.kernels)
    if baseline.accepted:
        lines += ["", "accepted:"]
        lines += map(_acceptance, reversed(baseline.accepted))
    return "\n".join(map(printable, lines)) + "\n"


def _kernel(kernel: KernelSnapshot) -> str:
    said = kernel.verdict
    limit = " at its limit" if said.status == "at-limit" else ""
    noise = "noise not calibrated"
    if kernel.noise is not None:
        noise = f"noise {100 * kernel.noise.floor:.3g} % over {kernel.noise.captures} captures"
    return (
        f"  {short_name(kernel.name)}: {_time(kernel.median_ns)}, {said.bottleneck}{limit} "
        f"({said.confidence}), {noise}"
    )


def _acceptance(each: Acceptance) -> str:
    return (
        f"  {each.when} {each.who}: {short_name(each.kernel)} {_time(each.before_ns)} to "
        f"{_time(each.after_ns)}, {each.before.bottleneck if each.before else 'new'} to "
        f"{each.after.bottleneck if each.after else 'gone'}: {each.reason}"
    )


def _time(nanoseconds: float | None) -> str:
    return "no time" if nanoseconds is None else quantity(nanoseconds, "ns")
