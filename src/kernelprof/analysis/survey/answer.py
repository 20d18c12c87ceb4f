"""What limits a whole program: its kernels, or something that the GPU waits for; and what helps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import structs

from kernelprof.analysis.survey.owners import OPTIMIZER, summarize_kernels
from kernelprof.analysis.survey.series import sampled_kernels
from kernelprof.analysis.survey.timeline import measure_gpus
from kernelprof.model.evidence import Evidence
from kernelprof.model.numbers import count, quantity, share
from kernelprof.model.survey import Idle, Limit, ProgramAnswer, Survey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.model.survey import GpuTime, SurveyedKernel
    from kernelprof.model.trace import Trace

    Kernels = Sequence[SurveyedKernel]

BUSY: Final = 0.8
"""From this part of the time on kernels are what there is to look at: were all else gone, the
program would take a fifth less. Our choice."""

SHORT_NS: Final = 10_000
"""A kernel that is shorter ends before Python has launched the next: an addition of PyTorch took
12 us from launch to launch (H200, `tests/gpu/survey/short_kernels.py`)."""

AFTER_WAITING: Final = 0.5
"""From this part of the idle time on it is what follows after waiting that counts. Our choice."""

_OF_TIME: Final = (
    "share of the time from the end of start-up (the first tenth of the launches) to the end of "
    "the last launch"
)
_START_UP: Final = "time from the GPU's first activity until a tenth of the launches have started"

_WORDS: Final = {
    Limit.KERNELS: "limited by the kernels",
    Limit.LAUNCHES: "launch-bound, kernels wait for the CPU ({launches}, median duration {median})",
    Limit.SYNCHRONIZATION: "it runs out of work while the CPU waits for it",
    Limit.COPIES: "copy-bound, waiting for {bytes} of copies",
    Limit.ALLOCATION: "it idles while memory is allocated and freed",
    Limit.LOADING: "it idles while code is loaded",
    Limit.HOST: "it idles while the CPU does other work",
}


def survey_program(trace: Trace, seconds: float, *, ended: str = "") -> Survey:
    """Return all that a trace says of a program that ran for so many seconds.

    ``ended`` says how the program ended, where not by itself with success.
    """
    gpus = measure_gpus(trace)
    kernels, groups = summarize_kernels(trace)
    sampled = sampled_kernels(trace)
    kernels = tuple(
        structs.replace(each, sampled=sampled.get((each.name, each.grid, each.block)))
        for each in kernels
    )
    return Survey(
        seconds=seconds,
        processes=len(trace.processes),
        gpus=gpus,
        kernels=kernels,
        groups=groups,
        answer=answer_survey(gpus, kernels, pytorch=_has_pytorch(trace)),
        ended=ended,
        warnings=(*trace.warnings, *_dropped(trace)),
    )


def answer_survey(
    gpus: tuple[GpuTime, ...], kernels: tuple[SurveyedKernel, ...], *, pytorch: bool = False
) -> ProgramAnswer | None:
    """Return what limits the program, by the GPU with most kernel time; ``None`` without one."""
    if not gpus or not kernels:
        return None
    gpu = gpus[0]
    limit = _limit(gpu, median_launch_ns(kernels))
    many = sum(each.launches for each in kernels)
    words = _WORDS[limit]
    if limit is Limit.LAUNCHES and gpu.idle_while(Idle.QUEUED) > gpu.idle_time / 2:
        words = (
            "launch-bound, idle mostly in gaps between launches that are already queued "
            "({launches}, median duration {median})"
        )
    words = words.format(
        launches=count(gpu.launches, "launch"),
        median=quantity(median_launch_ns(kernels), "ns"),
        bytes=quantity(gpu.copied_bytes, "byte"),
    )
    which = f"{gpu.name} (number {gpu.device})" if len(gpus) > 1 else "GPU"
    return ProgramAnswer(
        limit=limit,
        sentence=f"{which} busy {share(gpu.busy)} of the time: {words}.",
        evidence=(*_evidence(gpu, kernels, many),),
        advice=advice(limit, gpu, kernels, pytorch=pytorch),
    )


def median_launch_ns(kernels: tuple[SurveyedKernel, ...]) -> float:
    """Return the median time of a launch over all kernels, each by its own median."""
    medians = np.array([each.median for each in kernels])
    order = np.argsort(medians)
    reached = np.cumsum(np.array([each.launches for each in kernels])[order])
    return float(medians[order][np.searchsorted(reached, reached[-1] / 2)])


def _limit(gpu: GpuTime, median: float) -> Limit:
    """The largest part of the time without a kernel decides, where that is worth looking at."""
    if gpu.busy >= BUSY:
        return Limit.KERNELS
    parts = {
        Limit.COPIES: gpu.copies + gpu.idle_while(Idle.COPIES),
        Limit.LOADING: gpu.idle_while(Idle.LOADING),
        Limit.ALLOCATION: gpu.idle_while(Idle.ALLOCATION),
    }
    launching_calls = gpu.idle_time + gpu.copies - sum(parts.values())
    largest = max(parts, key=lambda each: parts[each])
    if parts[largest] > launching_calls:
        return largest
    if median < SHORT_NS and gpu.after_waiting < AFTER_WAITING * gpu.idle_time:
        return Limit.LAUNCHES
    if gpu.after_waiting >= AFTER_WAITING * gpu.idle_time:
        return Limit.SYNCHRONIZATION
    return Limit.HOST


def _evidence(gpu: GpuTime, kernels: tuple[SurveyedKernel, ...], launches: int) -> list[Evidence]:
    rows = [
        Evidence(
            metric="survey__gpu_busy",
            label="GPU busy with kernels",
            value=100 * gpu.busy,
            unit="%",
            op=">=",
            threshold=100 * BUSY,
            formula=_OF_TIME,
        ),
        *(
            _fact("gpu_idle", f"idle: {each.host.value}", 100 * each.time / gpu.span, "%", _OF_TIME)
            for each in gpu.idle
        ),
        _fact("copies_only", "only copies run", 100 * gpu.copies / gpu.span, "%", _OF_TIME),
    ]
    if gpu.idle_time:
        part = 100 * gpu.after_waiting / gpu.idle_time
        label = "share of idle time in gaps that began while the CPU waited for the GPU"
        rows.append(_fact("idle_after_waiting", label, part, "%", "of the idle time"))
    rows.append(_fact("launches", "launches", launches, ""))
    rows.append(_fact("kernel_time", "median kernel duration", median_launch_ns(kernels), "ns"))
    rows.append(_fact("start_up", "start-up (not counted)", gpu.start_up, "ns", _START_UP))
    return [each for each in rows if each.value or each.threshold is not None]


def _fact(name: str, label: str, value: float, unit: str, formula: str = "") -> Evidence:
    return Evidence(f"survey__{name}", label, value, unit, formula=formula)


def _has_pytorch(trace: Trace) -> bool:
    return any(text.startswith("aten::") for text in trace.texts)


def _dropped(trace: Trace) -> list[str]:
    dropped = sum(each.dropped for each in trace.processes)
    return [
        f"CUPTI dropped {dropped:,} records; kernel times, launches and shares do not include them."
    ] * bool(dropped)


_NOTABLE: Final = 0.2
"""A part of the launches from which on it is worth a line. Our choice."""


def advice(limit: Limit, gpu: GpuTime, kernels: Kernels, *, pytorch: bool) -> tuple[str, ...]:
    """Return lines of advice for this limit, the one that brings most first."""
    if limit is Limit.LAUNCHES:
        return tuple(_launch_advice(kernels, pytorch=pytorch))
    lines = _LINES.get((limit, pytorch), _LINES.get((limit, None), ()))
    return tuple(
        line.format(
            copied=quantity(gpu.copied_bytes, "byte"),
            loading=quantity(gpu.idle_while(Idle.LOADING), "ns"),
        )
        for line in lines
    )


def _launch_advice(kernels: Kernels, *, pytorch: bool) -> list[str]:
    lines = []
    launches = sum(each.launches for each in kernels)
    if sum(each.in_graphs for each in kernels) / launches < _NOTABLE:
        how = (
            '`torch.cuda.graph`, or `torch.compile(mode="reduce-overhead")`'
            if pytorch
            else "`cudaStreamBeginCapture` once, `cudaGraphLaunch` for each repetition"
        )
        lines.append(f"Launch repeated kernel sequences as one CUDA graph: {how}.")
    stepping = sum(
        owner.launches
        for each in kernels
        for owner in each.owners
        if owner.kind == "operator" and owner.name.startswith(OPTIMIZER)
    )
    if stepping / launches >= _NOTABLE:
        lines.append(
            f"{share(stepping / launches)} of the launches come from the optimizer: `fused=True` "
            "or `foreach=True` reduces their number."
        )
    if pytorch:
        lines.append("Fuse elementwise operators: `torch.compile`.")
    else:
        lines.append("Fuse consecutive kernels that use the same data.")
    lines.append(
        "Give each launch more work: larger batches, or several small problems per launch."
    )
    return lines


_COPY_LESS: Final = "Copy less ({copied} in total): keep reused data on the GPU."
_HOST_CODE: Final = "Profile the CPU code to see what it does while the GPU is idle."
_LINES: Final[dict[tuple[Limit, bool | None], tuple[str, ...]]] = {
    (Limit.SYNCHRONIZATION, True): (
        "Read results back less often: `.item()`, `.cpu()`, printing a tensor and conditions on "
        "tensor values all wait for the GPU.",
        "Copy to the host with `non_blocking=True` into pinned memory, and read the data one "
        "step later.",
    ),
    (Limit.SYNCHRONIZATION, False): (
        "Wait less often: queue the next launches before reading a result.",
        "Order work with streams and events on the GPU instead of waiting on the host.",
    ),
    (Limit.COPIES, True): (
        "Copy from pinned memory (`pin_memory=True` and `non_blocking=True`) on a separate "
        "stream, while kernels run.",
        _COPY_LESS,
    ),
    (Limit.COPIES, False): (
        "Copy from pinned memory (`cudaMallocHost`) on a separate stream, while kernels run.",
        _COPY_LESS,
    ),
    (Limit.ALLOCATION, None): (
        "Allocate once and reuse the memory, or allocate from a pool: `cudaMallocAsync`.",
    ),
    (Limit.LOADING, None): (
        "Code is loaded once per process. Loading took {loading} here; its share is smaller in a "
        "longer run. Compile for this GPU's architecture, so that the driver does not compile PTX "
        "at load time.",
    ),
    (Limit.HOST, True): (
        _HOST_CODE,
        "Prepare data in other processes: `DataLoader(num_workers=...)`.",
    ),
    (Limit.HOST, False): (_HOST_CODE,),
}
"""By the limit, and whether it is a program of PyTorch (``None``: either)."""
