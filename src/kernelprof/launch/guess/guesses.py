"""Everything that is guessed of a launch, each with what speaks for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kernelprof.launch.guess.amounts import Amount
    from kernelprof.launch.guess.written_types import Element


NOT_THAT_OF: Final = "the result is not that of "
UNWRITTEN: Final = "most of "
"""How remarks begin by which a launch may be wrong."""


@dataclass(slots=True)
class Array:
    """An array of the kernel's. ``length`` is in elements of its own type."""

    name: str
    element: Element
    length: Amount | None = None
    shape: list[str] | None = None
    """Its dimensions where they are known beside the length, without those of its elements."""
    output: bool = False
    fill: str | None = None
    limit: Amount | None = None
    """What values of whole numbers stay below; the last of offsets."""
    why: str = ""
    why_fill: str = ""
    alias: str = ""
    """What the kernel calls it where it is no parameter: ``p.in``, a member of a structure."""
    const: bool = False
    """Whether such a one may not be written."""

    @property
    def dimensions(self) -> list[str] | None:
        """Its shape as a specification has it, the numbers of an element last."""
        shape = self.shape
        if shape is None:
            if self.length is None:
                return None
            shape = [self.length.text]
        return shape if self.element.count == 1 else [*shape, str(self.element.count)]


@dataclass(frozen=True, slots=True)
class Part:
    """A member of a structure that is passed by value."""

    name: str
    type: str | None
    key: str = ""
    """Of its value among those of all scalars: ``p.width``."""
    values: list[str] | None = None
    of: str | None = None
    """The array that it points to."""
    align: int | None = None


@dataclass(slots=True)
class Guesses:
    """What was guessed; ``None`` where nothing speaks for anything."""

    kernel: str | None = None
    block: list[Amount] | None = None
    grid: list[Amount] | None = None
    reference: str | None = None
    flops: str | None = None
    min_bytes: str | None = None
    shared_bytes: Amount | None = None
    sizes: dict[str, int] = field(default_factory=dict)
    free: list[str] = field(default_factory=list)
    """Sizes whose values nothing speaks for."""
    check_sizes: dict[str, int] = field(default_factory=dict)
    guarded: set[str] = field(default_factory=set)
    """Sizes that a thread's index is compared with."""
    flags: list[str] = field(default_factory=list)
    """Options of the compiler."""
    defines: dict[str, int] = field(default_factory=dict)
    macros: list[str] = field(default_factory=list)
    """Names that only the compiler's command line can give a value."""
    arrays: dict[str, Array] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    """Of scalars."""
    values: dict[str, str] = field(default_factory=dict)
    """Of scalars, as expressions."""
    structures: dict[str, list[Part]] = field(default_factory=dict)
    """The members of parameters that are structures."""
    trouble: str = ""
    """What went wrong when it was tried: a question to whoever reads it."""
    differs: str = ""
    """How the result differs from that of another version, which is the reference."""
    remarks: list[str] = field(default_factory=list)
    """What is to be known beside."""
    why: dict[str, str] = field(default_factory=dict)
    """What speaks for a guess, by its key: ``grid``, ``sizes.n``, ``value.alpha``."""

    @property
    def outputs(self) -> list[str]:
        """The arrays that the kernel writes."""
        return [each.name for each in self.arrays.values() if each.output]

    @property
    def inputs(self) -> list[str]:
        """The arrays that it only reads."""
        return [each.name for each in self.arrays.values() if not each.output]
