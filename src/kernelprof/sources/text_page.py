"""The text page: what ``ncu`` prints without ``--csv``, wherever it was pasted.

It is in logs between lines of the program, indented in Markdown or reStructuredText, quoted or
commented out, behind the time and the rank that a scheduler puts before each line, in the outputs
of a notebook. A line that ends with the stream of a launch begins that launch, and each table under
a ``Section:`` is one of labels, units and values, as on the details page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.sources.details_page import LabelledMetrics
from kernelprof.sources.ncu.cells import IDENTITY_COLUMNS, scale_of
from kernelprof.sources.ncu.metric_names import is_left_out, raw_name
from kernelprof.sources.ncu.rule_messages import recognise_message
from kernelprof.sources.source import LARGEST_TEXT, MOST_KINDS, too_many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kernelprof.model.capture import Capture
    from kernelprof.sources.ncu.tables import Scan

_SIZES: Final = r"\((?P<grid>\d+, *\d+, *\d+)\) *x *\((?P<block>\d+, *\d+, *\d+)\)"
_LAUNCH: Final = re.compile(
    rf"(?:{_SIZES}|\d{{4}}-\w{{3}}-\d\d \d\d:\d\d:\d\d)"
    r"(?=, (?:Context|Device) \d)"  # programs, too, write sizes and dates at the end of a line
    r"(?:, Context (?P<context>\d+), Stream (?P<stream>\d+))?"
    r"(?:, Device (?P<device>\d+), CC (?P<capability>\d+\.\d+))?"
    r"(?:, Invocations (?P<invocations>\d+))?$"
)
_PROCESS: Final = re.compile(r"\[(?P<id>\d+)\] (?P<name>.+)@(?P<host>[^\s@]+)$")
_SECTION: Final = re.compile(r"Section: (?P<name>\S.*)$")
_RULE: Final = re.compile(r"-{4,}(?: +-{4,}){1,4}$")
_MESSAGE: Final = re.compile(r"(?P<kind>OPT|INF|WRN|WARN|ERR) {1,4}(?P<text>\S.*)$")
_LOOSE_ROW: Final = re.compile(r"(?P<label>\S.*?)(?: {2,}(?P<unit>\S+))? {2,}(?P<value>\S.*)$")
_QUOTED: Final = re.compile(r"^[ \t]*(?:>[ \t]?)+")
_HEADING: Final = "Metric Name"
_COLUMN_TITLES: Final = re.compile(r"Metric Name +Metric Unit +Metric Value$")
_TITLE: Final = re.compile(r"#{1,6} +(?P<title>\S.*)$")
_UNNAMED: Final = "unnamed kernel"
_WIDEST_ROW: Final = 400
_DECIMAL_COMMA: Final = re.compile(r"\d{1,3}(?:\.?\d{3})*,\d{1,2}")
"""A value that only a locale with decimal commas writes: ``ncu`` groups digits by threes."""
_AVERAGED: Final = (
    "This page has only averages over the launches of each kernel (--print-summary): launches "
    "that differ are averaged together, and shares of time count each kernel as one launch."
)
_CHUNK_BYTES: Final = 1 << 20
_MOST_LINES: Final = 4_000_000
"""Lines of a text that is looked through: 64 MB as ``ncu`` prints them have a million."""
_MOST_ROWS: Final = 2_000_000
"""Rows of all launches, of which each takes a few hundred bytes."""
_LONGEST_LINE: Final = 1 << 15
"""Characters of a line that is looked at; the name of a kernel takes a few thousand."""


def may_hold_text_page(text: bytes) -> bool:
    """Return whether a text has a section of a text page."""
    has_section = b"Section: " in text or b"Metric Value" in text
    return has_section and len(text) <= LARGEST_TEXT and text.count(b"\n") <= _MOST_LINES


def read_text_page(text: bytes, origin: str, scan: Scan) -> Capture | None:
    """Read the launches of a text; ``None`` where it has none."""
    page = _TextPageParser()
    notebook = _notebook_cells(text)
    for line in _unmarked(lambda: _lines(text, notebook)):
        page.add(line)
        if len(page.launches) > MOST_KINDS:
            raise too_many("launches", MOST_KINDS)
        if len(page.rows) > _MOST_ROWS:
            raise too_many("rows of metrics", _MOST_ROWS)
    return page.capture(origin, scan)


def _unmarked(lines: Callable[[], Iterator[str]]) -> Iterator[str]:
    """Yield the lines without the mark before each of them: a comment sign, a time, a rank.

    It is what all sections have before them; digits in it may differ.
    """
    marks: set[str] = set()
    for line in lines():
        if "Section: " in line and len(line) <= _LONGEST_LINE:
            marks.add(_mark_of(line))
        if len(marks) > 1:
            break
    if len(marks) != 1 or marks == {""}:
        yield from lines()
        return
    mark = re.compile(rf"[ \t]*{marks.pop()}")
    for line in lines():
        match = mark.match(line[:_LONGEST_LINE])
        yield line[match.end() :] if match else line


def _mark_of(line: str) -> str:
    before = line.partition("Section: ")[0].strip().strip(">").strip()
    return re.sub(r"\d+", r"\\d+", re.escape(before))


def _notebook_cells(text: bytes) -> list[Any] | None:
    if text[:_LONGEST_LINE].lstrip()[:1] != b"{":
        return None
    from kernelprof.model.records import RecordError, read_object

    try:
        cells = read_object(text.decode("utf-8", "replace")).get("cells")
    except RecordError:
        return None
    return cells if isinstance(cells, list) else None


def _lines(text: bytes, notebook: list[Any] | None) -> Iterator[str]:
    """Yield the lines of a text, or of the outputs and the Markdown of a notebook.

    All lines of a long text take thirty times its memory, so it is taken piece by piece.
    """
    if notebook is not None:
        for each in _cell_texts(notebook):
            yield from each.splitlines()
        return
    start = 0
    while start < len(text):
        end = text.find(b"\n", start + _CHUNK_BYTES) + 1 or len(text)
        yield from text[start:end].decode("utf-8", "replace").splitlines()
        start = end


def _cell_texts(cell: Any) -> Iterator[str]:
    if isinstance(cell, str):
        yield cell
    elif isinstance(cell, list) and all(isinstance(each, str) for each in cell):
        yield "".join(cell)
    elif isinstance(cell, list | dict):
        for each in cell.values() if isinstance(cell, dict) else cell:
            yield from _cell_texts(each)


def _is_label(label: str, unit: str) -> bool:
    return raw_name(label, scale_of(unit).unit) is not None or is_left_out(label)


@dataclass(slots=True)
class _TextPageParser:
    launches: list[dict[str, str]] = field(default_factory=list)
    rows: list[tuple[int, str, str, str, str, str]] = field(default_factory=list)
    """The launch of each row, its section, label, unit and value, and the message of a rule."""
    process: dict[str, str] = field(default_factory=dict)
    section: str = ""
    columns: list[tuple[int, int]] = field(default_factory=list)
    """Where the columns of the open table begin and end; none where no table is open."""
    has_rows: bool = False
    """Whether the open table has rows yet."""
    indent: int = 0
    message: list[str] = field(default_factory=list)
    averaged: bool = False
    """Whether some launches are means of several (``--print-summary``)."""
    last_text: str = ""
    """The last line that was not understood: a name may be alone above its sizes."""
    ruled: list[tuple[int, int]] = field(default_factory=list)
    """Where the columns would be of a table that the last line of dashes opened."""
    title: str = ""
    """The last heading of Markdown."""
    fragment: str | None = None
    """The title of tables without the line of a launch; ``None`` where they have one."""

    def add(self, line: str) -> None:
        """Add the next line."""
        if len(line) > _LONGEST_LINE:
            return
        line = _QUOTED.sub("", line).expandtabs().rstrip()
        text = line.strip()
        if self.message and self._continues_message(line, text):
            self.message.append(text)
            return
        self._end_message()
        if self._read_heading(text):
            return
        if match := _SECTION.match(text):
            self._begin_fragment("" if self.launches else self.title)
            self.section, self.columns = match["name"], []
        elif _RULE.match(text):
            self._add_rule(line)
        elif not self.section and self.ruled and _COLUMN_TITLES.match(text):
            self._begin_fragment(self.title)
            self.columns, self.has_rows = self.ruled, False
        elif self.section and (match := _MESSAGE.match(text)):
            self.columns = []
            self.indent = len(line) - len(line.lstrip())
            self.message = [match["text"]]
        elif self.columns and text and not text.startswith(_HEADING):
            self._add_row(line, text)
        elif text:
            self.last_text = text
            if match := _TITLE.match(text):
                self.title = match["title"]

    def _read_heading(self, text: str) -> bool:
        if match := _PROCESS.match(text):
            self.process = {
                "Process ID": match["id"],
                "Process Name": match["name"],
                "Host Name": match["host"],
            }
            return True
        match = _LAUNCH.search(text)
        if match is None:
            return False
        cells = match.groupdict(default="")
        name = text[: match.start()].rstrip(" ,")
        self._begin_launch(name or self.last_text, cells)
        self.averaged |= cells["invocations"] not in {"", "1"}
        self.fragment = None
        return True

    def _begin_launch(self, name: str, cells: dict[str, str]) -> None:
        self.launches.append(
            {
                **self.process,
                "ID": str(len(self.launches)),
                "Kernel Name": name,
                "Context": cells.get("context", ""),
                "Stream": cells.get("stream", ""),
                "Block Size": f"({cells['block']})" if cells.get("block") else "",
                "Grid Size": f"({cells['grid']})" if cells.get("grid") else "",
                "Device": cells.get("device", ""),
                "CC": cells.get("capability", ""),
            }
        )
        self.section, self.columns, self.last_text = "", [], ""

    def _add_rule(self, line: str) -> None:
        """Take a line of dashes: it opens a table, is under its heading, or closes it."""
        closes = bool(self.columns) and self.has_rows
        self.ruled = [] if closes else [each.span() for each in re.finditer("-+", line)]
        # Outside of a section only a table with the titles of ncu's is one of its.
        self.columns = self.ruled if self.section or self.columns else []
        self.has_rows = False

    def _begin_fragment(self, title: str) -> None:
        """Begin a launch for tables that were pasted without the line of their launch.

        Without a section around them, those under another ``title`` are of another one.
        """
        if not self.launches or (self.fragment is not None and title not in {"", self.fragment}):
            self.fragment = title
            self._begin_launch(title or _UNNAMED, {})

    def _add_row(self, line: str, text: str) -> None:
        """Add a row, split by the columns of its table, or by wide gaps if it is out of line."""
        cells = [line[start:end].strip() for start, end in self.columns]
        edges = [0, *(edge for span in self.columns for edge in span), len(line)]
        between = (line[edges[at] : edges[at + 1]] for at in range(0, len(edges), 2))
        if "".join(between).strip():
            match = _LOOSE_ROW.match(text) if len(text) <= _WIDEST_ROW else None
            cells = [] if match is None else [match["label"], match["unit"] or "", match["value"]]
            if not cells or not _is_label(*cells[:2]):
                return  # a line of the program
        label, unit, value = cells[0], cells[1] if len(cells) > 2 else "", cells[-1]
        self.has_rows = True
        self.rows.append((len(self.launches) - 1, self.section, label, unit, value, ""))

    def _continues_message(self, line: str, text: str) -> bool:
        """Return whether a line continues a message: ``ncu`` indents it further."""
        return bool(text) and len(line) - len(line.lstrip()) > self.indent

    def _end_message(self) -> None:
        if self.message:
            text = " ".join(self.message)
            self.rows.append((len(self.launches) - 1, self.section, "", "", "", text))
            self.message = []

    def capture(self, origin: str, scan: Scan) -> Capture | None:
        """Return the capture of everything that was added, under the names of the raw page."""
        self._end_message()
        with_metrics = {launch for launch, _, label, *_ in self.rows if label}
        if not with_metrics:
            return None
        european = any(_DECIMAL_COMMA.fullmatch(value) for *_, value, _ in self.rows)
        page = LabelledMetrics(IDENTITY_COLUMNS, "," if european else ".")
        for launch, *metric, message in self.rows:
            if launch in with_metrics:
                identity = tuple(self.launches[launch].get(name, "") for name in IDENTITY_COLUMNS)
                rule = recognise_message(message) if message else ""
                page.add_row(identity, (*metric, rule, message))
        capture = page.capture(origin, scan, silence_means_nothing=True)
        if all(np.isnan(column.values).all() for column in capture.columns.values()):
            return None
        if not self.averaged:
            return capture
        return replace(capture, warnings=(*capture.warnings, _AVERAGED))
