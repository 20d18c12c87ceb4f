"""Results as JSON, as :mod:`kernelprof.report.json_schema` has it, and the schemas of that."""

from __future__ import annotations

import json
import math
from functools import cache
from operator import attrgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, cast, get_args

import msgspec

from kernelprof.model.numbers import relation
from kernelprof.report import json_schema, json_schema_tried
from kernelprof.report import json_schema_changes as changes
from kernelprof.report import json_schema_fleet as fleet
from kernelprof.report import json_schema_parts as parts
from kernelprof.report import json_schema_survey as survey
from kernelprof.report.writers import Writer
from kernelprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    Fill = Callable[[Any], object]

ROOTS: Final[dict[str, type[msgspec.Struct]]] = {
    "diagnosis": json_schema.Diagnosis,
    "comparison": changes.Comparison,
    "gate": changes.Gate,
    "history": changes.History,
    "optimization": json_schema_tried.Optimization,
    "fleet_run": fleet.FleetRun,
    "fleet_query": fleet.FleetQuery,
    "fleet_status": fleet.FleetStatus,
}
KINDS: Final = (*ROOTS, "doctor")
_FRAME: Final = SimpleNamespace(
    schema_version=parts.VERSION,
    tool=SimpleNamespace(name="kernelprof", version=__version__),
)


def write(result: Any, kind: str = "") -> str:
    """A result as one JSON document; what is no finite number in it is ``null``.

    ``kind``, one of :data:`KINDS`, need not be told of comparisons, gates, histories and diagnoses.
    """
    return written(document(result, kind))


def document(result: Any, kind: str = "") -> dict[str, Any]:
    """The document as plain values."""
    name = kind or getattr(result, "kind", "diagnosis")
    if name == "diagnosis":
        kernels = [_All(kernel, each) for each in result for kernel in each.kernels]
        result = SimpleNamespace(captures=result, kernels=kernels)
    elif name == "gate":
        result = _All(result, result.comparison)
    elif name == "doctor":
        result = SimpleNamespace(checks=result)
    root = ROOTS.get(name, json_schema.Doctor)
    values: dict[str, Any] = msgspec.to_builtins(_filled(root, _All(_FRAME, result)))
    return values


def written(values: object) -> str:
    """Plain values as JSON, which has neither NaN nor infinity: such numbers are ``null``."""
    try:
        # Without an indent the encoder of C does it, many times as fast.
        return msgspec.json.format(json.dumps(values, allow_nan=False), indent=2) + "\n"
    except ValueError:
        return json.dumps(_finite(values), indent=2, allow_nan=False) + "\n"


def _finite(values: object) -> object:
    if isinstance(values, dict):
        return {key: _finite(each) for key, each in values.items()}
    if isinstance(values, list | tuple):
        return [_finite(each) for each in values]
    return None if isinstance(values, float) and not math.isfinite(values) else values


class _All:
    """Several values of the model as one: the first that has an attribute gives it."""

    def __init__(self, *values: object) -> None:
        self.values = values

    def __getattr__(self, name: str) -> Any:
        return getattr(next((each for each in self.values if hasattr(each, name)), None), name)


def _filled(kind: type[msgspec.Struct] | None, value: Any) -> Any:
    """A value of the model by the keys of the schema, or a list of such values."""
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [_filled(kind, each) for each in value]
    if value is None or kind is None:
        return value
    return {name: _filled(part, fill(value)) for name, fill, part in _keys(kind)}


@cache
def _keys(kind: type[msgspec.Struct]) -> list[tuple[str, Fill, type[msgspec.Struct] | None]]:
    """The keys of a struct, what fills each, and the struct that its values are of."""
    own = {
        name: fill for base in reversed(kind.__mro__) for name, fill in _FILL.get(base, {}).items()
    }
    return [
        (each.name, own.get(each.name, attrgetter(each.name)), _struct(each.type))
        for each in msgspec.structs.fields(kind)
    ]


def _struct(kind: Any) -> type[msgspec.Struct] | None:
    """The struct in a type such as ``list[Annotated[Struct, ...]] | None``."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    return next(filter(None, map(_struct, get_args(kind))), None)


def _prediction(capture: Any) -> object:
    """What was counted of a predicted capture; ``None`` of a measured one."""
    known = None if capture is None else capture.contents.prediction
    return None if known is None else known.counted


def _inferred(capture: Any) -> object:
    """The source of a capture whose launch was inferred; ``None`` where none was."""
    return getattr(capture, "inferred", None)


def _words() -> ModuleType:
    from kernelprof.comparison import words

    return words


def _of_history(kernel: Any) -> str:
    from kernelprof.comparison.history.words import summary

    return summary(kernel)


_ANSWER: Final[dict[str, Fill]] = {
    "also": lambda verdict: [each.bottleneck for each in verdict.also],
    "estimated_gain": attrgetter("gain"),
}
_SIDES: Final[dict[str, Fill]] = {
    "before": attrgetter("before.origin"),
    "after": attrgetter("after.origin"),
}

_FILL: Final[dict[type, dict[str, Fill]]] = {
    json_schema.Duration: {"min": attrgetter("low"), "max": attrgetter("high")},
    parts.Evidence: {
        "op": relation,
        "low": lambda fact: fact.ends and fact.ends[0],
        "high": lambda fact: fact.ends and fact.ends[1],
    },
    json_schema.Verdict: {
        **_ANSWER,
        "evidence": lambda verdict: [e for e in verdict.evidence if math.isfinite(e.value)],
        "missing": lambda verdict: list(dict.fromkeys(e.ncu_name for e in verdict.missing)),
        "candidates": attrgetter("also"),
        "missing_metrics": attrgetter("missing"),
    },
    json_schema.CaptureRead: {
        "survey": lambda found: getattr(found, "survey", None),
        "inferred": lambda found: _inferred(getattr(found, "capture", None)),
    },
    json_schema.InferredLaunch: {"remarks": attrgetter("inferred")},
    json_schema.Kernel: {
        "surveyed": lambda kernel: getattr(kernel, "surveyed", None),
        "compute_capability": lambda kernel: (
            kernel.compute_capability and ".".join(map(str, kernel.compute_capability))
        ),
        "predicted": lambda kernel: _prediction(getattr(kernel, "capture", None)),
    },
    survey.IdleTime: {"time_ns": attrgetter("time")},
    survey.Gpu: {f"{name}_ns": attrgetter(name) for name in survey.TIMES},
    survey.Owner: {"time_ns": attrgetter("time")},
    survey.SurveyedKernel: {"time_ns": attrgetter("time"), "median_ns": attrgetter("median")},
    survey.Coverage: {"estimate_s": attrgetter("estimate"), "budget_s": attrgetter("budget")},
    json_schema.Access: {
        "file": lambda access: access.file or None,
        "line": lambda access: access.line or None,
    },
    changes.SideVerdict: _ANSWER,
    changes.SourceFile: {"sha256": attrgetter("source_sha256")},
    changes.Side: {
        "events_ns": lambda side: [each for each in side.events_ns if math.isfinite(each)],
        "profiled_ns": lambda side: [each for each in side.profiled_ns if math.isfinite(each)],
        "source": attrgetter("inputs"),
    },
    changes.Time: {
        "measured_by": attrgetter("how"),
        "ratio_low": attrgetter("low"),
        "ratio_high": attrgetter("high"),
        "noise_floor": attrgetter("floor"),
        "noise_floor_from": attrgetter("floor_from"),
        "samples": lambda time: SimpleNamespace(before=time.samples[0], after=time.samples[1]),
    },
    changes.ComparedKernel: {
        "summary": lambda kernel: _words().headline(kernel),
        "notes": lambda kernel: _words().notes(kernel),
    },
    changes.Comparison: {**_SIDES, "summary": lambda found: _words().summary(found)},
    changes.Gate: {
        **_SIDES,
        "reason": lambda result: _words().reason(result),
        "findings": attrgetter("general"),
        "summary": lambda result: _words().summary(result.comparison),
        "kernels": lambda result: [_All(each, each.kernel) for each in result.kernels],
    },
    changes.Row: {
        "source_sha256": lambda row: row.inputs and row.inputs.source_sha256,
        "samples": lambda row: len(row.times_ns),
        "compared_with": attrgetter("against"),
    },
    changes.KernelHistory: {
        "summary": _of_history,
        "rows": lambda kernel: [_All(row, row.kernel, row.moment) for row in kernel.rows],
    },
}
"""What fills the keys that the model calls otherwise."""


def schema(kind: str = "diagnosis") -> str:
    """The published JSON Schema of a kind of result, one of :data:`ROOTS`."""
    from kernelprof.analysis.rules import registry

    root = ROOTS[kind]
    (body,), definitions = msgspec.json.schema_components([root])
    definitions = cast("dict[str, Any]", _named(definitions))
    if parts.BOTTLENECK in json.dumps(definitions):
        definitions[parts.BOTTLENECK] = {
            "description": "A bottleneck's name; `kernelprof explain NAME` prints its page.",
            "enum": list(registry()),
        }
    published = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:kernelprof:{kind}:v{parts.VERSION}",
        "title": f"kernelprof {kind}, version {parts.VERSION}",
        "description": f"{root.__doc__} Fields are added within version {parts.VERSION}, "
        "never removed or given another meaning.",
        **body,
        "$defs": definitions,
    }
    return json.dumps(published, indent=2) + "\n"


def _named(node: object) -> object:
    """A schema in which names of bottlenecks refer to the one list of them."""
    if isinstance(node, list):
        return [_named(each) for each in node]
    if not isinstance(node, dict):
        return node
    if node.get("title") == parts.BOTTLENECK:
        return {"$ref": f"#/$defs/{parts.BOTTLENECK}"}
    return {key: _named(each) for key, each in node.items()}


WRITER: Final = Writer("json", ".json", write, kinds=KINDS)
