"""Check sizes that are no multiples of a block, as far as the kernel is right at them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from kernelprof.launch.inference.extents import WHY_UNEVEN, uneven_values

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kernelprof.launch.inference.evidence import Guesses

    Sizes = dict[str, int]
    Problem = Callable[[Sizes], str | None]

_SECONDS: Final = 8.0
"""Of CPU time, after which no other sizes are tried."""


def choose(guesses: Guesses, problem: Problem, check: Callable[[], object]) -> None:
    """Choose check sizes; ``problem`` says what is wrong at some, ``check`` refuses what is there.

    Where the kernel goes wrong at uneven ones alone, it keeps to multiples, and that is said.
    """
    wanted, multiples = uneven_values(guesses), dict(guesses.check_sizes)
    if (
        wanted
        and problem({**multiples, **{name: each[0] for name, each in wanted.items()}}) is None
    ):
        guesses.why["check"] = WHY_UNEVEN
        return
    guesses.check_sizes = multiples
    check()
    if not wanted or guesses.differs:  # from another version, at any sizes
        return
    until = time.process_time() + _SECONDS
    for name, tried in wanted.items():
        if time.process_time() < until and (wrong := _wrong(guesses, name, tried, problem)):
            where = f"at {name} = {tried[0]} the kernel goes wrong, so that its check keeps to "
            guesses.remarks.append(f"{where}multiples: {wrong}")
    check()


def _wrong(guesses: Guesses, name: str, tried: Sequence[int], problem: Problem) -> str | None:
    """Take the first value of a size that is right; what is wrong with the first if none is."""
    before, wrong = guesses.check_sizes, []
    for value in tried:
        fault = problem({**before, name: value})
        if fault is None:
            return None
        wrong.append(fault)
    guesses.check_sizes = before
    return wrong[0]
