"""The ladder's report: from the results of a climb to Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.analysis.metrics.architectures import FLOPS_OF_FMA, fp32_lanes
from kernelprof.ladder.figures import (
    gflops,
    next_gains,
    peak_gflops,
    ratio,
)
from kernelprof.ladder.markdown import (
    DASH,
    bytes_cell,
    factor_cell,
    number_cell,
    share_cell,
    spread_cell,
    table,
    time_cell,
)
from kernelprof.ladder.sweep_report import published_lines, sweep_lines
from kernelprof.report.numbers import count, factor, number, quantity
from kernelprof.report.writers.markdown import code, fenced, prose

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.ladder.results import Climb, Climbed, Surroundings


def render_report(climb: Climb) -> str:
    """The whole report."""
    parts = [
        heading_lines(climb, "The GEMM ladder"),
        _method_lines(climb),
        _time_lines(climb),
        _traffic_lines(climb),
        _trouble_lines(climb),
        sweep_lines(climb),
        published_lines(climb),
    ]
    return join(parts)


def join(parts: Iterable[list[str]]) -> str:
    """The parts that have lines, with an empty line between two."""
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def heading_lines(climb: Climb, title: str) -> list[str]:
    """What was climbed on what, when, and with which command."""
    chip = climb.surroundings
    sizes = ", ".join(f"{name} = {value}" for name, value in climb.sizes.items())
    if len(set(climb.sizes.values())) == 1:
        sizes = f"{' = '.join(climb.sizes)} = {next(iter(climb.sizes.values()))}"
    return [
        f"# {title} on {prose(chip.gpu or 'an unknown GPU')}",
        "",
        f"FP32, row-major, {sizes}. GPU: {_chip(chip)}.",
        f"Measured on {climb.created.partition('T')[0]} with {_tools(climb)}.",
        "",
        fenced(climb.command),
    ]


def _chip(chip: Surroundings) -> str:
    known = []
    if chip.compute_capability is not None:
        known.append(f"compute capability {chip.compute_capability}")
    if chip.multiprocessors is not None:
        known.append(f"{chip.multiprocessors} SMs")
    if chip.max_sm_mhz is not None:
        known.append(f"at most {chip.max_sm_mhz:,.0f} MHz")
    text = prose(chip.gpu or "unknown")
    return f"{text} ({', '.join(known)})" if known else text


def _tools(climb: Climb) -> str:
    chip = climb.surroundings
    clocks = f" (--clock-control {chip.clock_control})" if chip.clock_control else ""
    named = [
        ("driver", chip.driver),
        ("CUDA", chip.cuda),
        ("", chip.compiler),
        ("Nsight Compute", None if chip.ncu is None else chip.ncu + clocks),
        ("kernelprof", climb.kernelprof),
    ]
    return ", ".join(prose(f"{name} {version}".strip()) for name, version in named if version)


def _method_lines(climb: Climb) -> list[str]:
    lines = [f"- {_timing_rule(climb)}", f"- {_ceiling(climb)}"]
    chip, peak = climb.surroundings, peak_gflops(climb.surroundings)
    if peak is None:
        lines.append("- The FP32 peak of this GPU is not known here, so no share of it is given.")
    else:
        lanes = fp32_lanes(chip.compute_capability)
        lines.append(
            f"- FP32 peak: {chip.multiprocessors} SMs x {lanes} lanes x {FLOPS_OF_FMA} x "
            f"{chip.max_sm_mhz:,.0f} MHz = {number(round(peak))} GFLOP/s."
        )
    return lines


def _timing_rule(climb: Climb) -> str:
    timing = next((rung.timing for rung in climb.rungs if rung.timing is not None), None)
    if timing is None:
        return "No rung was timed."
    text = (
        f"Times are medians of {count(timing.launches, 'launch')} by CUDA events after "
        f"{timing.warm_up} of warm-up, outside the profiler, with the 95 % confidence interval of "
        "the median."
    )
    errors = [rung.correctness.largest_error or 0.0 for rung in climb.rungs if rung.correctness]
    if errors:
        text += (
            " Before that each result was checked against float64: the largest relative error is "
            f"{max(errors):.1e}."
        )
    return text


def _ceiling(climb: Climb) -> str:
    ceiling = climb.ceiling
    if ceiling is None:
        why = climb.ceiling_error
        return "Ceiling: cuBLAS was not measured" + (f" ({prose(why.what)})." if why else ".")
    share = ratio(gflops(ceiling.timing), peak_gflops(climb.surroundings))
    of_peak = "" if share is None else f", {share_cell(share)} of the peak"
    version = f" {ceiling.cublas}" if ceiling.cublas else ""
    cupy = f" {ceiling.cupy}" if ceiling.cupy else ""
    return (
        f"Ceiling: SGEMM of cuBLAS{version} through CuPy{cupy}, TF32 off (relative error "
        f"{ceiling.relative_error:.1e} against float64): {time_cell(ceiling.timing)} "
        f"({spread_cell(ceiling.timing)}), {number_cell(gflops(ceiling.timing))} GFLOP/s{of_peak}."
    )


def _time_lines(climb: Climb) -> list[str]:
    columns = (
        *("#", "rung", "verdict", "confidence", "time", "95 % confidence", "GFLOP/s"),
        *("of cuBLAS", "of peak", "gain at most", "next rung gained"),
    )
    return [
        "## Time and verdict",
        "",
        *table(columns, [_time_row(climb, rung) for rung in climb.rungs], left=4),
        "",
        "The verdict is that on the preset `full`. *Gain at most* is what kernelprof works out "
        "from the counters, before there is another rung; *next rung gained* is what each rung "
        "that changes this one in one thing did then.",
    ]


def _time_row(climb: Climb, rung: Climbed) -> tuple[str, ...]:
    rate = gflops(rung.timing)
    verdict = None if rung.full is None else rung.full.said
    ceiling = None if climb.ceiling is None else gflops(climb.ceiling.timing)
    gains = [f"{each.number}: {factor(gain)}" for each, gain in next_gains(climb, rung)]
    return (
        str(rung.number),
        prose(rung.title),
        DASH if verdict is None else code(verdict.bottleneck or verdict.status),
        DASH if verdict is None else verdict.confidence,
        time_cell(rung.timing) if rung.error is None or rung.timing else "failed",
        spread_cell(rung.timing),
        number_cell(None if rate is None else round(rate)),
        share_cell(ratio(rate, ceiling)),
        share_cell(ratio(rate, peak_gflops(climb.surroundings))),
        _gain(rung),
        ", ".join(gains) or DASH,
    )


def _gain(rung: Climbed) -> str:
    if rung.full is None:
        return DASH
    if rung.full.said.gain is None and rung.full.said.status == "at-limit":
        return "at limit"
    return factor_cell(rung.full.said.gain)


def _traffic_lines(climb: Climb) -> list[str]:
    if all(rung.traffic is None for rung in climb.rungs):
        return []
    columns = (
        *("#", "rung", "asked by threads", "through L1", "through L2", "device memory"),
        *("FLOP per byte of device memory", "FLOP per byte asked"),
    )
    return [
        "## Bytes",
        "",
        *_least(climb),
        *table(columns, [_traffic_row(rung) for rung in climb.rungs], left=2),
        "",
        "In brackets: multiples of the bytes that have to move at least. *Asked by threads* is "
        "what the instructions of all threads name together; a value that a whole warp reads "
        "counts 32 times. *Through L1* and *through L2* are the 32-byte sectors that move there, "
        "*device memory* is what is read and written: less than is needed where a part of C still "
        "stands in L2 at the end.",
    ]


def _least(climb: Climb) -> list[str]:
    timing = next((rung.timing for rung in climb.rungs if rung.timing is not None), None)
    if timing is None or not timing.min_bytes:
        return []
    text = (
        f"At least {quantity(timing.min_bytes, 'byte')} have to move: A and B read once, C written "
        "once."
    )
    if timing.flops:
        text += (
            f" For {number(round(timing.flops * 1e-9, 1))} GFLOP that would be "
            f"{number(timing.flops / timing.min_bytes)} FLOP per byte."
        )
    return [text, ""]


def _traffic_row(rung: Climbed) -> tuple[str, ...]:
    timing, traffic = rung.timing, rung.traffic
    least = None if timing is None else timing.min_bytes
    flops = None if timing is None else timing.flops
    levels = (
        (None,) * 4 if traffic is None else (traffic.asked, traffic.l1, traffic.l2, traffic.dram)
    )
    return (
        str(rung.number),
        prose(rung.title),
        *(bytes_cell(level, least) for level in levels),
        number_cell(ratio(flops, levels[-1])),
        number_cell(ratio(flops, levels[0])),
    )


def _trouble_lines(climb: Climb) -> list[str]:
    failed = [rung for rung in climb.rungs if rung.error is not None]
    if not failed:
        return []
    lines = ["## Failed", ""]
    for rung in failed:
        assert rung.error is not None
        where = f" ({prose(rung.error.where)})" if rung.error.where else ""
        lines.append(f"- {code(rung.file)}: {prose(rung.error.what)}{where}")
    return lines
