"""The page of a comparison: what changed, a card for each kernel, where both sides are from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kernelprof.comparison import words
from kernelprof.model.comparison import TimeOutcome
from kernelprof.model.names import short_name
from kernelprof.model.numbers import count, dimensions, quantity
from kernelprof.report.charts import changes
from kernelprof.report.document import (
    Bullets,
    Cell,
    Chart,
    Code,
    Column,
    Document,
    Note,
    Section,
    Span,
    Table,
    Tone,
)
from kernelprof.report.documents import changed_kernel
from kernelprof.report.documents.change_tables import (
    Judged,
    judged,
    outcome_span,
    time_span,
    verdict_change,
)
from kernelprof.report.documents.changed_kernel import fine, finite_ratio
from kernelprof.report.figures.measured import finite
from kernelprof.report.private import file_name, shown, shown_origin, without_homes
from kernelprof.report.writers import json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.comparison import Comparison, InputChange, KernelComparison
    from kernelprof.model.snapshot import KernelSnapshot, Snapshot
    from kernelprof.report.document import Block

_COLUMNS: Final = (
    Column("Kernel"),
    Column("Time"),
    Column("After / before", number=True),
    Column("Before", number=True),
    Column("After", number=True),
    Column("Counters", number=True),
    Column("Verdict"),
)
_OUTCOME: Final = Column("Gate")
_SIDES: Final = (Column("What"), Column("Before"), Column("After"), Column(""))
_CLOCK: Final = "SM clock of the launches"
_OUTCOMES: Final = {
    TimeOutcome.SLOWER: "slower",
    TimeOutcome.FASTER: "faster",
    TimeOutcome.SAME: "same",
    TimeOutcome.UNDECIDED: "undecided",
}
_MEANT: Final = frozenset(
    {"capture", "measured at (UTC)", "kernels", _CLOCK, "source", "source, SHA-256"}
)
"""What is another thing on each side anyway, or was meant to be, or is marked where it counts."""


def of_comparison(comparison: Comparison, command: str = "") -> Document:
    """Everything that is known of two captures side by side."""
    comparison = without_folders(comparison)
    return page(
        "Comparison", comparison, judged(comparison.kernels), (json.write(comparison), command)
    )


def page(
    title: str,
    comparison: Comparison,
    kernels: Sequence[Judged],
    texts: tuple[str, str],
    top: Sequence[Block] = (),
) -> Document:
    """``texts`` are the result as JSON and what was typed; ``top`` is what stands first."""
    data, command = texts
    both = [each for each in kernels if each.kernel.before and each.kernel.after]
    alone = len(kernels) == len(both) == 1
    blocks: list[Block] = [*top]
    blocks += [Note(Span(words.sentence(shown(each))), warning=True) for each in comparison.notes]
    if not alone:
        blocks.append(_overview(comparison, both))
    blocks += _on_one_side(kernels)
    machine = comparison.before.machine, comparison.after.machine
    for position, each in enumerate(both, 1):
        known = changed_kernel.Known(machine, comparison.machine, f"kernel-{position}")
        blocks.append(changed_kernel.section(each, known, alone=alone))
    blocks.append(_provenance(comparison, command))
    name = _name(both[0]) if alone else count(len(kernels), "kernel")
    sides = f"{comparison.before.origin} → {comparison.after.origin}"
    return Document(
        f"{title}: {name}",
        tuple(blocks),
        origin=sides,
        data=without_homes(data),
        file=f"{title.lower()}.json",
    )


def _name(each: Judged) -> str:
    return shown(" ".join(filter(None, each.label)))


def _overview(comparison: Comparison, kernels: Sequence[Judged]) -> Section:
    """Kernels by the change of their time."""
    found = [_change(each) for each in kernels]
    rows = changes.rows(found)
    blocks: list[Block] = []
    if rows:
        label = "Change of the time of the kernels; the same is in the table below"
        text = (
            "Each mark is the median time after over that before, with its 95 % interval. Left of "
            "the dashed line is faster."
        )
        if len(kernels) > changes.MOST_KERNELS:
            text += f" These are the {changes.MOST_KERNELS} kernels that take most of the time."
        blocks += [Chart(changes.kind(found), rows, label), Note(text)]
    gated = any(each.result is not None for each in kernels)
    columns = (*_COLUMNS, _OUTCOME) if gated else _COLUMNS
    table = [_row(at, each) for at, each in enumerate(kernels, 1)]
    blocks.append(Table(columns, tuple(table), label="kernels", long=True))
    summary = words.sentence(shown(words.summary(comparison)))
    return Section("What changed", tuple(blocks), anchor="kernels", summary=summary)


def _change(each: Judged) -> changes.Change:
    time = each.kernel.time
    return changes.Change(
        _name(each),
        _OUTCOMES.get(time.outcome, "unknown"),
        words.outcome_text(time),
        finite_ratio(time.ratio),
        finite(time.low),
        finite(time.high),
    )


def _row(position: int, each: Judged) -> tuple[Cell, ...]:
    kernel, ratio = each.kernel, finite_ratio(each.kernel.time.ratio)
    worse, better = (sum(one.worse is side for one in kernel.counters) for side in (True, False))
    counted = [f"{worse} worse"] * bool(worse) + [f"{better} better"] * bool(better)
    cells = [
        Cell(Span(_name(each), target=f"kernel-{position}"), tip=shown(kernel.name)),
        Cell(time_span(kernel)),
        Cell("-" if ratio is None else f"{ratio:.4f}", sort=-1.0 if ratio is None else ratio),
        _time(kernel.time.before_ns, kernel.before),
        _time(kernel.time.after_ns, kernel.after),
        Cell(", ".join(counted) or "-", sort=worse - better),
        Cell(verdict_change(kernel)),
    ]
    return tuple(cells if each.result is None else [*cells, Cell(outcome_span(each.result))])


def _time(compared: float | None, side: KernelSnapshot | None) -> Cell:
    known = finite(compared if compared is not None or side is None else side.median_ns)
    return Cell("-" if known is None else fine(known), sort=-1.0 if known is None else known)


def _on_one_side(kernels: Sequence[Judged]) -> Iterable[Section]:
    vanished = [each.kernel.before for each in kernels if each.kernel.after is None]
    appeared = [each.kernel.after for each in kernels if each.kernel.before is None]
    for anchor, title, found in (
        ("vanished", "Vanished: in the first capture only", vanished),
        ("appeared", "New: in the second capture only", appeared),
    ):
        items = tuple(_lone(each) for each in found if each is not None)
        if items:
            yield Section(f"{title} ({len(items)})", (Bullets(items),), anchor=anchor)


def _lone(kernel: KernelSnapshot) -> tuple[Span, ...]:
    known = finite(kernel.median_ns)
    parts = [
        f"{name} {dimensions(size)}"
        for name, size in (("grid", kernel.grid), ("block", kernel.block))
        if size is not None
    ]
    parts.append(count(kernel.launches, "launch"))
    parts.append("time not known" if known is None else fine(known))
    parts.append(kernel.verdict.bottleneck or kernel.verdict.status.value)
    text = shown(f" {', '.join(parts)}")
    return Span(shown(short_name(kernel.name)), code=True), Span(text, Tone.MUTED)


def _provenance(comparison: Comparison, command: str) -> Section:
    """What each side was measured on and with; rows that neither side knows are left out."""
    kinds = {"clocks": _CLOCK}
    different = {kinds.get(each.kind, each.kind) for each in comparison.machine}
    rows = []
    for label, old, new in _sides(comparison):
        if not (old or new):
            continue
        differs = label in different or (label not in _MEANT and old and new and old != new)
        rows.append(
            (
                Cell(label),
                Cell(Span(shown(old or "not known"))),
                Cell(Span(shown(new or "not known"))),
                Cell(Span("≠ differs", Tone.BAD) if differs else ""),
            )
        )
    blocks: list[Block] = [Table(_SIDES, tuple(rows), label="where both sides come from")]
    if command:
        code = Code(shown(command), language="sh", copy=True)
        blocks.append(Section("The command that made it", (code,), folded=True))
    return Section("Where this comes from", tuple(blocks))


def _sides(comparison: Comparison) -> Iterable[tuple[str, str | None, str | None]]:
    sides = (comparison.before, comparison.after)
    old, new = (_facts(side) for side in sides)
    for label, before in old.items():
        yield label, before, new[label]
    found = [_source(side) for side in sides]
    labels = ("compiler", "source", "source, SHA-256")
    yield from zip(labels, found[0], found[1], strict=True)


def _facts(side: Snapshot) -> dict[str, str | None]:
    machine = side.machine
    # Some exports have no more of the GPU than the device's number.
    gpu = None if machine.gpu is None or machine.gpu.isdigit() else machine.gpu
    return {
        "capture": side.origin,
        "kernels": count(len(side.kernels), "kernel") if side.kernels else None,
        "measured at (UTC)": side.created,
        "GPU": gpu,
        "compute capability": machine.compute_capability,
        _CLOCK: quantity(machine.sm_hz, "hz") if machine.sm_hz else None,
        "clock control": machine.clock_control,
        "driver": machine.driver,
        "CUDA": machine.cuda,
        "Nsight Compute": machine.ncu,
    }


def _source(side: Snapshot) -> tuple[str | None, str | None, str | None]:
    """Compiler, source and its checksum, where all kernels have the same."""
    known = {
        (each.inputs.compiler, file_name(each.inputs.path), each.inputs.source_sha256)
        for each in side.kernels
        if each.inputs is not None
    }
    return known.pop() if len(known) == 1 else (None, None, None)


def without_folders(comparison: Comparison) -> Comparison:
    """The comparison with the names of files in place of whole paths."""
    before, after = (
        replace(side, origin=shown_origin(side.origin))
        for side in (comparison.before, comparison.after)
    )
    kernels = tuple(map(kernel_without_folders, comparison.kernels))
    return replace(comparison, before=before, after=after, kernels=kernels)


def kernel_without_folders(kernel: KernelComparison) -> KernelComparison:
    """The same of a kernel."""
    before, after = (_side_without_folders(side) for side in (kernel.before, kernel.after))
    inputs = tuple(map(_input_without_folders, kernel.inputs))
    return replace(kernel, before=before, after=after, inputs=inputs)


def _side_without_folders(side: KernelSnapshot | None) -> KernelSnapshot | None:
    if side is None or side.inputs is None:
        return side
    return replace(side, inputs=replace(side.inputs, path=file_name(side.inputs.path)))


def _input_without_folders(change: InputChange) -> InputChange:
    if change.kind != "source":
        return change
    return replace(change, before=file_name(change.before), after=file_name(change.after))
