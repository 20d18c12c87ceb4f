"""The JSON of a survey, version 1: what a whole program does on its GPUs. Times are in ns."""

from __future__ import annotations

from typing import Annotated, Final

from kernelprof.model.records import about
from kernelprof.model.survey import Idle, Limit  # noqa: TC001 (the types of fields are read)
from kernelprof.report.json_schema_parts import (
    Amount,
    Dimensions,
    Evidence,
    Launches,
    Nanoseconds,
    Object,
    Part,
)

TIMES: Final = ("start_up", "span", "kernels", "copies", "after_waiting")
"""Times of a GPU, whose keys have the unit behind them."""


class IdleTime(Object):
    """Time in which nothing ran on a GPU, by what the host did meanwhile."""

    host: Idle
    time_ns: Amount


class Gpu(Object):
    """How one GPU spent the time once the program had settled."""

    device: Amount
    name: str
    start_up_ns: Annotated[
        Amount, about("From its first activity until a tenth of the launches were made.")
    ]
    span_ns: Annotated[Amount, about("From there to the end of its last kernel.")]
    kernels_ns: Annotated[Amount, about("At least one kernel ran.")]
    copies_ns: Annotated[Amount, about("Only copies and memsets ran.")]
    idle: list[IdleTime]
    after_waiting_ns: Annotated[
        Amount, about("Idle time in gaps that began while the host waited for the GPU.")
    ]
    launches: Amount
    copied_bytes: Amount


class Owner(Object):
    """What launches belong to, with its share of all kernel time."""

    kind: Annotated[
        str, about("range (NVTX), module, line, operator (all of PyTorch) or function (Triton).")
    ]
    name: str
    place: Annotated[str, about("file:line, empty where it is not known.")]
    launches: Amount
    time_ns: Amount
    share: Part


class SurveyedKernel(Object):
    """A kernel in one launch configuration, over all its launches in the program."""

    name: str
    grid: Dimensions
    block: Dimensions
    devices: list[str]
    launches: Launches
    time_ns: Annotated[Amount, about("Of all its launches.")]
    median_ns: Nanoseconds
    share: Annotated[Part, about("Part of the time of all kernels.")]
    in_graphs: Annotated[Amount, about("Launches that were part of a CUDA graph.")]
    measured: Annotated[Amount, about("Launches of it that were measured.")]
    owners: Annotated[list[Owner], about("What most of its time belongs to.")]


class Answer(Object):
    """What holds the whole program back."""

    limit: Limit
    sentence: str
    evidence: list[Evidence]
    advice: list[str]


class Coverage(Object):
    """What of the surveyed kernels was measured; shares of the others are the survey's."""

    kernels: Amount
    launches: Amount
    share: Annotated[float, about("Part of all kernel time that the measured kernels have.")]
    estimate_s: float
    seconds: float
    budget_s: float


class Survey(Object):
    """A whole program, recorded at nearly its own speed before its kernels were measured."""

    seconds: Annotated[float, about("How long the program ran.")]
    ended: Annotated[str, about("How it ended, where not by itself with success.")]
    processes: Amount
    answer: Answer | None
    gpus: Annotated[list[Gpu], about("The one with the most kernel time first.")]
    kernels: Annotated[list[SurveyedKernel], about("Those with the most time first.")]
    groups: Annotated[list[Owner], about("By kind, those with the most time first.")]
    coverage: Annotated[Coverage | None, about("null where nothing was measured.")]
    warnings: list[str]
