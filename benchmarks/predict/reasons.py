"""Why a prediction is off, in words: what is known of a kernel, from ``reasons.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.predict.beside import Beside

FILE: Final = Path(__file__).parent / "reasons.toml"


@cache
def reasons() -> Mapping[str, Mapping[str, str]]:
    """Sentences for kernels, or for all of a folder, by their path below ``cuda``; for values."""
    found: Mapping[str, Mapping[str, str]] = tomllib.loads(FILE.read_text("utf-8"))
    return found


def reason(row: Beside, value: str) -> str:
    """Why a value of a kernel is off; empty where that was not looked into."""
    name, known = row.kernel.name, reasons()
    folder = name.rpartition("/")[0]
    kernels = known["kernels"]
    return known["values"].get(value) or kernels.get(name) or kernels.get(folder, "")
