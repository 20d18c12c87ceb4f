"""What differs in what kernels were built from, how they were launched, and on what machine."""

from __future__ import annotations

import difflib
import json
import math
from typing import TYPE_CHECKING, Any, Final

from kernelprof.model.comparison import InputChange

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelprof.model.snapshot import Inputs, KernelSnapshot, MeasurementSetup

_PARTS: Final = {
    "sizes": "sizes",
    "arguments": "arguments",
    "reference": "check",
    "check": "check",
    "flops": "declared work",
    "min_bytes": "declared work",
}
"""Keys of a launch specification, and the kind of change that a difference in each is."""

CLOCKS_APART: Final = 0.01
"""Clocks further apart than this make times those of two machines."""

LONG_ENOUGH_NS: Final = 1e6
"""Launches from which a clock is read: it is cycles over time, which ``ncu`` reads in different
passes. For the same code it scattered by 3 % below 1 ms and by 0.4 % from there on
(``tests/captures/h200_triage``, ``tests/captures/gemm_series.same-code-13x.raw.csv``)."""

ROUGHLY_APART: Final = 0.15
"""The same for shorter launches: ``three-blocks`` of ``tests/captures/h200_changes``, 0.5 ms long,
was read at 1,769 to 1,984 MHz."""

_CLOCKS: Final = (
    ("sm_hz", "SM clocks", CLOCKS_APART),
    ("rough_sm_hz", "SM clocks of short launches", ROUGHLY_APART),
)
_DECISIVE: Final = {
    "gpu": "GPU",
    "compute_capability": "compute capability",
    "ncu": "Nsight Compute",
    "clock_control": "clock control",
}
_SHOWN: Final = {"driver": "driver", "cuda": "CUDA"}


def input_changes(before: KernelSnapshot, after: KernelSnapshot) -> tuple[InputChange, ...]:
    """All that differs. Without a manifest on both sides only the launch is known."""
    return (*_launch_changes(before, after), *_build_changes(before.inputs, after.inputs))


def other_work(before: KernelSnapshot, after: KernelSnapshot) -> str | None:
    """Return why the two sides do, or may do, a different amount of work; ``None`` for the same.

    Sizes of launch specifications decide; without those, numbers of threads.
    """
    old, new = _problem_sizes(before), _problem_sizes(after)
    if old is not None and new is not None:
        if old == new:
            return _explain_declared_work(before, after)
        return f"other sizes: {_format_differences(old, new)}"
    threads = [
        math.prod((*side.grid, *side.block)) if side.grid and side.block else None
        for side in (before, after)
    ]
    if threads[1] is None and threads[0] is not None:
        return "the number of threads is known for the baseline, but not for the candidate"
    if None in threads or threads[0] == threads[1]:
        return None
    return (
        f"a different number of threads ({threads[0]:,} before, {threads[1]:,} after); the "
        "problem sizes cannot be compared, because a launch specification is missing"
    )


def _explain_declared_work(before: KernelSnapshot, after: KernelSnapshot) -> str | None:
    for name, label in (("flops", "FLOPs"), ("min_bytes", "bytes")):
        old, new = getattr(before, name), getattr(after, name)
        if old is not None and new is not None and old != new:
            return (
                f"a different number of {label} in the specifications ({name}: {old:,.0f} before, "
                f"{new:,.0f} after)"
            )
    return None


def same_code(before: KernelSnapshot, after: KernelSnapshot) -> bool:
    """Return whether predictions run the same instructions on the same problem, launched alike."""
    if not compiled_alike(before, after):
        return False
    problems = [side.specification for side in (before, after)]
    alike = (before.grid, before.block) == (after.grid, after.block)
    return alike and None not in problems and problems[0] == problems[1]


def compiled_alike(before: KernelSnapshot, after: KernelSnapshot) -> bool:
    """Whether both sides are known to be the same machine code, whatever it is launched on."""
    old, new = before.predicted, after.predicted
    if old is None or new is None:
        return False
    return (old.arch, old.code) == (new.arch, new.code)


def source_diff(before: str | None, after: str | None) -> str:
    """The unified diff of two sources, empty where they are the same or one is not known."""
    if before is None or after is None or before == after:
        return ""
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=2
    )
    return "\n".join(lines)


def kinds_of_change(changes: tuple[InputChange, ...], *, same_code: bool) -> tuple[str, ...]:
    """List the kinds of change that were made, without those that follow from another one."""
    kinds = dict.fromkeys(each.kind for each in changes)
    if same_code and len(kinds) > 1:
        kinds.pop("source", None)
    if {"sizes", "defines", "source", "specification"} & kinds.keys():
        kinds.pop("launch", None)
    return tuple(kinds)


def _launch_changes(before: KernelSnapshot, after: KernelSnapshot) -> Iterator[InputChange]:
    for name in ("grid", "block"):
        old, new = getattr(before, name), getattr(after, name)
        if old and new and old != new:
            yield InputChange("launch", name, *("x".join(map(str, each)) for each in (old, new)))


def _build_changes(before: Inputs | None, after: Inputs | None) -> Iterator[InputChange]:
    if before is None or after is None:
        return
    if before.source_sha256 != after.source_sha256:
        yield InputChange("source", "source", before.path, after.path)
    yield from _key_changes("source", "included ", before.includes, after.includes)
    yield from _key_changes(
        "compiler", "", *({"compiler": each.compiler} for each in (before, after))
    )
    old, new = (each.specification or {} for each in (before, after))
    for option, kind in _PARTS.items():
        sides = [each.get(option) for each in (old, new)]
        if all(isinstance(each, dict) for each in sides):
            yield from _key_changes(kind, f"{option}.", *sides)
        else:
            yield from _key_changes(kind, "", *({option: each} for each in sides))
    compiled = [each.get("compile") or {} for each in (old, new)]
    yield from _key_changes("defines", "", *(each.get("defines") for each in compiled))
    for option in ("flags", "standard"):
        yield from _key_changes("flags", "", *({option: each.get(option)} for each in compiled))
    shared = [(each.get("launch") or {}).get("shared_bytes") for each in (old, new)]
    yield from _key_changes("shared memory", "dynamic ", *({"shared memory": n} for n in shared))


def _key_changes(
    kind: str,
    prefix: str,
    old: Mapping[str, Any] | None,
    new: Mapping[str, Any] | None,
) -> Iterator[InputChange]:
    old, new = old or {}, new or {}
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            sides = (_shorten(each.get(name)) for each in (old, new))
            yield InputChange(kind, f"{prefix}{name}", *sides)


def _problem_sizes(kernel: KernelSnapshot) -> dict[str, Any] | None:
    specification = kernel.specification
    return None if specification is None else dict(specification.get("sizes") or {})


def _format_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    names = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
    return ", ".join(f"{name} {old.get(name, 'none')} to {new.get(name, 'none')}" for name in names)


def _shorten(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= 60 else text[:57] + "..."


def machine_changes(
    before: MeasurementSetup, after: MeasurementSetup
) -> tuple[tuple[InputChange, ...], str | None]:
    """Return what differs, and why times cannot be compared; unknown values are no difference."""
    changes, reasons = [], []
    for name, label in {**_DECISIVE, **_SHOWN}.items():
        old, new = getattr(before, name), getattr(after, name)
        if old is None or new is None or old == new:
            continue
        changes.append(InputChange(label, f"different {label}", old, new))
        if name in _DECISIVE:
            reasons.append(f"different {label} ({old} before, {new} after)")
    for name, what, most in _CLOCKS:
        old, new = getattr(before, name), getattr(after, name)
        if old and new and abs(new / old - 1) > most:
            old, new = (f"{each / 1e6:.0f} MHz" for each in (old, new))
            changes.append(InputChange("clocks", "different SM clock", old, new))
            reasons.append(f"{what} more than {100 * most:g} % apart ({old} before, {new} after)")
            break
    return tuple(changes), "; ".join(reasons) or None
