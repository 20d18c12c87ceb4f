"""A launch that nobody wrote down: worked out from the source, and used without a blank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelprof.launch.read_spec import read_spec
from kernelprof.launch.source import Block

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.launch.spec import LaunchSpec


@dataclass(frozen=True, slots=True)
class Inferred:
    """A launch specification that stands in no file."""

    toml: str
    remarks: tuple[str, ...] = ()
    """What is to be known beside."""
    kernel: str | None = None
    """The name by which its kernel was chosen, where the file has several."""

    def spec(self, source: Path) -> LaunchSpec:
        """It, for the source that it was inferred from."""
        return read_spec(Block(self.toml, source, inferred=True))
