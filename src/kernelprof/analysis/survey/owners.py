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

from kernelprof.analysis.survey.calls import launching

if TYPE_CHECKING:
    import numpy.typing as npt

    from kernelprof.model.trace import Trace

    Array = npt.NDArray[Any]

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


class Place(NamedTuple):
    """A module with its class and its path in the model, and the line that calls it."""

    name: str
    place: str


class Belonging(NamedTuple):
    """What one launch belongs to; what is not known is empty.

    ``operator`` is the outermost one: what the program called, and ``line`` where it did.
    """

    range: str = ""
    operator: str = ""
    line: str = ""
    module: Place = Place("", "")
    backward: bool = False


NOTHING: Final = Belonging()


@dataclass(frozen=True)
class Belongings:
    """For each kernel of a trace a position in ``kinds``.

    Operators and modules are named for a while only: ``observed`` are the launches within it.
    """

    kinds: tuple[Belonging, ...]
    of: Array
    observed: Array


def belongings(trace: Trace) -> Belongings:
    """What every kernel of a trace belongs to."""
    kinds: dict[Belonging, int] = {NOTHING: 0}
    of = np.zeros(len(trace.kernels), np.int64)
    observed = np.ones(len(trace.kernels), bool)
    if not len(trace.ranges) or not len(trace.kernels) or not len(trace.calls):
        return Belongings(tuple(kinds), of, observed)
    call = launching(trace, trace.kernels)
    known = call >= 0
    calls = trace.calls[np.maximum(call, 0)]
    for process, time in _stops(trace):
        observed &= (trace.kernels["process"] != process) | (calls["start"] <= time)
    forward = _Forward()
    threads = np.unique(trace.ranges[["process", "thread"]])
    # Threads that only go backward come after those with modules, whatever their numbers are.
    ordered = [_OfThread(trace, *each.tolist()) for each in threads]
    for each in ordered:
        each.note_forward(forward)
    for each in ordered:
        mine = known & (calls["process"] == each.process) & (calls["thread"] == each.thread)
        if not mine.any():
            continue
        inner = each.innermost(calls["start"][mine])
        numbers = np.zeros(len(inner), np.int64)
        for row in np.unique(inner[inner >= 0]).tolist():
            kind = each.belonging(row, forward)
            numbers[inner == row] = kinds.setdefault(kind, len(kinds))
        of[mine] = numbers
    return Belongings(tuple(kinds), of, observed)


def _stops(trace: Trace) -> list[tuple[int, int]]:
    """Processes that stopped naming operators and modules, and when."""
    marks = np.array([text == STOPPED for text in trace.texts], bool)[trace.ranges["name"]]
    rows = trace.ranges[marks]
    return list(zip(rows["process"].tolist(), rows["start"].tolist(), strict=True))


class _Forward:
    """Modules and lines of forward operators, by process and PyTorch's sequence number."""

    def __init__(self) -> None:
        self.modules: dict[tuple[int, int], Place] = {}
        self.lines: dict[tuple[int, int], str] = {}


class _OfThread:
    """The ranges of one thread, each with the one around it."""

    def __init__(self, trace: Trace, process: int, thread: int) -> None:
        self.process, self.thread = process, thread
        ranges = trace.ranges
        mine = ranges[(ranges["process"] == process) & (ranges["thread"] == thread)]
        order = np.lexsort((-mine["end"], mine["start"]))
        self.rows = mine[order]
        self.names = [trace.texts[number] for number in self.rows["name"].tolist()]
        self.parents = self._parents()
        self._modules: list[Place] = []
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
        """The innermost range that is open at each time, -1 where none is."""
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

    def module(self, row: int) -> Place:
        """The innermost module around a range."""
        return self._modules[row] if row >= 0 else NOTHING.module

    def line(self, row: int) -> str:
        """The line of the operator that a range is within; empty where that has none."""
        return self._lines[row] if row >= 0 else ""

    def _inherit(self) -> None:
        """Modules and lines of all ranges, each of which comes after those around it."""
        for name, parent in zip(self.names, self.parents, strict=True):
            mark, _, place = name.partition(SEPARATOR)
            self._modules.append(_module(name) or self.module(parent))
            self._lines.append(place if mark == LINE_MARK else self.line(parent))

    def belonging(self, row: int, forward: _Forward) -> Belonging:
        """What is launched within this range, directly, belongs to all of this."""
        found = NOTHING
        module, line, at = self.module(row), self.line(row), row
        while at >= 0:
            name = self.names[at]
            sequence = int(self.rows["sequence"][at])
            if name.startswith((MODULE_MARK, LINE_MARK)):
                pass
            elif _OPERATOR.match(name):
                found = found._replace(operator=name.removeprefix(_ENGINE))
                if _BACKWARD.search(name):
                    found = found._replace(backward=True)
                    module = forward.modules.get((self.process, sequence), module)
                    line = forward.lines.get((self.process, sequence), line)
            elif name and not found.range:
                found = found._replace(range=name)
            at = self.parents[at]
        return found._replace(module=module, line=line)


def _module(name: str) -> Place | None:
    """``kernelprof.module``, a class, a path and a place, as the survey has them pushed."""
    match name.split(SEPARATOR):
        case [mark, kind, path, place] if mark == MODULE_MARK:
            return Place(f"{path} ({kind})" if path else kind, place)
    return None
