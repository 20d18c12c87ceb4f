"""Which metrics a page of many kernels shows or works with; others need not be read for it."""

from __future__ import annotations

from typing import Final

from kernelprof.analysis.metrics.catalogue import names_known, names_read
from kernelprof.report.html.build import ceilings, pipes
from kernelprof.report.html.build.measured import TENSOR_COLUMN

_PER_KERNEL: Final = {column for _, column in pipes.COLUMNS}


class OfManyKernels:
    """Contains the names of these metrics; tables of few kernels hold every one that is there."""

    def __init__(self) -> None:
        self._known = names_known() | names_read() | ceilings.COLUMNS | _PER_KERNEL

    def __contains__(self, name: object) -> bool:
        return name in self._known or TENSOR_COLUMN.match(str(name)) is not None
