"""Results as JSON documents, and the JSON Schemas of those documents."""

from __future__ import annotations

import json
import math
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kernelprof.model.json_types import ADDED, BOTTLENECK, OR_NULL, VERSION
from kernelprof.report.writers import Writer

if TYPE_CHECKING:
    from kernelprof.report.json_diagnosis import JsonDocument

_HOMES: Final = {
    "diagnosis": "json_diagnosis",
    "comparison": "json_changes",
    "gate": "json_changes",
    "history": "json_changes",
    "optimization": "json_changes",
    "fleet_run": "json_fleet",
    "fleet_query": "json_fleet",
    "fleet_status": "json_fleet",
}
"""The module of each kind's document; it is imported where such a document is written."""
PUBLISHED: Final = tuple(_HOMES)
DOCTOR: Final = "doctor"
KINDS: Final = (*PUBLISHED, DOCTOR)


def _document(kind: str) -> JsonDocument[Any]:
    module = import_module(f"kernelprof.report.{_HOMES[kind]}")
    found: JsonDocument[Any] = module.DOCUMENTS[kind]
    return found


def write(result: Any, kind: str = "") -> str:
    """Return a result as one JSON document, in which NaN and infinities are ``null``.

    ``kind`` is one of :data:`KINDS`; results with a ``kind`` of their own and diagnoses need none.
    """
    name = kind or getattr(result, "kind", "diagnosis")
    if name == DOCTOR:
        values = msgspec.to_builtins({"schema_version": VERSION, "checks": result})
    else:
        values = msgspec.to_builtins(_document(name).make(result))
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
    from kernelprof.analysis.rules import registry

    root = _document(kind).root
    (body,), components = msgspec.json.schema_components([root])
    definitions: dict[str, Any] = _published(components)
    if BOTTLENECK in json.dumps(definitions):
        definitions[BOTTLENECK] = {
            "description": "A bottleneck's name; `kernelprof explain NAME` prints its page.",
            "enum": list(registry()),
        }
    published = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:kernelprof:{kind}:v{VERSION}",
        "title": f"kernelprof {kind}, version {VERSION}",
        "description": f"{root.__doc__} Fields are added within version {VERSION}, "
        "never removed or given another meaning.",
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
    found = {key.removesuffix("Json"): _published(each) for key, each in node.items()}
    if found.get("type") == "object" and "properties" in found:
        keys = found["properties"]
        found["required"] = [name for name, each in keys.items() if not each.pop(ADDED, False)]
        found["additionalProperties"] = False
        for each in keys.values():
            each.pop("default", None)
    if items := found.pop("prefixItems", None):
        found["items"] = items[0]
    if found.pop(OR_NULL, False):
        return {"anyOf": [found, {"type": "null"}]}
    return found


WRITER: Final = Writer("json", ".json", write, kinds=KINDS)
