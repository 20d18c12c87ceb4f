"""The machine and the workshop of the ladder's own tests."""

from tests.ladder.machine import machine, workshop

__all__ = ["machine", "workshop"]
