"""The published JSON Schemas, generated from the types of the documents."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, Final, cast

import msgspec

from kernelprof.report import contract
from kernelprof.report import contract_changes as changes

ROOTS: Final[dict[str, type[msgspec.Struct]]] = {
    "diagnosis": contract.Diagnosis,
    "comparison": changes.Comparison,
    "gate": changes.Gate,
    "history": changes.History,
}


def schema(kind: str = "diagnosis") -> str:
    """The published JSON Schema of a kind of result, one of :data:`ROOTS`."""
    if kind == "corpus":
        file = resources.files("kernelprof.report") / "schema" / "corpus.v1.schema.json"
        return file.read_text(encoding="utf-8")
    from kernelprof.analysis.rules import registry

    root = ROOTS[kind]
    (body,), definitions = msgspec.json.schema_components([root])
    definitions = cast("dict[str, Any]", _named(definitions))
    if contract.BOTTLENECK in json.dumps(definitions):
        definitions[contract.BOTTLENECK] = {
            "description": "A bottleneck's name; `kernelprof explain NAME` prints its page.",
            "enum": list(registry()),
        }
    published = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:kernelprof:{kind}:v{contract.VERSION}",
        "title": f"kernelprof {kind}, version {contract.VERSION}",
        "description": f"{root.__doc__} Fields are added within version {contract.VERSION}, "
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
    if node.get("title") == contract.BOTTLENECK:
        return {"$ref": f"#/$defs/{contract.BOTTLENECK}"}
    return {key: _named(each) for key, each in node.items()}
