"""How many files of kernelprof a command runs: what a newcomer has to follow.

    python -m benchmarks.files_run

Each command runs in a process of its own on a capture of this repository; what counts are the files
of the package that were executed by its end.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
CAPTURE = "tests/captures/gemm_series.full.raw.csv"
RUNS = "tests/captures/h200_changes/tile"
PROGRAM = """
import io, sys
from contextlib import redirect_stdout, redirect_stderr
from kernelprof.cli.main import main
with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
    code = main(sys.argv[1:])
files = {
    module.__file__ for name, module in sys.modules.items()
    if name.split(".")[0] == "kernelprof" and getattr(module, "__file__", None)
}
empty = sum(not open(file, encoding="utf-8").read().strip() for file in files)
print(len(files) - empty, int(code))
"""


def files_run(*arguments: str) -> int:
    """The number of files with content that ``kernelprof ARGUMENTS`` executes."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    count, code = map(int, done.stdout.split())
    if code:
        raise SystemExit(f"kernelprof {' '.join(arguments)}: exit code {code}\n{done.stderr}")
    return count


def main() -> None:
    """Print one line a command."""
    with tempfile.TemporaryDirectory() as folder:
        page = str(Path(folder) / "page.html")
        for label, arguments in (
            ("diagnose CSV", ("diagnose", CAPTURE)),
            ("diagnose CSV --format json", ("diagnose", CAPTURE, "--format", "json")),
            ("diagnose CSV --html", ("diagnose", CAPTURE, "--html", page)),
            ("compare", ("compare", f"{RUNS}/1", f"{RUNS}/2")),
            ("gate", ("gate", f"{RUNS}/1", f"{RUNS}/2")),
            ("--help", ("--help",)),
        ):
            sys.stdout.write(f"{files_run(*arguments):4}  {label}\n")


if __name__ == "__main__":
    main()
