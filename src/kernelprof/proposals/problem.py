"""What a proposal may change of a launch specification: how it is launched, and not what for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from kernelprof.launch.source import cut_block, with_block

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kernelprof.launch.spec import LaunchSpec

MAY_CHANGE: Final = (
    ("kernel",),
    ("grid",),
    ("block",),
    ("compile", "defines"),
    ("launch", "shared_bytes"),
    ("launch", "cluster"),
)
"""Keys that say how a kernel is launched. All others are the problem and how it is checked."""


def changed_keys(original: LaunchSpec, proposed: LaunchSpec) -> tuple[str, ...]:
    """The keys that differ and may not, and what a define that changed makes of the problem."""
    before, after = (dict(_leaves(_fixed(each.document()))) for each in (original, proposed))
    found = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    if not found and _worked_out(original) != _worked_out(proposed):
        found.append("what the arguments are, by a define")
    return tuple(found)


def in_words() -> str:
    """What may change, for those who propose."""
    return ", ".join(".".join(each) for each in MAY_CHANGE)


def at_measured_sizes(text: str, path: Path, spec: LaunchSpec) -> str:
    """A source that is checked at the sizes that it is measured at.

    A kernel that does its work at the sizes of the check alone is wrong there.
    """
    document = spec.document()
    document["check"] = {"tolerance": spec.tolerance}
    toml = "\n".join(f"{key} = {_toml(value)}" for key, value in document.items())
    return with_block(text, toml, cut_block(text, path))


def _fixed(document: dict[str, Any]) -> dict[str, Any]:
    """A specification without what may change."""
    fixed = {key: value for key, value in document.items() if (key,) not in MAY_CHANGE}
    for table, key in (each for each in MAY_CHANGE if len(each) == 2):
        fixed[table] = {name: value for name, value in fixed[table].items() if name != key}
    return fixed


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Each value of tables in tables, by its place as people write it."""
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _leaves(each, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
        for at, each in enumerate(value):
            yield from _leaves(each, f"{place}[{at}]")
    else:
        yield place, value


def _worked_out(spec: LaunchSpec) -> list[Any]:
    """What is computed at both sets of sizes; defines stand in expressions, too."""
    found = []
    for sizes in (spec.sizes, spec.check_sizes):
        at = spec.resolve(sizes)
        arguments = [
            [getattr(each, name, None) for name in ("shape", "value")] for each in at.arguments
        ]
        found.append([arguments, at.flops, at.min_bytes])
    return found


def _toml(value: Any) -> str:
    """A value as TOML has it in one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
