"""The source page of ``ncu --csv``: instructions with their samples, counters and lines.

``--print-source cuda,sass`` prints a table for each kernel and file: lines, and below each the
instructions that belong to it, with ``...`` where one of another line is between them. An
instruction of an inlined function is in the tables of several lines or files. ``--print-source
sass`` prints the instructions of each kernel alone, and does so without line information, too.

The GUI copies another form: ``#,Address,Source,...``, then a row with the kernel's name.

As a capture it has no counters of whole kernels: it decides no verdict, and shows what the warps of
its kernels wait for. Put together with a page that has the counters (``diagnose --merge``), it
gives those verdicts their lines.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kernelprof.model.capture import Capture, Launch, Launches, SampledLine, sum_samples
from kernelprof.model.sampled import (
    PAGE,
    STALL_METRIC,
    STALLS,
    Counts,
    SampledCode,
    SampledInstruction,
    sum_launches,
)
from kernelprof.model.waiting import SourceLocation
from kernelprof.sources.ncu.cells import parse_number, split_cells
from kernelprof.sources.source import NoCaptureError, Source

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from kernelprof.sources.source import Input

_KERNEL: Final = "Kernel Name"
_FILE: Final = "File Path"
_FUNCTION: Final = "Function Name"
_LINE: Final = "Line No"
_ADDRESS: Final = "Address"

SAMPLES: Final = (
    "group:smsp__pcsamp_warp_stall_reasons",
    "Warp Stall Sampling (All Samples)",
    "Warp Stall Sampling (All Cycles)",
    "# Samples",
)
"""Columns with the samples of all states; the last ones in a page of ``--set full`` or of source
counters, of which earlier versions call the third one so."""
COUNTERS: Final = {
    "executed": ("Instructions Executed", "inst_executed"),
    "threads": ("Predicated-On Thread Instructions Executed", "thread_inst_executed_true"),
    "divergent": ("Divergent Branches", "smsp__branch_targets_threads_divergent"),
    "sectors": ("L2 Theoretical Sectors Global", "memory_l2_theoretical_sectors_global"),
    "ideal_sectors": (
        "L2 Theoretical Sectors Global Ideal",
        "memory_l2_theoretical_sectors_global_ideal",
    ),
    "wavefronts": ("L1 Wavefronts Shared", "memory_l1_wavefronts_shared"),
    "ideal_wavefronts": ("L1 Wavefronts Shared Ideal", "memory_l1_wavefronts_shared_ideal"),
    "local_sectors": ("L2 Theoretical Sectors Local", "memory_l2_theoretical_sectors_local"),
}
"""The columns of a counter, as they are called with a section and with ``--metrics``."""
_SHORT: Final = {
    "dispatch_stall": "dispatch", "imc_miss": "imc", "lg_throttle": "lg",
    "long_scoreboard": "long_sb", "math_pipe_throttle": "math", "mio_throttle": "mio",
    "no_instructions": "no_inst", "short_scoreboard": "short_sb", "sleeping": "sleep",
    "tex_throttle": "tex",
}  # fmt: skip
"""States that the page calls otherwise than the metrics."""
_WITHOUT_COLUMN: Final = "warpgroup_arrive"
"""The one state that a page of Nsight Compute 2025.3 counts in the sum and has no column of: what
the others leave of the sum is taken for it."""
_TARGET: Final = re.compile(r"0x[0-9a-f]{6,16}\b")
_LABEL: Final = re.compile(r"`\([^)]*\)\s*(?=0x)")
"""The label of a branch, which the package prints beside its target."""
_LARGEST_TEXT: Final = 400
"""Characters of an instruction or a line of source that are kept."""
_BEGINS: Final = re.compile(
    rb'^"File Path",.*\r?\n"Function Name",|^"Kernel Name",.*\r?\n"Address",'
    rb'|^(?:\xef\xbb\xbf)?"?#"?,"?Address"?,"?Source"?,.*\r?\n"?"?,"?"?,"?\w',
    re.MULTILINE,
)
_NO_COUNTERS: Final = (
    "A source page has no counters of whole kernels, but a verdict needs them: add the raw page "
    "of the same report with --merge."
)


@dataclass(slots=True)
class _Columns:
    """Positions in a row, counted from its end: source code is before, with any quotes."""

    width: int
    address: int
    samples: int | None
    states: dict[str, int]
    counters: dict[str, int]

    @classmethod
    def from_header(cls, cells: Sequence[str]) -> _Columns:
        """Find the columns under a header."""
        states = {
            state: _column_of(cells, f"stall_{_SHORT.get(state, state)}", f"{STALL_METRIC}{state}")
            for state in STALLS
        }
        counters = {name: _column_of(cells, *columns) for name, columns in COUNTERS.items()}
        return cls(
            len(cells),
            cells.index(_ADDRESS) - len(cells),
            _column_of(cells, *SAMPLES),
            {name: at for name, at in states.items() if at is not None},
            {name: at for name, at in counters.items() if at is not None},
        )

    def counts(self, cells: Sequence[str]) -> Counts:
        """Parse the counts in the row of an instruction."""
        states = {name: _count(cells[at]) for name, at in self.states.items()}
        stalls = {name: samples for name, samples in states.items() if samples}
        samples = _count(cells[self.samples]) if self.samples is not None else None
        if (
            self.states
            and samples is not None
            and (unexplained := samples - sum(stalls.values())) > 0
        ):
            stalls[_WITHOUT_COLUMN] = stalls.get(_WITHOUT_COLUMN, 0) + unexplained
        counters = {name: _count(cells[at]) for name, at in self.counters.items()}
        return Counts(sum(stalls.values()) if samples is None else samples, stalls, **counters)


@dataclass(slots=True)
class ReadLaunch:
    """A launch of a kernel whose tables are being read, one for each file."""

    function: str
    files: set[str] = field(default_factory=set)
    rows: dict[int, tuple[str, Counts]] = field(default_factory=dict)
    places: dict[int, list[SourceLocation]] = field(default_factory=dict)
    source: dict[SourceLocation, str] = field(default_factory=dict)

    def code(self) -> SampledCode | None:
        """Return what was read; ``None`` where it has no instruction."""
        if not self.rows:
            return None
        order = sorted(self.rows)
        first, last = order[0], order[-1]
        own = next((p[0].file for a in order if (p := self.places.get(a))), None)

        def inside(match: re.Match[str]) -> str:
            target = int(match[0], 16)
            return f"{target - first:#x}" if first <= target <= last else match[0]

        instructions = []
        called: dict[SourceLocation, tuple[SourceLocation, ...]] = {}
        for address in order:
            text, counts = self.rows[address]
            # Code that is inlined from the same file is, as a rule, above where it is used.
            places = sorted(
                set(self.places.get(address, ())), key=lambda each: (each.file != own, each)
            )
            if places and places[0].file == own:
                called.update(dict.fromkeys((p for p in places if p.file != own), (places[0],)))
            elif places:
                # Only some instructions of inlined headers have the line of the call.
                places = [*called.get(places[0], ()), *places]
            shown = _TARGET.sub(inside, _LABEL.sub("", text))[:_LARGEST_TEXT]
            instructions.append(SampledInstruction(address - first, shown, tuple(places), counts))
        used = {location for each in instructions for location in each.places}
        source = {
            location: text for location, text in self.source.items() if location in used and text
        }
        return SampledCode(self.function, tuple(instructions), source)


def read_instructions(page: Iterable[str]) -> tuple[SampledCode, ...]:
    """Parse the kernels of a page with their instructions, from its lines of text; a pure function.

    Launches of the same code are added up. Empty where the page has no instructions.
    """
    return sum_launches(code for each in _launches(page) if (code := each.code()) is not None)


def read_source_lines(page: Iterable[str]) -> tuple[SampledLine, ...]:
    """Parse the source lines of a page with their samples, from its lines of text; a pure function.

    Empty where no kernel has line information, or where no samples were collected.
    """
    return sum_samples(_source_lines(page))


def _source_lines(page: Iterable[str]) -> Iterator[SampledLine]:
    file = function = ""
    column: int | None = None
    # Instructions, nine rows in ten, have no line number.
    for cells, _ in _rows(text for text in page if not text.startswith('"",')):
        if cells[0] == _FILE:
            file, column = cells[-1], None
        elif cells[0] == _FUNCTION:
            function, column = cells[-1], None
        elif cells[0] == _LINE:
            column = _column_of(cells, *SAMPLES)
        elif column is not None and -column <= len(cells):
            line, samples = _count(cells[0]), _count(cells[column])
            if line is not None and samples is not None:
                yield SampledLine(file, function, line, samples)


def _rows(page: Iterable[str]) -> Iterator[tuple[list[str], str]]:
    """Yield the cells of each row, and its text; ncu's own lines have no quote.

    Each row by itself, so that no quote can swallow the next ones.
    """
    for text in page:
        if text.startswith('"'):
            yield split_cells(text.rstrip("\r\n").encode(), ",") or [""], text


def _column_of(header: Sequence[str], *names: str) -> int | None:
    """Return the position of the first of some columns, counted from the end of a row."""
    return next((header.index(name) - len(header) for name in names if name in header), None)


def _launches(page: Iterable[str]) -> Iterator[ReadLaunch]:
    reader = _Reader()
    for cells, text in _rows(page):
        if cells[0] in (_FUNCTION, _KERNEL):
            name = cells[1] if len(cells) > 1 else ""
            if (ended := reader.begin(name, alone=cells[0] == _KERNEL)) is not None:
                yield ended
        elif cells[0] == _FILE:
            reader.file, reader.columns = cells[1] if len(cells) > 1 else "", None
        elif cells[0] in (_LINE, _ADDRESS) and _ADDRESS in cells:
            reader.columns = _Columns.from_header(cells)
        else:
            reader.row(cells, text)
    if reader.launch is not None:
        yield reader.launch


class _Reader:
    def __init__(self) -> None:
        self.launch: ReadLaunch | None = None
        self.columns: _Columns | None = None
        self.file = ""
        self._location: SourceLocation | None = None

    def begin(self, function: str, *, alone: bool) -> ReadLaunch | None:
        """Begin a kernel's table, ``alone`` without lines; return the launch that ends there."""
        self.columns = self._location = None
        if alone:
            self.file = ""
        before = self.launch
        continues = before is not None and before.function == function
        if before is None or not continues or alone or self.file in before.files:
            self.launch = ReadLaunch(function)
        assert self.launch is not None
        self.launch.files.add(self.file)
        return None if before is self.launch else before

    def row(self, cells: Sequence[str], text: str) -> None:
        """Add a line, or an instruction that belongs to the last line."""
        launch, columns = self.launch, self.columns
        if launch is None or columns is None or len(cells) < columns.width:
            return
        at = _address(cells, columns)
        if at is not None:
            printed = cells[columns.address + 1].strip()
            launch.rows.setdefault(at, (printed, columns.counts(cells)))
            if self._location is not None:
                launch.places.setdefault(at, []).append(self._location)
        elif (number := _count(cells[0])) is not None and self.file:
            self._location = SourceLocation(self.file, number)
            # Quotes of the source are printed as they are.
            code = text.rstrip("\r\n").partition('","')[2].rsplit('","', columns.width - 2)[0]
            launch.source.setdefault(self._location, code.strip()[:_LARGEST_TEXT])


def _address(cells: Sequence[str], columns: _Columns) -> int | None:
    cell = cells[columns.address]
    try:
        return int(cell, 16) if cell.startswith("0x") and len(cell) <= 18 else None
    except ValueError:
        return None


def _count(cell: str) -> int | None:
    """Parse the count in a cell; ``None`` where there is none."""
    value = parse_number(cell)
    if value is None or math.isnan(value) or not 0 <= value <= 2**53:
        return None
    return int(value)


def recognises(target: Input) -> bool:
    """Return whether a text begins with a source page, after output of the program and ``ncu``."""
    return _BEGINS.search(target.head) is not None


def read(target: Input, _only: Container[str] | None) -> Capture:
    """Read the kernels of a page, one launch each: launches of the same code are added up."""
    code = read_instructions(_without_numbers(_lines(target)))
    if not code:
        raise NoCaptureError("the source page contains no instruction")
    launches = [Launch(str(number), each.function) for number, each in enumerate(code)]
    return Capture(
        Launches.from_sequence(launches),
        columns={},
        origin=target.origin,
        page=PAGE,
        warnings=(_NO_COUNTERS,),
        code=code,
    )


def _lines(target: Input) -> Iterator[str]:
    for block in target.blocks():
        yield from block.decode("utf-8", "replace").split("\n")


def _without_numbers(page: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a page that the GUI copied in the form of ``ncu``, others as they are."""
    header: list[str] = []
    for text in page:
        cells = split_cells(text.rstrip("\r\n").encode(), ",") or [""]
        if cells[:2] == ["#", _ADDRESS]:
            header = cells[1:]
        elif not header:
            yield text
        elif len(cells) > 2 and not cells[0] and not cells[1]:
            yield _quoted([_KERNEL, cells[2]])
            yield _quoted(header)
        elif len(cells) > 2:
            address = "".join(cells[1].split())
            yield _quoted([f"0x{address}", *cells[2:]])


def _quoted(cells: Iterable[str]) -> str:
    return ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)


SOURCE: Final = Source("source page", "the source page as CSV", 5, recognises, read)
