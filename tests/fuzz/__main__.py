"""``python -m tests.fuzz``: for ``$FUZZ_SECONDS``, or one that was kept again.

``python -m tests.fuzz FOLDER`` runs an example that ended wrong once more. ``$FUZZ_SEED`` is the
first seed; each seed gives the same examples again.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.try_examples import COMMAND, Tried, try_some
from tests.fuzz.worker import run

_EXAMPLES = 200
KEPT = Path("build/fuzz")


def main() -> int:
    """Fuzz, or repeat; the number of wrong ends as exit code, 1 at most."""
    say = sys.stdout.write
    if len(sys.argv) > 1:
        place = Path(sys.argv[1])
        _, *command = json.loads((place / COMMAND).read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as made:
            folder = Path(shutil.copytree(place / "x", Path(made) / "x"))
            outcome = run(tuple(command), folder)
        megabytes = outcome.peak_bytes >> 20
        say(f"{outcome.stderr}exit code {outcome.code}, {megabytes} MiB, {outcome.seconds:.1f} s\n")
        return int(bool(outcome.wrong))
    end = time.monotonic() + float(os.environ.get("FUZZ_SECONDS", "600"))
    number = first = int(os.environ.get("FUZZ_SEED", str(time.time_ns() % 10**9)))
    tried = Tried()
    shown = 0
    while time.monotonic() < end:
        try_some(tried, number, _EXAMPLES, KEPT, until=end)
        number += 1
        for wrong in tried.wrong[shown:]:
            say(f"seed {number - 1}: {wrong}\n\n")
        shown = len(tried.wrong)
        sys.stdout.flush()
    say(f"seeds {first} to {number - 1}: {tried.summary()}\n")
    return int(bool(tried.wrong))


if __name__ == "__main__":
    sys.exit(main())
