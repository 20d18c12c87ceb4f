"""The machine and the workshop of these tests."""

from tests.ladder.machine import cublas, machine, results, workshop

__all__ = ["cublas", "machine", "results", "workshop"]
