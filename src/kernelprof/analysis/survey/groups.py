"""Kernels by configuration and by what they belong to, those with the most time first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

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
LINE: Final = "line"
OPERATOR: Final = "operator"
FUNCTION: Final = "function"
KINDS: Final = (RANGE, MODULE, LINE, OPERATOR, FUNCTION)
"""What launches can belong to; in this order they are shown."""

_NUMBER: Final = re.compile(r"\.\d+(?=\.|$| )")
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
    part = _Weights(times, _whole_of(numbers, times, belong.observed))
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
                owners=_owners(trace, belong, part, mine, most=_OWNERS_SHOWN),
            )
        )
    kernels.sort(key=lambda each: -each.time)
    every = np.arange(len(rows))
    return tuple(kernels), _together(_owners(trace, belong, part, every))


def _together(owners: tuple[Owner, ...]) -> tuple[Owner, ...]:
    """Modules that differ by their number in a list alone as one: ``layers.*.linear1``."""
    found: dict[Name, list[Owner]] = {}
    for each in owners:
        name = _NUMBER.sub(".*", each.name) if each.kind == MODULE else each.name
        found.setdefault((each.kind, name, each.place), []).append(each)
    united = [
        Owner(
            kind,
            name,
            place,
            sum(each.launches for each in parts),
            sum(each.time for each in parts),
            sum(each.share for each in parts),
        )
        for (kind, name, place), parts in found.items()
    ]
    return tuple(sorted(united, key=lambda each: (KINDS.index(each.kind), -each.time)))


class _Weights(NamedTuple):
    """Time of each launch, and how many launches it stands for where only some were observed."""

    time: Array
    launches: Array

    def of(self, kind: str, rows: Array) -> tuple[Array, Array]:
        """Times and numbers of launches; those of the program's own ranges are all known."""
        times, many = self.time[rows], self.launches[rows]
        return (times, np.ones(len(rows))) if kind in (RANGE, FUNCTION) else (times * many, many)

    @property
    def whole(self) -> int:
        return int(self.time.sum()) or 1


def _whole_of(numbers: Array, times: Array, observed: Array) -> Array:
    """For each observed launch the part of its kernel's time that it stands for; others have 0."""
    every = np.bincount(numbers, times)
    seen = np.bincount(numbers, times * observed)
    factor = np.divide(every, seen, out=np.zeros(len(every)), where=seen > 0)
    found: Array = factor[numbers] * observed
    return found


def _owners(
    trace: Trace, belong: Belongings, part: _Weights, rows: Array, most: int | None = None
) -> tuple[Owner, ...]:
    """What some rows belong to, ``most`` of each kind."""
    of = belong.of[rows]
    found: list[Owner] = []
    for kind, name in _NAMES.items():
        times, many = part.of(kind, rows)
        time = np.bincount(of, times, len(belong.kinds))
        launches = np.bincount(of, many, len(belong.kinds))
        sums: dict[Name, list[float]] = {}
        for position, each in enumerate(belong.kinds):
            if each == NOTHING or not launches[position] or not (named := name(each)):
                continue
            total = sums.setdefault(named, [0.0, 0.0])
            total[0] += float(launches[position])
            total[1] += float(time[position])
        found += _sorted(_owner(named, total, part) for named, total in sums.items())[:most]
    return (*found, *_functions(trace, part, rows))


def _owner(named: Name, total: list[float], part: _Weights) -> Owner:
    launches, time = total
    return Owner(*named, launches=round(launches), time=round(time), share=time / part.whole)


def _functions(trace: Trace, part: _Weights, rows: Array) -> list[Owner]:
    """Triton's functions by name, each with the line that it begins at."""
    if not trace.functions:
        return []
    of = trace.kernels["configuration"][rows]
    times, _ = part.of(FUNCTION, rows)
    sums: dict[str, list[float]] = {}
    for position in np.unique(of).tolist():
        name = function_name(trace.configurations[position].name)
        if name in trace.functions:
            mine = of == position
            total = sums.setdefault(name, [0.0, 0.0])
            total[0] += float(mine.sum())
            total[1] += float(times[mine].sum())
    return _sorted(
        _owner((FUNCTION, name, "{}:{}".format(*trace.functions[name])), total, part)
        for name, total in sums.items()
    )


def _sorted(owners: Iterable[Owner]) -> list[Owner]:
    return sorted(owners, key=lambda each: -each.time)


def _of_range(each: Belonging) -> Name | None:
    return (RANGE, each.range, "") if each.range else None


def _of_module(each: Belonging) -> Name | None:
    if not each.module.name:
        return None
    return MODULE, each.module.name + _direction(each), each.module.place


def _of_line(each: Belonging) -> Name | None:
    if not each.line:
        return None
    return LINE, re.split(r"[/\\]", each.line)[-1] + _direction(each), each.line


def _direction(each: Belonging) -> str:
    return ", backward" if each.backward else ""


def _of_operator(each: Belonging) -> Name | None:
    return (OPERATOR, each.operator, "") if each.operator else None


_NAMES: Final[dict[str, Callable[[Belonging], Name | None]]] = {
    RANGE: _of_range,
    MODULE: _of_module,
    LINE: _of_line,
    OPERATOR: _of_operator,
}
