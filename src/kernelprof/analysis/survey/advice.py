"""What helps a program whose GPU waits; a line whose condition does not hold is not printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.analysis.survey.owners import OPTIMIZER
from kernelprof.model.numbers import quantity, share
from kernelprof.model.survey import Idle, Limit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kernelprof.model.survey import GpuTime, SurveyedKernel

    Kernels = Sequence[SurveyedKernel]

_NOTABLE: Final = 0.2
"""A part of the launches from which on it is worth a line. Our choice."""


def advice(limit: Limit, gpu: GpuTime, kernels: Kernels, *, pytorch: bool) -> tuple[str, ...]:
    """Lines for this limit, the one that brings most first."""
    return tuple(_LINES[limit](gpu, kernels, pytorch)) if limit in _LINES else ()


def _launches(gpu: GpuTime, kernels: Kernels, pytorch: bool) -> list[str]:
    del gpu
    lines = []
    many = sum(each.launches for each in kernels)
    graphed = sum(each.in_graphs for each in kernels) / many
    if graphed < _NOTABLE:
        how = (
            '`torch.cuda.graph`, or `torch.compile(mode="reduce-overhead")`'
            if pytorch
            else "`cudaStreamBeginCapture` once, `cudaGraphLaunch` for each repetition"
        )
        lines.append(f"Launch what repeats as one CUDA graph: {how}.")
    optimizer = [
        owner
        for each in kernels
        for owner in each.owners
        if owner.kind == "operator" and owner.name.startswith(OPTIMIZER)
    ]
    stepping = sum(owner.launches for owner in optimizer) / many
    if stepping >= _NOTABLE:
        lines.append(
            f"{share(stepping)} of the launches are of the optimizer: `fused=True`, or "
            "`foreach=True`, makes them few."
        )
    if pytorch:
        lines.append("Fuse elementwise operators: `torch.compile`.")
    else:
        lines.append("Fuse kernels that follow each other on the same data.")
    lines.append("Give each launch more work: larger batches, several small problems in one.")
    return lines


def _synchronization(gpu: GpuTime, kernels: Kernels, pytorch: bool) -> list[str]:
    del gpu, kernels
    if pytorch:
        return [
            "Read results back less often: `.item()`, `.cpu()`, `print` of a tensor and "
            "conditions on values wait for the GPU.",
            "Copy to the host with `non_blocking=True` into pinned memory, and look at it a step "
            "later.",
        ]
    return [
        "Wait less often: keep the next launches queued before a result is looked at.",
        "Order work by streams and events on the GPU instead of by waiting on the host.",
    ]


def _copies(gpu: GpuTime, kernels: Kernels, pytorch: bool) -> list[str]:
    del kernels
    pinned = "`pin_memory=True` and `non_blocking=True`" if pytorch else "`cudaMallocHost`"
    return [
        f"Copy from pinned memory ({pinned}) on a stream of its own, while kernels run.",
        f"Copy less: {quantity(gpu.copied_bytes, 'byte')} in all; leave on the GPU what is used "
        "again.",
    ]


def _allocation(gpu: GpuTime, kernels: Kernels, pytorch: bool) -> list[str]:
    del gpu, kernels, pytorch
    return ["Allocate once and use it again, or from a pool: `cudaMallocAsync`."]


def _loading(gpu: GpuTime, kernels: Kernels, pytorch: bool) -> list[str]:
    del kernels, pytorch
    loading = gpu.idle_while(Idle.LOADING)
    return [
        f"Code is loaded once a process, here in {quantity(loading, 'ns')}: a longer run has a "
        "smaller part of it. Compile for this GPU's architecture, so that the driver need not."
    ]


def _host(gpu: GpuTime, kernels: Kernels, pytorch: bool) -> list[str]:
    del gpu, kernels
    lines = ["See what the host does meanwhile, with a profiler of its own code."]
    if pytorch:
        lines.append("Prepare data in other processes: `DataLoader(num_workers=...)`.")
    return lines


_LINES: Final[dict[Limit, Callable[[GpuTime, Kernels, bool], list[str]]]] = {
    Limit.LAUNCHES: _launches,
    Limit.SYNCHRONIZATION: _synchronization,
    Limit.COPIES: _copies,
    Limit.ALLOCATION: _allocation,
    Limit.LOADING: _loading,
    Limit.HOST: _host,
}
