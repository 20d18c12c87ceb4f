"""Predicts and judges one kernel: ``child.py SOURCE`` writes what it found as JSON.

It does what ``kernelprof diagnose SOURCE --predict`` does, and gives all values with their
intervals beside the verdict. What cannot be predicted is an answer, too: an error in a sentence.
"""

import json
import sys

import kernelprof
from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.errors import KernelprofError


def main(source: str) -> int:
    """Write the JSON."""
    try:
        capture = kernelprof.predict(source)
    except KernelprofError as error:
        json.dump({"error": error.what, "kind": type(error).__name__}, sys.stdout)
        return 0
    facts = capture.prediction
    assert facts is not None
    values = {}
    for name, metric in load_metrics().items():
        column = capture.columns.get(metric.ncu[0]) if metric.ncu else None
        if column is not None:
            value = float(column.values[0])
            low, high = facts.intervals.get(name, (value, value))
            values[name] = (value, low, high, column.source.value)
    told = json.loads(capture.diagnose().to_text("json"))
    counted = facts.counts
    found = {
        "values": values,
        "verdict": told["kernels"][0]["verdict"],
        "blocks": counted.blocks,
        "blocks_run": counted.blocks_run,
        "compiler": facts.source.compiler,
    }
    json.dump(found, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
