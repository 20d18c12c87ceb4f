"""What the JSON documents of all kinds share; see :mod:`kernelprof.report.json_schema`."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from kernelprof.model.capture import Origin  # noqa: TC001 (the types of fields are read)
from kernelprof.model.records import about

VERSION: Final = "1"
BOTTLENECK: Final = "Bottleneck"
"""The title of a bottleneck's name; the schema lists those of the rules there."""

Version = Literal["1"]
Amount = Annotated[int, Meta(ge=0)]
Launches = Annotated[int, Meta(ge=1)]
Nanoseconds = Annotated[float, Meta(ge=0)]
Factor = Annotated[float, Meta(ge=1, description="A factor of run time: 2 is half the time.")]
Part = Annotated[float, Meta(ge=0, le=1)]
Bottleneck = Annotated[str, Meta(title=BOTTLENECK)]
Dimensions = Annotated[
    Annotated[list[Amount], Meta(min_length=3, max_length=3)] | None,
    about("x, y and z, where that is known."),
]
Canonical = Annotated[str, about("Canonical name of a metric.")]


class Object(Struct, forbid_unknown_fields=True):
    """An object with these keys and no others; those with a default came after 0.1.0."""


class Tool(Object):
    """What wrote the document."""

    name: Literal["kernelprof"]
    version: str


class Evidence(Object):
    """A fact: value op threshold unit. Where nothing is compared, op is "=", threshold null."""

    metric: Canonical
    label: Annotated[str, about("What people call it.")]
    value: float
    unit: str
    op: Literal["=", "<", "<=", ">", ">="]
    threshold: float | None
    source: Origin
    formula: Annotated[
        str, about("How a value was worked out; empty where it is the metric's own.")
    ] = ""
    low: Annotated[
        float | None, about("The least that a predicted value can be; null where it is exact.")
    ] = None
    high: Annotated[float | None, about("The most that it can be.")] = None
