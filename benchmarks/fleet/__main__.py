"""``python -m benchmarks.fleet``: what a fleet takes, as JSON."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

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
        if asked.part not in {None, name}:
            continue
        start = time.monotonic()
        found[name] = part()
        sys.stderr.write(f"{name}: {time.monotonic() - start:.0f} s\n")
        write(json.dumps(found, indent=1) + "\n", asked.output)
    return found


def _large(asked: argparse.Namespace) -> dict[str, Any]:
    from benchmarks.fleet import large

    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "store"
        found["launches"] = large.make(place, asked.launches)
        os.environ["XDG_CACHE_HOME"] = str(Path(folder) / "cache")
        found["seconds"] = large.ask(place)
    return found


def _many(asked: argparse.Namespace) -> dict[str, Any]:
    from benchmarks.fleet import many

    return many.diagnose(asked.captures)


def main() -> int:
    """Measure one of these, and write what was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet", description=__doc__)
    parser.add_argument("what", choices=list(_PARTS))
    parser.add_argument("--part", help="of gpus: together, beside or sweep")
    parser.add_argument("--jobs", type=int, default=12, help="of the ladder's sweep")
    parser.add_argument("--launches", type=int, default=5_500_000, help="of the large store")
    parser.add_argument("--captures", type=int, default=10_000, help="that are diagnosed")
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()

    def work() -> int:
        write(json.dumps(_PARTS[asked.what](asked), indent=1) + "\n", asked.output)
        return 0

    return run("benchmarks.fleet", work)


_PARTS: Final = {"gpus": _gpus, "large": _large, "many": _many}


if __name__ == "__main__":
    sys.exit(main())
