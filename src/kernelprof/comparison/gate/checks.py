"""Whether a candidate's result was checked as closely as the baseline's."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from kernelprof.model.specification import NO_REFERENCE, TOLERANCE

if TYPE_CHECKING:
    from kernelprof.model.snapshot import KernelSnapshot

_CONSTANT: Final = frozenset({"zeros"})


def unchecked(before: KernelSnapshot, after: KernelSnapshot) -> bool:
    """Whether the baseline was checked, and nothing is known of a check of the candidate."""
    return before.passed is True and after.passed is None and _of(after) is None


def weaker(before: KernelSnapshot, after: KernelSnapshot) -> str | None:
    """What is weaker in the candidate's check than in the baseline's; ``None`` where nothing is.

    A check is what the launch specification says: the reference, how far a result may be off, at
    which sizes, how many outputs there are, and how many inputs that differ from place to place.
    """
    old, new = _of(before), _of(after)
    if old is None or new is None or before.passed is not True:
        return None
    was, now = old.get("reference"), new.get("reference")
    if now in {None, NO_REFERENCE} or after.passed is None:
        return f"its result was checked against {was}, and is not checked any more"
    found = f"its result is checked against {now} instead of {was}" if was != now else None
    return found or _closeness(old, new) or _breadth(old, new)


def _closeness(old: dict[str, Any], new: dict[str, Any]) -> str | None:
    allowed, allows = (_tolerance(_check(each).get("tolerance")) for each in (old, new))
    return f"its result may be off by {allows:g}, {allowed:g} before" if allows > allowed else None


def _breadth(old: dict[str, Any], new: dict[str, Any]) -> str | None:
    """How much less is checked: at smaller sizes, fewer outputs, plainer inputs."""
    if _size(new) < _size(old):
        return f"its result is checked at {_sizes(new)}, at {_sizes(old)} before"
    for what, count in (("outputs", _outputs), ("inputs with values of their own", _varied)):
        if count(new) < count(old):
            return f"its result is checked with {count(new)} {what}, {count(old)} before"
    return None


def _of(kernel: KernelSnapshot) -> dict[str, Any] | None:
    return kernel.inputs.specification if kernel.inputs else None


def _check(specification: dict[str, Any]) -> dict[str, Any]:
    return specification.get("check") or {}


def _tolerance(value: object) -> float:
    """How far a result may be off: the default where nothing is said, anything where it is none."""
    if value is None:
        return TOLERANCE
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else math.inf


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _size(specification: dict[str, Any]) -> float:
    """The product of the check's sizes, without those that are zero or no numbers."""
    return math.prod(filter(None, map(_number, _all_sizes(specification).values())))


def _all_sizes(specification: dict[str, Any]) -> dict[str, Any]:
    """Those of the launch, with others that the check has in their place."""
    return {**(specification.get("sizes") or {}), **(_check(specification).get("sizes") or {})}


def _sizes(specification: dict[str, Any]) -> str:
    found = _all_sizes(specification)
    return ", ".join(f"{name}={value}" for name, value in found.items()) or "no sizes"


def _outputs(specification: dict[str, Any]) -> int:
    return sum(bool(each.get("output")) for each in _arguments(specification))


def _varied(specification: dict[str, Any]) -> int:
    """How many input arrays do not hold one value everywhere."""
    arrays = (each for each in _arguments(specification) if each.get("fill") is not None)
    return sum(each["fill"] not in _CONSTANT for each in arrays)


def _arguments(specification: dict[str, Any]) -> list[dict[str, Any]]:
    return specification.get("arguments") or []
