"""``python -m benchmarks.fleet``: what a fleet takes, as JSON."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.command import run, write

if TYPE_CHECKING:
    from collections.abc import Callable


def _gpus(asked: argparse.Namespace) -> dict[str, Any]:
    from benchmarks.fleet import gpus

    parts: dict[str, Callable[[], Any]] = {
        "together": gpus.together,
        "beside": gpus.beside,
        "sweep": lambda: gpus.sweep(asked.jobs),
    }
    found: dict[str, Any] = {}
    for name, part in parts.items():
        start = time.monotonic()
        found[name] = part()
        sys.stderr.write(f"{name}: {time.monotonic() - start:.0f} s\n")
        write(json.dumps(found, indent=1) + "\n", asked.output)
    return found


def main() -> int:
    """Measure one of these, and write what was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet", description=__doc__)
    parser.add_argument("what", choices=["gpus"])
    parser.add_argument("--jobs", type=int, default=12, help="of the ladder's sweep")
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()

    def work() -> int:
        _gpus(asked)
        return 0

    return run("benchmarks.fleet", work)


if __name__ == "__main__":
    sys.exit(main())
