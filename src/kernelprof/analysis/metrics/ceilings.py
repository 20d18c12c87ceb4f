"""How much of its peak each unit reaches in practice. Numbers only, so that rules can cite them."""

from __future__ import annotations

from typing import Final

from kernelprof.analysis.metrics.architectures import EVERY

PRACTICAL_CEILING: Final = {
    "issue": 0.95,
    "pipe": 0.98,
    "l1": 0.99,
    "l2": 0.90,
    "dram": 0.90,
}
"""Highest utilization that a kernel made for it reaches, as a fraction of the counter's peak.

From ``tests/captures/gemm_series.full.raw.csv`` (H200, ``ncu --set full --clock-control none``):
issue slots 93.5 % (``fma_bound``), FP64 98.3 % and special functions 99.5 %, L1 99.4 %
(``bank_conflict``). Tensor cores: 98.1 % while SMs have work in the fastest BF16 product of
``tests/captures/bf16``, 96.9 % in that of cuBLAS. Device memory: a plain copy of 1 GiB reads 83 %
under ncu; 4.3 of 4.8 TB/s, 90 %, outside it (``docs/verdicts.md``)."""

TENSOR_WORK: Final = 0.10
"""Use of the tensor pipe from which matrix products carry the work. FP16 arithmetic that shares the
pipe is taken off; what is left of it is 0 in FP32 kernels of our captures, and 16 % and more in
matrix products that wait for most of their time (``bf16_mma_sync`` in ``tests/captures/bf16``)."""

L2_STAGES: Final = (
    "l2_tag_requests", "l2_sectors", "l2_data", "l2_to_sm", "sm_to_l2", "l2_throughput",
)  # fmt: skip
"""Stages of L2, and the whole for captures that lack them."""

CEILING_OF: Final = {
    "issue_slots": PRACTICAL_CEILING["issue"],
    "l1_throughput": PRACTICAL_CEILING["l1"],
    "l1_throughput_active": PRACTICAL_CEILING["l1"],
    "dram_throughput": PRACTICAL_CEILING["dram"],
    **dict.fromkeys(L2_STAGES, PRACTICAL_CEILING["l2"]),
    "sm_throughput": 1.0,
    "memory_throughput": 1.0,
}
"""The practical ceiling of what a metric is the utilization of, by its canonical name."""

THREADS_ISSUED: Final = EVERY.schedulers * EVERY.warp_size
"""Threads for which an SM issues an instruction per cycle."""

PIPES_A_SLOT: Final = {
    "alu_pipe": THREADS_ISSUED / EVERY.alu_lanes,
    "fma_pipe": THREADS_ISSUED / EVERY.fma_lanes,
    "xu_pipe": THREADS_ISSUED / EVERY.xu_lanes,
}
"""Utilization of a pipe for each share of the issue slots it gets, at most."""
