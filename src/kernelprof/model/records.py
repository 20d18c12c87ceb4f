"""Dataclasses as JSON and back: for files that kernelprof writes for itself and reads again."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Record = TypeVar("Record", bound=DataclassInstance)

MOST_VALUES: Final = 4_000_000
"""Values of a text: each takes a hundred bytes, and the longest that we write have a million."""
MOST_DEPTH: Final = 64
"""Tables and lists in each other; no file of ours has ten."""
_MOST_DIGITS: Final = 300
"""Digits of a whole number: one with more is no double either."""
_MISSING: Final = re.compile(r"Object missing required field `(?P<field>[^`]*)`")
_PLACE: Final = re.compile(r"^(?P<what>.*?)(?: - at `\$\.?(?P<place>.*)`)?$", re.DOTALL)


class RecordError(ValueError):
    """A text that is not the record that it should be; the message names the key."""


def to_json(record: DataclassInstance) -> str:
    """Write a record as JSON, its schema version first."""
    # Numbers of numpy are floats to json, and nothing to msgspec.
    values: dict[str, Any] = msgspec.to_builtins(record, enc_hook=float)
    version = {key: values.pop(key) for key in ("schema_version",) if key in values}
    return json.dumps({**version, **values}, indent=1, ensure_ascii=False) + "\n"


def read_object(text: str, *, finite: bool = False) -> dict[str, Any]:
    """Parse the JSON object in a text; :class:`RecordError` where there is none.

    Python writes and reads NaN and infinities, which JSON has not; ``finite`` refuses them.
    """
    values = read_json(text, finite=finite)
    if not isinstance(values, dict):
        raise RecordError("it is not a JSON object")
    return values


def read_json(text: str, *, finite: bool = False) -> Any:
    """Parse JSON of bounded size and depth; :class:`RecordError` for anything else."""
    if sum(map(text.count, ",[{")) > MOST_VALUES:
        raise RecordError(f"it has more than {MOST_VALUES:,} values")
    try:
        values = json.loads(
            text, parse_constant=_refuse_constant if finite else None, parse_int=_parse_whole
        )
    except (ValueError, RecursionError) as error:
        raise RecordError(f"it is not JSON ({error})") from error
    level = [values] if isinstance(values, dict | list) else []
    for _ in range(MOST_DEPTH):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return values
    raise RecordError(_TOO_DEEP)


_TOO_DEEP: Final = f"its values are nested more than {MOST_DEPTH} levels deep"


def build(kind: type[Record], values: object) -> Record:
    """Convert a JSON object to a record of a kind; unknown keys are left out.

    Raises :class:`RecordError` for a key that is missing and for a value of another type.
    """
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise RecordError(_describe_mistake(str(error))) from error
    except UnicodeEncodeError as error:
        raise RecordError("it contains an unpaired surrogate, which is not valid text") from error


def _describe_mistake(message: str) -> str:
    match = _PLACE.match(message)
    what, path = (match["what"], match["place"] or "") if match else (message, "")
    if missing := _MISSING.match(what):
        return f"{'.'.join(filter(None, (path, missing['field'])))!r} is missing"
    return f"{path!r} has an invalid value: {what[:1].lower()}{what[1:]}"


def _parse_whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number has {len(digits):,} digits, but the limit is {_MOST_DIGITS}")
    return int(digits)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
