"""How a kernel is launched: its specification, its arguments, and what its result must be."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from kernelprof.collect.interrupts import Interrupts
    from kernelprof.collect.source import Prepared, Wishes


def prepare_for_profiling(
    source: Path, wishes: Wishes, interrupts: Interrupts, tell: Callable[[str], None]
) -> AbstractContextManager[Prepared]:
    """Build a source, check its result and time it; see :mod:`kernelprof.collect.source`."""
    from kernelprof.launch.prepare import prepare

    return prepare(source, wishes, interrupts, tell)
