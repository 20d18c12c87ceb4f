"""The machine and the workshop of these tests."""

from tests.ladder.machine import machine, results, workshop

__all__ = ["machine", "results", "workshop"]
