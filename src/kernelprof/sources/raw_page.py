"""The raw page: one row a launch, one column a metric, a row of units under the header."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.model.capture import DEVICE_NAME
from kernelprof.sources.ncu.cells import depends_on_unit, is_identity, scale_of
from kernelprof.sources.ncu.columns import (
    CaptureBuilder,
    Selection,
    columns_of_rows,
    table_decimal,
)
from kernelprof.sources.ncu.metric_names import describe_left_out, todays_name, unit_of
from kernelprof.sources.source import NoCaptureError

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from kernelprof.model.capture import Capture
    from kernelprof.sources.ncu.blocks import BlockParser
    from kernelprof.sources.ncu.cells import Header
    from kernelprof.sources.ncu.columns import TableColumns
    from kernelprof.sources.ncu.tables import CsvTable, Scan

    Key = tuple[Header, tuple[str, ...] | None]

_TEXT_COLUMNS: Final = frozenset(
    {
        "launch__kernel_name", "launch__tpc_enabled", "launch__func_cache_config",
        "launch__cluster_scheduling_policy", "device__attribute_confidential_computing_mode",
        DEVICE_NAME,
    }
)  # fmt: skip
"""Names that hold text even where every cell looks like a number or is empty."""
_WORKERS: Final = 2
"""Blocks that are parsed at a time; reading what they hold leaves more processors little to do."""

WORTH_A_BLOCK: Final = 1 << 20
"""Bytes from which loading the parser of whole blocks costs less than it saves."""


@dataclass(slots=True)
class _Layout:
    selection: Selection
    decimal: str = ""
    """The decimal mark, once rows were looked at."""
    parser: BlockParser | None = None


class RawPage:
    """Reads the rows of raw pages; each of them is a launch.

    ``only`` names the metrics to read: of a wide export most are nobody's concern.
    """

    def __init__(self, only: Container[str] | None = None) -> None:
        self._only = only
        self._builder = CaptureBuilder()
        self._layouts: dict[Key, _Layout] = {}
        self._workers: ThreadPoolExecutor | None = None

    def __len__(self) -> int:
        return len(self._builder)

    def parse(self, table: CsvTable, block: bytes) -> Callable[[], TableColumns | None] | None:
        """Start to parse a block of rows of this table, if nothing else is in it."""
        if len(block) < WORTH_A_BLOCK or table.units is None:
            return None
        layout = self._layout(table)
        if layout.decimal == ",":
            return None
        if layout.parser is None:
            from kernelprof.sources.ncu.blocks import BlockParser

            layout.parser = BlockParser(table.header, layout.selection)
        if self._workers is None:
            self._workers = ThreadPoolExecutor(_WORKERS)
        return self._workers.submit(layout.parser.parse, block).result

    def add(self, table: CsvTable) -> None:
        """Add the next rows of the stream."""
        header, units, columns = table.header, table.units, table.columns
        if columns is None:
            layout = self._layout(table)
            layout.decimal = layout.decimal or table_decimal(header, table.rows)
            columns = columns_of_rows(header, table.rows, layout.selection, layout.decimal)
        if units is None:
            self._builder.warn(
                "A table has no row of units: metrics whose scale depends on a unit were left out."
            )
        texts = {header.names[at]: column for at, column in columns.texts.items()}
        identity = {name: column for name, column in texts.items() if is_identity(name)}
        at = self._builder.add_launches(columns.ids, identity)
        for name in texts.keys() - identity.keys():
            self._builder.add_texts(name, at, texts[name])
        seen: set[str] = set()
        for position, numbers in columns.numbers.items():
            written, unit = header.names[position], units[position] if units else ""
            name = todays_name(written)
            if written in seen and self._builder.drop_contradictions(name, at, unit, numbers):
                self._builder.warn(
                    f"{name} occurs twice in one table; where its values differ, neither is used.",
                    damage=True,
                )
                continue
            seen.add(written)
            other = self._builder.add_numbers(name, at, unit_of(written, unit), numbers)
            if other is not None:
                self._builder.warn(
                    f"The unit of {name} is {other} in one table and {scale_of(unit).unit} in "
                    "another: the values of the second table were left out."
                )

    def check(self, size: int) -> None:
        """Raise :class:`NoCaptureError` for too much; ``size`` is that of the text so far."""
        self._builder.check(size)

    def _layout(self, table: CsvTable) -> _Layout:
        key = header, units = table.header, table.units
        if key in self._layouts:
            return self._layouts[key]
        texts: dict[str, int] = {}
        numbers = []
        for at, name in enumerate(header.names):
            if is_identity(name):
                if name not in texts and name != "ID":
                    texts[name] = at
            elif not name or (self._only is not None and todays_name(name) not in self._only):
                continue
            elif name in _TEXT_COLUMNS:
                texts.setdefault(name, at)
            elif units is not None or not depends_on_unit(name):
                numbers.append(at)
        if sentence := describe_left_out(header.names):
            self._builder.warn(sentence)
        selection = Selection(header.names.index("ID"), tuple(texts.values()), tuple(numbers))
        return self._layouts.setdefault(key, _Layout(selection))

    def capture(self, origin: str, scan: Scan) -> Capture:
        """Return the capture of everything that was added."""
        if self._workers is not None:
            from kernelprof.sources.ncu.blocks import give_back_memory

            self._workers.shutdown()
            give_back_memory()
        capture = self._builder.capture(origin, scan.warnings())
        if not capture.columns:
            raise NoCaptureError("no column of the table is a metric")
        return capture
