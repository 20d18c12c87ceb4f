"""Where the profiling of a ``.cu`` file connects: what building and launching has to give.

Building and launching a kernel is not done here. A package that does it offers a function
``prepare_for_profiling``, found by :func:`preparer`.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from kernelprof.collect.interrupts import Interrupts
    from kernelprof.model.manifest import CorrectnessFacts, SourceFacts, TimingFacts

HOOK = "prepare_for_profiling"
_PACKAGE = "kernelprof.launch"


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line changes in a launch, and what it wants to be checked.

    ``sizes`` and ``defines`` stand in for those of the specification; ``sanitizers`` are tools of
    ``compute-sanitizer`` that the kernel has to pass.
    """

    sizes: Mapping[str, int] = field(default_factory=dict)
    defines: Mapping[str, int | float | str] = field(default_factory=dict)
    sanitizers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A built and checked kernel: the command that ``ncu`` is to run, and what is known so far.

    ``kernel`` is a regular expression for the full names of the kernels that count, ``None`` for
    all; ``launch_skip`` and ``launch_count`` leave out warm-up launches.
    """

    target: str
    command: tuple[str, ...]
    kernel: str | None = None
    launch_skip: int | None = None
    launch_count: int | None = None
    source: SourceFacts | None = None
    timing: TimingFacts | None = None
    correctness: CorrectnessFacts | None = None


class Preparer(Protocol):
    """Builds a source, checks its result and times it; the build lives as long as the context.

    A kernel that gives wrong results, does not compile or does not end is an error of its own.
    ``tell`` hears what is being done, for a display of progress.
    """

    def __call__(
        self, source: Path, wishes: Wishes, interrupts: Interrupts, tell: Callable[[str], None]
    ) -> AbstractContextManager[Prepared]:
        """Prepare one source file."""
        ...


def preparer() -> Preparer | None:
    """What prepares sources in this installation, ``None`` where nothing does."""
    try:
        package = importlib.import_module(_PACKAGE)
    except ModuleNotFoundError as error:
        if error.name != _PACKAGE:
            raise
        return None
    found: Preparer | None = getattr(package, HOOK, None)
    return found
