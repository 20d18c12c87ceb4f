"""Published schemas only grow within version 1: scripts rely on every key and type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernelprof.report.writers.json import PUBLISHED, schema

FROZEN = Path(__file__).parents[1] / "schemas" / "version-1"


def _resolved(schema: dict[str, Any]) -> Any:
    """A schema with definitions in place of references to them, whose names are no promise."""

    def resolve(node: Any) -> Any:
        if isinstance(node, list):
            return [resolve(each) for each in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            target = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
            return resolve({**target, **{k: v for k, v in node.items() if k != "$ref"}})
        return {key: resolve(each) for key, each in node.items()}

    return resolve({"$ref": schema["$ref"]})


def _losses(old: Any, new: Any, place: str = "$") -> list[str]:
    """What a document or a script of the old schema could not rely on in the new one."""
    if isinstance(old, dict) and isinstance(new, dict):
        lost = [f"{place}.{key} is gone" for key in old if key not in new]
        both = [key for key in old if key in new]
        return lost + [
            loss for key in both for loss in _losses(old[key], new[key], f"{place}.{key}")
        ]
    if isinstance(old, list) and isinstance(new, list):
        if place.endswith((".enum", ".anyOf")):
            return [f"{place} lacks {each}" for each in old if all(_losses(each, n) for n in new)]
        if place.endswith(".required"):
            return [] if set(old) == set(new) else [f"{place}: {sorted({*old} ^ {*new})}"]
    return [] if old == new else [f"{place} is {new} and was {old}"]


@pytest.mark.parametrize("kind", PUBLISHED)
def test_a_schema_keeps_every_key_and_type(kind: str) -> None:
    """A new kind of result is frozen when it is released: write its schema to ``FROZEN``."""
    old = json.loads((FROZEN / f"{kind}.json").read_text(encoding="utf-8"))
    assert not _losses(_resolved(old), _resolved(json.loads(schema(kind))))


@pytest.mark.parametrize(
    ("change", "losses"),
    [
        ({"properties": {"a": {"type": "integer"}, "c": {"type": "string"}}}, []),
        ({"properties": {}}, ["$.properties.a is gone"]),
        (
            {"properties": {"a": {"type": "string"}}},
            ["$.properties.a.type is string and was integer"],
        ),
        ({"required": ["a", "c"]}, ["$.required: ['c']"]),
        ({"required": []}, ["$.required: ['a']"]),
        ({"enum": [1, 2, 3]}, []),
        ({"enum": [2]}, ["$.enum lacks 1"]),
    ],
)
def test_only_additions_are_no_loss(change: dict[str, Any], losses: list[str]) -> None:
    old = {"properties": {"a": {"type": "integer"}}, "required": ["a"], "enum": [1, 2]}
    assert _losses(old, {**old, **change}) == losses
