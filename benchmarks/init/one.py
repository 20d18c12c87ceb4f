"""One kernel, initialised and predicted in a process of its own.

    python -m benchmarks.init.one SOURCE KERNEL ARCH SECONDS

A document in JSON goes to standard output: the specification, what it leaves open, how far a
prediction with it comes, and what stopped it.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.predict.others.one import predicted

from kernelprof.errors import KernelprofError
from kernelprof.interface import reference
from kernelprof.launch.source import find_block

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what came of it; more CPU time than allowed ends the process (SIGXCPU)."""
    source, kernel, arch, seconds = sys.argv[1:] if arguments is None else arguments
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
    json.dump(initialised(Path(source), kernel, arch), sys.stdout)
    return 0


def initialised(source: Path, kernel: str, arch: str) -> dict[str, Any]:
    """What ``kernelprof init --kernel`` writes into a source, and what ``--predict`` says then."""
    begun = time.process_time()
    try:
        made = reference.propose_specification(source, kernel=kernel).draft()
    except KernelprofError as error:
        return {"stage": "initialising", "error": type(error).__name__, "what": error.what}
    source.write_text(made.text, encoding="utf-8")
    block = find_block(source)
    found: dict[str, Any] = {
        "init_seconds": time.process_time() - begun,
        "unfilled": [text for _, text in made.unfilled],
        "remarks": list(made.remarks),
        "specification": "" if block is None else block.text,
    }
    if made.unfilled:
        return {**found, "stage": "initialised"}
    return found | predicted(source, arch)


if __name__ == "__main__":
    sys.exit(main())
