"""Writes down what every case answers today: ``python -m tests.answers.record``.

The recording is text: what a change does to the answers is the difference of two of them, for
whoever reviews it. ``.ncu-rep`` reports need NVIDIA's reader (the extra ``rep``).
"""

from __future__ import annotations

import importlib.util
import shlex
import sys
from pathlib import Path

from tests.answers.cases import answer, cases
from tests.answers.lines import lines

RECORDING = Path(__file__).with_name("today.txt")
MARK = "$ kernelprof "


def read() -> dict[str, list[str]]:
    """What was recorded, by the words of the case."""
    blocks = RECORDING.read_text(encoding="utf-8").split(MARK)[1:]
    return {block.splitlines()[0]: block.splitlines()[1:] for block in blocks}


def main() -> None:
    """Run every case and keep what it answers; not where those of reports would be lost."""
    if importlib.util.find_spec("ncu_report") is None:
        raise SystemExit("Reports need NVIDIA's reader: pip install -e '.[rep]', then again.")
    found = []
    for case in cases():
        words = shlex.join(case)
        found += [f"{MARK}{words}", *lines(answer(case))]
        sys.stderr.write(f"{words}\n")
    RECORDING.write_text("\n".join([*found, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
