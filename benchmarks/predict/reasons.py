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
def reasons() -> Mapping[str, str]:
    """A sentence for a kernel, or for all of a folder, by its path below ``cuda``."""
    found: Mapping[str, str] = tomllib.loads(FILE.read_text("utf-8"))
    return found


def reason(row: Beside) -> str:
    """Why the values of a kernel are off; empty where that was not looked into."""
    name = row.kernel.name
    return reasons().get(name) or reasons().get(name.rpartition("/")[0], "")
