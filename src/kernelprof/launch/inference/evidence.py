"""What a source shows about one kernel (``Evidence``), what is inferred from it (``Guesses``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.errors import KernelprofError
    from kernelprof.launch.inference.amounts import SizeExpr
    from kernelprof.launch.inference.host import HostLaunch
    from kernelprof.launch.inference.reach import Reach
    from kernelprof.launch.inference.symbols import Element
    from kernelprof.launch.signature import KernelSignature


NOT_THAT_OF: Final = "the result does not match "
MOSTLY_POISONED: Final = "most of "


@dataclass(slots=True)
class GuessedArray:
    """An array of the kernel; ``length`` is in elements of its own type."""

    name: str
    element: Element
    length: SizeExpr | None = None
    shape: list[str] | None = None
    """Its dimensions where they are known beside the length, without those of its elements."""
    output: bool = False
    fill: str | None = None
    limit: SizeExpr | None = None
    """What values of whole numbers stay below; the last of offsets."""
    why: str = ""
    why_fill: str = ""
    alias: str = ""
    """What the kernel calls it where it is no parameter: ``p.in``, a member of a structure."""
    const: bool = False

    @property
    def dimensions(self) -> list[str] | None:
        """The shape in a specification, with the numbers of an element last."""
        shape = self.shape
        if shape is None:
            if self.length is None:
                return None
            shape = [self.length.text]
        return shape if self.element.count == 1 else [*shape, str(self.element.count)]


@dataclass(frozen=True, slots=True)
class GuessedMember:
    """A member of a structure that is passed by value."""

    name: str
    type: str | None
    key: str = ""
    """Of its value among those of all scalars: ``p.width``."""
    values: list[str] | None = None
    array: str | None = None
    """That it points to."""
    align: int | None = None


@dataclass(slots=True)
class Guesses:
    """What is inferred of a launch; ``None`` without evidence."""

    kernel: str | None = None
    block: list[SizeExpr] | None = None
    grid: list[SizeExpr] | None = None
    reference: str | None = None
    flops: str | None = None
    min_bytes: str | None = None
    shared_bytes: SizeExpr | None = None
    sizes: dict[str, int] = field(default_factory=dict)
    free: list[str] = field(default_factory=list)
    """Sizes whose values nothing speaks for."""
    check_sizes: dict[str, int] = field(default_factory=dict)
    guarded: set[str] = field(default_factory=set)
    """Sizes that a thread's index is compared with."""
    flags: list[str] = field(default_factory=list)
    defines: dict[str, int] = field(default_factory=dict)
    macros: list[str] = field(default_factory=list)
    """Names that only the compiler's command line can give a value."""
    arrays: dict[str, GuessedArray] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    """Of scalars."""
    values: dict[str, str] = field(default_factory=dict)
    """Of scalars, as expressions."""
    structures: dict[str, list[GuessedMember]] = field(default_factory=dict)
    trouble: str = ""
    """What went wrong when it was tried: a question to whoever reads it."""
    refused: KernelprofError | None = None
    """What the compiler said where it refused the kernel."""
    differs: str = ""
    """How the result differs from that of another version, which is the reference."""
    remarks: list[str] = field(default_factory=list)
    why: dict[str, str] = field(default_factory=dict)
    """What speaks for a guess, by its key: ``grid``, ``sizes.n``, ``value.alpha``."""

    @property
    def lengths(self) -> list[SizeExpr]:
        """The known lengths of arrays."""
        return [each.length for each in self.arrays.values() if each.length is not None]

    @property
    def block_names(self) -> set[str]:
        """Sizes and defines in the block."""
        return {name for each in self.block or () for name in each.names}

    @property
    def outputs(self) -> list[str]:
        """The arrays that the kernel writes."""
        return [each.name for each in self.arrays.values() if each.output]

    @property
    def inputs(self) -> list[str]:
        """The arrays that it only reads."""
        return [each.name for each in self.arrays.values() if not each.output]


@dataclass(slots=True)
class Usage:
    """What one kernel's body shows; axes are those of ``blockIdx`` and ``threadIdx``."""

    axes: set[str] = field(default_factory=set)
    axes_of_blocks: set[str] = field(default_factory=set)
    axes_of_threads: set[str] = field(default_factory=set)
    shared_by_thread: dict[str, int] = field(default_factory=dict)
    """Elements of shared memory that ``threadIdx`` alone indexes, by its axis."""
    dynamic_shared_type: tuple[str, str] | None = None
    """The name and type of dynamic shared memory, as declared."""
    strides: dict[str, str] = field(default_factory=dict)
    """The factor of ``blockIdx``, by axis: ``blockDim.x``, ``TILE``, ``16``."""
    indices: dict[str, str] = field(default_factory=dict)
    """Variables that hold a thread's global index, and its axis."""
    thread_names: dict[str, str] = field(default_factory=dict)
    """Variables that hold ``threadIdx``, and its axis."""
    variables: set[str] = field(default_factory=set)
    """Variables with an initial value."""
    uses_block_dim: bool = False
    in_addresses: set[str] = field(default_factory=set)
    """Names in indices, in what is added to variables (pointers among them), and in sums that
    functions are given."""


@dataclass(frozen=True)
class LaunchEvidence:
    """One kernel, one launch of it if the file has any, and its body's usage."""

    kernel: KernelSignature
    used: Usage
    reach: Reach
    host: HostLaunch | None
    constants: Mapping[str, int]
    """Numbers that the file or the template gives names to."""
    given: Mapping[str, SizeExpr]
    """What the parameters of whole numbers are given."""
    shared: Mapping[str, Element]

    @property
    def program(self) -> Mapping[str, int | None]:
        """The program's sizes, ``None`` for unknown values."""
        return {} if self.host is None else self.host.values.sizes

    @property
    def known_sizes(self) -> dict[str, int]:
        """The program's sizes with known values."""
        return {name: value for name, value in self.program.items() if value is not None}

    @property
    def passed(self) -> set[str]:
        """Sizes in the kernel's arguments."""
        return {name for amount in self.given.values() for name in amount.names}
