"""All contestants in turn, several times, so that what is compared ran within the same minute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.speed.outcome import Measured

from kernelprof.errors import KernelprofError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from benchmarks.speed.contestants import Contestant
    from benchmarks.speed.timing import Run


def measure(
    contestants: Sequence[Contestant],
    repeats: int,
    folder: Path,
    *,
    unmeasured: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[Measured, ...]:
    """Every contestant's runs; one that fails is out, with the reason, and the others go on."""
    runs: dict[str, list[Run]] = {each.name: [] for each in contestants}
    absent = {each.name: each.absent for each in contestants}
    for number in range(-unmeasured, repeats):
        for each in contestants:
            if absent[each.name] or (each.once and number != 0):
                continue
            try:
                ran = each.run(folder)
            except KernelprofError as error:
                absent[each.name] = f"{error.where}: {error.what}" if error.where else error.what
                tell(f"{each.name}: {absent[each.name]}")
                continue
            if number >= 0:
                runs[each.name].append(ran)
                tell(f"{each.name}: {ran.process_s:.2f} s")
    return tuple(
        Measured(
            each.name,
            each.version,
            () if absent[each.name] else tuple(runs[each.name]),
            absent[each.name],
        )
        for each in contestants
    )
