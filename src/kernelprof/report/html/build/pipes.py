"""How busy each pipe of the SM is, and what kinds of instructions the kernel executes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.catalogue import catalogue
from kernelprof.model.numbers import share
from kernelprof.report.html.build.flops import thread_shares
from kernelprof.report.html.build.measured import clip
from kernelprof.report.html.view import Share

if TYPE_CHECKING:
    from kernelprof.report.html.build.measured import Measured

PIPES: Final = (
    ("alu_pipe", "ALU (integer and logic)"),
    ("fma_pipe", "FMA (FP32)"),
    ("fma_heavy_pipe", "FMA heavy (integer multiply)"),
    ("fp64_pipe", "FP64"),
    ("xu_pipe", "XU (special functions)"),
    ("tensor_pipe", "Tensor"),
    ("tcgen05_pipe", "Tensor (tcgen05)"),
    ("lsu_pipe", "LSU (loads and stores)"),
    ("adu_pipe", "ADU (barriers, constants)"),
    ("uniform_pipe", "Uniform datapath"),
    ("constant_cache", "Constant cache"),
)

ARITHMETIC: Final = (
    ("FP32 multiply-add", "ffma_rate"),
    ("FP32 add", "fadd_rate"),
    ("FP32 multiply", "fmul_rate"),
    ("FP64 multiply-add", "dfma_rate"),
    ("FP64 add", "dadd_rate"),
    ("FP64 multiply", "dmul_rate"),
    ("FP16 multiply-add", "hfma_rate"),
    ("FP16 add", "hadd_rate"),
    ("FP16 multiply", "hmul_rate"),
)

REQUESTS: Final = (
    ("global load", "global_load_requests"),
    ("global store", "global_store_requests"),
    ("global atomic", "global_atomic_requests"),
    ("global reduction", "global_reduction_requests"),
)

COLUMNS: Final = (
    ("shared load", "smsp__sass_inst_executed_op_shared_ld.sum"),
    ("shared store", "smsp__sass_inst_executed_op_shared_st.sum"),
    ("local load", "smsp__sass_inst_executed_op_local_ld.sum"),
    ("local store", "smsp__sass_inst_executed_op_local_st.sum"),
    ("branch", "smsp__inst_executed_op_branch.sum"),
)
"""Kinds that only Nsight Compute's full set counts."""

LEAST: Final = 0.0005
_OF_THREADS: Final = "Share of the instructions that threads execute."
_FP16_MOVES: Final = f"{_OF_THREADS} Compilers use these to move constants as well."
_OF_WARPS: Final = "Share of the instructions that warps execute."


def pipes(measured: Measured, row: int) -> tuple[Share, ...]:
    """Utilization of every pipe that the capture shows, the busiest first."""
    found = [
        Share(name, value, share(value), catalogue()[metric].why)
        for metric, name in PIPES
        if (value := measured.share(metric, row)) is not None
    ]
    return tuple(sorted(found, key=lambda each: -each.share))


def instructions(measured: Measured, row: int) -> tuple[Share, ...]:
    """Kinds of instructions, the most frequent first, with everything else at the end.

    Arithmetic is counted by thread and the rest by warp, so the kinds add up only nearly where
    threads of a warp are switched off.
    """
    found = [*_by_thread(measured, row), *_by_warp(measured, row)]
    if not found:
        return ()
    shown = sorted((each for each in found if each.share >= LEAST), key=lambda each: -each.share)
    rest = 1.0 - sum(each.share for each in found)
    if rest >= LEAST:
        names = ", ".join(each.name for each in found)
        tip = f"Addresses, moves, integer arithmetic and the like: what is not counted as {names}."
        shown.append(Share("everything else", rest, share(rest), tip))
    return tuple(shown)


def _by_thread(measured: Measured, row: int) -> list[Share]:
    parts = thread_shares(measured, row, (metric for _, metric in ARITHMETIC))
    return [
        _share(name, parts[metric], _FP16_MOVES if metric == "hfma_rate" else _OF_THREADS)
        for name, metric in ARITHMETIC
        if metric in parts
    ]


def _by_warp(measured: Measured, row: int) -> list[Share]:
    executed = measured.value("instructions", row)
    if executed is None or executed <= 0:
        return []
    known = [(name, measured.value(metric, row)) for name, metric in REQUESTS]
    known += [(name, measured.raw(column, row)) for name, column in COLUMNS]
    return [
        _share(name, value / executed, _OF_WARPS)
        for name, value in known
        if value is not None and value >= 0
    ]


def _share(name: str, value: float, tip: str) -> Share:
    return Share(name, clip(value), share(clip(value)), tip)
