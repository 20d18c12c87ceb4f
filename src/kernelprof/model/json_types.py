"""What all published JSON documents share, version 1: scripts rely on it.

Within version 1 fields are added, never removed or given another meaning. ``kernelprof schema``
prints the JSON Schemas that are generated from these types.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeVar

from msgspec import Meta, Struct

from kernelprof.version import __version__

VERSION: Final = "1"
BOTTLENECK: Final = "Bottleneck"
"""The title of a bottleneck's name; the schema lists those of the rules there."""
ADDED: Final = "added"
"""Marks a key that documents of 0.1.0 do not have."""
OR_NULL: Final = "or null"
"""Marks a value that documents may have as null although the program always has one."""


def about(description: str, **more: Any) -> Meta:
    """Describe a key in a schema; ``more`` is added to the schema as it is."""
    return Meta(description=description, extra_json_schema=more or None)


def added(description: str) -> Meta:
    """Describe a key that was added after 0.1.0, and is not required therefore."""
    return about(description, **{ADDED: True})


Version = Literal["1"]
# For the schema alone: a value out of range is no reason to refuse a file.
NonNegative = Annotated[int, Meta(extra_json_schema={"minimum": 0})]
Positive = Annotated[int, Meta(extra_json_schema={"minimum": 1})]
FiniteOrNull = Annotated[float, Meta(extra_json_schema={OR_NULL: True})]
"""A number that is written as null where it is not finite."""
Number = int | float
"""Files hold whole numbers without a point, and are read as they are written."""
Nanoseconds = Annotated[float, Meta(extra_json_schema={"minimum": 0})]
Share = Annotated[float, Meta(extra_json_schema={"minimum": 0, "maximum": 1})]
Factor = Annotated[float, about("A speedup factor: 2 means half the time.", minimum=1)]
Bottleneck = Annotated[str, Meta(title=BOTTLENECK)]
Extent = tuple[int, int, int]
"""Blocks of a grid or threads of a block, in x, y and z."""
_Counts = tuple[NonNegative, NonNegative, NonNegative]
_XYZ: Final = "Size in x, y and z; null if unknown."
Dimensions = Annotated[_Counts | None, about(_XYZ)]
KnownDimensions = Annotated[_Counts, about(_XYZ, **{OR_NULL: True})]
CanonicalName = Annotated[str, about("Canonical name of a metric.")]


class JsonStruct(Struct, frozen=True):
    """An object of a published document: its fields are the keys, in this order."""


Written = TypeVar("Written", bound=JsonStruct)


def narrowed(kind: type[Written], value: object, /, **others: Any) -> Written:
    """Fill the fields of ``kind`` with ``others``, then with attributes of the value."""
    names = set(kind.__struct_fields__) - others.keys()
    return kind(**others, **{name: getattr(value, name) for name in names if hasattr(value, name)})


class Tool(JsonStruct, frozen=True):
    """What wrote the document."""

    name: Literal["kernelprof"] = "kernelprof"
    version: str = __version__


class JsonDocument(JsonStruct, frozen=True, kw_only=True):
    """What documents begin with."""

    schema_version: Version = VERSION
    kind: str
    tool: Tool = Tool()
