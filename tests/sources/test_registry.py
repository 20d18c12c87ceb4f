"""Sources beside each other: each is found by its file, and gives what it says."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kernelprof.sources
from kernelprof.errors import InputError
from kernelprof.model.capture import Capture, Origin
from kernelprof.sources import load_readers, read_capture
from kernelprof.sources.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
CAPTURES = ROOT / "tests" / "captures"
FIRST_SOURCES = ["report", "directory"]
"""Of several in one input the first is read, so these keep their order; others may come between."""
EXAMPLES = {
    "raw": CAPTURES / "gemm_series.full.raw.csv",
    "details": CAPTURES / "gemm_series.full.details.csv",
    "directory": ROOT / "src/kernelprof/recorded/h200/03_shared_tile",
}
ONE_MORE = """
import numpy as np
from kernelprof.sources.ncu.columns import CaptureBuilder, NumberColumn, TextColumn
from kernelprof.sources.source import Source


def read(found, only):
    rows = [line.split() for block in found.blocks() for line in block.decode().splitlines()[1:]]
    builder = CaptureBuilder()
    at = builder.add_launches(
        [str(number) for number in range(len(rows))],
        {"Kernel Name": TextColumn.from_cells([row[0] for row in rows])},
    )
    values = NumberColumn(np.array([float(row[1]) for row in rows]))
    builder.add_numbers("gpu__time_duration.sum", at, "us", values)
    return builder.capture(found.origin)


SOURCE = Source(
    "lines", "lines of times", 9,
    recognises=lambda found: found.head.startswith(b"#times"), read=read,
)
"""


@pytest.fixture
def one_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One more file in the folder of sources."""
    (tmp_path / "lines_of_times.py").write_text(ONE_MORE)
    folders = [*kernelprof.sources.__path__, str(tmp_path)]
    monkeypatch.setattr(kernelprof.sources, "__path__", folders)
    load_readers.cache_clear()
    yield
    load_readers.cache_clear()
    sys.modules.pop("kernelprof.sources.lines_of_times", None)


def test_the_sources_in_their_order() -> None:
    found = load_readers()
    names = [source.name for source in found]
    assert [name for name in names if name in FIRST_SOURCES] == FIRST_SOURCES
    assert len(set(names)) == len(names)
    assert len({source.order for source in found}) == len(found)
    assert all(isinstance(source, Source) and source.title for source in found)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_what_a_source_gives(name: str) -> None:
    capture = read_capture(EXAMPLES[name])
    assert len(capture)
    assert capture.columns
    origins = {column.source for column in capture.columns.values()}
    assert (Origin.REPORTED in origins) == (name == "details")


@pytest.mark.usefixtures("one_more")
def test_a_new_source_is_one_file(tmp_path: Path) -> None:
    path = tmp_path / "times.txt"
    path.write_text("#times\nscale 3\ncopy 5\n")
    capture = read_capture(path)
    assert isinstance(capture, Capture)
    assert [each.kernel for each in capture.launches] == ["scale", "copy"]
    column = capture.columns["gpu__time_duration.sum"]
    assert (column.values.tolist(), column.unit, column.source) == (
        [3000.0, 5000.0],
        "ns",
        Origin.MEASURED,
    )
    with pytest.raises(InputError, match=r"expected the raw page as CSV, .* or lines of times"):
        read_capture(ROOT / "README.md")


def test_every_source_is_in_the_documentation() -> None:
    page = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
    documented = re.findall(r"^\|[^|]+\| `(\w+)\.py` \|", page, re.MULTILINE)
    modules = {path.stem for path in Path(kernelprof.sources.__file__).parent.glob("*.py")}
    assert sorted(documented) == sorted(modules - {"__init__", "source"})
