"""The page of a comparison: its kernels, what is on one side only, and where both come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import kernelprof
from kernelprof.compare.words import summary
from kernelprof.model.snapshot import Machine, Snapshot
from kernelprof.report.comparison_labels import comparison_labels
from kernelprof.report.html.build.comparison.kernel import changed, lone, sentence
from kernelprof.report.html.build.comparison.sides import side_rows, without_folders
from kernelprof.report.html.build.private import shown, without_homes
from kernelprof.report.html.comparison_view import ComparisonPage
from kernelprof.report.numbers import count
from kernelprof.report.writers.json import write as write_json

if TYPE_CHECKING:
    from kernelprof.model.comparison import Comparison
    from kernelprof.report.html.comparison_view import ChangedKernel


def build_comparison(
    comparison: Comparison,
    sides: tuple[Snapshot, Snapshot] | None = None,
    command: str = "",
) -> ComparisonPage:
    """Everything that the page shows.

    ``sides`` are the snapshots that were compared, which tell the machines; ``command`` is what
    was typed.
    """
    comparison = without_folders(comparison)
    before, after = sides or (_unknown(comparison.before), _unknown(comparison.after))
    machines = (before.machine, after.machine), comparison.machine
    kernels: list[ChangedKernel] = []
    vanished, appeared = [], []
    for kernel, label in zip(
        comparison.kernels, comparison_labels(comparison.kernels), strict=True
    ):
        if kernel.before is not None and kernel.after is not None:
            name = " ".join(part for part in label if part)
            anchor = f"kernel-{len(kernels) + 1}"
            both = kernel.before, kernel.after
            kernels.append(changed(kernel, both, name, anchor, machines))
        elif kernel.before is not None:
            vanished.append(lone(kernel.before))
        elif kernel.after is not None:
            appeared.append(lone(kernel.after))
    alone = len(comparison.kernels) == 1 and kernels
    return ComparisonPage(
        title=kernels[0].name if alone else count(len(comparison.kernels), "kernel"),
        headline="" if alone else sentence(shown(summary(comparison))),
        before=comparison.before,
        after=comparison.after,
        kernels=tuple(kernels),
        vanished=tuple(vanished),
        appeared=tuple(appeared),
        warnings=tuple(sentence(shown(each)) for each in comparison.notes),
        sides=side_rows(comparison, before, after),
        commands=(shown(command),) if command else (),
        made=f"Made by kernelprof {kernelprof.__version__}",
        json=without_homes(write_json(comparison)),
    )


def _unknown(origin: str) -> Snapshot:
    return Snapshot(origin, None, Machine(), ())
