"""A baseline: its machine, its kernels, and what was accepted in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.report.document import Bullets, Cell, Column, Document, Paragraph, Section, Span
from kernelprof.report.document import Table as Rows
from kernelprof.report.names import short_name
from kernelprof.report.numbers import count, quantity

if TYPE_CHECKING:
    from kernelprof.compare.gate.baseline import Acceptance, Baseline
    from kernelprof.model.snapshot import KernelSnapshot
    from kernelprof.report.document import Block


def document(baseline: Baseline) -> Document:
    """The machine, a line for each kernel, and what was accepted, the newest first."""
    machine = baseline.machine
    head = (
        f"{count(len(baseline.kernels), 'kernel')} on {machine.gpu or 'an unknown GPU'}, "
        f"Nsight Compute {machine.ncu or 'unknown'}, {baseline.created}"
    )
    columns = (
        Column("kernel", yielding=True),
        Column("time", number=True),
        Column("verdict"),
        Column("confidence", brief="conf", optional=True),
        Column("noise", optional=True),
    )
    rows = tuple(_kernel(each) for each in baseline.kernels)
    blocks: list[Block] = [Paragraph(Span(head)), Rows(columns, rows, label="Kernels")]
    if baseline.accepted:
        accepted = tuple(Span(_acceptance(each)) for each in reversed(baseline.accepted))
        blocks.append(Section("Accepted", (Bullets(accepted),)))
    return Document("Baseline", tuple(blocks))


def _kernel(kernel: KernelSnapshot) -> tuple[Cell, ...]:
    said = kernel.verdict
    limit = " (limit)" if said.status == "at-limit" else ""
    noise = "not calibrated"
    if kernel.noise is not None:
        noise = f"{100 * kernel.noise.floor:.3g} % over {kernel.noise.captures} captures"
    return (
        Cell(Span(short_name(kernel.name), code=True)),
        Cell(_time(kernel.median_ns)),
        Cell((Span(str(said.bottleneck), code=True), limit)),
        Cell(said.confidence),
        Cell(noise),
    )


def _acceptance(each: Acceptance) -> str:
    return (
        f"{each.when} {each.who}: {short_name(each.kernel)} {_time(each.before_ns)} to "
        f"{_time(each.after_ns)}, {each.before.bottleneck if each.before else 'new'} to "
        f"{each.after.bottleneck if each.after else 'gone'}: {each.reason}"
    )


def _time(nanoseconds: float | None) -> str:
    return "no time" if nanoseconds is None else quantity(nanoseconds, "ns")
