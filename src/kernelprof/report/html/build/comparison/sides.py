"""Where both sides of a comparison come from, without the folders of the machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelprof.report.html.build.private import file_name, shown, shown_origin
from kernelprof.report.html.comparison_view import InputRow
from kernelprof.report.numbers import count, quantity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.comparison import Comparison, InputChange, KernelComparison
    from kernelprof.model.snapshot import KernelSnapshot, Snapshot

SOURCE = "source"


def without_folders(comparison: Comparison) -> Comparison:
    """The comparison with the names of files in place of whole paths."""
    return replace(
        comparison,
        before=_named(comparison.before),
        after=_named(comparison.after),
        kernels=tuple(_kernel(each) for each in comparison.kernels),
    )


def _named(side: Snapshot) -> Snapshot:
    return replace(side, origin=shown_origin(side.origin))


def _kernel(kernel: KernelComparison) -> KernelComparison:
    return replace(
        kernel,
        before=_side(kernel.before),
        after=_side(kernel.after),
        inputs=tuple(_input(each) for each in kernel.inputs),
    )


def _side(side: KernelSnapshot | None) -> KernelSnapshot | None:
    if side is None or side.inputs is None:
        return side
    return replace(side, inputs=replace(side.inputs, path=file_name(side.inputs.path)))


def _input(change: InputChange) -> InputChange:
    if change.kind != SOURCE:
        return change
    return replace(change, before=file_name(change.before), after=file_name(change.after))


def side_rows(comparison: Comparison, before: Snapshot, after: Snapshot) -> tuple[InputRow, ...]:
    """What each side was measured on and with; rows that neither side knows are left out."""
    found: list[tuple[str, str | None, str | None]] = [
        ("capture", before.origin, after.origin),
        ("kernels", _kernels(before), _kernels(after)),
        ("measured at (UTC)", before.created, after.created),
        ("GPU", _gpu(before), _gpu(after)),
        (
            "compute capability",
            before.machine.compute_capability,
            after.machine.compute_capability,
        ),
        ("SM clock of the launches", _clock(before), _clock(after)),
        ("clock control", before.machine.clock_control, after.machine.clock_control),
        ("driver", before.machine.driver, after.machine.driver),
        ("CUDA", before.machine.cuda, after.machine.cuda),
        ("Nsight Compute", before.machine.ncu, after.machine.ncu),
        *_sources(comparison),
    ]
    different = {_LABELS.get(each.kind, each.kind) for each in comparison.machine}
    return tuple(
        InputRow(
            "differs" if label in different or _is_another(label, old, new) else "",
            label,
            shown(old or "not known"),
            shown(new or "not known"),
        )
        for label, old, new in found
        if old or new
    )


_LABELS = {"clocks": "SM clock of the launches"}
"""Rows by the kinds of differences, where they are called otherwise."""

_MEANT = frozenset(
    {
        "capture",
        "measured at (UTC)",
        "kernels",
        "SM clock of the launches",
        "source",
        "source, SHA-256",
    }
)
"""What is another thing on each side anyway, or was meant to be, or is told where it counts."""


def _is_another(label: str, old: str | None, new: str | None) -> bool:
    return label not in _MEANT and None not in {old, new} and old != new


def _gpu(side: Snapshot) -> str | None:
    """The name; some exports have no more than the device's number."""
    name = side.machine.gpu
    return None if name is None or name.isdigit() else name


def _kernels(side: Snapshot) -> str | None:
    return count(len(side.kernels), "kernel") if side.kernels else None


def _clock(side: Snapshot) -> str | None:
    return quantity(side.machine.sm_hz, "hz") if side.machine.sm_hz else None


def _sources(comparison: Comparison) -> Iterable[tuple[str, str | None, str | None]]:
    """Compiler, source and its checksum, where all kernels have the same."""
    found: list[tuple[str | None, str | None, str | None]] = []
    for pick in (0, 1):
        sides = [(each.before, each.after)[pick] for each in comparison.kernels]
        inputs = {
            (side.inputs.compiler, side.inputs.path, side.inputs.source_sha256)
            for side in sides
            if side is not None and side.inputs is not None
        }
        found.append(inputs.pop() if len(inputs) == 1 else (None, None, None))
    labels = ("compiler", "source", "source, SHA-256")
    return zip(labels, found[0], found[1], strict=True)
