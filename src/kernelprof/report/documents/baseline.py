"""What a baseline holds: the machine, its kernels, and what was accepted, the newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.model.names import short_name
from kernelprof.model.numbers import count, number, quantity
from kernelprof.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Paragraph,
    Section,
    Span,
    Table,
)
from kernelprof.report.documents.change_tables import time_cell, verdict_span

if TYPE_CHECKING:
    from kernelprof.comparison.gate.baseline import Baseline
    from kernelprof.model.diagnosis import Verdict
    from kernelprof.model.snapshot import Acceptance, KernelSnapshot, MeasurementSetup

_KERNELS: Final = (
    Column("kernel", yielding=True),
    Column("time", number=True),
    Column("verdict"),
    Column("confidence", brief="conf", optional=True),
    Column("noise"),
)
_PREDICTED: Final = (
    Column("kernel", yielding=True),
    Column("for"),
    Column("global sectors", brief="sectors", number=True),
    Column("shared wavefronts", brief="wavefronts", number=True, optional=True),
    Column("instructions", number=True),
    Column("verdict", optional=True),
)
_ACCEPTED: Final = (
    Column("accepted", optional=True),
    Column("by"),
    Column("kernel", yielding=True),
    Column("time"),
    Column("verdict", optional=True),
    Column("because"),
)


def document(baseline: Baseline, origin: str = "") -> Document:
    """All of a baseline; ``origin`` is its file."""
    kernels = baseline.kernels
    predicted = bool(kernels) and all(each.predicted is not None for each in kernels)
    columns, row = (_PREDICTED, _predicted_counts) if predicted else (_KERNELS, _kernel)
    table = Table(columns, tuple(map(row, kernels)), label="Kernels of the baseline")
    machine = baseline.machine
    made = f"on {_gpu(machine)}, Nsight Compute {machine.ncu or 'unknown'}, {baseline.created}"
    if predicted:
        made = f"predicted, not measured, {baseline.created}"
    text = f"{count(len(kernels), 'kernel')} {made}"
    blocks: list[Block] = [Paragraph(Span(text)), table]
    if baseline.accepted:
        rows = tuple(_acceptance(each) for each in reversed(baseline.accepted))
        accepted = Table(_ACCEPTED, rows, label="Accepted regressions")
        blocks.append(Section("Accepted", (accepted,)))
    return Document("kernelprof baseline", tuple(blocks), origin=origin)


def _gpu(machine: MeasurementSetup) -> str:
    """The GPU by its name, which exports with the number of a device alone do not have."""
    if machine.gpu:
        return machine.gpu
    if machine.compute_capability:
        return f"a GPU of compute capability {machine.compute_capability}"
    return "an unknown GPU"


def _kernel(kernel: KernelSnapshot) -> tuple[Cell, ...]:
    noise = "not calibrated"
    if kernel.noise is not None:
        noise = f"{100 * kernel.noise.floor:.3g} % over {kernel.noise.captures} captures"
    return (
        Cell(Span(short_name(kernel.name), code=True)),
        time_cell(None, kernel),
        Cell(verdict_span(kernel.verdict)),
        Cell(kernel.verdict.confidence.value),
        Cell(noise),
    )


def _predicted_counts(kernel: KernelSnapshot) -> tuple[Cell, ...]:
    names = ("global_sectors", "shared_wavefronts", "instructions")
    counts = [kernel.metrics.get(name) for name in names]
    return (
        Cell(Span(short_name(kernel.name), code=True)),
        Cell(Span(kernel.arch or "")),
        *(Cell("-" if each is None else number(each), sort=each) for each in counts),
        Cell(verdict_span(kernel.verdict)),
    )


def _acceptance(each: Acceptance) -> tuple[Cell, ...]:
    return (
        Cell(Span(each.when)),
        Cell(Span(each.who)),
        Cell(Span(short_name(each.kernel), code=True)),
        Cell(f"{_time(each.before_ns)} → {_time(each.after_ns)}"),
        Cell(Span(f"{_labelled(each.before, 'new')} → {_labelled(each.after, 'gone')}")),
        Cell(Span(each.reason)),
    )


def _labelled(verdict: Verdict | None, without: str) -> str:
    return without if verdict is None else verdict.bottleneck or verdict.status.value


def _time(nanoseconds: float | None) -> str:
    return "no time" if nanoseconds is None else quantity(nanoseconds, "ns")
