"""Kernels by configuration and by what they belong to, those with the most time first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.analysis.survey.owners import NOTHING, belongings
from kernelprof.model.kernel_name import function_name
from kernelprof.model.survey import Owner, SurveyedKernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt

    from kernelprof.analysis.survey.owners import Belonging, Belongings
    from kernelprof.model.trace import Trace

    Array = npt.NDArray[Any]
    Name = tuple[str, str, str]

RANGE: Final = "range"
MODULE: Final = "module"
OPERATOR: Final = "operator"
FUNCTION: Final = "function"
KINDS: Final = (RANGE, MODULE, OPERATOR, FUNCTION)
"""What launches can belong to; in this order they are shown."""

_OWNERS_SHOWN: Final = 3


def kernel_numbers(trace: Trace) -> tuple[Array, list[Any]]:
    """A number for each kernel of the trace, by name, grid and block, and what these are."""
    known: dict[Any, int] = {}
    numbers = [
        known.setdefault((each.name, each.grid, each.block), len(known))
        for each in trace.configurations
    ]
    return np.array(numbers, np.int64)[trace.kernels["configuration"]], list(known)


def surveyed(trace: Trace) -> tuple[tuple[SurveyedKernel, ...], tuple[Owner, ...]]:
    """All kernels of a trace in their configurations, and all that they belong to."""
    rows = trace.kernels
    if not len(rows):
        return (), ()
    times = rows["end"] - rows["start"]
    whole = int(times.sum()) or 1
    numbers, kinds = kernel_numbers(trace)
    belong = belongings(trace)
    kernels = []
    for number in np.unique(numbers).tolist():
        mine = np.flatnonzero(numbers == number)
        name, grid, block = kinds[number]
        devices = np.unique(rows["device"][mine]).tolist()
        time = int(times[mine].sum())
        kernels.append(
            SurveyedKernel(
                name=name,
                grid=grid,
                block=block,
                devices=tuple(
                    trace.devices[each].name if each in trace.devices else f"GPU {each}"
                    for each in devices
                ),
                launches=len(mine),
                time=time,
                median=float(np.median(times[mine])),
                share=time / whole,
                in_graphs=int((rows["graph"][mine] > 0).sum()),
                owners=_owners(trace, belong, mine, whole, most=_OWNERS_SHOWN),
            )
        )
    kernels.sort(key=lambda each: -each.time)
    every = np.arange(len(rows))
    return tuple(kernels), _owners(trace, belong, every, whole)


def _owners(
    trace: Trace,
    belong: Belongings,
    rows: Array,
    whole: int,
    most: int | None = None,
) -> tuple[Owner, ...]:
    """What some rows belong to, ``most`` of each kind."""
    times = trace.kernels["end"][rows] - trace.kernels["start"][rows]
    of = belong.of[rows]
    time = np.bincount(of, times, len(belong.kinds))
    launches = np.bincount(of, minlength=len(belong.kinds))
    found: list[Owner] = []
    for kind, name in _NAMES.items():
        sums: dict[Name, list[int]] = {}
        for position, each in enumerate(belong.kinds):
            if each == NOTHING or not launches[position] or not (named := name(each)):
                continue
            total = sums.setdefault(named, [0, 0])
            total[0] += int(launches[position])
            total[1] += int(time[position])
        owners = _sorted(
            Owner(kind, label, place, many, long, long / whole)
            for (_, label, place), (many, long) in sums.items()
        )
        found += owners[:most]
    found += _functions(trace, rows, whole)
    return tuple(found)


def _functions(trace: Trace, rows: Array, whole: int) -> list[Owner]:
    """Triton's functions by name, each with the line that it begins at."""
    if not trace.functions:
        return []
    of = trace.kernels["configuration"][rows]
    times = trace.kernels["end"][rows] - trace.kernels["start"][rows]
    sums: dict[str, list[int]] = {}
    for position in np.unique(of).tolist():
        name = function_name(trace.configurations[position].name)
        if name in trace.functions:
            mine = of == position
            total = sums.setdefault(name, [0, 0])
            total[0] += int(mine.sum())
            total[1] += int(times[mine].sum())
    return _sorted(
        Owner(FUNCTION, name, "{}:{}".format(*trace.functions[name]), many, long, long / whole)
        for name, (many, long) in sums.items()
    )


def _sorted(owners: Iterable[Owner]) -> list[Owner]:
    return sorted(owners, key=lambda each: -each.time)


def _of_range(each: Belonging) -> Name | None:
    return (RANGE, each.range, "") if each.range else None


def _of_module(each: Belonging) -> Name | None:
    if not each.module.name:
        return None
    after = ", backward" if each.backward else ""
    return MODULE, each.module.name + after, each.module.place


def _of_operator(each: Belonging) -> Name | None:
    return (OPERATOR, each.operator, "") if each.operator else None


_NAMES: Final[dict[str, Callable[[Belonging], Name | None]]] = {
    RANGE: _of_range,
    MODULE: _of_module,
    OPERATOR: _of_operator,
}
