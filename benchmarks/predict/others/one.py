"""One kernel, predicted in a process of its own.

    python -m benchmarks.predict.others.one SOURCE ARCH SECONDS

A document in JSON goes to standard output: how far it came, and what stopped it.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelprof.errors import KernelprofError

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what came of it; more CPU time than allowed ends the process (SIGXCPU)."""
    source, arch, seconds = sys.argv[1:] if arguments is None else arguments
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
    json.dump(predicted(Path(source), arch), sys.stdout)
    return 0


def predicted(source: Path, arch: str) -> dict[str, Any]:
    """How far a prediction comes: ``stage`` is what it stopped in, ``done`` if in nothing."""
    from kernelprof.launch.specification.overrides import LaunchOverrides
    from kernelprof.prediction.machine_code import compile_source
    from kernelprof.prediction.predictor import predict_kernel

    stages: list[str] = []
    found: dict[str, Any] = {}
    try:
        kernel = compile_source(source, LaunchOverrides(), arch=arch, progress=stages.append)
        result = predict_kernel(kernel, progress=stages.append)
        stages.append("done")
        found |= {"blocks": result.blocks, "blocks_run": result.blocks_run}
        found["outputs"] = len(result.checked)
    except KernelprofError as error:
        found |= {"error": type(error).__name__, "what": error.what}
    return found | {"stage": _word(stages)}


def _word(stages: Sequence[str]) -> str:
    """The last thing that was done, in a word: messages begin with the source's name."""
    return stages[-1].rpartition(": ")[2].split()[0] if stages else "reading"


if __name__ == "__main__":
    sys.exit(main())
