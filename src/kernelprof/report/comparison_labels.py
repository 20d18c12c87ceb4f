"""Short names of compared kernels, with what tells those of one name apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.report.names import short_name
from kernelprof.report.numbers import dimensions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.model.comparison import KernelComparison


def comparison_labels(kernels: Sequence[KernelComparison]) -> list[tuple[str, str]]:
    """As :func:`kernelprof.report.names.labels`: pairs that ``fit`` puts into a column."""
    names = [short_name(kernel.name) for kernel in kernels]
    alike: dict[str, list[KernelComparison]] = {}
    for name, kernel in zip(names, kernels, strict=True):
        alike.setdefault(name, []).append(kernel)
    details = {name: iter(_details(group)) for name, group in alike.items()}
    return [(name, next(details[name])) for name in names]


def _details(kernels: Sequence[KernelComparison]) -> list[str]:
    if len(kernels) == 1:
        return [""]
    sides = [kernel.after or kernel.before for kernel in kernels]
    grids = [None if side is None else side.grid for side in sides]
    blocks = [None if side is None else side.block for side in sides]
    for sizes in (blocks, grids):
        known = [dimensions(size) for size in sizes if size]
        if len(set(known)) == len(kernels):
            return known
    both = [
        f"{dimensions(grid)}/{dimensions(block)}"
        for grid, block in zip(grids, blocks, strict=True)
        if grid and block
    ]
    if len(set(both)) == len(kernels):
        return both
    return [f"#{number}" for number in range(1, len(kernels) + 1)]
