"""Reads an export with one library and says how long that took: ``reading.py READER FILE``.

It is run by the interpreter that has the libraries, which need not have this package. Without
arguments it says which libraries there are.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import sys
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Reader(NamedTuple):
    """One way to read an export, and how many of the rows that it sees are no launch."""

    library: str
    module: str
    title: str
    call: Callable[[Any, str], Any]
    extra_rows: int


READERS: Final = {
    # With the row of units every column is text, and pandas takes longer.
    "pandas": Reader(
        "pandas",
        "pandas",
        "pandas.read_csv(skiprows=[1])",
        lambda module, path: module.read_csv(path, skiprows=[1]),
        0,
    ),
    "polars": Reader(
        "polars",
        "polars",
        "polars.read_csv(skip_rows_after_header=1)",
        lambda module, path: module.read_csv(path, skip_rows_after_header=1),
        0,
    ),
    "polars-text": Reader(
        "polars",
        "polars",
        "polars.read_csv(infer_schema_length=0), text only",
        lambda module, path: module.read_csv(path, infer_schema_length=0),
        1,
    ),
    "pyarrow": Reader(
        "pyarrow",
        "pyarrow.csv",
        "pyarrow.csv.read_csv()",
        lambda module, path: module.read_csv(path),
        1,
    ),
}


def main(arguments: list[str]) -> None:
    """Write the answer as JSON."""
    answer: dict[str, Any] = read(*arguments) if arguments else versions()
    sys.stdout.write(json.dumps(answer) + "\n")


def versions() -> dict[str, str | None]:
    """The version of each library, or nothing."""
    found: dict[str, str | None] = {}
    for library in sorted({reader.library for reader in READERS.values()}):
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            found[library] = None
    return found


def read(name: str, path: str) -> dict[str, float]:
    """Seconds of the call alone, and how large the table is."""
    reader = READERS[name]
    module = importlib.import_module(reader.module)
    start = time.perf_counter()
    table = reader.call(module, path)
    seconds = time.perf_counter() - start
    rows, columns = table.shape
    return {"call_s": seconds, "rows": rows, "columns": columns}


if __name__ == "__main__":
    main(sys.argv[1:])
