"""What launches belong to: NVTX ranges of the program, PyTorch's operators, modules and lines.

A launch belongs to the ranges that were open on its thread when it was launched. What PyTorch
launches backward belongs to the module and line whose forward operator has the same sequence
number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kernelprof.analysis.survey.timeline import launching_calls
from kernelprof.model.kernel_name import function_name
from kernelprof.model.survey import Owner, SurveyedKernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt

    from kernelprof.model.trace import Trace

    Array = npt.NDArray[Any]
    Name = tuple[str, str, str]

MODULE_MARK: Final = "kernelprof.module"
"""Begins the names of ranges that the survey itself pushes around calls of modules."""

LINE_MARK: Final = "kernelprof.line"
"""Begins the names of ranges that the survey itself pushes around operators."""

STOPPED: Final = "kernelprof.stopped"
"""A range of this name says that from here on no operators and modules are named."""

SEPARATOR: Final = "\x1f"
OPTIMIZER: Final = "Optimizer.step#"
_ENGINE: Final = "autograd::engine::evaluate_function: "
_BACKWARD: Final = re.compile(r"Backward\d*$")
_OPERATOR: Final = re.compile(r"[A-Za-z_][\w.]*::\w|\w+Backward\d*$|Optimizer\.\w+#")


class ModuleSite(NamedTuple):
    """A module with its class and its path in the model, and the line that calls it."""

    name: str
    location: str


class LaunchOwners(NamedTuple):
    """What one launch belongs to; what is not known is empty.

    ``operator`` is the outermost one: what the program called, and ``line`` where it did.
    """

    range: str = ""
    operator: str = ""
    line: str = ""
    module: ModuleSite = ModuleSite("", "")
    backward: bool = False


NOTHING: Final = LaunchOwners()


@dataclass(frozen=True)
class OwnersByLaunch:
    """For each kernel of a trace a position in ``kinds``.

    Operators and modules are named for a while only: ``observed`` are the launches within it.
    """

    kinds: tuple[LaunchOwners, ...]
    positions: Array
    observed: Array


def find_owners(trace: Trace) -> OwnersByLaunch:
    """Return what every kernel of a trace belongs to."""
    kinds: dict[LaunchOwners, int] = {NOTHING: 0}
    positions = np.zeros(len(trace.kernels), np.int64)
    observed = np.ones(len(trace.kernels), bool)
    if not len(trace.ranges) or not len(trace.kernels) or not len(trace.calls):
        return OwnersByLaunch(tuple(kinds), positions, observed)
    call = launching_calls(trace, trace.kernels)
    launched = call >= 0
    calls = trace.calls[np.maximum(call, 0)]
    for process, time in _stops(trace):
        observed &= (trace.kernels["process"] != process) | (calls["start"] <= time)
    forward = _Forward()
    threads = np.unique(trace.ranges[["process", "thread"]])
    # Threads that only go backward come after those with modules, whatever their numbers are.
    ordered = [_ThreadRanges(trace, *each.tolist()) for each in threads]
    for each in ordered:
        each.note_forward(forward)
    for each in ordered:
        mine = launched & (calls["process"] == each.process) & (calls["thread"] == each.thread)
        if not mine.any():
            continue
        inner = each.innermost(calls["start"][mine])
        numbers = np.zeros(len(inner), np.int64)
        for row in np.unique(inner[inner >= 0]).tolist():
            kind = each.owners_of_range(row, forward)
            numbers[inner == row] = kinds.setdefault(kind, len(kinds))
        positions[mine] = numbers
    return OwnersByLaunch(tuple(kinds), positions, observed)


def _stops(trace: Trace) -> list[tuple[int, int]]:
    marks = np.array([text == STOPPED for text in trace.texts], bool)[trace.ranges["name"]]
    rows = trace.ranges[marks]
    return list(zip(rows["process"].tolist(), rows["start"].tolist(), strict=True))


class _Forward:
    """Modules and lines of forward operators, by process and PyTorch's sequence number."""

    def __init__(self) -> None:
        self.modules: dict[tuple[int, int], ModuleSite] = {}
        self.lines: dict[tuple[int, int], str] = {}


class _ThreadRanges:
    def __init__(self, trace: Trace, process: int, thread: int) -> None:
        self.process, self.thread = process, thread
        ranges = trace.ranges
        mine = ranges[(ranges["process"] == process) & (ranges["thread"] == thread)]
        order = np.lexsort((-mine["end"], mine["start"]))
        self.rows = mine[order]
        self.names = [trace.texts[number] for number in self.rows["name"].tolist()]
        self.parents = self._parents()
        self._modules: list[ModuleSite] = []
        self._lines: list[str] = []
        self._inherit()

    def _parents(self) -> list[int]:
        parents, open_ = [], list[int]()
        ends = self.rows["end"].tolist()
        for row, start in enumerate(self.rows["start"].tolist()):
            while open_ and ends[open_[-1]] <= start:
                open_.pop()
            parents.append(open_[-1] if open_ else -1)
            open_.append(row)
        return parents

    def innermost(self, times: Array) -> Array:
        """Return the innermost range that is open at each time, -1 where none is."""
        at = np.searchsorted(self.rows["start"], times, side="right") - 1
        parents = np.array([*self.parents, -1])
        ends = np.concatenate([self.rows["end"], [np.iinfo(np.int64).max]])
        while (over := (at >= 0) & (ends[at] < times)).any():
            at[over] = parents[at[over]]
        return at

    def note_forward(self, forward: _Forward) -> None:
        """Remember the modules of the operators that will be called backward."""
        for row in np.flatnonzero(self.rows["sequence"]).tolist():
            if not self.names[row].startswith("aten::"):
                continue
            key = self.process, int(self.rows["sequence"][row])
            if (module := self.module(row)).name:
                forward.modules[key] = module
            if line := self.line(row):
                forward.lines[key] = line

    def module(self, row: int) -> ModuleSite:
        """Return the innermost module around a range."""
        return self._modules[row] if row >= 0 else NOTHING.module

    def line(self, row: int) -> str:
        """Return the line of the operator that a range is within; empty where that has none."""
        return self._lines[row] if row >= 0 else ""

    def _inherit(self) -> None:
        for name, parent in zip(self.names, self.parents, strict=True):
            mark, _, site = name.partition(SEPARATOR)
            self._modules.append(_module(name) or self.module(parent))
            self._lines.append(site if mark == LINE_MARK else self.line(parent))

    def owners_of_range(self, row: int, forward: _Forward) -> LaunchOwners:
        """Return what is launched within this range, directly, belongs to all of this."""
        owners = NOTHING
        module, line, at = self.module(row), self.line(row), row
        while at >= 0:
            name = self.names[at]
            sequence = int(self.rows["sequence"][at])
            if name.startswith((MODULE_MARK, LINE_MARK)):
                pass
            elif _OPERATOR.match(name):
                owners = owners._replace(operator=name.removeprefix(_ENGINE))
                if _BACKWARD.search(name):
                    owners = owners._replace(backward=True)
                    module = forward.modules.get((self.process, sequence), module)
                    line = forward.lines.get((self.process, sequence), line)
            elif name and not owners.range:
                owners = owners._replace(range=name)
            at = self.parents[at]
        return owners._replace(module=module, line=line)


def _module(name: str) -> ModuleSite | None:
    """``kernelprof.module``, a class, a path and a place, as the survey has them pushed."""
    match name.split(SEPARATOR):
        case [mark, kind, path, place] if mark == MODULE_MARK:
            return ModuleSite(f"{path} ({kind})" if path else kind, place)
    return None


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
    """Return a number for each kernel of the trace, by name, grid and block, and what these are."""
    positions: dict[Any, int] = {}
    numbers = [
        positions.setdefault((each.name, each.grid, each.block), len(positions))
        for each in trace.configurations
    ]
    return np.array(numbers, np.int64)[trace.kernels["configuration"]], list(positions)


def surveyed(trace: Trace) -> tuple[tuple[SurveyedKernel, ...], tuple[Owner, ...]]:
    """Return all kernels of a trace in their configurations, and all that they belong to."""
    rows = trace.kernels
    if not len(rows):
        return (), ()
    times = rows["end"] - rows["start"]
    whole = int(times.sum()) or 1
    numbers, kinds = kernel_numbers(trace)
    belong = find_owners(trace)
    part = _LaunchWeights(times, _represented_time(numbers, times, belong.observed))
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
    return tuple(kernels), _merge_layers(_owners(trace, belong, part, every))


def _merge_layers(owners: tuple[Owner, ...]) -> tuple[Owner, ...]:
    """Modules that differ by their number in a list alone as one: ``layers.*.linear1``."""
    layers: dict[Name, list[Owner]] = {}
    for each in owners:
        name = _NUMBER.sub(".*", each.name) if each.kind == MODULE else each.name
        layers.setdefault((each.kind, name, each.place), []).append(each)
    united = [
        Owner(
            kind,
            name,
            site,
            sum(each.launches for each in parts),
            sum(each.time for each in parts),
            sum(each.share for each in parts),
        )
        for (kind, name, site), parts in layers.items()
    ]
    return tuple(sorted(united, key=lambda each: (KINDS.index(each.kind), -each.time)))


class _LaunchWeights(NamedTuple):
    """Time of each launch, and how many launches it stands for where only some were observed."""

    time: Array
    launches: Array

    def weigh(self, kind: str, rows: Array) -> tuple[Array, Array]:
        """Return times and numbers of launches; those of the program's own ranges are all known."""
        times, many = self.time[rows], self.launches[rows]
        return (times, np.ones(len(rows))) if kind in (RANGE, FUNCTION) else (times * many, many)

    @property
    def whole(self) -> int:
        return int(self.time.sum()) or 1


def _represented_time(numbers: Array, times: Array, observed: Array) -> Array:
    """For each observed launch the part of its kernel's time that it stands for; others have 0."""
    every = np.bincount(numbers, times)
    seen = np.bincount(numbers, times * observed)
    factor = np.divide(every, seen, out=np.zeros(len(every)), where=seen > 0)
    represented: Array = factor[numbers] * observed
    return represented


def _owners(
    trace: Trace, belong: OwnersByLaunch, part: _LaunchWeights, rows: Array, most: int | None = None
) -> tuple[Owner, ...]:
    positions = belong.positions[rows]
    owners: list[Owner] = []
    for kind, name in _NAMES.items():
        times, many = part.weigh(kind, rows)
        time = np.bincount(positions, times, len(belong.kinds))
        launches = np.bincount(positions, many, len(belong.kinds))
        sums: dict[Name, list[float]] = {}
        for position, each in enumerate(belong.kinds):
            if each == NOTHING or not launches[position] or not (owner_name := name(each)):
                continue
            total = sums.setdefault(owner_name, [0.0, 0.0])
            total[0] += float(launches[position])
            total[1] += float(time[position])
        owners += _by_time(_owner(owner_name, total, part) for owner_name, total in sums.items())[
            :most
        ]
    return (*owners, *_functions(trace, part, rows))


def _owner(name: Name, total: list[float], part: _LaunchWeights) -> Owner:
    launches, time = total
    return Owner(*name, launches=round(launches), time=round(time), share=time / part.whole)


def _functions(trace: Trace, part: _LaunchWeights, rows: Array) -> list[Owner]:
    """Triton's functions by name, each with the line that it begins at."""
    if not trace.functions:
        return []
    configurations = trace.kernels["configuration"][rows]
    times, _ = part.weigh(FUNCTION, rows)
    sums: dict[str, list[float]] = {}
    for position in np.unique(configurations).tolist():
        name = function_name(trace.configurations[position].name)
        if name in trace.functions:
            mine = configurations == position
            total = sums.setdefault(name, [0.0, 0.0])
            total[0] += float(mine.sum())
            total[1] += float(times[mine].sum())
    return _by_time(
        _owner((FUNCTION, name, "{}:{}".format(*trace.functions[name])), total, part)
        for name, total in sums.items()
    )


def _by_time(owners: Iterable[Owner]) -> list[Owner]:
    return sorted(owners, key=lambda each: -each.time)


def _name_range(each: LaunchOwners) -> Name | None:
    return (RANGE, each.range, "") if each.range else None


def _name_module(each: LaunchOwners) -> Name | None:
    if not each.module.name:
        return None
    return MODULE, each.module.name + _direction(each), each.module.location


def _name_line(each: LaunchOwners) -> Name | None:
    if not each.line:
        return None
    return LINE, re.split(r"[/\\]", each.line)[-1] + _direction(each), each.line


def _direction(each: LaunchOwners) -> str:
    return ", backward" if each.backward else ""


def _name_operator(each: LaunchOwners) -> Name | None:
    return (OPERATOR, each.operator, "") if each.operator else None


_NAMES: Final[dict[str, Callable[[LaunchOwners], Name | None]]] = {
    RANGE: _name_range,
    MODULE: _name_module,
    LINE: _name_line,
    OPERATOR: _name_operator,
}
