"""What the keys of a specification hold: tables, expressions with their bounds, and the error."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, TypeVar

import msgspec
from msgspec import Meta

from kernelprof.errors import InputError
from kernelprof.launch.expressions import FUNCTIONS, MAX_LENGTH, Expression

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.launch.expressions import Number

Amounts = TypeVar("Amounts", int, float)

IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_TEXT = {"type": "string", "minLength": 1, "maxLength": MAX_LENGTH}

Dimension = Annotated[Expression, Meta(extra_json_schema={"anyOf": [_TEXT, {"type": "integer"}]})]
"""A whole number, or an expression that gives one."""
Amount = Annotated[Expression, Meta(extra_json_schema={"anyOf": [_TEXT, {"type": "number"}]})]
"""A number, or an expression that gives one."""
Dimensions = Annotated[tuple[Dimension, ...], Meta(min_length=1, max_length=3)]
Name = Annotated[str, Meta(pattern=f"^(?!({'|'.join(sorted(FUNCTIONS))})$){IDENTIFIER}$")]
"""A name that expressions may use."""
Positive = Annotated[float, Meta(gt=0)]


class SpecError(InputError):
    """A launch specification that cannot be used as it is written."""


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a specification, with the keys that it may have."""


def whole(
    expression: Expression,
    names: Mapping[str, Number],
    least: int,
    most: float = math.inf,
    what: str = "",
) -> int:
    """The whole number that an expression gives; :class:`SpecError` beyond its bounds."""
    return bounded(expression, expression.integer(names), least, most, what)


def bounded(
    expression: Expression, value: Amounts, least: int, most: float, what: str = ""
) -> Amounts:
    """The value of an expression, if it lies within its bounds."""
    if not least <= value <= most:
        possible = f"{least} or more" if most == math.inf else f"{least} to {most}"
        raise SpecError(
            f"{expression.text!r} is {value}{what}; it has to be {possible}", where=expression.where
        )
    return value
