"""What holds a whole program back: its kernels, or something that the GPU waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.survey.activity import gpu_times
from kernelprof.analysis.survey.advice import advice
from kernelprof.analysis.survey.groups import surveyed
from kernelprof.model.evidence import Evidence
from kernelprof.model.numbers import count, quantity, share
from kernelprof.model.survey import Idle, Limit, ProgramAnswer, Survey

if TYPE_CHECKING:
    from kernelprof.model.survey import GpuTime, SurveyedKernel
    from kernelprof.model.trace import Trace

BUSY: Final = 0.8
"""From this part of the time on kernels are what there is to look at: were all else gone, the
program would take a fifth less. Our choice."""

SHORT_NS: Final = 10_000
"""A kernel that is shorter ends before Python has launched the next: an addition of PyTorch took
12 us from launch to launch (H200, `tests/gpu/survey/short_kernels.py`)."""

AFTER_WAITING: Final = 0.5
"""From this part of the idle time on it is what follows after waiting that counts. Our choice."""

_OF_TIME: Final = "part of the time from a tenth of the launches on to the end of the last"
_START_UP: Final = "time from the GPU's first activity until a tenth of the launches were made"

_WORDS: Final = {
    Limit.KERNELS: "its kernels are what takes the time",
    Limit.LAUNCHES: "{launches} of {median} wait for the host",
    Limit.SYNCHRONIZATION: "after the host has waited for it, it waits for the host",
    Limit.COPIES: "it waits for copies of {bytes}",
    Limit.ALLOCATION: "it waits while memory is allocated and freed",
    Limit.LOADING: "it waits while code is loaded",
    Limit.HOST: "it waits while the program does other things",
}


def survey_of(
    trace: Trace, seconds: float, *, ended: str = "", warnings: tuple[str, ...] = ()
) -> Survey:
    """All that a trace says of a program that ran for so many seconds.

    ``ended`` says how the program ended, where not by itself with success.
    """
    gpus = gpu_times(trace)
    kernels, groups = surveyed(trace)
    return Survey(
        seconds=seconds,
        processes=len(trace.processes),
        gpus=gpus,
        kernels=kernels,
        groups=groups,
        answer=answer(gpus, kernels, pytorch=_has_pytorch(trace)),
        ended=ended,
        warnings=(*warnings, *trace.warnings, *_dropped(trace)),
    )


def answer(
    gpus: tuple[GpuTime, ...], kernels: tuple[SurveyedKernel, ...], *, pytorch: bool = False
) -> ProgramAnswer | None:
    """What holds the program back, by the GPU with the most kernel time; ``None`` without one."""
    if not gpus or not kernels:
        return None
    gpu = gpus[0]
    limit = _limit(gpu, median_of(kernels))
    many = sum(each.launches for each in kernels)
    words = _WORDS[limit]
    if limit is Limit.LAUNCHES and gpu.idle_while(Idle.QUEUED) > gpu.idle_time / 2:
        words = "{launches} of {median} take longer to start than to run"
    words = words.format(
        launches=count(gpu.launches, "launch"),
        median=quantity(median_of(kernels), "ns"),
        bytes=quantity(gpu.copied_bytes, "byte"),
    )
    which = f"{gpu.name} (number {gpu.device})" if len(gpus) > 1 else "The GPU"
    return ProgramAnswer(
        limit=limit,
        sentence=f"{which} works {share(gpu.busy)} of the time: {words}.",
        evidence=(*_evidence(gpu, kernels, many),),
        advice=advice(limit, gpu, kernels, pytorch=pytorch),
    )


def median_of(kernels: tuple[SurveyedKernel, ...]) -> float:
    """The median time of a launch over all kernels, each by its own median."""
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
    launching = gpu.idle_time + gpu.copies - sum(parts.values())
    largest = max(parts, key=lambda each: parts[each])
    if parts[largest] > launching:
        return largest
    if median < SHORT_NS and gpu.after_waiting < AFTER_WAITING * gpu.idle_time:
        return Limit.LAUNCHES
    if gpu.after_waiting >= AFTER_WAITING * gpu.idle_time:
        return Limit.SYNCHRONIZATION
    return Limit.HOST


def _evidence(gpu: GpuTime, kernels: tuple[SurveyedKernel, ...], launches: int) -> list[Evidence]:
    """The shares of the time, each as a part of that from the first activity to the last."""
    rows = [
        Evidence(
            metric="survey__gpu_busy",
            label="a kernel runs",
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
        label = "idle after the host had waited"
        rows.append(_fact("idle_after_waiting", label, part, "%", "of the idle time"))
    rows.append(_fact("launches", "launches", launches, ""))
    rows.append(_fact("kernel_time", "median time of a launch", median_of(kernels), "ns"))
    rows.append(_fact("start_up", "start-up, which does not count", gpu.start_up, "ns", _START_UP))
    return [each for each in rows if each.value or each.threshold is not None]


def _fact(name: str, label: str, value: float, unit: str, formula: str = "") -> Evidence:
    return Evidence(f"survey__{name}", label, value, unit, formula=formula)


def _has_pytorch(trace: Trace) -> bool:
    return any(text.startswith("aten::") for text in trace.texts)


def _dropped(trace: Trace) -> list[str]:
    dropped = sum(each.dropped for each in trace.processes)
    return [f"{dropped:,} records of the survey were lost: shares are of the rest."] * bool(dropped)
