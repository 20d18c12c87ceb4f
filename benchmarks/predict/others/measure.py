"""Measure the kernels on this machine's GPU.

    python -m benchmarks.predict.others.measure [--seconds N] DIR OUT [KERNEL ...]

``DIR`` holds checkouts as for :mod:`benchmarks.predict.others`. A capture of all metrics of each
kernel goes to a folder of its name in ``OUT``; those there are kept. ``OUT/measured.json``
has their values and verdicts, which ``measured-h200.json`` keeps.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from benchmarks.predict.others.kernels import choose

import kernelprof
from benchmarks import command
from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.verdict import diagnose
from kernelprof.model.capture import Capture, Launch, Launches, MetricColumn, Origin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROGRAM: Final = "benchmarks.predict.others.measure"
_DIGITS: Final = 5
_OF_VERDICT: Final = ("status", "bottleneck", "confidence")


def main(arguments: Sequence[str] | None = None) -> int:
    """Capture each kernel that has no capture yet; 1 if one could not be measured."""
    parser = argparse.ArgumentParser(prog=f"python -m {PROGRAM}", description=__doc__)
    parser.add_argument("checkouts", type=Path, metavar="DIR")
    parser.add_argument("output", type=Path, metavar="OUT")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="only these, by their folder")
    parser.add_argument("--seconds", type=int, default=60, help="limit of a kernel (default: 60)")
    options = parser.parse_args(arguments)
    return command.run(PROGRAM, lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for kernel in choose(options.kernels):
            capture = options.output / kernel.name
            if capture.is_dir():
                continue
            source = kernel.lay_out(options.checkouts, Path(folder))
            message = _captured(source, capture, options.seconds)
            failed += bool(message)
            sys.stderr.write(f"{kernel.name}: {message or 'measured'}\n")
    captures = sorted(each for each in options.output.iterdir() if each.is_dir())
    lines = (f'"{each.name}": {json.dumps(summary(each), sort_keys=True)}' for each in captures)
    text = ",\n".join(lines)
    (options.output / "measured.json").write_text(f"{{\n{text}\n}}\n", encoding="utf-8")
    return int(failed > 0)


def summary(capture: Path) -> dict[str, Any]:
    """The values of the measured launch by canonical name, and its verdict."""
    read = kernelprof.read(capture)
    values = {}
    for name, metric in load_metrics().items():
        columns = (read.columns[each] for each in metric.all_ncu_names() if each in read.columns)
        if (column := next(columns, None)) is not None:
            values[name] = float(f"{float(column.values[-1]):.{_DIGITS}g}")
    told = json.loads(read.diagnose().to_text("json"))["kernels"][0]["verdict"]
    return {"values": values, "verdict": {name: told[name] for name in _OF_VERDICT}}


def named_causes(values: Mapping[str, float]) -> dict[str, float | None]:
    """All bottlenecks that a diagnosis of such values names: causes that pay, and what is close.

    Each with what its fix alone gains, in times, or ``None`` where that is not known.
    """
    columns = {}
    for name, value in values.items():
        ncu = load_metrics()[name].ncu[0]
        columns[ncu] = MetricColumn(ncu, np.array([value]), "", "", Origin.MEASURED)
    grid, block = (int(values["grid_size"]), 1, 1), (int(values["block_size"]), 1, 1)
    launch = Launch("0", "kernel", grid, block, device="NVIDIA H200", compute_capability=(9, 0))
    (kernel,) = diagnose(Capture(Launches.from_sequence([launch]), columns)).kernels
    verdict = kernel.verdict
    close: dict[str, float | None] = {each.bottleneck: None for each in verdict.also}
    return close | {each.bottleneck: each.gain for each in verdict.causes}


def _captured(source: Path, capture: Path, seconds: int) -> str:
    """Measure a source; the last line of what went wrong, or nothing."""
    profile = (sys.executable, "-m", "kernelprof", "profile", str(source), "-o", str(capture))
    try:
        done = subprocess.run(profile, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return f"not done after {seconds} s"
    if done.returncode == 0:
        return ""
    return " ".join(done.stderr.split())[-300:] or f"exit code {done.returncode}"


if __name__ == "__main__":
    sys.exit(main())
