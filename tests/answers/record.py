"""Writes down what every case answers: ``python -m tests.answers.record VERSION``.

It runs in a checkout of that version; a path of the checkout is no part of an answer.
"""

from __future__ import annotations

import gzip
import json
import shlex
import sys
from pathlib import Path

from tests.answers.cases import answer, cases


def main() -> None:
    """Run every case and keep what it answers."""
    found = {}
    for case in cases():
        found[shlex.join(case)] = answer(case)
        sys.stderr.write(f"{found[shlex.join(case)]['exit']} {shlex.join(case)}\n")
    text = json.dumps(found, separators=(",", ":"), ensure_ascii=False)
    place = Path(__file__).with_name(f"{sys.argv[1]}.json.gz")
    place.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
