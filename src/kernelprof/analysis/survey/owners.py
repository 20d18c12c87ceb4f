"""What launches belong to: NVTX ranges of the program, PyTorch's operators, modules and lines.

A launch belongs to the ranges that were open on its thread when it was launched. What PyTorch
launches backward belongs to the module and line whose forward operator has the same sequence
number.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kernelprof.analysis.survey.timeline import find_launching_calls
from kernelprof.model.kernel_name import function_name
from kernelprof.model.survey import Owner, SurveyedKernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy.typing as npt

    from kernelprof.model.trace import Trace

    Array = npt.NDArray[Any]
    Name = tuple[str, str, str]
    """The kind of an owner, its name and where it is in the source."""

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


RANGE: Final = "range"
MODULE: Final = "module"
LINE: Final = "line"
OPERATOR: Final = "operator"
FUNCTION: Final = "function"
KINDS: Final = (RANGE, MODULE, LINE, OPERATOR, FUNCTION)
"""What launches can belong to; in this order they are shown."""

_NUMBER: Final = re.compile(r"\.\d+(?=\.|$| )")
_OWNERS_SHOWN: Final = 3


class ModuleSite(NamedTuple):
    """A module with its class and its path in the model, and the line that calls it."""

    name: str = ""
    location: str = ""


class LaunchOwners(NamedTuple):
    """What one launch belongs to; what is not known is empty.

    ``operator`` is the outermost one: what the program called, and ``line`` where it did.
    """

    range: str = ""
    operator: str = ""
    line: str = ""
    module: ModuleSite = ModuleSite()
    backward: bool = False

    def names(self) -> Iterator[Name]:
        """Yield the owners that are known."""
        direction = ", backward" if self.backward else ""
        if self.range:
            yield RANGE, self.range, ""
        if self.module.name:
            yield MODULE, self.module.name + direction, self.module.location
        if self.line:
            yield LINE, re.split(r"[/\\]", self.line)[-1] + direction, self.line
        if self.operator:
            yield OPERATOR, self.operator, ""


class OwnersByLaunch(NamedTuple):
    """For each kernel of a trace a position in ``kinds``.

    Operators and modules are named for a while only: ``observed`` are the launches within it.
    """

    kinds: tuple[LaunchOwners, ...]
    positions: Array
    observed: Array


def find_owners(trace: Trace) -> OwnersByLaunch:
    """Return what every kernel of a trace belongs to."""
    kinds: dict[LaunchOwners, int] = {LaunchOwners(): 0}
    positions = np.zeros(len(trace.kernels), np.int64)
    observed = np.ones(len(trace.kernels), bool)
    if not len(trace.ranges) or not len(trace.kernels) or not len(trace.calls):
        return OwnersByLaunch(tuple(kinds), positions, observed)
    call = find_launching_calls(trace, trace.kernels)
    launched = call >= 0
    calls = trace.calls[np.maximum(call, 0)]
    stops = np.array([text == STOPPED for text in trace.texts], bool)[trace.ranges["name"]]
    for stop in trace.ranges[stops]:
        observed &= (trace.kernels["process"] != stop["process"]) | (
            calls["start"] <= stop["start"]
        )
    threads = [
        _ThreadRanges(trace, *each.tolist())
        for each in np.unique(trace.ranges[["process", "thread"]])
    ]
    # Threads that only go backward come after those with modules, whatever their numbers are.
    forward = _Forward()
    for thread in threads:
        thread.note_forward(forward)
    for thread in threads:
        mine = launched & (calls["process"] == thread.process) & (calls["thread"] == thread.thread)
        if not mine.any():
            continue
        inner = thread.innermost(calls["start"][mine])
        numbers = np.zeros(len(inner), np.int64)
        for row in np.unique(inner[inner >= 0]).tolist():
            kind = thread.owners_of_range(row, forward)
            numbers[inner == row] = kinds.setdefault(kind, len(kinds))
        positions[mine] = numbers
    return OwnersByLaunch(tuple(kinds), positions, observed)


class _Forward:
    """Modules and lines of forward operators, by process and PyTorch's sequence number."""

    def __init__(self) -> None:
        self.modules: dict[tuple[int, int], ModuleSite] = {}
        self.lines: dict[tuple[int, int], str] = {}


class _ThreadRanges:
    """The ranges of a thread, the outer ones first; ``modules`` and ``lines`` are those around."""

    def __init__(self, trace: Trace, process: int, thread: int) -> None:
        self.process, self.thread = process, thread
        ranges = trace.ranges
        mine = ranges[(ranges["process"] == process) & (ranges["thread"] == thread)]
        self.rows = mine[np.lexsort((-mine["end"], mine["start"]))]
        self.names = [trace.texts[number] for number in self.rows["name"].tolist()]
        self.parents = self._parents()
        # The last entry is that of parent -1: nothing.
        self.modules = [ModuleSite()] * (len(self.names) + 1)
        self.lines = [""] * (len(self.names) + 1)
        for row, (name, parent) in enumerate(zip(self.names, self.parents, strict=True)):
            mark, _, site = name.partition(SEPARATOR)
            self.modules[row] = _module(name) or self.modules[parent]
            self.lines[row] = site if mark == LINE_MARK else self.lines[parent]

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
        """Remember modules and lines of the operators that will be called backward."""
        for row in np.flatnonzero(self.rows["sequence"]).tolist():
            key = self.process, int(self.rows["sequence"][row])
            if not self.names[row].startswith("aten::"):
                continue
            if self.modules[row].name:
                forward.modules[key] = self.modules[row]
            if self.lines[row]:
                forward.lines[key] = self.lines[row]

    def owners_of_range(self, row: int, forward: _Forward) -> LaunchOwners:
        """Return what is launched within this range, directly, belongs to all of this."""
        range_name = operator = ""
        backward = False
        module, line, at = self.modules[row], self.lines[row], row
        while at >= 0:
            name = self.names[at]
            if name.startswith((MODULE_MARK, LINE_MARK)):
                pass
            elif _OPERATOR.match(name):
                operator = name.removeprefix(_ENGINE)
                if _BACKWARD.search(name):
                    backward = True
                    key = self.process, int(self.rows["sequence"][at])
                    module = forward.modules.get(key, module)
                    line = forward.lines.get(key, line)
            else:
                range_name = range_name or name
            at = self.parents[at]
        return LaunchOwners(range_name, operator, line, module, backward)


def _module(name: str) -> ModuleSite | None:
    """``kernelprof.module``, a class, a path and a place, as the survey has them pushed."""
    match name.split(SEPARATOR):
        case [mark, kind, path, place] if mark == MODULE_MARK:
            return ModuleSite(f"{path} ({kind})" if path else kind, place)
    return None


def kernel_numbers(trace: Trace) -> tuple[Array, list[Any]]:
    """Return a number for each kernel of the trace, by name, grid and block, and what these are."""
    positions: dict[Any, int] = {}
    numbers = [
        positions.setdefault((each.name, each.grid, each.block), len(positions))
        for each in trace.configurations
    ]
    return np.array(numbers, np.int64)[trace.kernels["configuration"]], list(positions)


def summarize_kernels(trace: Trace) -> tuple[tuple[SurveyedKernel, ...], tuple[Owner, ...]]:
    """Return all kernels of a trace in their configurations, and all that they belong to."""
    rows = trace.kernels
    if not len(rows):
        return (), ()
    times = rows["end"] - rows["start"]
    whole = int(times.sum()) or 1
    numbers, kinds = kernel_numbers(trace)
    owners = _OwnerTimes(trace, numbers, times)
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
                owners=owners.of_launches(mine, most=_OWNERS_SHOWN),
            )
        )
    kernels.sort(key=lambda each: -each.time)
    return tuple(kernels), _merge_layers(owners.of_launches(np.arange(len(rows))))


def _merge_layers(owners: Iterable[Owner]) -> tuple[Owner, ...]:
    """Modules that differ by their number in a list alone as one: ``layers.*.linear1``."""
    layers: dict[Name, list[Owner]] = defaultdict(list)
    for each in owners:
        name = _NUMBER.sub(".*", each.name) if each.kind == MODULE else each.name
        layers[each.kind, name, each.place].append(each)
    united = [
        Owner(
            *name,
            launches=sum(each.launches for each in parts),
            time=sum(each.time for each in parts),
            share=sum(each.share for each in parts),
        )
        for name, parts in layers.items()
    ]
    return tuple(sorted(united, key=lambda each: (KINDS.index(each.kind), -each.time)))


class _OwnerTimes:
    """What launches belong to, with time and number of the launches of each owner.

    Where only some launches were observed, these stand for the others of their kernel. The
    program's own ranges and Triton's functions are known of all.
    """

    def __init__(self, trace: Trace, numbers: Array, times: Array) -> None:
        belonging = find_owners(trace)
        every = np.bincount(numbers, times)
        seen = np.bincount(numbers, times * belonging.observed)
        factor = np.divide(every, seen, out=np.zeros(len(every)), where=seen > 0)
        represented = factor[numbers] * belonging.observed
        all_known = times, np.ones(len(times))
        observed = times * represented, represented
        self._weights = {
            kind: all_known if kind in (RANGE, FUNCTION) else observed for kind in KINDS
        }
        self._whole = int(times.sum()) or 1
        self._groups: list[tuple[Array, Sequence[list[Name]]]] = [
            (belonging.positions, [list(each.names()) for each in belonging.kinds]),
            (
                trace.kernels["configuration"],
                [_triton_function(trace, each.name) for each in trace.configurations],
            ),
        ]

    def of_launches(self, rows: Array, most: int | None = None) -> tuple[Owner, ...]:
        """Return the owners of some launches, of each kind those with the ``most`` time."""
        totals: dict[Name, list[float]] = {}
        for positions, names in self._groups:
            sums = {
                kind: [np.bincount(positions[rows], each[rows], len(names)) for each in weights]
                for kind, weights in self._weights.items()
            }
            for position, names_there in enumerate(names):
                for name in names_there:
                    time, launches = (float(each[position]) for each in sums[name[0]])
                    if launches:
                        total = totals.setdefault(name, [0.0, 0.0])
                        total[0] += time
                        total[1] += launches
        owners = [
            Owner(*name, launches=round(launches), time=round(time), share=time / self._whole)
            for name, (time, launches) in totals.items()
        ]
        owners.sort(key=lambda each: -each.time)
        by_kind = [[each for each in owners if each.kind == kind][:most] for kind in KINDS]
        return tuple(chain.from_iterable(by_kind))


def _triton_function(trace: Trace, kernel: str) -> list[Name]:
    """A function of Triton's with the line that it begins at; empty for another kernel."""
    name = function_name(kernel)
    if name not in trace.functions:
        return []
    return [(FUNCTION, name, "{}:{}".format(*trace.functions[name]))]
