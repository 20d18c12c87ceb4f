"""JSON Schemas of files that kernelprof reads, by which tests hold readers and writers together."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from kernelprof.launch.specification.tables import SpecTable, to_json_values
from kernelprof.model.manifest import SCHEMA_VERSION, Manifest

_ADDED: Final = {
    "Manifest": ("survey", "survey_sha256"),
    "RunFacts": ("lines", "lines_sha256"),
    "SourceFacts": ("compile_sha256", "includes", "resources", "compiler_warnings"),
    "TimingFacts": ("times_ns", "flops", "min_bytes"),
    "CorrectnessFacts": ("sizes",),
}


def manifest_schema() -> str:
    """Return the JSON Schema of the manifest.

    Every key is written, so every key is required, except for those that were added within
    version 1: a manifest without them is read with their defaults.
    """
    (reference,), definitions = msgspec.json.schema_components([Manifest])
    for name, definition in definitions.items():
        keys = definition["properties"]
        definition["required"] = [key for key in keys if key not in _ADDED.get(name, ())]
    definitions["Manifest"]["properties"]["schema_version"] = {"const": SCHEMA_VERSION}
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:kernelprof:manifest:v1",
        **reference,
        "$defs": definitions,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def specification_schema() -> str:
    """Return the JSON Schema of a specification."""
    (reference,), definitions = msgspec.json.schema_components(
        [SpecTable], schema_hook=lambda _kind: {}
    )
    for definition in definitions.values():
        for key, described in definition["properties"].items():
            definition["properties"][key] = _without_null(described)
    array = _required("shape", "fill", "limit", "seed", "output", "passed")
    typed, scalar, mapped, parts = _required("type", "value", "tensor_map", "members")
    definitions["Argument"]["oneOf"] = [
        {"required": ["type", "shape"], "not": {"anyOf": [scalar, mapped, parts]}},
        {"required": ["type", "value"], "not": {"anyOf": [*array, mapped, parts]}},
        {"required": ["tensor_map"], "not": {"anyOf": [*array, typed, scalar, parts]}},
        {"required": ["members"], "not": {"anyOf": [*array, typed, scalar, mapped]}},
    ]
    definitions["Member"]["oneOf"] = [
        {"required": ["type", "value"], "not": {"anyOf": _required("values", "of")}},
        {"required": ["type", "values"], "not": {"anyOf": _required("value", "of")}},
        {"required": ["of"], "not": {"anyOf": _required("type", "value", "values")}},
    ]
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:kernelprof:launch:v1",
        **reference,
        "$defs": definitions,
    }
    return json.dumps(document, indent=2, default=to_json_values) + "\n"


def _required(*keys: str) -> list[dict[str, Any]]:
    return [{"required": [key]} for key in keys]


def _without_null(described: dict[str, Any]) -> dict[str, Any]:
    """A key's description without null, which TOML does not have: such a key is left out."""
    if {"type": "null"} not in described.get("anyOf", ()):
        return described
    others = {key: value for key, value in described.items() if key not in ("anyOf", "default")}
    return {**others, **described["anyOf"][0]}
