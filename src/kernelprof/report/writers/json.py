"""Results as JSON documents, and the JSON Schemas of those documents."""

from __future__ import annotations

import json
import math
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kernelprof.model.json_types import ADDED, BOTTLENECK, OR_NULL, VERSION, narrowed
from kernelprof.report.writers import Writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.model.json_types import JsonStruct

_DOCUMENTS: Final = {
    "diagnosis": ("report.json_diagnosis", "DiagnosisJson", "diagnoses_json"),
    "comparison": ("report.json_changes", "ComparisonJson", "comparison_json"),
    "gate": ("report.json_changes", "GateJson", "gate_json"),
    "history": ("report.json_changes", "HistoryJson", "history_json"),
    "optimization": ("report.json_changes", "OptimizationJson", "optimization_json"),
    "fleet_run": ("fleet.results", "FleetRunJson", ""),
    "fleet_query": ("fleet.results", "FleetTable", ""),
    "fleet_status": ("fleet.results", "FleetStatus", ""),
}
"""Of each kind of document its module, its type, and what makes one of a result that is not one.

Modules are imported where such a document is written.
"""
PUBLISHED: Final = tuple(_DOCUMENTS)
DOCTOR: Final = "doctor"
KINDS: Final = (*PUBLISHED, DOCTOR)


def _load_document(kind: str) -> tuple[type[JsonStruct], Callable[[Any], JsonStruct]]:
    module_name, root_name, maker = _DOCUMENTS[kind]
    module = import_module(f"kernelprof.{module_name}")
    root: type[JsonStruct] = getattr(module, root_name)
    return root, getattr(module, maker) if maker else partial(narrowed, root)


def write(result: Any, kind: str = "") -> str:
    """Return a result as one JSON document, in which NaN and infinities are ``null``.

    ``kind`` is one of :data:`KINDS`; results with a ``kind`` of their own and diagnoses need none.
    """
    name = kind or getattr(result, "kind", "diagnosis")
    if name == DOCTOR:
        values = msgspec.to_builtins({"schema_version": VERSION, "checks": result})
    else:
        values = msgspec.to_builtins(_load_document(name)[1](result))
    try:
        # Without an indent the encoder of C does it, many times as fast.
        return msgspec.json.format(json.dumps(values, allow_nan=False), indent=2) + "\n"
    except ValueError:
        return json.dumps(_finite(values), indent=2, allow_nan=False) + "\n"


def document(result: Any, kind: str = "") -> dict[str, Any]:
    """Return the document as plain values."""
    values: dict[str, Any] = json.loads(write(result, kind))
    return values


def _finite(values: object) -> object:
    if isinstance(values, dict):
        return {key: _finite(each) for key, each in values.items()}
    if isinstance(values, list | tuple):
        return [_finite(each) for each in values]
    return None if isinstance(values, float) and not math.isfinite(values) else values


def schema(kind: str = "diagnosis") -> str:
    """Return the published JSON Schema of a kind of result, one of :data:`PUBLISHED`."""
    from kernelprof.analysis.rules import load_rules

    root, _ = _load_document(kind)
    (body,), components = msgspec.json.schema_components([root])
    definitions: dict[str, Any] = _published(components)
    if BOTTLENECK in json.dumps(definitions):
        definitions[BOTTLENECK] = {
            "description": "A bottleneck's name; `kernelprof explain NAME` prints its page.",
            "enum": list(load_rules()),
        }
    published = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:kernelprof:{kind}:v{VERSION}",
        "title": f"kernelprof {kind}, version {VERSION}",
        "description": f"{root.__doc__} Within version {VERSION}, fields can be added, but are "
        "never removed or redefined.",
        **_published(body),
        "$defs": definitions,
    }
    return json.dumps(published, indent=2) + "\n"


def _published(node: Any) -> Any:
    """Return a schema of objects that have every key of their type, and no others."""
    if isinstance(node, str):
        return node.removesuffix("Json")
    if isinstance(node, list):
        return [_published(each) for each in node]
    if not isinstance(node, dict):
        return node
    if node.get("title") == BOTTLENECK:
        return {"$ref": f"#/$defs/{BOTTLENECK}"}
    published = {key.removesuffix("Json"): _published(each) for key, each in node.items()}
    if published.get("type") == "object" and "properties" in published:
        keys = published["properties"]
        published["required"] = [name for name, each in keys.items() if not each.pop(ADDED, False)]
        published["additionalProperties"] = False
        for each in keys.values():
            each.pop("default", None)
    if {"type": "number"} in (options := published.get("anyOf", ())):
        # A whole number is one, too.
        published["anyOf"] = [each for each in options if each != {"type": "integer"}]
    if items := published.pop("prefixItems", None):
        published["items"] = items[0]
    if published.pop(OR_NULL, False):
        return {"anyOf": [published, {"type": "null"}]}
    return published


WRITER: Final = Writer("json", ".json", write, kinds=KINDS)
