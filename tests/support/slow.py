"""Tests whose cases take long: `make test` leaves them out as those marked ``slow``.

``python -m tests.support.slow`` runs all others and adds what takes too long to ``tests/slow.txt``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import pytest

FILE: Final = Path(__file__).parents[1] / "slow.txt"
LIMIT: Final = 0.43
"""Seconds. With this limit `make test` takes 2 min 8 s on two cores."""

KEPT: Final = ("tests/answers/", "tests/test_structure.py")
"""Are always run."""


def slow_tests() -> frozenset[str]:
    """Names of test functions with their files."""
    return frozenset(FILE.read_text().split())


def function_of(node: str) -> str:
    """The test function of a case."""
    return node.split("[", maxsplit=1)[0]


class Recorder:
    """Collects the functions of cases that take longer than the limit."""

    def __init__(self) -> None:
        self.functions: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called for the setup, call and teardown of each case."""
        if report.duration >= LIMIT and not report.nodeid.startswith(KEPT):
            self.functions.add(function_of(report.nodeid))


if __name__ == "__main__":
    recorder = Recorder()
    code = pytest.main(["-n", "2", "-m", "not slow", *sys.argv[1:]], plugins=[recorder])
    FILE.write_text("\n".join(sorted(slow_tests() | recorder.functions)) + "\n")
    sys.exit(code)
