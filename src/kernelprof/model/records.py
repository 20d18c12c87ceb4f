"""Dataclasses as JSON and back: for files that kernelprof writes for itself and reads again."""

from __future__ import annotations

import json
import types
import typing
from dataclasses import MISSING, asdict, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Record = TypeVar("Record", bound=DataclassInstance)


class RecordError(ValueError):
    """A text that is not the record that it should be; the message names the key."""


def to_json(record: DataclassInstance) -> str:
    """A record as its file holds it, its schema version first."""
    values = asdict(record)
    version = {key: values.pop(key) for key in ("schema_version",) if key in values}
    return json.dumps({**version, **values}, indent=1, ensure_ascii=False) + "\n"


def read_object(text: str, *, finite: bool = False) -> dict[str, Any]:
    """The JSON object in a text; :class:`RecordError` where there is none.

    Python writes and reads NaN and infinities, which JSON has not; ``finite`` refuses them.
    """
    try:
        values = json.loads(text, parse_constant=_refuse_constant if finite else None)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"it is not JSON ({error})") from error
    if not isinstance(values, dict):
        raise RecordError("it is not a JSON object")
    return values


def build(kind: type[Record], values: object, place: str = "") -> Record:
    """A record of a kind from the JSON object of one; keys that it does not know are left out.

    Raises :class:`RecordError` for a key that is missing and for a value of another type.
    """
    if not isinstance(values, dict):
        raise RecordError(f"{place!r} is not an object")
    kinds = _types(kind)
    given: dict[str, Any] = {}
    for each in fields(kind):
        here = f"{place}.{each.name}" if place else each.name
        if each.name in values:
            given[each.name] = _value(kinds[each.name], values[each.name], here)
        elif each.default is MISSING and each.default_factory is MISSING:
            raise RecordError(f"{here!r} is missing")
    return kind(**given)


@cache
def _types(kind: type[DataclassInstance]) -> dict[str, Any]:
    """The types of a record's fields; to work them out takes longer than to read a record."""
    return typing.get_type_hints(kind)


def _value(kind: Any, value: object, place: str) -> Any:
    """A value of a field's type."""
    if isinstance(kind, types.UnionType):
        if value is None:
            return None
        (kind,) = (each for each in typing.get_args(kind) if each is not types.NoneType)
    origin = typing.get_origin(kind)
    if is_dataclass(kind):
        return build(typing.cast("Any", kind), value, place)
    if origin in {tuple, list, dict} and isinstance(value, list | dict):
        return _items(kind, value, place)
    if kind is Any:
        return value
    if isinstance(kind, type) and issubclass(kind, StrEnum) and value in set(kind):
        return kind(str(value))
    wanted: Any = (int, float) if kind is float else origin or kind
    if isinstance(value, wanted) and isinstance(value, bool) == (kind is bool):
        return value
    raise RecordError(f"{place!r} has a value of another kind: {value!r:.80}")


def _items(kind: Any, value: list[Any] | dict[str, Any], place: str) -> Any:
    """The values in a list, a tuple of a fixed or any length, or a table."""
    origin, items = typing.get_origin(kind), typing.get_args(kind)
    if isinstance(value, dict) != (origin is dict):
        raise RecordError(f"{place!r} has a value of another kind: {value!r:.80}")
    if isinstance(value, dict):
        return {name: _value(items[1], each, f"{place}.{name}") for name, each in value.items()}
    if origin is tuple and items[-1] is not Ellipsis and len(value) != len(items):
        raise RecordError(f"{place!r} has {len(value)} values and not {len(items)}")
    found = [_value(items[0], each, f"{place}[{at}]") for at, each in enumerate(value)]
    return tuple(found) if origin is tuple else found


def _refuse_constant(name: str) -> None:
    """What Python's reader takes for a number and JSON does not."""
    raise ValueError(f"{name} is no number")
