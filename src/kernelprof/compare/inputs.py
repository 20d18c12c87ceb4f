"""What differs in the sources, the launch specifications and the way of compiling."""

from __future__ import annotations

import difflib
import json
import math
from typing import TYPE_CHECKING, Any, Final

from kernelprof.model.comparison import InputChange

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelprof.model.snapshot import Inputs, KernelSnapshot

_PARTS: Final = {
    "sizes": "sizes",
    "arguments": "arguments",
    "reference": "check",
    "check": "check",
    "flops": "declared work",
    "min_bytes": "declared work",
}
"""Keys of a launch specification, and the kind of change that a difference in each is."""


def input_changes(before: KernelSnapshot, after: KernelSnapshot) -> tuple[InputChange, ...]:
    """All that differs. Without a manifest on both sides only the launch is known."""
    return (*_launch(before, after), *_built(before.inputs, after.inputs))


def other_work(before: KernelSnapshot, after: KernelSnapshot) -> str | None:
    """Why the two sides do another amount of work, or may; ``None`` where they do the same.

    With a launch specification on both sides the sizes tell. Without one, another number of threads
    may be another problem or another way to the same one.
    """
    old, new = _sizes(before), _sizes(after)
    if old is not None and new is not None:
        if old == new:
            return _declared(before, after)
        return f"other sizes ({_named(old)} before, {_named(new)} after)"
    threads = [
        math.prod((*side.grid, *side.block)) if side.grid and side.block else None
        for side in (before, after)
    ]
    if None in threads or threads[0] == threads[1]:
        return None
    return (
        f"another number of threads ({threads[0]:,} before, {threads[1]:,} after), and no launch "
        "specification on both sides tells whether the problem is the same"
    )


def _declared(before: KernelSnapshot, after: KernelSnapshot) -> str | None:
    """Why the declared work differs, if it does."""
    for name, label in (("flops", "FLOPs"), ("min_bytes", "fewest bytes")):
        old, new = getattr(before, name), getattr(after, name)
        if old is not None and new is not None and old != new:
            return f"another number of declared {label} ({old:,.0f} before, {new:,.0f} after)"
    return None


def source_diff(before: str | None, after: str | None) -> str:
    """The unified diff of two sources, empty where they are the same or one is not known."""
    if before is None or after is None or before == after:
        return ""
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=2
    )
    return "\n".join(lines)


def kinds_of_change(changes: tuple[InputChange, ...]) -> tuple[str, ...]:
    """The kinds of change that were made, each once; what follows from another is not counted.

    A grid that another size or define gives is no change by itself.
    """
    kinds = dict.fromkeys(each.kind for each in changes)
    if {"sizes", "defines", "source", "specification"} & kinds.keys():
        kinds.pop("launch", None)
    return tuple(kinds)


def _launch(before: KernelSnapshot, after: KernelSnapshot) -> Iterator[InputChange]:
    for name in ("grid", "block"):
        old, new = getattr(before, name), getattr(after, name)
        if old and new and old != new:
            yield InputChange("launch", name, _dimensions(old), _dimensions(new))


def _built(before: Inputs | None, after: Inputs | None) -> Iterator[InputChange]:
    if before is None or after is None:
        return
    if before.source_sha256 != after.source_sha256:
        yield InputChange("source", "source", before.path, after.path)
    for name, old, new in _differing(before.includes or {}, after.includes or {}):
        yield InputChange("source", f"included {name}", _short(old), _short(new))
    if before.compiler != after.compiler:
        yield InputChange("compiler", "compiler", before.compiler or "", after.compiler or "")
    old_spec, new_spec = before.specification or {}, after.specification or {}
    for part, kind in _PARTS.items():
        for name, old, new in _entries(part, old_spec.get(part), new_spec.get(part)):
            yield InputChange(kind, name, old, new)
    old_compile, new_compile = old_spec.get("compile") or {}, new_spec.get("compile") or {}
    for name, old, new in _differing(
        old_compile.get("defines") or {}, new_compile.get("defines") or {}
    ):
        yield InputChange("defines", name, _short(old), _short(new))
    for part in ("flags", "standard"):
        if old_compile.get(part) != new_compile.get(part):
            yield InputChange(
                "flags", part, _short(old_compile.get(part)), _short(new_compile.get(part))
            )
    old_launch, new_launch = old_spec.get("launch") or {}, new_spec.get("launch") or {}
    if old_launch.get("shared_bytes") != new_launch.get("shared_bytes"):
        old, new = (_short(each.get("shared_bytes")) for each in (old_launch, new_launch))
        yield InputChange("shared memory", "dynamic shared memory", old, new)


def _entries(part: str, old: Any, new: Any) -> Iterator[tuple[str, str, str]]:
    """The differences of a part of a specification, entry by entry where it is a table."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name, before, after in _differing(old, new):
            yield f"{part}.{name}", _short(before), _short(after)
    elif old != new:
        yield part, _short(old), _short(new)


def _differing(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[tuple[str, object, object]]:
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield name, old.get(name), new.get(name)


def _sizes(kernel: KernelSnapshot) -> dict[str, Any] | None:
    specification = kernel.inputs.specification if kernel.inputs else None
    return None if specification is None else dict(specification.get("sizes") or {})


def _named(sizes: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sizes.items()) or "none"


def _dimensions(extents: tuple[int, ...]) -> str:
    return "x".join(map(str, extents))


def _short(value: object) -> str:
    """A value on one line; hashes and long lists are cut."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= 60 else text[:57] + "..."
