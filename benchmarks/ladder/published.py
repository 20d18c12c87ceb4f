"""What others published about the same steps: the figures, their sources, and our counterparts."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Asked:
    """Bytes that a kernel asks for and the fewest that have to move, as they were counted there.

    ``matrices`` is how often a matrix has to cross the memory bus by that count.
    """

    rung: str
    bytes: float
    least: float
    matrices: int
    note: str


@dataclass(frozen=True, slots=True)
class Step:
    """One published figure; ``rung`` and ``defines`` name the same step of the ladder."""

    what: str
    gflops: float
    against: str | None = None
    rung: str | None = None
    defines: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Published:
    """One GPU's figures; ``size`` is M, N and K, ``ladder`` that of the same steps here."""

    name: str
    ladder: str
    size: int
    source: str
    cublas_gflops: float
    steps: tuple[Step, ...]
    asked: Asked | None = None

    def step(self, what: str) -> Step:
        """The step of a name."""
        return next(each for each in self.steps if each.what == what)


@cache
def published() -> tuple[Published, ...]:
    """All that is published; the file ships with the package and is checked by its tests."""
    text = Path(__file__).with_name("published.toml").read_text(encoding="utf-8")
    return tuple(_gpu(entry) for entry in tomllib.loads(text)["gpu"])


def _gpu(entry: dict[str, Any]) -> Published:
    asked, steps = entry.pop("asked", None), entry.pop("step")
    return Published(
        **entry,
        steps=tuple(Step(**each) for each in steps),
        asked=None if asked is None else Asked(**asked),
    )
