"""A prepared kernel that is timed whenever somebody asks, at any of its sizes."""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from kernelprof.launch.asked import Asked, EndedError
from kernelprof.launch.prepare import last_lines
from kernelprof.launch.processes import TimeLimitError
from kernelprof.launch.trial import LaunchError, Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kernelprof.launch.prepare import PreparedKernel
    from kernelprof.launch.processes import Interrupts

    Timer = Callable[[Mapping[str, int], int], Sequence[float]]

LIMIT_S: Final = 300.0
"""For arrays to be filled and for all launches of a question; each launch has its own limit."""


@contextmanager
def timer(prepared: PreparedKernel, interrupts: Interrupts) -> Iterator[Timer]:
    """Give a function from sizes and a number of launches to their times in nanoseconds.

    ``prepared`` is of a source with a launch specification. A launch that fails raises
    :class:`LaunchError`, as it does when a kernel is prepared; the function is of no use after it.
    """
    command = (*prepared.command, "--answer")
    with Asked(command, interrupts) as child:

        def times(sizes: Mapping[str, int], count: int) -> Sequence[float]:
            try:
                answer = child.ask({"sizes": dict(sizes), "count": count}, LIMIT_S)
            except EndedError as error:
                raise LaunchError(
                    f"{error} when the kernel was timed",
                    where=prepared.target,
                    hint=f"run it by itself: {shlex.join(prepared.command)}"
                    f"{last_lines(error.printed)}",
                ) from error
            except TimeLimitError as error:
                raise LaunchError(
                    f"{error.what} when the kernel was timed",
                    where=prepared.target,
                    hint="give it smaller sizes, and end what else runs on the GPU",
                ) from error
            Trial(error=answer.get("error")).raise_error()
            return [float(each) for each in answer["times_ns"]]

        yield times
