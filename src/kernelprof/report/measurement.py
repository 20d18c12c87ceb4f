"""What people want to know beside a diagnosis: what was run, checked and timed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.model.inferred import unchecked
from kernelprof.model.numbers import count, number, quantity
from kernelprof.model.specification import NO_REFERENCE

if TYPE_CHECKING:
    from kernelprof.collect.drill import DrillDown
    from kernelprof.collect.session import ProfileResult
    from kernelprof.model.manifest import (
        CompilerWarning,
        CorrectnessFacts,
        Manifest,
        SourceFacts,
        TimingFacts,
    )

_UNCHECKED: Final = f'its result was not checked: it has reference = "{NO_REFERENCE}"'
_RATES = ((1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"))


def facts(
    timing: TimingFacts | None,
    correctness: CorrectnessFacts | None,
    source: SourceFacts | None = None,
) -> list[str]:
    """Lines for the compiler's warnings, the check of the result, and the times by CUDA events."""
    lines = [] if source is None else list(map(_warned, source.compiler_warnings))
    lines += [] if correctness is None else [_checked(correctness)]
    known = None if source is None else source.specification
    if correctness is None and known is not None and known.get("reference") == NO_REFERENCE:
        lines.append((source and unchecked(source)) or _UNCHECKED)
    return lines if timing is None else [*lines, _timed(timing)]


def told(manifest: Manifest) -> list[str]:
    """What a capture's manifest holds of that, in lines."""
    return facts(manifest.timing, manifest.correctness, manifest.source)


def summary(found: ProfileResult) -> list[str]:
    """What was checked and timed, and what the drill-down cost, in lines."""
    known = told(found.manifest)
    if found.recorded:
        return [f"as recorded: {line}" for line in known]
    return known if found.drill_down is None else [*known, *runs(found.drill_down)]


def runs(found: DrillDown) -> list[str]:
    """What a drill-down cost: a line for each run, and one for all."""
    lines = []
    for each in found.rounds:
        passes = "" if each.passes is None else f", {each.passes} passes"
        lines.append(
            f"run {each.number + 1}: {each.why} ({len(each.metrics)} metrics{passes}, "
            f"{each.seconds:.1f} s)"
        )
    total = "" if found.passes is None else f"{found.passes} passes, "
    seconds = sum(each.seconds for each in found.rounds)
    made = len(found.rounds)
    lines.append(f"{made} run{'s' if made != 1 else ''} of the program, {total}{seconds:.1f} s")
    return lines


def _warned(found: CompilerWarning) -> str:
    """``the compiler warns (C7508): 'setmaxnreg' ignored ...``."""
    return f"the compiler warns ({found.code}): {found.text}"


def _checked(found: CorrectnessFacts) -> str:
    """``checked against gemm in float64 at M=250: error 3.1e-07 (allowed 1e-05)``."""
    reference = found.reference or "a reference"
    # Built-in references compute in float64; what a function of the user's does is not known.
    kind = " in float64" if reference.isidentifier() else ""
    sizes = ", ".join(f"{name}={size}" for name, size in (found.sizes or {}).items())
    at = f" at {sizes}" if sizes else ""
    error = "" if found.largest_error is None else f": error {number(found.largest_error)}"
    allowed = "" if found.tolerance is None else f" (allowed {number(found.tolerance)})"
    begin = "checked against" if found.passed else "differs from"
    return f"{begin} {reference}{kind}{at}{error}{allowed}"


def _timed(found: TimingFacts) -> str:
    """``timed: median 2.1 ms (20 launches, 2.09 ms to 2.13 ms), 65.4 TFLOP/s``."""
    spread = f"{_time(found.low_ns)} to {_time(found.high_ns)}"
    if found.confidence_low_ns is not None and found.confidence_high_ns is not None:
        low, high = _time(found.confidence_low_ns), _time(found.confidence_high_ns)
        spread += f"; 95 % confidence {low} to {high}"
    parts = [
        f"timed: median {_time(found.median_ns)} ({count(found.launches, 'launch')}, {spread})"
    ]
    if found.median_ns > 0:
        seconds = found.median_ns * 1e-9
        if found.flops:
            parts.append(_rate(found.flops / seconds))
        if found.min_bytes:
            parts.append(f"{quantity(found.min_bytes / seconds, 'byte/s')} of necessary traffic")
    return ", ".join(parts)


def _time(nanoseconds: float) -> str:
    return quantity(nanoseconds, "ns")


def _rate(value: float) -> str:
    size, unit = next((each for each in _RATES if value >= each[0]), _RATES[-1])
    return f"{number(value / size)} {unit}"
