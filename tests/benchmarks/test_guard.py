"""A guard against a slip to a tenth of the speed; ``benchmarks/speed`` measures what it is.

The margins are wide because machines are shared: pandas reads the same file beside it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from benchmarks.speed.inputs import narrowed, read_export, write_export

from kernelprof.analysis.metrics.catalogue import names_read
from kernelprof.analysis.verdict import diagnose
from kernelprof.report.writers.json import write as render_json
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow("takes the time of whole runs, which needs a machine at rest")

REAL = Path(__file__).parents[1] / "captures" / "gemm_series.full.raw.csv"
LAUNCHES = 10_000
REPEATS = 3

PEAK = """
import resource, sys
from kernelprof.cli.main import main
main(["diagnose", sys.argv[1], "--format", "json", "-o", sys.argv[2]])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


@pytest.fixture(scope="module")
def narrow(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("speed") / "narrow.csv"
    write_export(path, narrowed(read_export(REAL), 248), LAUNCHES)
    return path


@pytest.fixture(scope="module")
def wide(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("speed") / "wide.csv"
    write_export(path, read_export(REAL), 500)
    return path


def fastest(do: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        do()
        times.append(time.perf_counter() - begin)
    return min(times)


def diagnosed(path: Path) -> str:
    return render_json([diagnose(read_capture(path, only=names_read()))])


@pytest.mark.parametrize("name", ["narrow", "wide"])
def test_a_diagnosis_takes_about_as_long_as_pandas_takes_to_read(name: str, request) -> None:
    path = request.getfixturevalue(name)
    reading = fastest(lambda: pd.read_csv(path, skiprows=[1]))
    assert fastest(lambda: diagnosed(path)) < 8 * reading


def test_memory_does_not_hold_the_file(narrow: Path, tmp_path: Path) -> None:
    """The peak of the process grows by less than the file; the libraries take a hundred MB."""
    peaks = []
    for path in (REAL, narrow):
        done = subprocess.run(
            [sys.executable, "-c", PEAK, str(path), str(tmp_path / "out.json")],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        peaks.append(int(done.stdout))
    assert peaks[1] - peaks[0] < 5 * narrow.stat().st_size
