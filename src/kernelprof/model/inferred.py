"""Sentences about a launch that was inferred from the source, without a specification."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from kernelprof.model.specification import NO_REFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelprof.model.manifest import SourceFacts

_MOST_ARRAYS: Final = 8


def describe_assumptions(source: SourceFacts | None) -> tuple[str, ...]:
    """Describe what was assumed of the launch; nothing where a specification was written."""
    if source is None or source.inferred is None or source.specification is None:
        return ()
    specification = source.specification
    path = shlex.quote(source.path)
    assumed = "; ".join(
        filter(None, (*_describe_launch(specification), *_describe_values(specification)))
    )
    return (
        f"the launch was inferred from the source: {assumed}. `kernelprof init {path}` writes it "
        "into the file for review",
        *(f"about the inferred launch: {each}" for each in source.inferred),
    )


def _describe_launch(specification: Mapping[str, Any]) -> Iterator[str]:
    yield f"kernel {specification.get('kernel')}"
    extents = (f"{name} {_describe_extents(specification.get(name))}" for name in ("block", "grid"))
    yield ", ".join(extents)
    defines = (specification.get("compile") or {}).get("defines") or {}
    macros = ", ".join(f"{name} = {value}" for name, value in defines.items())
    yield f"macros {macros}" if macros else ""
    shared = str((specification.get("launch") or {}).get("shared_bytes", "0"))
    yield "" if shared == "0" else f"{shared} bytes of dynamic shared memory"


def _describe_values(specification: Mapping[str, Any]) -> Iterator[str]:
    yield ", ".join(
        f"{name} = {value}" for name, value in (specification.get("sizes") or {}).items()
    )
    arguments = specification.get("arguments") or ()
    scalars = [(each["name"], each["value"]) for each in arguments if "value" in each]
    for each in arguments:
        members = (member for member in each.get("members") or () if "value" in member)
        scalars += [(f"{each['name']}.{member['name']}", member["value"]) for member in members]
    own = specification.get("sizes") or {}
    yield ", ".join(f"{name} = {value}" for name, value in scalars if value not in own)
    kinds: dict[str, list[str]] = {}
    for each in arguments:
        if (kind := _describe_kind(each)) is not None:
            kinds.setdefault(kind, []).append(each["name"])
    for kind, names in kinds.items():
        more = " and others" if len(names) > _MOST_ARRAYS else ""
        yield f"{kind}: {', '.join(names[:_MOST_ARRAYS])}{more}"


def _describe_kind(argument: Mapping[str, Any]) -> str | None:
    """Describe what an array holds; ``None`` for an array that is only written."""
    fill, limit = argument.get("fill"), argument.get("limit")
    if "shape" not in argument or (fill is None and argument.get("output")):
        return None
    if fill in {None, "random"}:
        return "random values" if limit is None else f"random numbers below {limit}"
    return "rising offsets" if fill == "offsets" else str(fill)


def _describe_extents(extents: object) -> str:
    if not isinstance(extents, list) or not extents:
        return "?"
    return " x ".join(str(each) for each in extents)


def why_unchecked(source: SourceFacts) -> str | None:
    """Return why the result of an inferred launch was not checked, where that is so."""
    if source.inferred is None or source.specification is None:
        return None
    if source.specification.get("reference") != NO_REFERENCE:
        return None
    return (
        "Result not checked: no reference given (--against OLD.cu compares it with another version)"
    )
