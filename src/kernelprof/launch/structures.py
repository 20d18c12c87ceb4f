"""Structures and vectors that are passed by value: their members, and where C has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal

from msgspec import Meta

from kernelprof.launch.elements import Type, element_bytes
from kernelprof.launch.keys import IDENTIFIER, Amount, SpecError, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kernelprof.launch.expressions import Expression, Number

    Mistake = tuple[tuple[str | int, ...], str, str | None]

POINTER_BYTES: Final = 8
_ONE_OF: Final = ("value", "values", "of")
MOST_BYTES: Final = 4096
"""That parameters have room for on every GPU (CUDA C++ Programming Guide, "Function Parameters");
from compute capability 7.0 on there are more, which no structure needs."""


class Member(Table, frozen=True, kw_only=True):
    """A member of a structure: a number, several side by side, or a pointer to an array."""

    name: Annotated[str, Meta(pattern=f"^{IDENTIFIER}$", examples=["width"])]
    type: Annotated[Type | None, Meta(examples=["int32"])] = None
    value: Amount | None = None
    values: Annotated[
        Annotated[tuple[Amount, ...], Meta(min_length=1, max_length=1024)] | None,
        Meta(description="of an array or a vector", examples=[[0, 0, 1]]),
    ] = None
    of: Annotated[
        Annotated[str, Meta(pattern=f"^{IDENTIFIER}$")] | None,
        Meta(description="the name of the array that it points to", examples=["x"]),
    ] = None
    align: Annotated[
        Literal[1, 2, 4, 8, 16, 32, 64, 128] | None,
        Meta(description="in bytes, where it is not that of the type: 16 for a float4"),
    ] = None

    @property
    def numbers(self) -> tuple[Expression, ...]:
        """Its values; none of a pointer."""
        return (self.value,) if self.value is not None else self.values or ()


@dataclass(frozen=True, slots=True)
class Piece:
    """A member in numbers, at its place."""

    name: str
    offset: int
    type: str | None
    """``None`` of a pointer."""
    numbers: tuple[Number, ...]
    of: str | None


@dataclass(frozen=True, slots=True)
class Layout:
    """A structure as it lies in memory."""

    pieces: tuple[Piece, ...]
    size: int


def layout(
    members: Sequence[Member], number: Callable[[str, Expression], Number], where: str
) -> Layout:
    """Where C has the members: each at a multiple of its alignment, the whole rounded up to it.

    ``number`` works out an expression for a type. Raises :class:`SpecError` for too many bytes.
    """
    at, most, pieces = 0, 1, []
    for each in members:
        one = POINTER_BYTES if each.type is None else element_bytes(each.type)
        align = each.align or one
        most = max(most, align)
        at = -(-at // align) * align
        numbers = tuple(number(each.type or "", value) for value in each.numbers)
        pieces.append(Piece(each.name, at, each.type, numbers, each.of))
        at += one * max(1, len(numbers))
    size = -(-at // most) * most
    if size > MOST_BYTES:
        raise SpecError(
            f"{where} has {size:,} bytes, and parameters {MOST_BYTES:,} at most", where=None
        )
    return Layout(tuple(pieces), size)


def mistakes(members: Sequence[Member], arrays: Sequence[str]) -> Iterator[Mistake]:
    """What is wrong with the members of one structure, where, and what to do."""
    for index, each in enumerate(members):
        at = ("members", index)
        if any(each.name == other.name for other in members[:index]):
            yield (*at, "name"), f"a second member is called {each.name!r}", None
        given = [key for key in _ONE_OF if getattr(each, key) is not None]
        if len(given) != 1:
            what = f"member {each.name!r} has to have one of value, values and of"
            yield at, what, 'value = "width", values = [0, 1] or of = "x", a pointer to that array'
        elif (each.of is None) != (each.type is not None):
            what = "has no 'type'" if each.of is None else "is a pointer, and has no 'type'"
            yield at, f"member {each.name!r} {what}", "that of an array is in its own table"
        elif each.of is not None and each.of not in arrays:
            hint = f"the arrays are {', '.join(arrays)}" if arrays else "add its table"
            hint += "; one that is no parameter of the kernel has passed = false"
            yield (*at, "of"), f"no array is called {each.of!r}", hint
