"""What people want to know beside a diagnosis: what was run, checked and timed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.model.inferred import why_unchecked
from kernelprof.model.numbers import count, number, quantity
from kernelprof.model.specification import NO_REFERENCE

if TYPE_CHECKING:
    from kernelprof.collect.drill import DrillDown
    from kernelprof.collect.request import ProfileResult
    from kernelprof.model.manifest import (
        CorrectnessFacts,
        Manifest,
        SourceFacts,
        TimingFacts,
    )

_UNCHECKED: Final = f'Result not checked: the specification has reference = "{NO_REFERENCE}"'
_RATES = ((1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"))


def measurement_facts(
    timing: TimingFacts | None,
    correctness: CorrectnessFacts | None,
    source: SourceFacts | None = None,
) -> list[str]:
    """Lines for the compiler's warnings, the check of the result, and the times by CUDA events."""
    warnings = () if source is None else source.compiler_warnings
    lines = [f"the compiler warns ({each.code}): {each.text}" for each in warnings]
    lines += [] if correctness is None else [_checked(correctness)]
    reference = None if source is None else (source.specification or {}).get("reference")
    if correctness is None and reference == NO_REFERENCE:
        lines.append((source and why_unchecked(source)) or _UNCHECKED)
    return lines if timing is None else [*lines, _timed(timing)]


def manifest_remarks(manifest: Manifest) -> list[str]:
    """What a capture's manifest holds of that, in lines."""
    return measurement_facts(manifest.timing, manifest.correctness, manifest.source)


def summarize_measurement(result: ProfileResult) -> list[str]:
    """What was checked and timed, and what the drill-down cost, in lines."""
    lines = manifest_remarks(result.manifest)
    if result.recorded:
        return [f"as recorded: {line}" for line in lines]
    return lines if result.drill_down is None else [*lines, *runs(result.drill_down)]


def runs(drill_down: DrillDown) -> list[str]:
    """What a drill-down cost: a line for each run, and one for all."""
    lines = []
    for each in drill_down.rounds:
        passes = "" if each.passes is None else f", {each.passes} passes"
        cost = f"{len(each.metrics)} metrics{passes}, {each.seconds:.1f} s"
        lines.append(f"run {each.number + 1}: {each.why} ({cost})")
    total = "" if drill_down.passes is None else f"{drill_down.passes} passes, "
    seconds = sum(each.seconds for each in drill_down.rounds)
    made = len(drill_down.rounds)
    lines.append(f"{made} run{'s' if made != 1 else ''} of the program, {total}{seconds:.1f} s")
    return lines


def _checked(correctness: CorrectnessFacts) -> str:
    """``checked against gemm in float64 at M=250: error 3.1e-07 (allowed 1e-05)``."""
    reference = correctness.reference or "a reference"
    # Built-in references compute in float64; what a function of the user's does is not known.
    kind = " in float64" if reference.isidentifier() else ""
    sizes = ", ".join(f"{name}={size}" for name, size in (correctness.sizes or {}).items())
    at = f" at {sizes}" if sizes else ""
    largest = correctness.largest_error
    error = "" if largest is None else f": error {number(largest)}"
    allowed = "" if correctness.tolerance is None else f" (allowed {number(correctness.tolerance)})"
    begin = "checked against" if correctness.passed else "differs from"
    return f"{begin} {reference}{kind}{at}{error}{allowed}"


def _timed(timing: TimingFacts) -> str:
    """``timed: median 2.1 ms (20 launches, 2.09 ms to 2.13 ms), 65.4 TFLOP/s``."""
    interval = f"{_time(timing.low_ns)} to {_time(timing.high_ns)}"
    if timing.confidence_low_ns is not None and timing.confidence_high_ns is not None:
        low, high = _time(timing.confidence_low_ns), _time(timing.confidence_high_ns)
        interval += f"; 95 % CI {low} to {high}"
    parts = [
        f"timed: median {_time(timing.median_ns)} ({count(timing.launches, 'launch')}, {interval})"
    ]
    if timing.median_ns > 0:
        seconds = timing.median_ns * 1e-9
        if timing.flops:
            rate = timing.flops / seconds
            size, unit = next((each for each in _RATES if rate >= each[0]), _RATES[-1])
            parts.append(f"{number(rate / size)} {unit}")
        if timing.min_bytes:
            rate_text = quantity(timing.min_bytes / seconds, "byte/s")
            parts.append(f"effective bandwidth {rate_text}")
    return ", ".join(parts)


def _time(nanoseconds: float) -> str:
    return quantity(nanoseconds, "ns")
